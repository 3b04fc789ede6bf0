"""The model to numbers."""

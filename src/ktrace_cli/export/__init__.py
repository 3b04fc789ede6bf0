"""The model to files that other programs open."""

"""The model as one self-contained HTML page that draws it."""

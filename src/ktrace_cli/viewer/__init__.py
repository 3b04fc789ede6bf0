"""A trace to the browser of whoever sits at this machine."""

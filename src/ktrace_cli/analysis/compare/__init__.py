"""Two sides of runs to a verdict: which phases became slower."""

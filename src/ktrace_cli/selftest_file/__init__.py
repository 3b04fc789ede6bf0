"""What a file of `ktrace selftest` says: read, checked, and cited by who needs a marker's cost."""

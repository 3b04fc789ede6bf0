"""Writes jobs for rocprofv3, runs it, finds what it wrote."""

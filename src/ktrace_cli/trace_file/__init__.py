"""Bytes to records and back. Knows no clock, no name, no slice."""

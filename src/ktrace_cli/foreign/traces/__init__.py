"""Trace files that other in-kernel tracers write, read back to waves and what they did."""

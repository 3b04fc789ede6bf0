"""Trace buffers of other in-kernel tracers to the model, offline."""

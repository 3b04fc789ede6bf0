"""Markers for kernels that Python compilers make: Triton's and FlyDSL's."""

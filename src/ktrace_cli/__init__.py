"""ktrace shows what happens inside GPU kernels."""

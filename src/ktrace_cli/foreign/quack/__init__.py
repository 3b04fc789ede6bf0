"""QuACK's trace buffer, as `quack.trace` of quack-kernels up to 0.5.0 writes it."""

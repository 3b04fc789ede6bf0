"""FlyDSL's `ktrace` buffer, as 0.4.2 to 0.5.0 write it."""

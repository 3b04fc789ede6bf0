"""TileOPs' trace buffer: a slot of 16-byte records for each group of each block."""

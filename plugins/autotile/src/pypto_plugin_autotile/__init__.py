"""Splits a matmul into L0-sized tiles and chooses the tile sizes."""

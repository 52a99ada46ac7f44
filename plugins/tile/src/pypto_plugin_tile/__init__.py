"""Tile-level passes."""

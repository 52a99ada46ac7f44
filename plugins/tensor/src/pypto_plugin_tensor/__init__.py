"""Tensor-level passes."""

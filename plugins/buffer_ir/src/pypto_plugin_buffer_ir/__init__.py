"""Kernels as explicit buffers with destination operands."""

"""Measured figures of the kernel and its plugins, each beside its target."""

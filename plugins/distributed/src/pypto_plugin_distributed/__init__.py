"""Kernels that several devices run together: windows, signals and remote transfers, for pypto."""

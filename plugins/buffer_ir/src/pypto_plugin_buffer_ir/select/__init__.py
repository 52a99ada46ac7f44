"""Which kernels are written on buffers: a whole function, or none of it."""

"""From planned tiles to explicit buffers: the last step before a kernel is written."""

from __future__ import annotations

from pypto_plugin_buffer_ir.lower.kernels import lower_function, lower_tile_to_buffer

__all__ = ["lower_function", "lower_tile_to_buffer"]

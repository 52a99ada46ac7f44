"""The kernel's own operators: the rows of all families."""

from __future__ import annotations

from pypto_core.ops import (
    array,
    prefetch,
    sorting,
    system,
    tensor_compute,
    tensor_memory,
    tile_elementwise,
    tile_matmul,
    tile_memory,
    tile_misc,
    tile_reduce,
    tile_view,
)
from pypto_core.ops.opdef import OpDef

BUILTIN_OPS: tuple[OpDef, ...] = (
    *tile_memory.OPS,
    *tile_view.OPS,
    *tile_elementwise.OPS,
    *tile_reduce.OPS,
    *tile_matmul.OPS,
    *tile_misc.OPS,
    *sorting.OPS,
    *tensor_memory.OPS,
    *tensor_compute.OPS,
    *system.OPS,
    *array.OPS,
    *prefetch.OPS,
)
"""Every operator that needs no plugin."""

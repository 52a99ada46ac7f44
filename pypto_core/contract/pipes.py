"""Which hardware pipe runs an operator, by its name without the namespace.

Cube, scalar and no-pipe operators are the same on every machine of this family; data movement takes the pipe
of the path between its two spaces, which each backend lists.
"""

from __future__ import annotations

from pypto_core.ir.enums import PipeType

CUBE_OPS = (
    "matmul", "matmul_acc", "matmul_bias",
    "matmul_mx", "matmul_mx_acc", "matmul_mx_bias",
    "gemv", "gemv_acc", "gemv_bias",
)  # fmt: skip
"""Operators of the cube unit."""

SCALAR_OPS = ("read", "write")
"""Operators that touch one element from the scalar unit."""

MOVE_OPS = ("load", "store", "move", "copy", "extract", "assemble", "insert")
"""Operators that carry data from one space to another."""

STILL_OPS = (
    "alloc", "create", "slice", "subview", "reshape", "set_validshape", "transpose_view", "reinterpret_view",
    "get_block_idx", "get_block_num", "get_subblock_idx",
)  # fmt: skip
"""Operators that run on no pipe: they name storage, look at it differently or ask where they are."""

OP_PIPES: dict[str, PipeType | None] = {
    **dict.fromkeys(CUBE_OPS, PipeType.M),
    **dict.fromkeys(SCALAR_OPS, PipeType.S),
    **dict.fromkeys(STILL_OPS, None),
    "tpush_to_aiv": PipeType.FIX,
    "tpush_to_aic": PipeType.MTE3,
    "tpop_from_aic": None,
    "tpop_from_aiv": None,
}
"""Pipe of every operator that takes the same one wherever its operands lie.

A push to the vector core drains an accumulator, a push to the cube core stores from Vec; a pop finds its data
in place unless the machine passes it through global memory.
"""

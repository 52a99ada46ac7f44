"""Short ways to write kernels of tiles that are only made and read."""

from __future__ import annotations

from pypto_core.ir import PIPELINE_MEMBERSHIP, AssignStmt, DataType, MemorySpace, Var, replace, walk_stmts
from pypto_core.testing import build as b
from pypto_plugin_memory.aliases import materialize_semantic_aliases
from pypto_plugin_memory.init_memref import init_mem_ref

VEC, RIGHT = MemorySpace.Vec, MemorySpace.Right
KIB = 1024


def tile(name, rows, cols=8, space=VEC, dtype=DataType.FP32):
    return b.let(name, b.op("tile.create", b.dims(rows, cols), dtype=dtype, target_memory=space))


def use(*tiles):
    """Something that reads tiles of whatever space and has no result."""
    kind = b.op("tile.create", b.dims(1, 8), dtype=DataType.FP32, target_memory=VEC).type
    return [AssignStmt(Var("_", kind), b.raw_op("tile.move", [t], kind)) for t in tiles]


def prepared(stmts, ctx, params=()):
    f = b.kernel("k", list(params), [*stmts, b.ret()])
    return materialize_semantic_aliases(init_mem_ref(f, ctx), ctx)


def where(function):
    """(base, offset) by variable name."""
    return {
        s.var.name_hint: (s.var.type.memref.name, s.var.type.memref.byte_offset.value)
        for s in walk_stmts(function.body)
        if isinstance(s, AssignStmt) and getattr(s.var.type, "memref", None) is not None
    }


def staged(name, stage, group=0, size=32 * KIB):
    stmt = b.let(
        name,
        b.op("tile.create", b.dims(size // 512, 256), dtype=DataType.FP16, target_memory=RIGHT),
    )
    value = replace(stmt.value, attrs={PIPELINE_MEMBERSHIP: f"{group}:{stage}"})
    return replace(stmt, value=value)


def pipeline(stages, group=0, size=32 * KIB, stem="p"):
    tiles = [staged(f"{stem}{s}", s, group, size) for s in range(stages)]
    return [stmt for t in tiles for stmt in (t, *use(t.var))]

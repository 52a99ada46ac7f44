"""Which scopes and operators are a kernel's, as verifiers and the passes that outline and convert kernels see it."""

from __future__ import annotations

from pypto_core.ir import Call, InCoreScopeStmt, ScopeStmt, SpmdScopeStmt, walk_stmts
from pypto_core.ops import active_registry

# They stay what they are in a kernel: queries, descriptions of tensors in global memory, element access.
_KEPT = frozenset(
    {
        "tensor.dim",
        "tensor.get_block_idx",
        "tensor.get_block_num",
        "tensor.get_subblock_idx",
        "tensor.read",
        "tensor.view",
        "tensor.write",
    }
)


# What the host may do around the calls of a launch: describe tensors, read single elements, ask for the block.
_HOST = frozenset(
    (
        *(
            f"tensor.{name}"
            for name in ("create", "dim", "read", "reshape", "set_validshape", "slice", "view")
        ),
        *(f"{space}.get_block_{what}" for space in ("tensor", "tile") for what in ("idx", "num")),
    )
)


def is_kernel_scope(scope: ScopeStmt) -> bool:
    """Whether a scope's body is a kernel written in place: an InCore scope, or an SPMD scope that computes by itself.

    The body of an SPMD scope that does no more than call functions is the host's, and starts their blocks.
    """
    if isinstance(scope, InCoreScopeStmt):
        return True
    if not isinstance(scope, SpmdScopeStmt):
        return False
    for stmt in walk_stmts(scope.body):
        if isinstance(stmt, InCoreScopeStmt):
            return True
        value = getattr(stmt, "value", getattr(stmt, "expr", None))
        if (
            isinstance(value, Call)
            and value.name.startswith(("tile.", "tensor."))
            and value.name not in _HOST
        ):
            return True
    return False


def is_tile_compute(name: str) -> bool:
    """Whether a tensor operator has to become tile operators in a kernel."""
    if not name.startswith("tensor.") or name in _KEPT:
        return False
    return f"tile.{name.removeprefix('tensor.')}" in active_registry()

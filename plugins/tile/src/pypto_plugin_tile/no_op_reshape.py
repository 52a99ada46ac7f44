"""FoldNoOpReshape: a reshape to the same shape, in the same place, is another name."""

from __future__ import annotations

from typing import Any

from pypto_core.ir import AssignStmt, Call, Function, Mutator, Stmt, TileType, Type, replace, types_equal


def fold_no_op_reshape(function: Function, ctx: Any) -> Function:
    """The kernel with such reshapes as aliases; the same object when it has none."""
    return _Folder().visit(function) if function.is_incore else function


class _Folder(Mutator):
    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Only reshapes: everything else stays what it is."""
        call = node.value
        if isinstance(call, Call) and call.name == "tile.reshape" and _same(node.var.type, call.args[0].type):
            return replace(node, value=call.args[0])
        return node


def _same(a: Type, b: Type) -> bool:
    """Whether two tile types say the same, place included."""
    if not (isinstance(a, TileType) and isinstance(b, TileType)):
        return False
    one, two = a.memref, b.memref
    if one is None or two is None or one.base is not two.base:
        return False
    return types_equal(a, b)

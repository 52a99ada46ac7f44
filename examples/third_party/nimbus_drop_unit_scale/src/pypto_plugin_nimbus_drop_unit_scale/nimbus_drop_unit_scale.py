"""NimbusDropUnitScale: ``y = tile.muls(x, 1)`` is ``x``."""

from __future__ import annotations

from pypto_core.ir import (
    AssignStmt,
    Call,
    ConstFloat,
    ConstInt,
    Expr,
    Function,
    Mutator,
    Stmt,
    seq,
    structural_equal,
)
from pypto_core.run import PassContext


def nimbus_drop_unit_scale(function: Function, ctx: PassContext) -> Function:
    """The function without multiplications by one; the same object when it has none."""
    return _Taking().visit(function)


class _Taking(Mutator):
    """Reads on from the operand wherever the product was read."""

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """The statement, or nothing in its place."""
        value = self.visit(node.value)
        if _is_unit_scale(value) and structural_equal(value.args[0].type, node.var.type):
            self.remap[node.var] = value.args[0]
            return seq(())
        return super().visit_assign_stmt(node)


def _is_unit_scale(value: Expr) -> bool:
    if not isinstance(value, Call) or value.op.name != "tile.muls":
        return False
    factor = value.args[1]
    return isinstance(factor, ConstInt | ConstFloat) and factor.value == 1

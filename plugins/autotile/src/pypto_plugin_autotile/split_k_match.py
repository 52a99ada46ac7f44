"""Recognising a reduction over K that the author wrote out: create, one pipelined loop, one store.

The loop loads a panel of each operand and adds their product to its one carried value. The first step begins the
accumulator in either of two spellings: an if with a matmul and a matmul_acc that meet in a phi, or one matmul_acc
with a predicate on the loop's counter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import attrs

from pypto_core.ir import (
    AssignStmt,
    Call,
    Eq,
    Expr,
    ForKind,
    ForStmt,
    IfStmt,
    IterArg,
    MemorySpace,
    Mul,
    ScalarType,
    Stmt,
    Var,
    YieldStmt,
    flatten,
    is_const,
)
from pypto_plugin_autotile.match import is_call, is_window, literal_pair, static_2d, tile_type


@attrs.frozen(kw_only=True, eq=False)
class Chain:
    """A chain of that form. ``product`` is its matmul, or the predicated matmul_acc.

    ``carried``: the variables that stand for the accumulator, beside the loop's carry. ``first_step``: whether a
    predicate is known to hold on the first step alone; always for the other spelling.
    """

    init: AssignStmt
    loop: ForStmt
    store: AssignStmt
    lhs_load: AssignStmt
    rhs_load: AssignStmt
    product: AssignStmt
    carried: tuple[Var, ...]
    first_step: bool


@attrs.frozen
class _Step:
    """The reduction statement of a body: its product, operands, phi if any, and whether its start is sound."""

    product: AssignStmt
    operands: tuple[Expr, Expr]
    phi: tuple[Var, ...]
    first_step: bool


def match_chain(init: Stmt, loop: Stmt, store: Stmt, reads: Counter[Var]) -> Chain | None:
    """The chain that three neighbouring statements form, or None."""
    if not (isinstance(init, AssignStmt) and is_call(init.value, "tile.create")):
        return None
    if not (isinstance(store, AssignStmt) and isinstance(store.value, Call)):
        return None
    if not isinstance(loop, ForStmt) or loop.kind is not ForKind.Pipeline:
        return None
    if len(loop.iter_args) != 1 or len(loop.return_vars) != 1 or not _linked(init, loop, store.value, reads):
        return None
    body = flatten(loop.body)
    if len(body) < 2 or not isinstance(body[-1], YieldStmt) or len(body[-1].values) != 1:
        return None
    leading = [stmt for stmt in body[:-2] if isinstance(stmt, AssignStmt)]
    step = _reduction(body[-2], body[-1].values[0], loop, leading)
    if step is None or len(leading) != len(body) - 2:
        return None
    loads = _panels(leading, step.operands, init)
    if loads is None:
        return None
    return Chain(
        init=init, loop=loop, store=store, lhs_load=loads[0], rhs_load=loads[1], product=step.product,
        carried=(*step.phi, loop.return_vars[0]), first_step=step.first_step,
    )  # fmt: skip


def _linked(init: AssignStmt, loop: ForStmt, store: Call, reads: Counter[Var]) -> bool:
    """Whether the accumulator goes from creation through the loop into a plain store, and nowhere else."""
    result = loop.return_vars[0]
    return (
        is_call(store, "tile.store", 3)
        and loop.iter_args[0].init_value is init.var
        and store.args[0] is result
        and literal_pair(store.args[1]) is not None
        and isinstance(store.args[2], Var)
        and reads[init.var] == 1
        and reads[result] == 1
        and static_2d(init.var) is not None
    )


def _reduction(stmt: Stmt, yielded: Expr, loop: ForStmt, leading: Sequence[AssignStmt]) -> _Step | None:
    carry = loop.iter_args[0]
    if isinstance(stmt, IfStmt):
        return _peeled(stmt, yielded, carry)
    if not isinstance(stmt, AssignStmt) or yielded is not stmt.var:
        return None
    call = stmt.value
    if not (is_call(call, "tile.matmul_acc", 4) and isinstance(call, Call)) or call.args[0] is not carry:
        return None
    return _Step(stmt, (call.args[1], call.args[2]), (), _tests_first_step(call.args[3], loop, leading))


def _peeled(stmt: IfStmt, yielded: Expr, carry: IterArg) -> _Step | None:
    if stmt.else_body is None or len(stmt.return_vars) != 1 or yielded is not stmt.return_vars[0]:
        return None
    heads = (_head(stmt.then_body), _head(stmt.else_body))
    if heads[0] is None or heads[1] is None:
        return None
    fresh = [head for head in heads if head is not None and is_call(head.value, "tile.matmul", 2)]
    added = [head for head in heads if head is not None and is_call(head.value, "tile.matmul_acc", 3)]
    if len(fresh) != 1 or len(added) != 1:
        return None
    first, later = fresh[0].value, added[0].value
    assert isinstance(first, Call) and isinstance(later, Call)
    if later.args[0] is not carry or later.args[1] is not first.args[0] or later.args[2] is not first.args[1]:
        return None
    return _Step(fresh[0], (first.args[0], first.args[1]), (stmt.return_vars[0],), True)


def _head(branch: Stmt) -> AssignStmt | None:
    """The assignment of a branch that does nothing but yield its value."""
    stmts = flatten(branch)
    if len(stmts) != 2 or not isinstance(stmts[0], AssignStmt) or not isinstance(stmts[1], YieldStmt):
        return None
    values = stmts[1].values
    return stmts[0] if len(values) == 1 and values[0] is stmts[0].var else None


def _tests_first_step(condition: Expr, loop: ForStmt, leading: Sequence[AssignStmt]) -> bool:
    """Whether a predicate compares this loop's own counter, or a multiple of it, with 0.

    Nothing else shows that the accumulator is overwritten on the first step: neither a flag of the caller nor the
    counter of another loop.
    """
    if not isinstance(condition, Eq):
        return False
    if is_const(condition.right, 0):
        tested = condition.left
    elif is_const(condition.left, 0):
        tested = condition.right
    else:
        return False
    if tested is loop.loop_var:
        return True
    scaled = next((stmt.value for stmt in leading if stmt.var is tested), None)
    if not isinstance(scaled, Mul):
        return False
    sides = (scaled.left, scaled.right)
    return any(
        a is loop.loop_var and is_const(b) and not is_const(b, 0) for a, b in (sides, tuple(reversed(sides)))
    )


def _panels(
    leading: Sequence[AssignStmt], operands: tuple[Expr, Expr], init: AssignStmt
) -> tuple[AssignStmt, AssignStmt] | None:
    """The loads of both operands, when each brings one whole panel and nothing else but addresses is computed."""
    lhs, rhs = operands
    if not (isinstance(lhs, Var) and isinstance(rhs, Var)) or lhs is rhs:
        return None
    loads = {stmt.var: stmt for stmt in leading if stmt.var in (lhs, rhs)}
    others = [stmt for stmt in leading if stmt.var not in loads]
    if len(loads) != 2 or any(
        isinstance(stmt.value, Call) or not isinstance(stmt.var.type, ScalarType) for stmt in others
    ):
        return None
    rows, cols = static_2d(lhs), static_2d(rhs)
    if rows is None or cols is None or rows[1] != cols[0] or static_2d(init.var) != (rows[0], cols[1]):
        return None
    if _is_panel(loads[lhs], *rows) and _is_panel(loads[rhs], *cols):
        return loads[lhs], loads[rhs]
    return None


def _is_panel(load: AssignStmt, rows: int, cols: int) -> bool:
    call = load.value
    return (
        is_call(call, "tile.load", 4)
        and isinstance(call, Call)
        and tile_type(load.var).memory_space is MemorySpace.Mat
        and literal_pair(call.args[1]) is not None
        and is_window(call.args[2], rows, cols)
        and is_window(call.args[3], rows, cols)
    )

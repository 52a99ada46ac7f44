"""Recognising a reduction over K that the author wrote out: create, one pipelined loop, one store.

The loop loads a panel of each operand, which the product may take transposed, and adds their product to its one
carried value. The first step begins the accumulator in either of two spellings: an if with a matmul and a matmul_acc
that meet in a phi, or one matmul_acc with a predicate on the loop's counter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

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
    MakeTuple,
    MemorySpace,
    Mul,
    ScalarType,
    Stmt,
    Var,
    YieldStmt,
    flatten,
    is_const,
)
from pypto_plugin_autotile.match import (
    is_call,
    is_window,
    static_2d,
    store_offsets,
    stores_matrix,
    tile_type,
)


@attrs.frozen(eq=False)
class Panel:
    """The load of an operand, and whether the product sees it transposed."""

    load: AssignStmt
    turned: bool


@attrs.frozen(kw_only=True, eq=False)
class Chain:
    """A chain of that form. ``product`` is its matmul, or the predicated matmul_acc.

    ``lhs``, ``rhs``: the panels of its operands. ``carried``: the variables that stand for the accumulator, beside the
    loop's carry. ``first_step``: whether a predicate is known to hold on the first step alone; always for the other
    spelling.
    """

    init: AssignStmt
    loop: ForStmt
    store: AssignStmt
    lhs: Panel
    rhs: Panel
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
    panels = _panels(leading, step.operands, init)
    if panels is None:
        return None
    return Chain(
        init=init, loop=loop, store=store, lhs=panels[0], rhs=panels[1], product=step.product,
        carried=(*step.phi, loop.return_vars[0]), first_step=step.first_step,
    )  # fmt: skip


def _linked(init: AssignStmt, loop: ForStmt, store: Call, reads: Counter[Var]) -> bool:
    """Whether the accumulator goes from creation through the loop into a plain store, and nowhere else."""
    result = loop.return_vars[0]
    return (
        stores_matrix(store)
        and loop.iter_args[0].init_value is init.var
        and store.args[0] is result
        and store_offsets(store) is not None
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
) -> tuple[Panel, Panel] | None:
    """The panels of both operands, when each is loaded whole and nothing else but addresses is computed."""
    made = {stmt.var: stmt for stmt in leading}
    used: set[AssignStmt] = set()
    panels: list[Panel] = []
    for operand in operands:
        found = _panel(operand, made)
        if found is None or used & set(found[1]):
            return None  # one panel on both sides would have to be narrowed in two ways
        panels.append(found[0])
        used.update(found[1])
    if any(
        isinstance(stmt.value, Call) or not isinstance(stmt.var.type, ScalarType)
        for stmt in leading
        if stmt not in used
    ):
        return None
    rows, cols = (static_2d(operand) for operand in operands)
    if rows is None or cols is None or rows[1] != cols[0] or static_2d(init.var) != (rows[0], cols[1]):
        return None
    whole = _is_whole(panels[0], *rows) and _is_whole(panels[1], *cols)
    return (panels[0], panels[1]) if whole else None


def _panel(operand: Expr, made: Mapping[Var, AssignStmt]) -> tuple[Panel, tuple[AssignStmt, ...]] | None:
    """The panel of an operand, and the statements that make it: a load, and perhaps a look at it transposed."""
    stmt = made.get(operand) if isinstance(operand, Var) else None
    if stmt is None:
        return None
    value = stmt.value
    if not (is_call(value, "tile.transpose_view", 1) and isinstance(value, Call)):
        return Panel(stmt, turned=False), (stmt,)
    source = value.args[0]
    load = made.get(source) if isinstance(source, Var) else None
    return None if load is None else (Panel(load, turned=True), (load, stmt))


def _is_whole(panel: Panel, rows: int, cols: int) -> bool:
    call = panel.load.value
    if panel.turned:
        rows, cols = cols, rows
    return (
        is_call(call, "tile.load", 4)
        and isinstance(call, Call)
        and tile_type(panel.load.var).memory_space is MemorySpace.Mat
        and isinstance(call.args[1], MakeTuple)
        and is_window(call.args[2], rows, cols)
        and is_window(call.args[3], rows, cols)
    )

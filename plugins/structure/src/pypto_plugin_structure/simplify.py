"""Simplify: constants and copies go where they are used, expressions fold, and what can't run or matter goes.

Works on a function in SSA form and on one that no longer is: a variable takes part only when it is assigned once.
Types are simplified with the expressions in them. Loops to pipeline keep their form. Runs until nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto_core.ir import (
    AssignStmt,
    BinaryExpr,
    BreakStmt,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    ContinueStmt,
    Expr,
    ForKind,
    ForStmt,
    Function,
    IfStmt,
    MakeTuple,
    Mutator,
    ScalarType,
    Stmt,
    TupleGetItemExpr,
    TupleType,
    UnaryExpr,
    Var,
    WhileStmt,
    add,
    bounds_of,
    defined_vars,
    flatten,
    last_yield,
    prove_le,
    prove_lt,
    replace,
    seq,
    substitute,
    types_equal,
    updated,
    walk_stmts,
)  # fmt: skip
from pypto_plugin_structure.comments import in_place_of
from pypto_plugin_structure.dead_scalars import has_call, without_dead_scalars
from pypto_plugin_structure.scalar_rules import is_exact, simplified_binary, simplified_unary

_MAX_ROUNDS = 24
_CONSTANTS = (ConstInt, ConstFloat, ConstBool)
_QUERIES: dict[str, tuple[int, int | None]] = {
    "tile.get_block_idx": (0, None),
    "tile.get_block_num": (1, None),
    "tile.get_subblock_idx": (0, None),
    "tensor.dim": (0, None),
}
"""Least and greatest results of operators that ask about the machine or a tensor."""


def simplify(function: Function, ctx: Any = None) -> Function:
    """The simplified function; the same object when there is nothing to do."""
    for _ in range(_MAX_ROUNDS):
        new = without_dead_scalars(_Simplifier(function).visit(function))
        if new is function:
            break
        function = new
    return function


class _Simplifier(Mutator):
    def __init__(self, function: Function) -> None:
        super().__init__()
        counts: dict[Var, int] = dict.fromkeys(function.params, 1)
        for var in defined_vars(function.body):
            counts[var] = counts.get(var, 0) + 1
        self.repeated = {v for v, n in counts.items() if n > 1}
        self.bounds: dict[Var, tuple[int | None, int | None]] = {}
        self.tuples: dict[Var, tuple[Expr, ...]] = {}
        self.copies: list[list[Var]] = [[]]

    def visit_function(self, node: Function) -> Function:
        """Returned types may name what the body computes."""
        params = tuple([self.visit_def(p) for p in node.params])
        body = self.visit(node.body)
        returned = tuple([self.visit_type(t) for t in node.return_types])
        attributes = self.mutate_map(node.attrs) if node.attrs else node.attrs
        return updated(node, params=params, body=body, return_types=returned, attrs=attributes)

    # -- expressions

    def visit_binary_expr(self, node: BinaryExpr) -> Expr:
        """The operator's value when it is known."""
        new = super().visit_binary_expr(node)
        return simplified_binary(new, self.bounds) if isinstance(new, BinaryExpr) else new

    def visit_unary_expr(self, node: UnaryExpr) -> Expr:
        """The operator's value when it is known."""
        new = super().visit_unary_expr(node)
        return simplified_unary(new) if isinstance(new, UnaryExpr) else new

    def visit_tuple_get_item_expr(self, node: TupleGetItemExpr) -> Expr:
        """The element, of a tuple whose elements are known."""
        value = self.visit(node.tuple)
        elements = value.elements if isinstance(value, MakeTuple) else self.tuples.get(value)
        if elements is not None and self.steady(elements[node.index]):
            return elements[node.index]
        return updated(node, tuple=value)

    def steady(self, value: Expr) -> bool:
        """Whether the value may stand wherever it is visible: a constant, or a variable that is assigned once."""
        return isinstance(value, _CONSTANTS) or (isinstance(value, Var) and value not in self.repeated)

    def replaces(self, var: Var, value: Expr) -> bool:
        """Whether ``value`` may take the place of ``var`` everywhere."""
        if var in self.repeated or not self.steady(value):
            return False
        return var.type is value.type or types_equal(var.type, value.type, compare_memref=True)

    def put(self, var: Var, value: Expr) -> None:
        """Let ``value`` take the place of ``var`` from here to the end of the region."""
        self.remap[var] = value
        self.copies[-1].append(var)

    # -- assignments

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Remember what is constant, a copy, a tuple, or within bounds."""
        new = super().visit_assign_stmt(node)
        if not isinstance(new, AssignStmt):
            return new
        var, value = new.var, new.value
        if node.var in self.repeated:
            return new
        if self.replaces(var, value):
            self.put(node.var, value)
        elif isinstance(value, MakeTuple):
            self.tuples[var] = value.elements
        elif isinstance(value, Call):
            known = _QUERIES.get(value.op.name)
            if known is not None:
                self.bounds[var] = known
        elif isinstance(var.type, ScalarType) and is_exact(value) and value.type is var.type:
            self.learn(var, *bounds_of(value, self.bounds))
        return new

    def _make(self, old: Var, new: Var) -> Var:
        if old in self.repeated:
            self.repeated.add(new)
        return super()._make(old, new)

    def learn(self, var: Var, low: int | None, high: int | None) -> None:
        if low is not None or high is not None:
            self.bounds[var] = (low, high)

    def handed(self, variables: Sequence[Var], values: Sequence[Expr], stmt: Stmt) -> list[Stmt]:
        """Give the results of a statement that goes their values; assignments where these can't take their place."""
        out: list[Stmt] = []
        for var, value in zip(variables, values, strict=True):
            if self.replaces(var, value):
                self.put(var, value)
            else:
                out.append(AssignStmt(self.visit_def(var), value, span=stmt.span))
        return out

    def region(self, body: Any) -> Any:
        """A region; what was put in a variable's place in it ends with it."""
        if body is None:
            return None
        self.copies.append([])
        new = self.visit(body)
        for var in self.copies.pop():
            # Constants hold everywhere.
            if not isinstance(self.remap.get(var), _CONSTANTS):
                self.remap.pop(var, None)
        return new

    # -- branches

    def visit_if_stmt(self, node: IfStmt) -> Stmt:
        """One branch, when the condition is constant; results that don't depend on it go."""
        condition = self.visit(node.condition)
        if isinstance(condition, ConstBool):
            taken = self.taken(node, node.then_body if condition.value else node.else_body)
            if taken is not None:
                return taken
        then_body, else_body = self.region(node.then_body), self.region(node.else_body)
        then_body, else_body, results = self.common(node, then_body, else_body)
        if not results and not flatten(then_body) and not flatten(else_body) and not has_call(condition):
            return in_place_of(node, ())
        if else_body is not None and not flatten(else_body) and not results:
            else_body = None
        returns = tuple([self.visit_def(v) for v in results])
        same = len(returns) == len(node.return_vars)
        return updated(
            node,
            condition=condition,
            then_body=then_body,
            else_body=else_body,
            return_vars=node.return_vars if same and all(map(_same, returns, node.return_vars)) else returns,
        )

    def taken(self, node: IfStmt, body: Stmt | None) -> Stmt | None:
        """The branch that is always taken, as part of the enclosing region; None when it must stay one."""
        if not _all_fit(node.return_vars, _yielded(body)):
            return None
        new = seq(()) if body is None else self.visit(body)
        stmts, end = _parted(new)
        return in_place_of(node, [*stmts, *self.handed(node.return_vars, end, node)])

    def common(
        self, node: IfStmt, then_body: Stmt, else_body: Stmt | None
    ) -> tuple[Stmt, Stmt | None, list[Var]]:
        """The branches without results that are the same from both."""
        a, b = last_yield(then_body), last_yield(else_body)
        results = list(node.return_vars)
        if a is None or b is None or not results or not len(a.values) == len(b.values) == len(results):
            return then_body, else_body, results
        keep = [
            not (_same_value(x, y) and self.replaces(var, x))
            for var, x, y in zip(results, a.values, b.values, strict=True)
        ]
        if all(keep):
            return then_body, else_body, results
        for var, value, kept in zip(results, a.values, keep, strict=True):
            if not kept:
                self.put(var, value)
        return (
            _picked(then_body, keep),
            _picked(else_body, keep),
            [v for v, k in zip(results, keep, strict=True) if k],
        )

    # -- loops

    def visit_for_stmt(self, node: ForStmt) -> Stmt:
        """No trip: the initial values. One trip: its statements. Otherwise the loop, with bounds for its variable."""
        head = {name: self.visit(getattr(node, name)) for name in ("start", "stop", "step")}
        head["attrs"] = self.mutate_map(node.attrs) if node.attrs else node.attrs
        trips = self.trips(head)
        if trips == 0 and _all_fit(node.return_vars, [a.init_value for a in node.iter_args]):
            inits = [self.visit(a.init_value) for a in node.iter_args]
            return in_place_of(node, self.handed(node.return_vars, inits, node))
        if trips == 1 and self.may_open(node):
            opened = self.opened(node, head["start"])
            if opened is not None:
                return opened
        if node.loop_var not in self.repeated:
            self.learn(node.loop_var, *self.range_of(head))
        return self.loop(node, head)

    def trips(self, head: dict[str, Any]) -> int | None:
        """0 or 1 when that is the number of trips for sure."""
        start, stop, step = head["start"], head["stop"], head["step"]
        if not (isinstance(step, ConstInt) and is_exact(start) and is_exact(stop)):
            return None
        low, high = (start, stop) if step.value > 0 else (stop, start)
        if prove_le(high, low, self.bounds):
            return 0
        once = prove_lt(low, high, self.bounds) and prove_le(high, add(low, abs(step.value)), self.bounds)
        return 1 if once else None

    def range_of(self, head: dict[str, Any]) -> tuple[int | None, int | None]:
        start, stop, step = head["start"], head["stop"], head["step"]
        if not (isinstance(step, ConstInt) and is_exact(start) and is_exact(stop)):
            return None, None
        (a, b), (c, d) = bounds_of(start, self.bounds), bounds_of(stop, self.bounds)
        if step.value < 0:
            return (None if c is None else c + 1), b
        if isinstance(start, ConstInt) and d is not None and start.value < d:
            # The last trip begins at the greatest multiple of the step below the end.
            return a, start.value + (d - 1 - start.value) // step.value * step.value
        return a, (None if d is None else d - 1)

    def may_open(self, node: ForStmt) -> bool:
        """Whether the loop means no more than its trips, and nothing in it leaves it."""
        if node.kind is not ForKind.Sequential or node.attrs:
            return False
        return not any(isinstance(s, BreakStmt | ContinueStmt) for s in walk_stmts(node.body))

    def opened(self, node: ForStmt, start: Expr) -> Stmt | None:
        """The single trip of a loop, as part of the enclosing region."""
        values = [a.init_value for a in node.iter_args]
        if not (_all_fit(node.iter_args, values) and _all_fit(node.return_vars, _yielded(node.body))):
            return None
        inits = [self.visit(value) for value in values]
        ahead: list[Stmt] = []
        for var, value in ((node.loop_var, start), *zip(node.iter_args, inits, strict=True)):
            if self.replaces(var, value):
                self.put(var, value)
            else:
                new = Var(var.name_hint, value.type, span=var.span)
                ahead.append(AssignStmt(new, value, span=node.span))
                self.put(var, new)
        stmts, end = _parted(self.visit(node.body))
        return in_place_of(node, [*ahead, *stmts, *self.handed(node.return_vars, end, node)])

    def visit_while_stmt(self, node: WhileStmt) -> Stmt:
        """No trip when the condition is false at once."""
        values = [a.init_value for a in node.iter_args]
        if not has_call(node.condition) and _all_fit(node.return_vars, values):
            inits = [self.visit(value) for value in values]
            first = self.visit(substitute(node.condition, dict(zip(node.iter_args, inits, strict=True))))
            if isinstance(first, ConstBool) and not first.value:
                return in_place_of(node, self.handed(node.return_vars, inits, node))
        return self.loop(node, {})

    def loop(self, node: ForStmt | WhileStmt, head: dict[str, Any]) -> Stmt:
        """The loop without carries that never change."""
        keep = self.changing(node)
        dropped = [k for k, kept in enumerate(keep) if not kept]
        args = tuple([self.visit_def(a) for a, k in zip(node.iter_args, keep, strict=True) if k])
        if isinstance(node, ForStmt):
            head["loop_var"] = self.visit_def(node.loop_var)
        else:
            head["condition"] = self.visit(node.condition)
        body = self.region(node.body)
        if dropped:
            body = _picked(body, keep)
        results = tuple([self.visit_def(v) for v, k in zip(node.return_vars, keep, strict=True) if k])
        if (
            isinstance(node, ForStmt)
            and not results
            and not flatten(body)
            and not any(map(has_call, _bounds(head)))
        ):
            return in_place_of(node, ())
        if (
            not dropped
            and all(map(_same, args, node.iter_args))
            and all(map(_same, results, node.return_vars))
        ):
            args, results = node.iter_args, node.return_vars
        return updated(node, **head, iter_args=args, body=body, return_vars=results)

    def changing(self, node: ForStmt | WhileStmt) -> list[bool]:
        """Which carries another trip may find changed; the others are put out of the way."""
        tail = last_yield(node.body)
        keep = [True] * len(node.iter_args)
        if tail is None or not len(tail.values) == len(node.iter_args) == len(node.return_vars):
            return keep
        for k, (arg, end, result) in enumerate(
            zip(node.iter_args, tail.values, node.return_vars, strict=True)
        ):
            if end is not arg:
                continue
            init = self.visit(arg.init_value)
            if self.replaces(arg, init) and self.replaces(result, init):
                self.put(arg, init)
                self.put(result, init)
                keep[k] = False
        return keep


def _bounds(head: dict[str, Any]) -> tuple[Expr, ...]:
    return head["start"], head["stop"], head["step"]


def _same(a: object, b: object) -> bool:
    return a is b


def _same_value(a: Expr, b: Expr) -> bool:
    if isinstance(a, ConstInt | ConstBool) and type(a) is type(b) and a.type is b.type:
        return a.value == b.value  # type: ignore[attr-defined]
    return isinstance(a, Var) and a is b


def _fits(var: Var, value: Expr) -> bool:
    """Whether an assignment may take the place of handing a value on; storage would have to be moved."""
    kind = var.type
    if isinstance(kind, ScalarType | TupleType):
        return kind is value.type or types_equal(kind, value.type)
    return types_equal(kind, value.type, compare_memref=True)


def _all_fit(variables: Sequence[Var], values: Sequence[Expr]) -> bool:
    return len(variables) == len(values) and all(map(_fits, variables, values))


def _yielded(body: Stmt | None) -> tuple[Expr, ...]:
    tail = last_yield(body)
    return tail.values if tail is not None else ()


def _parted(body: Stmt) -> tuple[list[Stmt], tuple[Expr, ...]]:
    """The statements of a region without its yield, and what that hands on; its comments stay."""
    tail = last_yield(body)
    stmts = list(flatten(body))
    return (stmts, ()) if tail is None else ([*stmts[:-1], in_place_of(tail, ())], tail.values)


def _picked(body: Stmt | None, keep: Sequence[bool]) -> Any:
    """A region whose yield hands on some of its values; without any it has no yield."""
    tail = last_yield(body)
    assert tail is not None and body is not None
    values = tuple([x for x, k in zip(tail.values, keep, strict=True) if k])
    if not values:
        return seq(_parted(body)[0], body.span)
    return seq((*flatten(body)[:-1], replace(tail, values=values)), body.span)

"""CtrlFlowTransform: break, continue and early return become conditions.

What follows an exit moves into the branch that does not take it. Where that can't be, a flag says that an exit was
taken and guards what follows. A loop that can be left becomes a while loop over a flag; a counted one then counts by
itself. Values that a loop carries are, after break or continue, those with which the trip began.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    AssignStmt,
    Call,
    ConstBool,
    ConstInt,
    DataType,
    EvalStmt,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    ForKind,
    ForStmt,
    Function,
    IfStmt,
    NameSource,
    Pow,
    ReturnStmt,
    ScopeStmt,
    SplitAivScopeStmt,
    SpmdScopeStmt,
    Stmt,
    Submit,
    Var,
    WhileStmt,
    YieldStmt,
    add,
    and_,
    base_name,
    defined_vars,
    flatten,
    gt,
    is_const,
    lt,
    not_,
    or_,
    replace,
    scalar_type,
    seq,
    substitute,
    updated,
    used_vars,
    walk,
    walk_stmts,
)  # fmt: skip
from pypto_plugin_structure.exits import JUMPS, Exit, Exits, early_returns

_BOOL = scalar_type(DataType.BOOL)
_MAX_NESTING = 12
"""How many exits of one block may each put the rest into a branch; the further ones set a flag."""


def ctrl_flow_transform(function: Function, ctx: Any = None) -> Function:
    """The function without break, continue and early return; the same object when it has none.

    Raises UserError PT323 for exits out of loops whose trips all run. Hints PH-ST-001 for a loop that is no longer
    pipelined because of an exit.
    """
    structurer = _Structurer(function, ctx)
    if not structurer.returns and not any(map(structurer.exits.inside, _without_last_return(function))):
        return function
    return replace(function, body=structurer.whole())


def _without_last_return(function: Function) -> tuple[Stmt, ...]:
    stmts = flatten(function.body)
    return stmts[:-1] if stmts and isinstance(stmts[-1], ReturnStmt) else stmts


@attrs.define
class _Loop:
    """The loop that is being rewritten: the flag that ends it, and the one that ends a trip once it is needed."""

    broken: Var | None
    skip: Var | None = None


class _Structurer:
    def __init__(self, function: Function, ctx: Any) -> None:
        self.function, self.ctx = function, ctx
        self.exits, self.names = Exits(), NameSource()
        self.loops: list[_Loop] = []
        self.returns = early_returns(function)
        self.returned: Var | None = None
        self.results = self.result_variables()

    def result_variables(self) -> tuple[Var, ...]:
        """Where the returned values wait for the end; a variable that every return names waits in itself."""
        if not self.returns:
            return ()
        columns = zip(*(stmt.values for stmt in self.returns), strict=True)
        return tuple(self._waiting(column) for column in columns)

    def _waiting(self, column: tuple[Expr, ...]) -> Var:
        first = column[0]
        if isinstance(first, Var) and all(value is first for value in column):
            return first
        return Var(self.names.fresh("result", "out"), first.type, span=first.span)

    def whole(self) -> Stmt:
        """The function's body."""
        stmts = flatten(self.function.body)
        new = self.block(stmts, None, 0)
        if self.returned is not None:
            new = [_assign(self.returned, ConstBool(False), self.function.span), *new]
        if self.returns:
            last = self.returns[-1]
            new.append(ReturnStmt(self.results, span=last.span))
        return seq(new, self.function.body.span)

    # -- blocks

    def block(self, stmts: Sequence[Stmt], holders: Sequence[Var] | None, depth: int) -> list[Stmt]:
        """Statements in which no exit is left.

        ``holders``: the variables that take what the block's yield hands on, None to leave the yield as it is.
        """
        out: list[Stmt] = []
        current, guard = out, None
        for at, stmt in enumerate(stmts):
            ways, last = self.exits.of(stmt), at == len(stmts) - 1
            if type(stmt) in JUMPS and (self.returns or not isinstance(stmt, ReturnStmt)):
                current += self.leave(stmt)
                break
            if not ways.kinds or isinstance(stmt, ReturnStmt):
                current += self.plain(stmt, holders)
            elif isinstance(stmt, IfStmt) and self.nests(stmt, last, depth):
                current += self.with_rest(stmt, stmts[at + 1 :], holders, depth)
                break
            else:
                # Before the statement is rewritten, so that the exits in it set the flag.
                flag = guard or (None if last or ways.ends else self.flag_for(stmts[at:]))
                current += self.left_early(stmt)
                if ways.ends:
                    break
                self.close(out, current, guard, stmt.span)
                current, guard = list[Stmt](), flag
        self.close(out, current, guard, stmts[-1].span if stmts else self.function.span)
        return out

    def close(self, out: list[Stmt], current: list[Stmt], guard: Var | None, span: Span) -> None:
        """Put statements behind the flag that guards them; without one they stand in ``out`` already."""
        if guard is not None and current:
            out.append(IfStmt(not_(guard), seq(current), span=span))

    def flag_for(self, stmts: Sequence[Stmt]) -> Var | None:
        """The flag that is set by whatever leaves one of these statements early."""
        kinds = {kind for stmt in stmts for kind in self.exits.of(stmt).kinds}
        if not self.loops:
            if self.returned is None:
                self.returned = self.new_flag("returned")
            return self.returned
        loop = self.loops[-1]
        if Exit.CONTINUE not in kinds:
            return loop.broken
        if loop.skip is None:
            loop.skip = self.new_flag("skip")
        return loop.skip

    def new_flag(self, name: str) -> Var:
        return Var(self.names.fresh(name, "tmp"), _BOOL)

    def nests(self, stmt: IfStmt, last: bool, depth: int) -> bool:
        """Whether what follows an if can move into the one branch that goes on, or nothing follows."""
        then = self.exits.of_all(flatten(stmt.then_body)).ends
        other = self.exits.of_all(flatten(stmt.else_body)).ends
        return last or (depth < _MAX_NESTING and (then or other))

    def with_rest(
        self, stmt: IfStmt, rest: Sequence[Stmt], holders: Sequence[Var] | None, depth: int
    ) -> list[Stmt]:
        """An if whose going-on branch continues with ``rest``; nothing when nothing is left in it."""
        arms: list[Stmt] = []
        for body in (stmt.then_body, stmt.else_body):
            stmts = self.handing(flatten(body), stmt.return_vars)
            if not self.exits.of_all(stmts).ends:
                stmts = [*stmts, *rest]
            arms.append(seq(self.block(stmts, holders, depth + 1), stmt.span))
        then, other = arms
        if flatten(then):
            return [
                replace(stmt, then_body=then, else_body=other if flatten(other) else None, return_vars=())
            ]
        condition = not_(stmt.condition)
        if flatten(other):
            return [replace(stmt, condition=condition, then_body=other, else_body=None, return_vars=())]
        return [EvalStmt(stmt.condition, span=stmt.span)] if _calls(stmt.condition) else []

    def handing(self, stmts: Sequence[Stmt], holders: Sequence[Var]) -> list[Stmt]:
        """Statements whose yield assigns to variables instead."""
        if stmts and isinstance(stmts[-1], YieldStmt):
            last = stmts[-1]
            return [*stmts[:-1], *_assignments(holders, last.values, last)]
        return list(stmts)

    def plain(self, stmt: Stmt, holders: Sequence[Var] | None) -> list[Stmt]:
        """A statement that no exit leaves."""
        if isinstance(stmt, YieldStmt) and holders is not None:
            return _assignments(holders, stmt.values, stmt)
        if not self.exits.inside(stmt):
            return [stmt]
        if isinstance(stmt, ForStmt | WhileStmt):
            return self.loop(stmt)
        return [self.rebuilt(stmt, None)]

    def rebuilt(self, stmt: Stmt, holders: Sequence[Var] | None) -> Stmt:
        """A branch or scope with its regions rewritten."""
        if isinstance(stmt, IfStmt):
            parts: dict[str, Any] = {
                "then_body": seq(self.block(flatten(stmt.then_body), holders, 0), stmt.span)
            }
            if stmt.else_body is not None:
                parts["else_body"] = seq(self.block(flatten(stmt.else_body), holders, 0), stmt.span)
            if holders is not None:
                parts["return_vars"] = ()
            return updated(stmt, **parts)
        if isinstance(stmt, ScopeStmt):
            return updated(stmt, body=seq(self.block(flatten(stmt.body), holders, 0), stmt.span))
        return stmt

    def left_early(self, stmt: Stmt) -> list[Stmt]:
        """A compound statement out of which exits lead; they set the flags that guard what follows."""
        if isinstance(stmt, ForStmt | WhileStmt):
            return self.loop(stmt)
        if isinstance(stmt, SpmdScopeStmt | SplitAivScopeStmt):
            raise self.refused(stmt, self.exits.of(stmt).kinds, "a scope that runs on several cores")
        return [self.rebuilt(stmt, stmt.return_vars if isinstance(stmt, IfStmt) else None)]

    def leave(self, stmt: Stmt) -> list[Stmt]:
        """Instead of an exit: the flags are set, and what is returned is kept."""
        span = stmt.span
        out: list[Stmt] = []
        loops = self.loops[-1:]
        if isinstance(stmt, ReturnStmt):
            out += _assignments(self.results, stmt.values, stmt)
            loops = self.loops
            if self.returned is not None:
                out.append(_assign(self.returned, ConstBool(True), span))
        for loop in loops:
            if loop.broken is not None and JUMPS[type(stmt)] is not Exit.CONTINUE:
                out.append(_assign(loop.broken, ConstBool(True), span))
            if loop.skip is not None:
                out.append(_assign(loop.skip, ConstBool(True), span))
        if out and stmt.leading_comments and not out[0].leading_comments:
            out[0] = replace(out[0], leading_comments=stmt.leading_comments)
        return out

    # -- loops

    def loop(self, stmt: ForStmt | WhileStmt) -> list[Stmt]:
        """A loop without exits, and what has to stand before it."""
        kinds = self.exits.of_all(flatten(stmt.body)).kinds
        stops = bool(kinds - {Exit.CONTINUE})
        if isinstance(stmt, ForStmt) and kinds and stmt.kind in (ForKind.Parallel, ForKind.Unroll):
            raise self.refused(stmt, kinds, f"a {stmt.kind.name.lower()} loop, whose trips all run")
        holders = tuple(
            Var(self.names.fresh(a.name_hint, "out"), a.type, span=a.span) for a in stmt.iter_args
        )
        if not kinds:
            holders = ()
        self.loops.append(_Loop(self.new_flag("broken") if stops else None))
        body = self.block(flatten(stmt.body), holders or None, 0)
        loop = self.loops.pop()
        head: list[Stmt] = [
            _assign(h, a, stmt.span) for h, a in zip(holders, stmt.iter_args, strict=bool(holders))
        ]
        if loop.skip is not None:
            head.append(_assign(loop.skip, ConstBool(False), stmt.span))
        end: list[Stmt] = [YieldStmt(holders, span=stmt.span)] if holders else []
        if loop.broken is None:
            return [replace(stmt, body=seq((*head, *body, *end), stmt.span))]
        return self.while_form(stmt, loop.broken, holders, [*head, *body], end)

    def while_form(
        self,
        stmt: ForStmt | WhileStmt,
        broken: Var,
        holders: tuple[Var, ...],
        body: list[Stmt],
        end: list[Stmt],
    ) -> list[Stmt]:
        """A while loop that ends when ``broken`` is set."""
        ahead: list[Stmt] = [_assign(broken, ConstBool(False), stmt.span)]
        condition: Expr | None = None
        if isinstance(stmt, ForStmt):
            condition = self.counting(stmt, ahead, body)
        elif _harmless(stmt.condition):
            condition = stmt.condition
        if condition is None:
            assert isinstance(stmt, WhileStmt)
            condition = self.asked_once(stmt, broken, holders, ahead, body)
        else:
            condition = and_(not_(broken), condition)
        new = WhileStmt(
            condition, stmt.iter_args, seq((*body, *end), stmt.span), stmt.return_vars, span=stmt.span
        )
        if stmt.leading_comments:
            ahead[0] = replace(ahead[0], leading_comments=stmt.leading_comments)
        return [*ahead, new]

    def counting(self, stmt: ForStmt, ahead: list[Stmt], body: list[Stmt]) -> Expr:
        """Count in the loop itself; the condition under which a trip is made."""
        if stmt.attrs and self.ctx is not None:
            self.ctx.hint(
                "PH-ST-001",
                f"a {stmt.kind.name.lower()} loop with an exit becomes a while loop",
                stmt.span,
                facts={"dropped": ", ".join(stmt.attrs), "function": self.function.name},
                remedy="guard the body with an if instead of leaving the loop",
            )
        index, changing = stmt.loop_var, set(defined_vars(stmt.body))
        stop, step = (
            self.steady(e, n, changing, ahead) for e, n in ((stmt.stop, "stop"), (stmt.step, "step"))
        )
        ahead.append(_assign(index, stmt.start, stmt.span))
        body.append(_assign(index, add(index, step), stmt.span))
        if isinstance(step, ConstInt):
            return (lt if step.value > 0 else gt)(index, stop)
        return or_(and_(gt(step, 0), lt(index, stop)), and_(lt(step, 0), gt(index, stop)))

    def steady(self, expr: Expr, name: str, changing: set[Var], ahead: list[Stmt]) -> Expr:
        """A bound that the loop's body can't change."""
        if not _calls(expr) and not any(v in changing for v in used_vars(expr)):
            return expr
        var = Var(self.names.fresh(name, "tmp"), expr.type, span=expr.span)
        ahead.append(_assign(var, expr, expr.span))
        return var

    def asked_once(
        self, stmt: WhileStmt, broken: Var, holders: tuple[Var, ...], ahead: list[Stmt], body: list[Stmt]
    ) -> Expr:
        """A condition that must not be evaluated after a break: it is kept in a variable."""
        go = self.new_flag("go")
        inits: dict[Var, Expr] = {a: a.init_value for a in stmt.iter_args}
        ahead.append(_assign(go, substitute(stmt.condition, inits), stmt.condition.span))
        handed: dict[Var, Expr] = dict(zip(stmt.iter_args, holders, strict=True))
        again = substitute(stmt.condition, handed)
        body.append(
            IfStmt(
                broken,
                _assign(go, ConstBool(False), stmt.span),
                _assign(go, again, stmt.condition.span),
                span=stmt.span,
            )
        )
        return go

    def refused(self, stmt: ForStmt | ScopeStmt, kinds: frozenset[Exit], where: str) -> UserError:
        leaving = next(s for s in walk_stmts(stmt.body) if JUMPS.get(type(s)) in kinds)
        return UserError(
            f"'{JUMPS[type(leaving)].value}' can't leave {where}",
            code="PT323",
            span=leaving.span if leaving.span.is_valid else stmt.span,
            facts={"function": self.function.name},
            remedy="use pl.range, whose trips run one after the other",
        )


def _assign(var: Var, value: Expr, span: Span) -> AssignStmt:
    return AssignStmt(var, value, span=span)


def _assignments(variables: Sequence[Var], values: Sequence[Expr], stmt: Stmt) -> list[Stmt]:
    """Assignments of all values at once; a variable that is among the values of others is read first."""
    pairs = [(v, x) for v, x in zip(variables, values, strict=True) if v is not x]
    out: list[Stmt] = []
    targets = {v for v, _ in pairs}
    late: list[Stmt] = []
    for var, value in pairs:
        if any(v in targets and v is not var for v in used_vars(value)):
            kept = Var(f"{base_name(var.name_hint)}__tmp_v0", value.type, span=stmt.span)
            out.append(_assign(kept, value, stmt.span))
            late.append(_assign(var, kept, stmt.span))
        else:
            late.append(_assign(var, value, stmt.span))
    out += late
    if out and stmt.leading_comments:
        out[0] = replace(out[0], leading_comments=stmt.leading_comments)
    return out


def _calls(expr: Expr) -> bool:
    return any(isinstance(node, Call | Submit) for node in walk(expr))


def _harmless(expr: Expr) -> bool:
    """Whether evaluating the expression once more can't fail: no call, and no division by what may be zero."""
    for node in walk(expr):
        if isinstance(node, Call | Submit | Pow):
            return False
        if isinstance(node, FloorDiv | FloorMod | FloatDiv) and (
            not isinstance(node.right, ConstInt) or is_const(node.right, 0)
        ):
            return False
    return True

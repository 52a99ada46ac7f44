"""Control flow: tiles and tensors leave the loops and branches, which carry the numbers that are left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from pypto_core.ir import (
    AssignStmt,
    Call,
    EvalStmt,
    Expr,
    ForStmt,
    IfStmt,
    IterArg,
    ReturnStmt,
    ScalarType,
    SeqStmts,
    Stmt,
    TensorType,
    TileType,
    Var,
    WhileStmt,
    YieldStmt,
    base_name,
    flatten,
    replace,
    seq,
)
from pypto_plugin_buffer_ir.lower.calls import lower_call
from pypto_plugin_buffer_ir.lower.writer import Writer
from pypto_plugin_buffer_ir.refusal import broken, refused


@attrs.define(eq=False)
class Arm:
    """A region that was written: its statements, and what it hands on with the yield that said so."""

    stmts: list[Stmt] = attrs.field(factory=list)
    values: tuple[Expr, ...] = ()
    yielded: YieldStmt | None = None

    def body(self, kept: Sequence[int]) -> Stmt:
        """The region with those of its values that are numbers."""
        out = list(self.stmts)
        values = [self.values[i] for i in kept]
        last = self.yielded
        if last is not None and (values or last.leading_comments):
            out.append(replace(last, values=tuple(values)))
        return seq(out)


class Statements:
    """The second pass over one kernel."""

    def __init__(self, writer: Writer) -> None:
        self.w = writer
        self._lower: dict[type[Stmt], Callable[[Any], None]] = {
            AssignStmt: self._assign,
            EvalStmt: self._evaluate,
            ForStmt: self._for,
            WhileStmt: self._while,
            IfStmt: self._if,
            ReturnStmt: self._return,
        }

    def body(self, stmt: Stmt) -> Stmt:
        """The whole body."""
        out: list[Stmt] = []
        with self.w.region(out):
            self._all(flatten(stmt))
        return seq(out, stmt.span) if out else SeqStmts((), span=stmt.span)

    def _all(self, stmts: Sequence[Stmt]) -> None:
        for stmt in stmts:
            lower = self._lower.get(type(stmt))
            if lower is None:
                raise refused(f"a {type(stmt).__name__} has no form on buffers", stmt.span)
            self.w.begin(stmt)
            lower(stmt)

    # -- plain statements

    def _assign(self, stmt: AssignStmt) -> None:
        w, var, value = self.w, stmt.var, stmt.value
        if isinstance(value, Call):
            lower_call(w, value, var)
        elif isinstance(var.type, TileType):
            self._same_tile(var, value)
        elif isinstance(var.type, TensorType):
            if not isinstance(value, Var):
                raise refused("a normalized tensor parameter alias is a variable", w.span)
            w.tensors[var] = w.tensor(value)
        elif isinstance(var.type, ScalarType):
            w.emit(replace(stmt, value=w.plain(value), leading_comments=()))
        else:
            raise refused(f"a value of type {var.type!r} has no form on buffers", w.span)

    def _same_tile(self, var: Var, value: Expr) -> None:
        w = self.w
        if value in w.windows:
            w.windows[var] = w.windows[value]
        elif w.handle(var) is not w.handle(value):
            raise broken("storage legalization left an implicit alias transfer", w.span, tile=var.name_hint)

    def _evaluate(self, stmt: EvalStmt) -> None:
        if not isinstance(stmt.expr, Call):
            raise refused("a device function cannot submit tasks", stmt.span)
        lower_call(self.w, stmt.expr, None)

    def _return(self, stmt: ReturnStmt) -> None:
        w = self.w
        values = [w.tensor(v) if isinstance(v.type, TensorType) else w.plain(v) for v in stmt.values]
        w.emit(replace(stmt, values=tuple(values), leading_comments=()))

    # -- regions

    def _arm(self, body: Stmt | None, arm: Arm) -> None:
        """Write a region."""
        stmts = flatten(body)
        last = stmts[-1] if stmts and isinstance(stmts[-1], YieldStmt) else None
        for stmt in stmts:
            if isinstance(stmt, ReturnStmt):
                raise refused("a return inside of a loop or branch has no form on buffers", stmt.span)
        self._all(stmts[:-1] if last is not None else stmts)
        if last is not None:
            arm.values, arm.yielded = self._yielded(last), last

    def _yielded(self, stmt: YieldStmt) -> tuple[Expr, ...]:
        """What is handed on: handles, parameters and numbers."""
        w = self.w
        w.span = stmt.span
        found: list[Expr] = []
        for value in stmt.values:
            if isinstance(value.type, TileType):
                if value in w.windows:
                    raise refused("a window can't be handed on by a loop or branch", w.span)
                found.append(w.handle(value))
            else:
                found.append(w.tensor(value) if isinstance(value.type, TensorType) else w.plain(value))
        return tuple(found)

    def _if(self, stmt: IfStmt) -> None:
        w = self.w
        condition = w.plain(stmt.condition)
        comments = w.taken_comments()
        arms = (Arm(), Arm())
        for body, arm in zip((stmt.then_body, stmt.else_body), arms, strict=True):
            with w.region(arm.stmts):
                self._arm(body, arm)
        w.begin(replace(stmt, leading_comments=comments))
        kept: list[int] = []
        for number, var in enumerate(stmt.return_vars):
            values = [arm.values[number] if number < len(arm.values) else None for arm in arms]
            if isinstance(var.type, TileType):
                if any(v is not w.handle(var) for v in values):
                    raise broken(
                        "storage legalization left an implicit region transfer", w.span, tile=var.name_hint
                    )
            elif isinstance(var.type, TensorType):
                if values[0] is not values[1] or not isinstance(values[0], Var):
                    raise refused(
                        "GM branch results must alias the same parameter in both arms",
                        w.span,
                        result=_name(var),
                    )
                w.tensors[var] = values[0]
            else:
                kept.append(number)
        self._keep_numbers(stmt.return_vars, kept)
        then_body, else_body = (arm.body(kept) for arm in arms)
        if not kept and not flatten(then_body) and not flatten(else_body):
            return
        w.emit(
            replace(
                stmt,
                condition=condition,
                then_body=then_body,
                else_body=None
                if stmt.else_body is None or (not kept and not flatten(else_body))
                else else_body,
                return_vars=tuple(stmt.return_vars[i] for i in kept),
                leading_comments=(),
            )
        )

    def _keep_numbers(self, variables: Sequence[Var], kept: Sequence[int]) -> None:
        for number in kept:
            if not isinstance(variables[number].type, ScalarType):
                raise refused(
                    f"a loop or branch on buffers hands on numbers only, not {variables[number].type!r}",
                    self.w.span,
                )

    def _for(self, stmt: ForStmt) -> None:
        for bound in (stmt.start, stmt.stop, stmt.step):
            self.w.plain(bound)
        self._loop(stmt)

    def _while(self, stmt: WhileStmt) -> None:
        self._loop(stmt)

    def _loop(self, stmt: ForStmt | WhileStmt) -> None:
        w = self.w
        kept = self._enter(stmt.iter_args)
        if isinstance(stmt, WhileStmt):
            w.plain(stmt.condition)
        comments = w.taken_comments()
        arm = Arm()
        with w.repeated(arm.stmts):
            self._arm(stmt.body, arm)
        w.begin(replace(stmt, leading_comments=comments))
        if len(arm.values) != len(stmt.iter_args):
            raise broken("a loop hands on another number of values than it carries", w.span)
        for arg, var, value in zip(stmt.iter_args, stmt.return_vars, arm.values, strict=True):
            self._leave(arg, var, value)
        w.emit(
            replace(
                stmt,
                iter_args=tuple(stmt.iter_args[i] for i in kept),
                body=arm.body(kept),
                return_vars=tuple(stmt.return_vars[i] for i in kept),
                leading_comments=(),
            )
        )

    def _enter(self, carries: Sequence[IterArg]) -> list[int]:
        """Bind what carries start as; the positions of the numbers."""
        w = self.w
        kept: list[int] = []
        for number, arg in enumerate(carries):
            init = arg.init_value
            if isinstance(arg.type, TileType):
                if init in w.windows:
                    raise refused("a window can't be carried by a loop", w.span)
                if w.handle(init) is not w.handle(arg):
                    raise broken(
                        "a loop's carry does not start where its initial value lies", w.span, tile=_name(arg)
                    )
            elif isinstance(arg.type, TensorType):
                w.tensors[arg] = w.tensor(init)
            else:
                w.plain(init)
                kept.append(number)
        self._keep_numbers(carries, kept)
        return kept

    def _leave(self, arg: IterArg, var: Var, value: Expr) -> None:
        w = self.w
        if isinstance(arg.type, TileType):
            if not w.handle(arg) is w.handle(var) is value:
                raise broken(
                    "a loop's carry, yield and result do not lie in one place", w.span, tile=_name(arg)
                )
        elif isinstance(arg.type, TensorType):
            if value is not w.tensors[arg]:
                raise refused(
                    "GM loop results must retain their initial parameter alias", w.span, carry=_name(arg)
                )
            w.tensors[var] = w.tensors[arg]


def _name(var: Var) -> str:
    return base_name(var.name_hint)

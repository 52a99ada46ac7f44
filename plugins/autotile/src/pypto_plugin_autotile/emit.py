"""Writing statements: one list at a time, every statement at the place of the product that it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from pypto_core.diagnostics import Span
from pypto_core.ir import (
    EMPTY_MAP,
    INDEX_ZERO,
    PIPELINE_STAGES,
    AssignStmt,
    Call,
    ConstInt,
    DataType,
    Expr,
    ForKind,
    ForStmt,
    IterArg,
    MakeTuple,
    MemorySpace,
    Stmt,
    Var,
    YieldStmt,
    add,
    as_expr,
    is_const,
    replace,
    scalar_type,
    seq,
)
from pypto_core.ops import create_call

STAGES = 2
INDEX = scalar_type(DataType.INDEX)


def dims(*values: Expr | int) -> MakeTuple:
    """A shape or an offset."""
    return MakeTuple(tuple(as_expr(v) for v in values))


def shifted(base: Expr, delta: Expr | int) -> Expr:
    """``base + delta`` without terms that are zero; two numbers are added up."""
    step = as_expr(delta)
    if is_const(step, 0):
        return base
    if is_const(base, 0):
        return step
    return add(base, step)


def with_comments(stmts: Sequence[Stmt], comments: tuple[str, ...]) -> tuple[Stmt, ...]:
    """The statements, the first of them with these comments ahead of its own."""
    if not comments or not stmts:
        return tuple(stmts)
    first = replace(stmts[0], leading_comments=comments + stmts[0].leading_comments)
    return (first, *stmts[1:])


@attrs.define(eq=False)
class Emitter:
    """A list of statements under construction. ``span`` is given to statements, ``call_span`` to calls."""

    span: Span
    call_span: Span
    stmts: list[Stmt] = attrs.field(factory=list)

    @classmethod
    def at(cls, stmt: AssignStmt) -> Emitter:
        """For what replaces ``stmt``."""
        return cls(stmt.span, stmt.value.span if stmt.value.span.is_valid else stmt.span)

    def nested(self) -> Emitter:
        """For the body of a loop."""
        return Emitter(self.span, self.call_span)

    def let(
        self,
        name: str,
        op: str,
        args: Iterable[Expr],
        options: Mapping[str, Any] = EMPTY_MAP,
        notes: Mapping[str, Any] = EMPTY_MAP,
    ) -> Var:
        """``name = op(args; options)`` with the type that the operator deduces."""
        return self.assign(name, create_call(op, args, options, self.call_span, notes))

    def assign(self, name: str, call: Call) -> Var:
        """``name = call``."""
        var = Var(name, call.type, span=self.span)
        self.stmts.append(AssignStmt(var, call, span=self.span))
        return var

    def extract(
        self,
        name: str,
        source: Expr,
        at: tuple[Expr | int, Expr | int],
        shape: tuple[int, int],
        space: MemorySpace,
    ) -> Var:
        """A window of a tile, brought to L0."""
        args = (source, as_expr(at[0]), as_expr(at[1]), dims(*shape))
        return self.let(name, "tile.extract", args, {"target_memory": space})

    def move(self, name: str, source: Expr, space: MemorySpace) -> Var:
        """A tile in another memory."""
        return self.let(name, "tile.move", (source,), {"target_memory": space})

    def loop(self, head: LoopHead, body: Emitter, result: Expr) -> Var:
        """Close a loop that carries one value: ``body`` yields ``result``; what the loop hands on is returned."""
        body.stmts.append(YieldStmt((result,), span=self.span))
        out = Var(head.result, head.carry.type, span=self.span)
        start, stop, step = (ConstInt(bound) for bound in head.bounds)
        self.stmts.append(
            ForStmt(
                head.var,
                start,
                stop,
                step,
                (head.carry,),
                seq(body.stmts),
                (out,),
                ForKind.Pipeline if PIPELINE_STAGES in head.attrs else ForKind.Sequential,
                head.attrs,
                span=self.span,
            )  # fmt: skip
        )
        return out


@attrs.frozen(kw_only=True, eq=False)
class LoopHead:
    """Bounds (start, stop, step), counter, carried value and name of the result of a loop to come."""

    bounds: tuple[int, int, int]
    var: Var
    carry: IterArg
    result: str
    attrs: Mapping[str, Any]


def loop_head(
    name: str,
    carry: str,
    init: Expr,
    bounds: tuple[int, int, int],
    result: str,
    span: Span,
    attributes: Mapping[str, Any] = EMPTY_MAP,
) -> LoopHead:
    """A head with a fresh counter and a fresh carry; pipelined when ``attributes`` say its stages."""
    return LoopHead(
        bounds=bounds,
        var=Var(name, INDEX, span=span),
        carry=IterArg(carry, init.type, init, span=span),
        result=result,
        attrs=attributes,
    )


PIPELINED: Mapping[str, Any] = {PIPELINE_STAGES: STAGES}

__all__ = [
    "INDEX_ZERO",
    "PIPELINED",
    "STAGES",
    "Emitter",
    "LoopHead",
    "dims",
    "loop_head",
    "shifted",
    "with_comments",
]

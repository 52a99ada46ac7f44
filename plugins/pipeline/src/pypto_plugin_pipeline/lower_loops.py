"""LowerPipelineLoops: a pipelined loop of F stages becomes a loop over F copies of its body, with a tail.

The copies are independent but for what the author carries from trip to trip, so that what follows can put the loads
of all of them first. The loop stays marked as pipelined, with one stage, for CanonicalizeIOOrder to find it. Inner
loops are lowered before outer ones, which then copy them as they are.
"""

from __future__ import annotations

from typing import Any

import attrs

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    PIPELINE_STAGES,
    Add,
    AssignStmt,
    ConstInt,
    Eq,
    Expr,
    FloorDiv,
    ForStmt,
    Function,
    IfStmt,
    IterArg,
    Max,
    Mul,
    Stmt,
    Sub,
    Var,
    YieldStmt,
    base_name,
    int_range,
    make_binary,
    prove_le,
    replace,
    seq,
    updated,
)
from pypto_plugin_pipeline.bounds import constant_step, counter_dtype, number, trip_count
from pypto_plugin_pipeline.regions import demoted, is_pipelined, map_regions, stages_of, with_comments
from pypto_plugin_pipeline.replicate import Copies, body_of, replicate


def lower_pipeline_loops(function: Function, ctx: Any) -> Function:
    """The function with the bodies of its pipelined loops replicated; the same object when it has none.

    Loops of one stage are left alone. Raises UserError for a step that is no constant (PT350), and for a loop that
    counts down to a bound that is none (PT351).
    """
    return updated(function, body=_Lowering().stmt(function.body))


@attrs.define
class _Lowering:
    """The lowering of one function; counts the groups of copies."""

    groups: int = 0

    def group(self) -> int:
        self.groups += 1
        return self.groups - 1

    def stmt(self, stmt: Stmt) -> Stmt:
        new = map_regions(stmt, self.stmt)
        if not is_pipelined(new):
            return new
        assert isinstance(new, ForStmt)
        return self.loop(new) if stages_of(new) > 1 else new

    def loop(self, loop: ForStmt) -> Stmt:
        step, start, stop = constant_step(loop), number(loop.start), number(loop.stop)
        if start is not None and stop is not None:
            return self.static(loop, start, trip_count(start, stop, step), step)
        if step < 0:
            raise UserError(
                f"the pipelined loop over '{base_name(loop.loop_var.name_hint)}' counts down between bounds that "
                "are not constant",
                code="PT351",
                span=loop.span,
                remedy="count up and compute the descending index in the body, or give constant bounds",
            )
        return self.dynamic(loop, step)

    # -- bounds that are known

    def static(self, loop: ForStmt, start: int, trips: int, step: int) -> Stmt:
        if trips == 0:
            return demoted(loop)
        stages, dtype = stages_of(loop), counter_dtype(loop)
        main = _main_trips(start, trips, step, stages, int_range(dtype))
        left = trips - main * stages
        middle = start + main * stages * step
        out: list[Stmt] = []
        seeds: tuple[Expr, ...] = tuple(arg.init_value for arg in loop.iter_args)
        if main:
            results = loop.return_vars if not left else _renamed(loop.return_vars, "_main")
            seeds = results
            out.append(self.main_loop(loop, ConstInt(middle, dtype), step, results))
        if left:
            tail = replicate(loop, left, step, ConstInt(middle, dtype), seeds, self.group())
            out += tail.stmts
            out += _final(loop, tail)
        if not main:
            # The counter and the carries are gone; a comment on the loop goes to what replaces it.
            out = list(with_comments(out, loop.leading_comments)) if out else out
        return seq(out, loop.span)

    def main_loop(self, loop: ForStmt, stop: Expr, step: int, results: tuple[Var, ...]) -> ForStmt:
        stages, dtype = stages_of(loop), counter_dtype(loop)
        counter = Var(loop.loop_var.name_hint, loop.loop_var.type, span=loop.loop_var.span)
        carries = tuple(IterArg(a.name_hint, a.type, a.init_value, span=a.span) for a in loop.iter_args)
        copies = replicate(loop, stages, step, counter, carries, self.group())
        return replace(
            loop,
            loop_var=counter,
            stop=stop,
            step=ConstInt(stages * step, dtype),
            iter_args=carries,
            body=body_of(copies, _yield(copies, loop)),
            return_vars=results,
            attrs={**loop.attrs, PIPELINE_STAGES: 1},
        )

    # -- bounds of run time

    def dynamic(self, loop: ForStmt, step: int) -> Stmt:
        stages, dtype = stages_of(loop), counter_dtype(loop)
        trips = _trips(loop, step)
        covered = make_binary(
            Mul, make_binary(FloorDiv, trips, ConstInt(stages, dtype)), ConstInt(stages * step, dtype)
        )
        end = _let("unroll_main_end", make_binary(Add, loop.start, covered), loop)
        results = _renamed(loop.return_vars, "_main")
        main = self.main_loop(loop, end.var, step, results)
        left = _let("unroll_rem", _left(loop, step, trips, end.var), loop)
        tail = self.cascade(loop, 1, step, end.var, left.var, results)
        return seq((end, main, left, tail), loop.span)

    def cascade(
        self, loop: ForStmt, count: int, step: int, base: Var, left: Var, seeds: tuple[Var, ...]
    ) -> IfStmt:
        """``count`` trips if so many are left, else the cases of more."""
        otherwise: Stmt | None = None
        carries = bool(loop.iter_args)
        if count + 1 < stages_of(loop):
            inner = self.cascade(loop, count + 1, step, base, left, seeds)
            hand_on = (YieldStmt(inner.return_vars, span=loop.span),) if carries else ()
            otherwise = seq((inner, *hand_on), loop.span)
        elif carries:
            otherwise = YieldStmt(seeds, span=loop.span)
        copies = replicate(loop, count, step, base, seeds, self.group())
        results = loop.return_vars if count == 1 else _renamed(loop.return_vars, f"_rem{count}")
        condition = make_binary(Eq, left, ConstInt(count, counter_dtype(loop)))
        return IfStmt(condition, body_of(copies, _yield(copies, loop)), otherwise, results, span=loop.span)


def _main_trips(start: int, trips: int, step: int, stages: int, limits: tuple[int, int]) -> int:
    """How many trips the loop over all stages makes.

    Its counter goes one step past the last trip and has to hold that number.
    """
    low, high = limits
    main = trips // stages
    if not low <= stages * step <= high:
        return 0
    return main if low <= start + main * stages * step <= high else main - 1


def _trips(loop: ForStmt, step: int) -> Expr:
    """The number of trips; none when the bounds are provably or actually the wrong way round."""
    dtype = counter_dtype(loop)
    span = make_binary(Sub, loop.stop, loop.start)
    if not prove_le(loop.start, loop.stop):
        span = make_binary(Max, span, ConstInt(0, dtype))
    if step == 1:
        return span
    return make_binary(FloorDiv, make_binary(Add, span, ConstInt(step - 1, dtype)), ConstInt(step, dtype))


def _left(loop: ForStmt, step: int, trips: Expr, end: Var) -> Expr:
    """The number of trips that the main loop leaves over."""
    if step == 1:
        return make_binary(Sub, loop.stop, end)
    stages = ConstInt(stages_of(loop), counter_dtype(loop))
    return make_binary(Sub, trips, make_binary(Mul, make_binary(FloorDiv, trips, stages), stages))


def _renamed(variables: tuple[Var, ...], suffix: str) -> tuple[Var, ...]:
    return tuple(Var(v.name_hint + suffix, v.type, span=v.span) for v in variables)


def _let(name: str, value: Expr, loop: ForStmt) -> AssignStmt:
    return AssignStmt(Var(name, value.type, span=loop.span), value, span=loop.span)


def _yield(copies: Copies, loop: ForStmt) -> YieldStmt | None:
    return YieldStmt(copies.values, span=loop.span) if loop.iter_args else None


def _final(loop: ForStmt, copies: Copies) -> list[Stmt]:
    """The author's results, under the names that the rest of the function knows."""
    return [
        AssignStmt(var, value, span=loop.span)
        for var, value in zip(loop.return_vars, copies.values, strict=True)
    ]

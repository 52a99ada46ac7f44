"""Copies of a loop's body, one after the other, each fed with what the one before hands on."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pypto_core.diagnostics import InternalError
from pypto_core.ir import PIPELINE_DOUBLE_BUFFER_C, Expr, ForStmt, Stmt, deep_clone, seq
from pypto_plugin_pipeline.bounds import counter_dtype, shifted
from pypto_plugin_pipeline.membership import tagged
from pypto_plugin_pipeline.regions import split_yield


@attrs.frozen(eq=False)
class Copies:
    """Statements without a yield, and the values that the last copy hands on."""

    stmts: tuple[Stmt, ...]
    values: tuple[Expr, ...]


def replicate(loop: ForStmt, count: int, step: int, base: Expr, seeds: Sequence[Expr], group: int) -> Copies:
    """``count`` copies of the body, for the trips at ``base``, ``base + step``, ….

    Definitions get variables of their own, under the same names. ``seeds`` stand for the carries in the first
    copy. Tiles are tagged with ``group`` and the number of their copy.
    """
    accumulators = loop.attrs.get(PIPELINE_DOUBLE_BUFFER_C) is True
    dtype = counter_dtype(loop)
    stmts: list[Stmt] = []
    values = tuple(seeds)
    for stage in range(count):
        mapping = {
            loop.loop_var: shifted(base, stage * step, dtype),
            **dict(zip(loop.iter_args, values, strict=True)),
        }
        clone, _ = deep_clone(loop.body, mapping)
        inner, tail = split_yield(clone)
        values = tail.values if tail is not None else ()
        if len(values) != len(loop.iter_args):
            raise InternalError(
                f"a loop of {len(loop.iter_args)} carries hands on {len(values)} values", span=loop.span
            )
        stmts += [tagged(stmt, group, stage, accumulators=accumulators) for stmt in inner]
    return Copies(tuple(stmts), values)


def body_of(copies: Copies, tail: Stmt | None) -> Stmt:
    """A region of the copies and the yield behind them."""
    return seq(copies.stmts if tail is None else (*copies.stmts, tail))

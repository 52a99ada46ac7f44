"""Scalar expressions as text, executed by a small machine, and what Python says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import arith_machine as machine

from pypto_core.ir import (
    Add,
    BinaryExpr,
    BitAnd,
    BitOr,
    BitXor,
    Cast,
    ConstBool,
    ConstInt,
    DataType,
    Expr,
    FloorDiv,
    FloorMod,
    FunctionType,
    Max,
    Min,
    Mul,
    Stmt,
    Sub,
    Var,
    cast,
    int_range,
)
from pypto_core.run import PassContext
from pypto_core.testing import build as b
from pypto_plugin_pto.checker import check_text
from pypto_plugin_pto.write import function_lines, recipes_of

I32, I64, INDEX, U32 = DataType.INT32, DataType.INT64, DataType.INDEX, DataType.UINT32


def text_of(params: list[Var], stmts: list[Stmt]) -> str:
    """A kernel with these statements as text; it has to pass the checker."""
    ctx = PassContext()
    function = b.function("k", params, stmts, kind=FunctionType.AIV)
    text = "\n".join(["module {", *function_lines(function, ctx, recipes_of(ctx)), "}"]) + "\n"
    report = check_text(text)
    assert report.ok, (report.errors, text)
    return text


def out_tensor(dtype: DataType) -> Var:
    return b.tensor("out", (64,), I64 if dtype is INDEX else dtype)


def stored(expr: Expr, out: Var, at: Expr | int = 0) -> Stmt:
    """``out[at] = expr``."""
    kind: Any = out.type
    value = cast(expr, kind.dtype)
    return b.do(b.op("tensor.write", out, b.dims(at), value))


def value_of(expr: Expr, params: list[Var], arguments: list[int], dtype: DataType) -> int:
    """What the emitted text of ``expr`` computes."""
    out = out_tensor(dtype)
    text = text_of([out, *params], [stored(expr, out)])
    [(_, value)] = machine.Machine(text, arguments).stored
    return value


def body_lines(text: str) -> list[str]:
    """Operations without constants."""
    lines = [line.strip() for line in text.splitlines()]
    return [x for x in lines if x.startswith("%") and "arith.constant" not in x and "tensor_view" not in x]


def in_loop(start: int, make: Callable[[Var], Expr], stop: int = 6, step: int = 1) -> str:
    """A loop that stores ``make(i)``."""
    out = b.tensor("out", (4096,), I64)

    def body(i: Var) -> list[Stmt]:
        return [stored(make(i), out, i)]

    return text_of([out], [b.loop(stop, body, start=start, step=step)])


def evaluate(expr: Expr, env: dict[Var, int]) -> int:
    """Python's value of an expression, wrapped to the type of each node; operands are first brought to it."""
    if isinstance(expr, Var):
        return env[expr]
    if isinstance(expr, ConstInt):
        return wrapped(expr.value, expr.dtype)
    if isinstance(expr, ConstBool):
        return int(expr.value)
    dtype: DataType = expr.type.dtype  # type: ignore[union-attr]
    if isinstance(expr, Cast):
        return wrapped(evaluate(expr.operand, env), dtype)
    if isinstance(expr, BinaryExpr):
        x, y = (wrapped(evaluate(side, env), dtype) for side in (expr.left, expr.right))
        return wrapped(PYTHON[type(expr)](x, y), dtype)
    raise AssertionError(expr)


def wrapped(value: int, dtype: DataType) -> int:
    """The number that the low bits stand for."""
    low, _ = int_range(dtype)
    return (value - low) % (1 << dtype.bits) + low


PYTHON: dict[type, Callable[[int, int], int]] = {
    Add: lambda x, y: x + y,
    Sub: lambda x, y: x - y,
    Mul: lambda x, y: x * y,
    FloorDiv: lambda x, y: x // y,
    FloorMod: lambda x, y: x % y,
    Min: min,
    Max: max,
    BitAnd: lambda x, y: x & y,
    BitOr: lambda x, y: x | y,
    BitXor: lambda x, y: x ^ y,
}

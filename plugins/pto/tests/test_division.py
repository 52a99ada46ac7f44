"""Floor division and remainder: Python's numbers, and the plain instructions exactly where they are proved right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from scalar_text import (
    I32,
    I64,
    INDEX,
    U32,
    body_lines,
    evaluate,
    in_loop,
    machine,
    out_tensor,
    stored,
    text_of,
    value_of,
    wrapped,
)

from pypto_core.ir import (
    Add,
    ConstFloat,
    ConstInt,
    DataType,
    Expr,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Stmt,
    Var,
    cast,
    floordiv,
    floormod,
    make_binary,
    mul,
    replace,
    scalar_type,
    sub,
)
from pypto_core.testing import build as b

I8, I16 = DataType.INT8, DataType.INT16
U8, U16, U64 = DataType.UINT8, DataType.UINT16, DataType.UINT64

EDGES = {
    I32: (-(2**31), -(2**31) + 1, -97, -24, -2, -1, 0, 1, 2, 7, 24, 97, 2**31 - 1),
    I64: (-(2**63), -(2**63) + 1, -97, -24, -2, -1, 0, 1, 2, 7, 24, 97, 2**63 - 1),
}
EDGES[INDEX] = EDGES[I64]
EDGES[I8] = (-128, -127, -97, -24, -2, -1, 0, 1, 2, 7, 24, 97, 127)
EDGES[I16] = (-(2**15), -(2**15) + 1, -97, -24, -2, -1, 0, 1, 2, 7, 24, 97, 2**15 - 1)


@pytest.mark.parametrize("dtype", [I8, I16, I32, I64, INDEX], ids=str)
@pytest.mark.parametrize("literal", [False, True], ids=["dynamic", "literal"])
def test_floor_division_and_remainder_are_those_of_python(dtype: DataType, literal: bool) -> None:
    x, y, out = b.scalar("x", dtype), b.scalar("y", dtype), out_tensor(dtype)
    least = EDGES[dtype][0]
    for divisor in EDGES[dtype]:
        if divisor == 0:
            continue
        right: Expr = ConstInt(divisor, dtype) if literal else y
        nodes = [make_binary(FloorDiv, x, right), make_binary(FloorMod, x, right)]
        text = text_of([out, x, y], [stored(node, out, i) for i, node in enumerate(nodes)])
        for dividend in EDGES[dtype]:
            if dividend == least and divisor == -1:
                continue
            results = dict(machine.Machine(text, [dividend, divisor]).stored)
            assert results == {0: dividend // divisor, 1: dividend % divisor}, (dividend, divisor)


@pytest.mark.parametrize("dtype", [U8, U16, U32, U64], ids=str)
@pytest.mark.parametrize("literal", [False, True], ids=["dynamic", "literal"])
def test_numbers_without_a_sign_divide_with_all_their_bits(dtype: DataType, literal: bool) -> None:
    x, y, out = b.scalar("x", dtype), b.scalar("y", dtype), b.tensor("out", (8,), dtype)
    top = (1 << dtype.bits) - 1
    for divisor in (1, 2, 7, 24, top // 2, top // 2 + 1, top - 1, top):
        right: Expr = ConstInt(divisor, dtype) if literal else y
        nodes = [make_binary(FloorDiv, x, right), make_binary(FloorMod, x, right)]
        text = text_of([out, x, y], [stored(node, out, i) for i, node in enumerate(nodes)])
        for dividend in (0, 1, 6, 97, top // 2, top // 2 + 1, top - 1, top):
            results = {at: value & top for at, value in machine.Machine(text, [dividend, divisor]).stored}
            assert results == {0: dividend // divisor, 1: dividend % divisor}, (dividend, divisor)


@pytest.mark.parametrize("dtype", [I32, I64, INDEX, U32], ids=str)
def test_the_quotient_and_the_remainder_make_up_the_dividend(dtype: DataType) -> None:
    """a == (a // c) * c + a % c, written as one expression."""
    x, y = b.scalar("x", dtype), b.scalar("y", dtype)
    whole = make_binary(Add, make_binary(Mul, floordiv(x, y), y), floormod(x, y))
    for dividend in (-97, -24, -1, 0, 1, 23, 24, 97):
        for divisor in (-24, -5, -1, 1, 5, 24):
            if dtype is U32 and (dividend < 0 or divisor < 0):
                continue
            assert value_of(whole, [x, y], [dividend, divisor], dtype) == dividend


def test_the_example_of_a_negative_dividend() -> None:
    x = b.scalar("x")
    assert value_of(floormod(x, 24), [x], [-97], INDEX) == 23
    assert value_of(floordiv(x, 24), [x], [-97], INDEX) == -5


# (start, expression, whether the plain instructions suffice): the forms of the proof, and what is close to them.
PROOFS: list[tuple[str, int, Callable[[Any], Expr], bool]] = [
    ("i % 2 from 0", 0, lambda i: floormod(i, 2), True),
    ("i // 2 from 0", 0, lambda i: floordiv(i, 2), True),
    ("i % 2 from 3", 3, lambda i: floormod(i, 2), True),
    ("(i - 3) % 2 from 3", 3, lambda i: floormod(sub(i, 3), 2), True),
    ("(i - 3) // 64 % 2 from 3", 3, lambda i: floormod(floordiv(sub(i, 3), 64), 2), True),
    ("i % 8 % 3 from 0", 0, lambda i: floormod(floormod(i, 8), 3), True),
    ("i % 2 from -4", -4, lambda i: floormod(i, 2), False),
    ("(i - 2) % 2 from 3", 3, lambda i: floormod(sub(i, 2), 2), False),
    ("(i + 1) % 2", 0, lambda i: floormod(b.as_expr(make_binary(Add, i, ConstInt(1))), 2), False),
    ("(i * 2) % 3", 0, lambda i: floormod(mul(i, 2), 3), False),
    ("i % -3", 0, lambda i: floormod(i, -3), False),
    ("i // -3", 0, lambda i: floordiv(i, -3), False),
    ("min(i, 5) % 2", 0, lambda i: floormod(make_binary(Min, i, ConstInt(5)), 2), False),
    ("cast(i, INT32) % 2", 0, lambda i: floormod(cast(i, I32), ConstInt(2, I32)), False),
    ("INT32 remainder over an INDEX variable", 0,
     lambda i: FloorMod(i, ConstInt(2, I32), scalar_type(I32)), False),
    ("INDEX remainder of an INT32 quotient", 0,
     lambda i: FloorMod(FloorDiv(i, ConstInt(3, I32), scalar_type(I32)), ConstInt(2), scalar_type(INDEX)), False),
    ("a divisor out of range", 0, lambda i: FloorMod(cast(i, I32), ConstInt(2**32 + 5, I32), scalar_type(I32)), False),
    ("i // 3 // 2 % 4", 0, lambda i: floormod(floordiv(floordiv(i, 3), 2), 4), True),
    ("i % 8 // 3", 0, lambda i: floordiv(floormod(i, 8), 3), True),
    ("a constant dividend", 0, lambda i: FloorMod(ConstInt(7), ConstInt(3), scalar_type(INDEX)), True),
    ("a negative constant dividend", 0, lambda i: FloorMod(ConstInt(-7), ConstInt(3), scalar_type(INDEX)), False),
    ("(i - 3) % 2 from 2", 2, lambda i: floormod(sub(i, 3), 2), False),
    ("(3 - i) % 2 from 3", 3, lambda i: floormod(sub(3, i), 2), False),
    ("(i // -3) % 2", 0, lambda i: floormod(floordiv(i, -3), 2), False),
    ("(i % -3) % 2", 0, lambda i: floormod(floormod(i, -3), 2), False),
    ("max(i, 1) % 2", 0, lambda i: floormod(make_binary(Max, i, ConstInt(1)), 2), False),
    ("an INT64 remainder over an INDEX variable", 0,
     lambda i: FloorMod(i, ConstInt(2, I64), scalar_type(I64)), False),
]  # fmt: skip


@pytest.mark.parametrize(("start", "make", "plain"), [p[1:] for p in PROOFS], ids=[p[0] for p in PROOFS])
def test_plain_instructions_are_written_exactly_where_they_are_proved(
    start: int, make: Callable[[Any], Expr], plain: bool
) -> None:
    text = in_loop(start, make)
    corrected = "arith.select" in text or "arith.floordivsi" in text
    assert corrected is not plain, text
    # Either way the numbers are Python's.
    for place, value in machine.Machine(text, []).stored:
        assert value == evaluate(make(const_var(place)), {}), (place, text)


def const_var(value: int) -> Any:
    """A constant in place of the loop variable."""
    return ConstInt(value)


@pytest.mark.parametrize(("x", "y"), [(2**32 - 1, 7), (2**31, 3), (5, 2**32 - 1)])
def test_unsigned_division_uses_all_bits(x: int, y: int) -> None:
    u, v, out = b.scalar("u", U32), b.scalar("v", U32), b.tensor("out", (8,), U32)
    nodes = [floordiv(u, v), floormod(u, v), make_binary(Min, u, v), make_binary(Max, u, v)]
    text = text_of([out, u, v], [stored(n, out, i) for i, n in enumerate(nodes)])
    results = {place: value % 2**32 for place, value in machine.Machine(text, [x, y]).stored}
    assert results == {0: x // y, 1: x % y, 2: min(x, y), 3: max(x, y)}


@pytest.mark.parametrize("start", [2**31 - 1, 2**31, 2**32 - 1, 2**62])
def test_a_narrow_remainder_sees_the_low_bits_of_a_large_index(start: int) -> None:
    """From 2^31 on an INT32 operation reads a negative number, whatever the loop begins with."""
    out = b.tensor("out", (4096,), I64)
    narrow = scalar_type(I32)

    def body(i: Var) -> list[Stmt]:
        at = sub(i, start)
        nodes = [FloorMod(i, ConstInt(24, I32), narrow), FloorDiv(i, ConstInt(24, I32), narrow)]
        return [stored(node, out, mul(at, 2) if n == 0 else make_binary(Add, mul(at, 2), ConstInt(1)))
                for n, node in enumerate(nodes)]  # fmt: skip

    text = text_of([out], [b.loop(start + 3, body, start=start)])
    wanted: list[tuple[int, int]] = []
    for i in range(start, start + 3):
        low = wrapped(i, I32)
        wanted += [((i - start) * 2, low % 24), ((i - start) * 2 + 1, low // 24)]
    assert machine.Machine(text, []).stored == wanted


def test_a_product_wraps_before_it_is_divided() -> None:
    """i * 2^62 is negative at i = 2, so that the plain remainder would be wrong."""
    text = in_loop(0, lambda i: floormod(mul(i, 2**62), 24), stop=8)
    wanted = [(i, wrapped(i * 2**62, INDEX) % 24) for i in range(8)]
    assert machine.Machine(text, []).stored == wanted
    assert any((i * 2**62) % 24 != value for i, value in wanted)


def unproved(kind: str) -> str:
    """``v % 3`` stored, where v is something of which the text can't know the sign."""
    n, out = b.scalar("n"), b.tensor("out", (64,), I64)
    if kind == "parameter":
        return text_of([out, n], [stored(floormod(n, 3), out)])
    if kind == "a loop with a runtime start":
        return text_of([out, n], [b.loop(6, lambda i: [stored(floormod(i, 3), out, 0)], start=n)])
    if kind == "a name for a quotient":

        def named(i: Var) -> list[Stmt]:
            half = b.let("half", floordiv(i, 2))
            return [half, stored(floormod(half.var, 3), out, i)]

        return text_of([out, n], [b.loop(6, named)])
    if kind == "a carried number":

        def carried(i: Var, total: Var) -> list[Stmt]:
            return [stored(floormod(total, 3), out, i), b.give(sub(total, 1))]

        return text_of([out, n], [b.loop(6, carried, carries={"total": ConstInt(0)})])
    assert kind == "the start of another loop"

    def outer(i: Var) -> list[Stmt]:
        return [b.loop(6, lambda j: [stored(floormod(sub(j, 3), 3), out, j)], start=1)]

    return text_of([out, n], [b.loop(4, outer, start=3)])


UNPROVED = {
    "parameter": [(0, -7 % 3)],
    "a loop with a runtime start": [(0, i % 3) for i in range(-7, 6)],
    "a name for a quotient": [(i, i // 2 % 3) for i in range(6)],
    "a carried number": [(i, -i % 3) for i in range(6)],
    "the start of another loop": [(j, (j - 3) % 3) for j in range(1, 6)],
}


@pytest.mark.parametrize(("kind", "wanted"), list(UNPROVED.items()), ids=list(UNPROVED))
def test_what_is_not_proved_is_corrected(kind: str, wanted: list[tuple[int, int]]) -> None:
    text = unproved(kind)
    assert "arith.select" in text
    assert machine.Machine(text, [-7]).stored == wanted


@pytest.mark.parametrize("start", [2**31, 2**31 + 5])
def test_a_start_outside_of_the_variables_type_proves_nothing(start: int) -> None:
    """The loop of an INT32 variable from 2^31 begins at a negative number."""
    out = b.tensor("out", (64,), I32)
    i = Var("i", scalar_type(I32))
    loop = b.loop(start + 2, lambda _: [stored(floormod(i, ConstInt(7, I32)), out, 0)], start=start)
    text = text_of([out], [replace(loop, loop_var=i, start=ConstInt(start, I32))])
    assert "arith.select" in text


def test_floats_divide_by_the_instructions_of_floats() -> None:
    x, out = b.scalar("x", DataType.FP32), b.tensor("out", (4,), DataType.FP32)
    nodes = [make_binary(node, x, ConstFloat(2.0)) for node in (FloorDiv, FloorMod)]
    lines = body_lines(text_of([out, x], [stored(n, out, i) for i, n in enumerate(nodes)]))
    assert lines == ["%0 = arith.divf %arg1, %cst : f32", "%1 = arith.remf %arg1, %cst : f32"]

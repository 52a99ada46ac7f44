"""Reads through windows and writes into them, against boolean masks of what holds data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    Add,
    ConstInt,
    DataType,
    Expr,
    Max,
    Min,
    Mul,
    Sub,
    Var,
    add,
    max_,
    min_,
    mul,
    scalar_type,
    structural_equal,
    sub,
)
from pypto_core.ops import available, dims_text, window_read, write_union

INDEX = scalar_type(DataType.INDEX)
Env = dict[Var, int]


def var(name: str, dtype: DataType = DataType.INDEX) -> Var:
    return Var(name, scalar_type(dtype))


def dims(*values: Any) -> tuple[Expr, ...]:
    return tuple(v if isinstance(v, Expr) else ConstInt(v) for v in values)


def numbers(values: tuple[Expr, ...]) -> tuple[int, ...]:
    out = []
    for v in values:
        assert isinstance(v, ConstInt)
        out.append(v.value)
    return tuple(out)


def evaluate(expr: Expr, env: Env) -> int:
    if isinstance(expr, ConstInt):
        return expr.value
    if isinstance(expr, Var):
        return env[expr]
    assert isinstance(expr, Add | Sub | Mul | Min | Max)
    a, b = evaluate(expr.left, env), evaluate(expr.right, env)
    return {Add: a + b, Sub: a - b, Mul: a * b, Min: min(a, b), Max: max(a, b)}[type(expr)]


def block(shape: tuple[int, ...], start: tuple[int, ...], size: tuple[int, ...]) -> np.ndarray:
    mask = np.zeros(shape, dtype=bool)
    mask[tuple(slice(o, o + s) for o, s in zip(start, size, strict=True))] = True
    return mask


# --- reads: hand-made rows -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("valid", "offset", "window", "request_", "clamp", "expected"),
    [
        (64, 0, 16, None, False, 16),  # fully valid: the window
        (40, 0, 64, None, True, 40),
        (40, 16, 16, None, False, 16),  # valid part reaches past the window
        (40, 32, 16, None, False, 8),
        (40, 48, 16, None, False, 0),  # window behind the valid part
        (40, 32, 16, 4, False, 4),  # the author asks for less
        (
            40,
            32,
            16,
            12,
            False,
            8,
        ),  # ... for more than is valid, but inside the source: narrowed without clamp
        (64, 56, 16, None, True, 8),
        (64, 56, 16, 16, True, 8),
        (64, 56, 16, 8, False, 8),  # the window overhangs, what is asked for does not
    ],
)
def test_constant_reads(
    valid: int, offset: int, window: int, request_: int | None, clamp: bool, expected: int
) -> None:
    asked = None if request_ is None else dims(request_)
    got = window_read(dims(64), dims(valid), dims(offset), dims(window), asked, exact=False, clamp=clamp)
    assert numbers(got) == (expected,)


def test_symbolic_read_is_the_guarded_difference() -> None:
    n, i = var("n"), var("i")
    got = available(n, i, ConstInt(16))
    assert structural_equal(got, min_(max_(sub(n, i), ConstInt(0)), ConstInt(16)))
    assert isinstance(got, Min) and isinstance(got.left, Max) and isinstance(got.left.left, Sub)


def test_offset_zero_needs_no_guard() -> None:
    n = var("n")
    assert structural_equal(available(n, ConstInt(0), ConstInt(16)), min_(n, ConstInt(16)))


def test_provable_relations_drop_the_guards() -> None:
    i = var("i")
    assert numbers((available(add(i, 64), i, ConstInt(16)),)) == (16,)
    assert available(min_(var("n"), ConstInt(8)), ConstInt(0), ConstInt(8)).left.name_hint == "n"  # type: ignore[attr-defined]


def test_unsigned_extents_take_the_maximum_first() -> None:
    n = var("n", DataType.UINT64)
    got = available(n, ConstInt(32), ConstInt(16))
    assert isinstance(got, Min) and isinstance(got.left, Sub) and isinstance(got.left.left, Max)
    assert got.left.left.left is n


def test_unknown_request_is_believed_as_it_is() -> None:
    n, m, i = var("n"), var("m"), var("i")
    (got,) = window_read(dims(64), dims(n), dims(i), dims(16), dims(m), exact=False)
    assert got is m


def test_default_request_is_narrowed_by_the_valid_part() -> None:
    n, i = var("n"), var("i")
    window = dims(16)
    (got,) = window_read(dims(64), dims(n), dims(i), window, window, exact=False)
    assert structural_equal(got, available(n, i, window[0]))


def test_a_whole_read_gives_the_window_itself() -> None:
    window = dims(16, 64)
    assert window_read(dims(64, 64), dims(64, 64), dims(var("i"), 0), window, window, exact=False) is window


def test_clamp_guards_a_fully_valid_source_too() -> None:
    i = var("i")
    (got,) = window_read(dims(64), dims(64), dims(i), dims(16), exact=False, clamp=True)
    assert structural_equal(got, min_(max_(sub(ConstInt(64), i), ConstInt(0)), ConstInt(16)))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((dims(64), dims(64), dims(-1), dims(16)), {"exact": False}, "negative"),
        ((dims(64), dims(64), dims(56), dims(16)), {"exact": True}, "window ends at 72"),
        ((dims(64), dims(64), dims(56), dims(16), dims(8)), {"exact": True}, "window ends at 72"),
        ((dims(64), dims(64), dims(56), dims(16)), {"exact": False}, "read ends at 72"),
        ((dims(64), dims(40), dims(56), dims(16), dims(9)), {"exact": False}, "read ends at 65"),
        (
            (dims(64), dims(64), dims(0), dims(16), dims(17)),
            {"exact": False, "clamp": True},
            "larger than the window",
        ),
        ((dims(64), dims(64), dims(0), dims(16), dims(-1)), {"exact": False}, "can't be negative"),
        (
            (dims(64, 64), dims(64, 64), dims(0), dims(16, 16)),
            {"exact": False},
            "offset has 1 entries for 2 axes",
        ),
        ((dims(64), dims(64), dims(0), dims(16), dims(1, 1)), {"exact": False}, "valid_shape has 2 entries"),
    ],
)
def test_refused_reads(arguments: tuple[Any, ...], options: dict[str, bool], message: str) -> None:
    with pytest.raises(OpError, match=message) as caught:
        window_read(*arguments, **options)
    assert caught.value.diagnostics[0].remedy


def test_the_remedy_names_what_is_left() -> None:
    with pytest.raises(OpError) as caught:
        window_read(dims(64), dims(64), dims(56), dims(16), exact=False)
    assert "valid_shape with 8" in caught.value.diagnostics[0].remedy
    assert "clamp=True" in caught.value.diagnostics[0].remedy


def test_symbolic_window_past_the_end_is_refused_when_provable() -> None:
    i = var("i")
    with pytest.raises(OpError, match="window ends at"):
        window_read(dims(i), dims(i), dims(i), dims(16), exact=True)
    window_read(dims(64), dims(64), dims(i), dims(16), exact=True)  # unknown: trusted


# --- reads: any numbers, against masks -------------------------------------------------------------------------


@st.composite
def reads(draw: st.DrawFn) -> tuple[Any, ...]:
    rank = draw(st.integers(1, 3))
    rows = []
    for _ in range(rank):
        extent = draw(st.integers(1, 7))
        window = draw(st.integers(1, 7))
        valid = draw(st.integers(0, extent) | st.just(extent))
        rows.append((extent, valid, draw(st.integers(0, 7)), window, draw(st.integers(0, 8))))
    asked = draw(st.booleans())
    return (*zip(*rows, strict=True), asked, draw(st.booleans()), draw(st.booleans()))


@given(reads())
def test_reads_agree_with_masks(case: tuple[Any, ...]) -> None:
    shape, valid, offset, window, request_, asked, exact, clamp = case
    claim = request_ if asked else window
    reach = window if exact else claim
    refused = any(c > w for c, w in zip(claim, window, strict=True)) or (
        (exact or not clamp) and any(o + r > p for o, r, p in zip(offset, reach, shape, strict=True))
    )
    arguments = [dims(*v) for v in (shape, valid, offset, window)]
    try:
        got = window_read(*arguments, dims(*claim) if asked else None, exact=exact, clamp=clamp)
    except OpError:
        assert refused
        return
    assert not refused
    size = numbers(got)
    rows = zip(valid, offset, window, claim, strict=True)
    assert size == tuple(min(max(v - o, 0), w, c) for v, o, w, c in rows)
    if all(size):
        held = block(tuple(a + 16 for a in shape), (0,) * len(shape), valid)
        assert held[tuple(slice(o, o + s) for o, s in zip(offset, size, strict=True))].all()


# --- writes: hand-made rows ------------------------------------------------------------------------------------

N, M = var("n"), var("m")


@pytest.mark.parametrize(
    ("valid", "source", "offset", "expected"),
    [
        ((8, 16), (0, 4), (20, 0), (8, 16)),  # 1 nothing is written
        ((0, 16), (4, 8), (0, 0), (4, 8)),  # 2 the first write into an empty target
        ((32, 32), (4, 8), (9, 9), (32, 32)),  # 3 fully valid
        ((8, 16), (4, 8), (4, 8), (8, 16)),  # 4 inside what is valid
        ((8, 16), (9, 16), (0, 0), (9, 16)),  # 5 covers what is valid
        ((8, 16), (4, 16), (8, 0), (12, 16)),  # 6 one axis grows, right behind
        ((8, 16), (8, 8), (0, 12), (8, 20)),  # 6 overlapping
    ],
)
def test_union_cases(valid: Any, source: Any, offset: Any, expected: Any) -> None:
    assert numbers(write_union(dims(32, 32), dims(*valid), dims(*source), dims(*offset))) == expected


def test_union_returns_the_targets_own_extents() -> None:
    valid = dims(8, 16)
    for source, offset in (((0, 4), (0, 0)), ((4, 4), (2, 2))):
        assert write_union(dims(32, 32), valid, dims(*source), dims(*offset)) is valid
    whole = dims(32, 32)
    assert write_union(whole, whole, dims(N, M), dims(N, M)) is whole


def test_symbolic_growth_is_bounded_by_the_shape() -> None:
    got = write_union(dims(32, 16), dims(N, 16), dims(M, 16), dims(N, 0))
    grown = max_(N, add(N, M))
    assert structural_equal(got[0], min_(grown, ConstInt(32))) and numbers(got[1:]) == (16,)


def test_symbolic_growth_right_behind_drops_the_maximum() -> None:
    (got,) = write_union(dims(64), dims(N), dims(8), dims(N))
    assert structural_equal(got, min_(add(N, 8), ConstInt(64)))


def test_how_far_one_axis_grows_need_not_be_known() -> None:
    union = write_union(dims(32, 32), dims(8, 16), dims(N, 16), dims(4, 0))
    assert dims_text(union) == "[min(max(8, 4 + n), 32), 16]"


@pytest.mark.parametrize(
    ("valid", "source", "offset", "message"),
    [
        ((0, 16), (4, 8), (1, 0), "holds no data yet"),
        ((8, 16), (8, 20), (4, 0), "does not form a rectangle"),  # L shape
        ((8, 16), (4, 8), (0, 12), "does not form a rectangle"),  # grows beside part of the rows only
        ((8, 16), (8, 8), (0, 17), "leaves a gap"),
        ((8, 16), (8, 8), (0, N), "may leave a gap"),
        ((8, 16), (N, M), (0, 0), "can't be shown to form a rectangle"),
        ((8, 16), (4, 16), (32, 0), "write ends at 36"),
        ((8, 16), (4, 16), (-1, 0), "negative"),
    ],
)
def test_refused_writes(valid: Any, source: Any, offset: Any, message: str) -> None:
    arguments = dims(32, 32), dims(*valid), dims(*source), dims(*offset)
    with pytest.raises(OpError, match=message) as caught:
        write_union(*arguments)
    assert caught.value.diagnostics[0].remedy


def test_physical_source_must_fit_only_when_it_is_given() -> None:
    arguments = dims(32), dims(32), dims(4), dims(24)
    assert numbers(write_union(*arguments)) == (32,)
    with pytest.raises(OpError, match="write ends at 40"):
        write_union(*arguments, source_shape=dims(16))


# --- writes: any numbers, against masks ------------------------------------------------------------------------


@st.composite
def writes(draw: st.DrawFn) -> tuple[Any, ...]:
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        extent = draw(st.integers(1, 6))
        valid = draw(st.just(extent) | st.integers(0, extent))
        source = draw(st.integers(0, 6) | st.just(valid))
        rows.append((extent, valid, source, draw(st.just(0) | st.just(valid) | st.integers(0, 6))))
    return tuple(zip(*rows, strict=True))


@given(writes())
def test_writes_agree_with_masks(case: tuple[Any, ...]) -> None:
    shape, valid, source, offset = case
    outside = any(o + s > p for o, s, p in zip(offset, source, shape, strict=True))
    try:
        got = numbers(write_union(dims(*shape), dims(*valid), dims(*source), dims(*offset)))
    except OpError:
        got = None
    if outside:
        assert got is None
        return
    held = block(shape, (0,) * len(shape), valid)
    if all(source):
        held |= block(shape, offset, source)
    corner = tuple(int(a.max()) + 1 if a.size else 0 for a in np.nonzero(held))
    rectangle = bool((held == block(shape, (0,) * len(shape), corner)).all())
    if got is None:
        assert not rectangle
    else:
        assert (held == block(shape, (0,) * len(shape), got)).all()


VARS = [var(name) for name in "abc"]


@st.composite
def extents(draw: st.DrawFn) -> Expr:
    base: Expr = draw(st.sampled_from(VARS) | st.builds(ConstInt, st.integers(0, 6)))
    kind = draw(st.integers(0, 4))
    if kind == 1:
        return add(base, ConstInt(draw(st.integers(0, 3))))
    if kind == 2:
        return min_(base, ConstInt(draw(st.integers(1, 6))))
    if kind == 3:
        return mul(base, ConstInt(2))
    if kind == 4:
        return max_(base, draw(st.sampled_from(VARS)))
    return base


@given(st.data())
def test_accepted_symbolic_writes_are_right_for_all_values(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 2))
    pick = st.tuples(*[extents()] * rank)
    valid, source = data.draw(pick), data.draw(pick)
    offset = data.draw(st.tuples(*[st.just(ConstInt(0)) | extents() | st.just(v) for v in valid]))
    source = tuple(data.draw(st.just(s) | st.just(v)) for s, v in zip(source, valid, strict=True))
    shape = data.draw(st.tuples(*[st.integers(6, 14)] * rank))
    try:
        union = write_union(dims(*shape), valid, source, offset)
    except OpError:
        return
    env = {v: data.draw(st.integers(0, 6)) for v in VARS}
    at = [tuple(evaluate(e, env) for e in part) for part in (valid, source, offset, union)]
    assume(all(t <= p for t, p in zip(at[0], shape, strict=True)))
    assume(all(o + s <= p for o, s, p in zip(at[2], at[1], shape, strict=True)))
    held = block(shape, (0,) * rank, at[0])
    if all(at[1]):
        held |= block(shape, at[2], at[1])
    assert (held == block(shape, (0,) * rank, at[3])).all()


@given(st.data())
def test_symbolic_reads_are_right_for_all_values(data: st.DataObject) -> None:
    valid, offset = data.draw(extents()), data.draw(extents())
    window = data.draw(st.integers(1, 8))
    clamp = data.draw(st.booleans())
    shape = data.draw(st.integers(1, 20))
    try:
        (got,) = window_read(dims(shape), (valid,), (offset,), dims(window), exact=False, clamp=clamp)
    except OpError:
        return
    env = {v: data.draw(st.integers(0, 6)) for v in VARS}
    v, o = evaluate(valid, env), evaluate(offset, env)
    assume(v <= shape)
    assume(clamp or o + window <= shape)
    assert evaluate(got, env) == min(max(v - o, 0), window)

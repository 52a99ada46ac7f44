"""What stays valid under another shape, against masks reshaped by numpy."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    ConstInt,
    DataType,
    Expr,
    MakeTuple,
    MemorySpace,
    TileType,
    TileView,
    Var,
    mul,
    scalar_type,
    structural_equal,
)
from pypto_core.ops import create_call

N = Var("n", scalar_type(DataType.INDEX))


def dims(*values: Any) -> tuple[Expr, ...]:
    return tuple(v if isinstance(v, Expr) else ConstInt(v) for v in values)


def reshaped(shape: Any, valid: Any, new: Any) -> tuple[Expr, ...]:
    view = TileView(valid_shape=dims(*valid))
    tile = Var("t", TileType(dims(*shape), DataType.FP32, None, view, MemorySpace.Vec))
    kind = create_call("tile.reshape", (tile, MakeTuple(dims(*new)))).type
    assert isinstance(kind, TileType)
    return kind.valid_shape


@pytest.mark.parametrize(
    ("shape", "valid", "new", "expected"),
    [
        ((16, 64), (16, 64), (64, 16), (64, 16)),
        ((16, 64), (5, 40), (1, 16, 64), (1, 5, 40)),
        ((1, 16, 64), (1, 5, 40), (16, 64), (5, 40)),
        ((4, 16, 64), (3, 16, 40), (64, 64), (48, 40)),
        ((64, 64), (48, 40), (4, 16, 64), (3, 16, 40)),
        ((64, 64), (7, 40), (4, 16, 64), (1, 7, 40)),
        ((16, 64), (16, N), (1, 16, 64), (1, 16, N)),
        ((16, 1), (N, 1), (1, 16), (1, N)),
        ((16, 8, 4), (N, 8, 4), (128, 4), (mul(N, ConstInt(8)), 4)),
        ((2, 8), (1, 3), (4, 4), (1, 3)),
    ],
)
def test_rows(shape: Any, valid: Any, new: Any, expected: Any) -> None:
    got = reshaped(shape, valid, new)
    assert len(got) == len(expected)
    assert all(structural_equal(a, b) for a, b in zip(got, dims(*expected), strict=True))


@pytest.mark.parametrize(
    ("shape", "valid", "new"),
    [
        ((16, 64), (16, 40), (64, 16)),  # holes between the rows
        ((4, 16, 64), (3, 10, 64), (64, 64)),
        ((64, 64), (N, 64), (4, 16, 64)),
        ((64, 64), (20, 64), (4, 16, 64)),
    ],
)
def test_what_has_no_rectangle_is_refused(shape: Any, valid: Any, new: Any) -> None:
    with pytest.raises(OpError, match="no rectangular form") as caught:
        reshaped(shape, valid, new)
    assert "fillpad" in caught.value.diagnostics[0].remedy


def test_the_number_of_elements_stays() -> None:
    with pytest.raises(OpError, match="holds 1024 elements"):
        reshaped((16, 64), (16, 64), (16, 32))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, ...]:
    factors = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))

    def grouped() -> tuple[int, ...]:
        out = [1]
        for factor in factors:
            if draw(st.booleans()):
                out.append(factor)
            else:
                out[-1] *= factor
        return tuple(out[draw(st.integers(0, 1)) if out[0] == 1 and len(out) > 1 else 0 :])

    shape, new = grouped(), grouped()
    valid = tuple(draw(st.just(e) | st.integers(0, e)) for e in shape)
    return shape, valid, new


@given(cases())
def test_agrees_with_masks(case: tuple[Any, ...]) -> None:
    shape, valid, new = case
    mask = np.zeros(shape, dtype=bool)
    mask[tuple(slice(0, v) for v in valid)] = True
    mask = mask.reshape(new)
    corner = tuple(int(a.max()) + 1 if a.size else 0 for a in np.nonzero(mask))
    whole = np.zeros(new, dtype=bool)
    whole[tuple(slice(0, c) for c in corner)] = True
    try:
        got = reshaped(shape, valid, new)
    except OpError:
        assert not prod(valid) or not (mask == whole).all()
        return
    claimed = np.zeros(new, dtype=bool)
    claimed[tuple(slice(0, v.value) for v in got)] = True  # type: ignore[attr-defined]
    assert (claimed == mask).all()

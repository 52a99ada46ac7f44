"""Sizes in memory, computed by hand."""

from __future__ import annotations

import pytest

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    DataType,
    MemorySpace,
    TensorType,
    TileType,
    TileView,
    Var,
    conservative_acc_rows,
    physical_bytes,
    physical_shape,
    round_up,
    scalar_type,
)

S = MemorySpace
N = Var("n", scalar_type(DataType.INDEX))


@pytest.mark.parametrize(
    ("shape", "dtype", "space", "size"),
    [
        ((64, 64), DataType.FP32, S.Vec, 16384),
        ((64, 64), DataType.BF16, S.Mat, 8192),
        # Without boxes each line takes whole blocks of 32 bytes.
        ((5, 7), DataType.INT8, S.Vec, 5 * 32),
        ((5, 33), DataType.INT8, S.Vec, 5 * 64),
        ((5, 6), DataType.FP4, S.Vec, 5 * 32),
        ((5, 66), DataType.FP4, S.Vec, 5 * 64),
        ((3, 2, 8), DataType.FP16, None, 6 * 32),
        ((3, 2, 16), DataType.FP16, None, 6 * 32),
        ((5, 1), DataType.FP32, S.Vec, 32),  # a column lies along its rows
        ((40, 1), DataType.FP16, S.Vec, 96),
        ((1, 40), DataType.FP16, S.Vec, 96),
        ((1, 64), DataType.FP32, S.Bias, 256),
        # Acc rows are rounded up to 16, for INT32 to 32: 17 → 32 rows of 16; 33 → 64 rows of 16.
        ((17, 16), DataType.FP32, S.Acc, 32 * 16 * 4),
        ((33, 16), DataType.INT32, S.Acc, 64 * 16 * 4),
        ((32, 16), DataType.INT32, S.Acc, 32 * 16 * 4),
        ((1, 16), DataType.INT32, S.Acc, 32 * 16 * 4),
        ((2, 5, 16), DataType.FP32, S.Acc, 2 * 16 * 16 * 4),
    ],
)
def test_tiles(shape: tuple[int, ...], dtype: DataType, space: S | None, size: int) -> None:
    assert physical_bytes(TileType(shape, dtype, memory_space=space)) == size


def test_the_backend_says_how_acc_rows_are_rounded() -> None:
    kind = TileType([33, 16], DataType.INT32, memory_space=S.Acc)
    assert physical_bytes(kind, lambda dtype: 16) == 48 * 16 * 4
    assert physical_shape(kind, lambda dtype: 1) == (33, 16)


def test_without_a_backend_the_larger_size_counts() -> None:
    assert conservative_acc_rows(DataType.INT32) == 32
    assert conservative_acc_rows(DataType.FP32) == 16


def test_strides_of_the_author_say_what_a_line_takes() -> None:
    view = TileView(stride=[7, 1])
    assert physical_shape(TileType([5, 7], DataType.INT8, tile_view=view, memory_space=S.Vec)) == (5, 7)


def test_valid_extents_change_nothing() -> None:
    kind = TileType([64, 64], DataType.FP32, tile_view=TileView(valid_shape=[1, N]), memory_space=S.Vec)
    assert physical_bytes(kind) == 16384


def test_tensors() -> None:
    assert physical_bytes(TensorType([3, 5], DataType.FP32)) == 60
    assert physical_bytes(TensorType([N, 5], DataType.FP32)) == 0


@pytest.mark.parametrize("shape", [(N, 4), (0, 4), (4, -1)])
def test_a_tile_without_a_constant_positive_shape_has_no_size(shape: tuple[object, ...]) -> None:
    with pytest.raises(UserError) as caught:
        physical_bytes(TileType(shape, DataType.FP32))  # type: ignore[arg-type]
    assert caught.value.diagnostics[0].code == "PT211"
    assert "<" not in caught.value.message, "the shape is written as people write it"
    assert not caught.value.span.is_valid
    with pytest.raises(UserError) as placed:
        physical_bytes(TileType(shape, DataType.FP32), span=Span("k.py", 4, 5))  # type: ignore[arg-type]
    assert placed.value.span.begin_line == 4
    assert physical_shape(TileType([N, 4], DataType.FP32)) is None


@pytest.mark.parametrize(
    ("value", "multiple", "rounded"), [(0, 32, 0), (1, 32, 32), (32, 32, 32), (33, 32, 64)]
)
def test_rounding_up(value: int, multiple: int, rounded: int) -> None:
    assert round_up(value, multiple) == rounded

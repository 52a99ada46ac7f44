"""Types: canonical encoding, implicit layouts, boxes, four-bit extents."""

from __future__ import annotations

import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    PTR,
    Add,
    ArrayType,
    CompactMode,
    ConstInt,
    DataType,
    MemorySpace,
    MemRef,
    Min,
    PadValue,
    TensorLayout,
    TensorType,
    TensorView,
    TileLayout,
    TileType,
    TileView,
    TupleType,
    Var,
    box_shape,
    dims_equal,
    has_own_layout,
    implicit_tile_view,
    scalar_type,
    static_shape,
)

INDEX = scalar_type(DataType.INDEX)
ROW, COL, NONE = TileLayout.row_major, TileLayout.col_major, TileLayout.none_box
S = MemorySpace
FP32 = DataType.FP32

PLAIN_SPACES = (None, S.Vec, S.DDR, S.ScalarLocal, S.Bias)
FIXED = {
    S.Mat: (COL, ROW, 512),
    S.Left: (COL, ROW, 512),
    S.Acc: (COL, ROW, 1024),
    S.LeftScale: (ROW, ROW, 32),
    S.RightScale: (COL, COL, 32),
}


@pytest.mark.parametrize("space", PLAIN_SPACES)
@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((64, 64), ROW), ((64, 1), COL), ((2, 1), COL), ((1, 1), ROW), ((1, 64), ROW), ((64,), ROW), ((4, 8, 1), ROW),
    ],
)  # fmt: skip
def test_plain_spaces_go_by_shape(space: S | None, shape: tuple[int, ...], order: TileLayout) -> None:
    assert TileType(shape, FP32, memory_space=space).view.layout == (order, NONE, 512)


def test_an_open_extent_is_no_column() -> None:
    assert TileType([Var("n", INDEX), 1], FP32).view.blayout is ROW


@pytest.mark.parametrize("space", list(FIXED))
@pytest.mark.parametrize("shape", [(64, 64), (64, 1), (1, 1), (16,), (2, 16, 16)])
def test_spaces_with_a_layout_of_their_own(space: S, shape: tuple[int, ...]) -> None:
    assert TileType(shape, FP32, memory_space=space).view.layout == FIXED[space]


@pytest.mark.parametrize(("shape", "order"), [((16, 16), ROW), ((16, 1), COL), ((1, 1), ROW)])
def test_right_orders_boxes_by_shape(shape: tuple[int, ...], order: TileLayout) -> None:
    assert TileType(shape, FP32, memory_space=S.Right).view.layout == (order, COL, 512)


def test_which_spaces_impose_their_layout() -> None:
    assert [s for s in S if has_own_layout(s)] == [S.Mat, S.Left, S.Right, S.Acc, S.LeftScale, S.RightScale]
    assert not has_own_layout(None)


@pytest.mark.parametrize(
    ("slayout", "fractal", "dtype", "box"),
    [
        (ROW, 1024, FP32, (16, 16)), (ROW, 1024, DataType.INT32, (16, 16)),
        (ROW, 512, DataType.FP16, (16, 16)), (ROW, 512, FP32, (16, 8)), (ROW, 512, DataType.INT8, (16, 32)),
        (COL, 512, DataType.BF16, (16, 16)), (COL, 512, FP32, (8, 16)), (COL, 512, DataType.INT8, (32, 16)),
        (ROW, 32, DataType.FP8E8M0, (16, 2)), (COL, 32, DataType.FP8E8M0, (2, 16)),
        (NONE, 512, FP32, (1, 1)),
    ],
)  # fmt: skip
def test_box_sizes(slayout: TileLayout, fractal: int, dtype: DataType, box: tuple[int, int]) -> None:
    assert box_shape(TileView(slayout=slayout, fractal=fractal), dtype) == box


def test_a_view_that_says_nothing_new_is_not_stored() -> None:
    kind = TileType([32, 1], FP32, tile_view=TileView(blayout=COL), memory_space=S.Vec)
    assert kind.tile_view is None
    assert TileType([16, 16], FP32, None, TileView(blayout=COL, slayout=ROW), S.Mat).tile_view is None
    assert TileType([32, 32], FP32, tile_view=TileView()).tile_view is None


def test_what_equals_one_space_is_a_layout_of_its_own_in_another() -> None:
    view = TileView(blayout=ROW)
    assert TileType([32, 32], FP32, tile_view=view, memory_space=S.Vec).tile_view is None
    assert TileType([32, 32], FP32, tile_view=view, memory_space=S.Mat).tile_view is view


@pytest.mark.parametrize(
    "view",
    [
        TileView(valid_shape=[8, 32]), TileView(pad=PadValue.zero), TileView(compact=CompactMode.normal),
        TileView(stride=[64, 1]), TileView(start_offset=ConstInt(4)), TileView(fractal=1024),
    ],
)  # fmt: skip
def test_a_view_that_says_something_is_kept(view: TileView) -> None:
    assert TileType([32, 32], FP32, tile_view=view).tile_view is view


def test_a_valid_shape_equal_to_the_shape_is_stored_empty() -> None:
    n = Var("n", INDEX)
    view = TileView(valid_shape=[Add(n, ConstInt(1), INDEX), 64], pad=PadValue.min)
    kind = TileType([Add(n, ConstInt(1), INDEX), 64], FP32, tile_view=view)
    assert kind.tile_view is not None
    assert kind.tile_view.valid_shape == ()
    assert kind.tile_view.pad is PadValue.min
    assert kind.is_fully_valid
    assert kind.valid_shape is kind.shape


def test_effective_valid_shape_is_the_stored_one_when_there_is_one() -> None:
    n = Var("n", INDEX)
    valid = (Min(n, ConstInt(64), INDEX), ConstInt(64))
    kind = TileType([64, 64], FP32, tile_view=TileView(valid_shape=valid))
    assert kind.valid_shape == valid
    assert not kind.is_fully_valid


def test_one_valid_extent_per_axis() -> None:
    with pytest.raises(UserError, match="1 extents"):
        TileType([8, 8], FP32, tile_view=TileView(valid_shape=[8]))
    with pytest.raises(UserError, match="3 extents"):
        TensorType([8, 8], FP32, tensor_view=TensorView(valid_shape=[8, 8, 8]))


def test_tensor_views_that_say_nothing_vanish() -> None:
    assert TensorType([4], FP32, tensor_view=TensorView()).tensor_view is None
    assert TensorType([4], FP32, tensor_view=TensorView(valid_shape=[4])).tensor_view is None
    kind = TensorType([4], FP32, tensor_view=TensorView(layout=TensorLayout.NZ, valid_shape=[4]))
    assert kind.tensor_view is not None
    assert kind.tensor_view.valid_shape == ()
    assert kind.tensor_view.layout is TensorLayout.NZ


@pytest.mark.parametrize("last", [1, 3, 0, -2])
def test_innermost_four_bit_extents_are_even_and_positive(last: int) -> None:
    with pytest.raises(UserError, match="even and positive"):
        TensorType([4, last], DataType.FP4)
    with pytest.raises(UserError, match="even and positive"):
        TileType([4, last], DataType.FP4)
    with pytest.raises(UserError, match="valid extent"):
        TileType([4, 8], DataType.FP4, tile_view=TileView(valid_shape=[4, last]))


def test_four_bit_extents_that_are_fine_or_open() -> None:
    assert static_shape(TileType([3, 2], DataType.FP4).shape) == (3, 2)
    assert static_shape(TileType([3, Var("n", INDEX)], DataType.FP4).shape) is None


def test_a_memref_needs_a_space() -> None:
    ref = MemRef(Var("mem", PTR), ConstInt(0, DataType.INT64), 64)
    with pytest.raises(UserError, match="memory space"):
        TileType([4, 4], FP32, ref)
    assert TileType([4, 4], FP32, ref, memory_space=S.Vec).memref is ref


def test_tensors_lie_in_ddr() -> None:
    assert TensorType([4], FP32).memory_space is S.DDR


@pytest.mark.parametrize("dtype", [DataType.INT32, DataType.BOOL, DataType.TASK_ID, DataType.UINT8])
def test_arrays_of_integers(dtype: DataType) -> None:
    assert ArrayType(dtype, 4).extent == 4


@pytest.mark.parametrize(
    ("dtype", "extent"), [(FP32, 4), (DataType.BF16, 1), (DataType.INT32, 0), (DataType.INT32, -1)]
)
def test_other_arrays_are_refused(dtype: DataType, extent: int) -> None:
    with pytest.raises(UserError):
        ArrayType(dtype, extent)


def test_scalar_types_are_shared() -> None:
    assert scalar_type(FP32) is scalar_type(FP32)
    assert scalar_type(FP32) is not scalar_type(DataType.FP16)


def test_implicit_views_are_shared_by_layout() -> None:
    a, b = TileType([8, 8], FP32).shape, TileType([4, 4], FP32).shape
    assert implicit_tile_view(a, None) is implicit_tile_view(b, S.Vec)


def test_equal_by_construction() -> None:
    n, m = Var("n", INDEX), Var("m", INDEX)
    one = ConstInt(1)
    assert dims_equal(Add(n, one, INDEX), Add(n, ConstInt(1), INDEX))
    assert not dims_equal(Add(n, one, INDEX), Add(one, n, INDEX))
    assert not dims_equal(n, m)
    assert not dims_equal(Add(n, one, INDEX), Min(n, one, INDEX))


def test_tuples_hold_their_types_in_order() -> None:
    a, b = scalar_type(FP32), TensorType([4], FP32)
    assert TupleType([a, b]).types == (a, b)

"""Positions of elements: against orders that numpy makes by cutting, transposing and flattening an array."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto_core.ir import (
    BufferType,
    CompactMode,
    ConstInt,
    DataType,
    MemorySpace,
    TileLayout,
    TileType,
    TileView,
    box_shape,
    element_map,
    physical_bytes,
    tile_map,
)

NONE, ROW, COL = TileLayout.none_box, TileLayout.row_major, TileLayout.col_major
LAYOUTS = [
    (b, s, f)
    for b in (ROW, COL)
    for s in (NONE, ROW, COL)
    for f in ((512,) if s is NONE else (512, 1024, 32))
]


def order(shape, view, dtype):
    """The position of each element, found by putting numbered elements in their order and looking where each is."""
    numbered = np.arange(shape[0] * shape[1]).reshape(shape)
    if view.slayout is NONE:  # lines take whole blocks of 32 bytes
        block = 32 * 8 // (4 if dtype.bits == 4 else 8 * dtype.element_bytes)
        line = 0 if view.blayout is COL else 1
        gap = [(0, -n % block if axis == line else 0) for axis, n in enumerate(shape)]
        numbered = np.pad(numbered, gap, constant_values=-1)
    rows, cols = numbered.shape
    tall, wide = box_shape(view, dtype) if view.slayout is not NONE else (1, 1)
    boxes = numbered.reshape(rows // tall, tall, cols // wide, wide)
    outer = (2, 0) if view.blayout is COL else (0, 2)
    inner = (3, 1) if view.slayout is COL else (1, 3)
    stored = boxes.transpose(*outer, *inner).reshape(-1)
    positions = np.empty(shape[0] * shape[1], np.int64)
    positions[stored[stored >= 0]] = np.arange(rows * cols)[stored >= 0]
    return positions.reshape(shape)


def positions(layout, shape):
    return np.array([[layout.position((r, c)) for c in range(shape[1])] for r in range(shape[0])])


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda x: "-".join(map(str, x)))
@pytest.mark.parametrize("dtype", [DataType.FP32, DataType.BF16, DataType.INT8, DataType.INT4])
def test_positions_are_those_of_the_flattened_boxes(layout, dtype) -> None:
    view = TileView(blayout=layout[0], slayout=layout[1], fractal=layout[2])
    tall, wide = box_shape(view, dtype)
    shape = (tall * 3, wide * 2) if view.slayout is not NONE else (6, 10)
    found = element_map(shape, dtype, view)
    np.testing.assert_array_equal(positions(found, shape), order(shape, view, dtype))


@given(st.sampled_from(LAYOUTS), st.data())
def test_blocks_cover_a_window_once_and_say_where(layout, data) -> None:
    view = TileView(blayout=layout[0], slayout=layout[1], fractal=layout[2])
    tall, wide = box_shape(view, DataType.FP16)
    shape = (tall * 3, wide * 3) if view.slayout is not NONE else (9, 12)
    low = [data.draw(st.integers(0, n - 1)) for n in shape]
    size = tuple(data.draw(st.integers(1, n - o)) for n, o in zip(shape, low, strict=True))
    cut = data.draw(st.booleans())
    found = element_map(shape, DataType.FP16, view)
    offset = tuple(low)
    if cut:  # half of the way by a window, the rest by an offset
        first = tuple(o // 2 for o in low)
        found, offset = found.window(first), tuple(o - f for o, f in zip(low, first, strict=True))
    want = order(shape, view, DataType.FP16)[low[0] : low[0] + size[0], low[1] : low[1] + size[1]]
    have = np.full(size, -1)
    for block in found.blocks(size, offset):
        place = np.full((), block.start)
        for digit in block.digits:
            place = np.add.outer(place, digit.stride * np.arange(digit.count))
        r, c = (i - o for i, o in zip(block.index, offset, strict=True))
        part = have[r : r + block.shape[0], c : c + block.shape[1]]
        assert (part == -1).all()
        part[...] = place.reshape(block.shape)
    np.testing.assert_array_equal(have, want)
    touched = sorted({2 * p + b for p in want.reshape(-1).tolist() for b in (0, 1)})
    runs = found.byte_runs(size, offset)
    assert [byte for start, stop in runs for byte in range(start, stop)] == touched
    assert all(a[1] < b[0] for a, b in zip(runs, runs[1:], strict=False))


def test_windows_transposes_and_dropped_axes_keep_the_storage() -> None:
    nz = tile_map(TileType([32, 64], DataType.BF16, memory_space=MemorySpace.Mat))
    assert nz is not None
    # by hand: column 17 is in the second strip of 32 rows x 16 columns, row 18 in the second box of it
    assert nz.position((18, 17)) == 32 * 16 + 16 * 16 + 2 * 16 + 1
    assert nz.transposed().position((17, 18)) == nz.position((18, 17))
    assert nz.window((3, 5)).position((15, 12)) == nz.position((18, 17))
    assert nz.window((3, 5)).transposed().position((12, 15)) == nz.position((18, 17))
    row = nz.window((18, 0)).without((0,))
    assert row.position((17,)) == nz.position((18, 17))
    assert row.expanded(2).position((0, 17)) == nz.position((18, 17))


def test_leading_axes_are_whole_matrices() -> None:
    found = tile_map(TileType([3, 4, 8], DataType.FP32, memory_space=MemorySpace.Vec))
    assert found is not None and found.position((2, 3, 5)) == 2 * 32 + 3 * 8 + 5


@pytest.mark.parametrize(
    ("dtype", "compact", "valid", "pitch"),
    [
        (DataType.FP32, False, (5, 64), 48),
        (DataType.FP32, True, (5, 64), 16),
        (DataType.FP32, True, (17, 64), 32),
        (DataType.INT32, False, (48, 64), 64),
        (DataType.INT32, True, (5, 64), 32),
    ],
)
def test_accumulators_lie_at_the_pitch_of_their_padded_rows(dtype, compact, valid, pitch) -> None:
    view = TileView(
        blayout=COL, slayout=ROW, fractal=1024, compact=CompactMode.normal if compact else CompactMode.null
    )
    kind = TileType([48, 64], dtype, tile_view=view, memory_space=MemorySpace.Acc)
    found = tile_map(kind, valid)
    assert found is not None
    assert found.position((0, 16)) == pitch * 16  # the second strip of 16 columns
    full = tile_map(TileType([48, 64], dtype, memory_space=MemorySpace.Acc))
    assert full is not None
    last = full.byte_runs((48, 64))[-1][1]
    assert last <= physical_bytes(kind)


def test_strides_and_a_start_offset_of_the_author() -> None:
    view = TileView(stride=(20, 2), start_offset=ConstInt(7))
    found = tile_map(TileType([4, 8], DataType.FP32, tile_view=view, memory_space=MemorySpace.Vec))
    assert found is not None and found.position((3, 5)) == 7 + 60 + 10


def test_a_buffer_lies_as_the_tile_of_its_layout_does() -> None:
    tile = TileType([32, 32], DataType.BF16, memory_space=MemorySpace.Mat)
    buffer = BufferType((32, 32), DataType.BF16, MemorySpace.Mat, blayout=COL, slayout=ROW)
    assert tile_map(tile) == tile_map(buffer)


def test_four_bit_elements_share_bytes() -> None:
    found = tile_map(TileType([4, 8], DataType.INT4, memory_space=MemorySpace.Vec))
    assert found is not None
    assert found.byte_runs((1, 8), (1, 0)) == [(32, 36)]
    assert found.byte_runs((1, 3), (0, 1)) == [(0, 2)]
    assert found.byte_runs((2, 2)) == [(0, 1), (32, 33)]


def test_nothing_is_touched_of_an_empty_part() -> None:
    found = tile_map(TileType([4, 8], DataType.FP32, memory_space=MemorySpace.Vec))
    assert found is not None and list(found.blocks((0, 8))) == [] and found.byte_runs((4, 0)) == []

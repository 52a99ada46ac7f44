"""Tiles of the vector core whose lines fill no whole blocks of 32 bytes: larger storage, of which a part is valid."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pypto_core.diagnostics import UserError
from pypto_plugin_pto.checker import check_text

PARAMS = "a: pl.Tensor[[{shape}], pl.{dt}], out: pl.Out[pl.Tensor[[{shape}], pl.{dt}]]"
SOFTMAX = """
x = pl.load(a, [0, 0], [{shape}])
tmp = pl.create_tile([{shape}], pl.{dt})
e = pl.exp(pl.row_expand_sub(x, pl.row_max(x, tmp)))
return pl.store(pl.row_expand_div(e, pl.row_sum(e, tmp)), [0, 0], out)
"""
SIZES = [
    # shape, element type, stored rows and columns of the tile, and of a column of it
    ("5, 7", "FP32", (5, 8), (8, 1)),
    ("1, 64", "FP32", (1, 64), (8, 1)),
    ("40, 100", "FP16", (40, 112), (48, 1)),
    ("17, 16", "FP32", (17, 16), (24, 1)),
]


def tiles(text: str) -> set[tuple[int, int]]:
    """Rows and columns of every tile type."""
    return {(int(r), int(c)) for r, c in re.findall(r"rows=(\d+), cols=(\d+)", text)}


@pytest.mark.parametrize(("shape", "dt", "tile", "column"), SIZES, ids=[s[0] for s in SIZES])
@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_storage_is_whole_blocks(
    write: Any, shape: str, dt: str, tile: tuple[int, int], column: tuple[int, int], planner: str
) -> None:
    text = write(PARAMS.format(shape=shape, dt=dt), SOFTMAX.format(shape=shape, dt=dt), planner=planner)
    assert tiles(text) == {tile, column}
    assert check_text(text).findings == ()
    rows, cols = shape.split(", ")
    wanted = {f"valid_row = %c{rows}_index valid_col = %c{n}_index" for n in (cols, 1)}
    assert set(re.findall(r"valid_row = \S+ valid_col = \S+", text)) == wanted


def test_single_elements_are_counted_in_stored_lines(write: Any) -> None:
    """Element [2, 3] of rows of 5 that are stored as 8: 2 * 8 + 3."""
    body = """
x = pl.load(a, [0, 0], [6, 5])
pl.tile.write(x, [2, 3], 1.0)
return pl.store(x, [0, 0], out)
"""
    assert "pto.tsetval ins(%c19_index" in write(PARAMS.format(shape="6, 5", dt="FP32"), body)


def test_a_narrow_window_is_cut_out_of_whole_blocks(write: Any) -> None:
    body = """
x = pl.load(a, [0, 0], [8, 60])
w = pl.tile.slice(x, [4, 20], [4, 40])
return pl.store(pl.exp(w), [0, 0], out)
"""
    text = write(PARAMS.format(shape="8, 60", dt="FP32"), body)
    [window] = re.findall(r"pto.subview .*", text)
    assert "sizes [4, 24] valid [%c4_index, %c20_index]" in window and tiles(window) == {(8, 64), (4, 24)}
    assert check_text(text).findings == ()


def test_tiles_with_boxes_are_still_refused(write: Any) -> None:
    body = """
x = pl.load(a, [0, 0], [20, 64], target_memory=pl.Mem.Mat)
return pl.store(pl.matmul(x, pl.tile.transpose_view(x)), [0, 0], out)
"""
    parameters = "a: pl.Tensor[[20, 64], pl.BF16], out: pl.Out[pl.Tensor[[20, 20], pl.FP32]]"
    with pytest.raises(UserError, match="20 rows are no multiple of the 16 of a box") as caught:
        write(parameters, body)
    assert "make it [32, 64] and narrow it with valid_shape=[20, 64]" in caught.value.diagnostics[0].remedy


OUTSIDE = [
    "w = pl.tile.slice(x, [8, 18], [0, 3])",
    "w = pl.tile.extract(x, 0, 1, [8, 20], target_memory=pl.Mem.Vec)",
    "w = pl.tile.assemble(x, pl.load(a, [0, 0], [8, 18]), [0, 3])",
]


@pytest.mark.parametrize("part", OUTSIDE)
def test_a_part_whose_last_block_lies_outside_is_refused(write: Any, part: str) -> None:
    body = f"x = pl.load(a, [0, 0], [8, 21])\n{part}\nreturn pl.store(pl.exp(w), [0, 0], out)\n"
    with pytest.raises(UserError, match="which reach beyond the tile") as caught:
        write(PARAMS.format(shape="8, 21", dt="FP32"), body)
    [found] = caught.value.diagnostics
    assert found.span.is_valid and found.remedy


def test_windows_at_any_column_are_copied_out(write: Any) -> None:
    body = """
x = pl.load(a, [0, 0], [8, 64])
w = pl.tile.slice(x, [8, 16], [0, 4])
v = pl.tile.slice(x, [8, 16], [0, 8])
return pl.store(pl.add(w, v), [0, 0], out)
"""
    text = write(PARAMS.format(shape="8, 64", dt="FP32"), body)
    assert len(re.findall("pto.textract", text)) == len(re.findall("pto.subview", text)) == 1
    assert check_text(text).findings == ()

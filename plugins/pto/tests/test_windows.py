"""Valid extents of windows: a window takes none afterwards, so that another window of the same place states them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pypto_core.diagnostics import UserError
from pypto_plugin_pto.checker import check_text

PARAMS = "a: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
NARROWED = """
x = pl.load(a, [0, 0], [64, 64])
part = pl.tile.slice(x, [16, {cols}], [n, {at}])
v = pl.tile.set_validshape(part, {rows}, 16)
e = pl.exp(v)
out = pl.store(e, [0, 0], out)
return out
"""


@pytest.mark.parametrize("planner", ["ptoas", "pypto"])
@pytest.mark.parametrize(
    ("cols", "at", "place"), [(64, 0, "%c0_index"), (32, 32, "%c32_index")], ids=["rows", "columns"]
)
@pytest.mark.parametrize(("rows", "stated"), [("n", "v_row=?, v_col=16"), ("8", "v_row=8, v_col=16")])
def test_a_narrowed_window_is_another_window(
    write: Any, body_of: Any, planner: str, cols: int, at: int, place: str, rows: str, stated: str
) -> None:
    text = write(PARAMS, NARROWED.format(cols=cols, at=at, rows=rows), planner=planner)
    valid = "%arg2" if rows == "n" else f"%c{rows}_index"
    line = (
        f"%v = pto.subview %x[%arg2, {place}] sizes [16, {cols}] valid [{valid}, %c16_index] : "
        f"vec[64x64xf32] -> vec[16x{cols}xf32]"
    )
    assert line in body_of(text)
    [kind] = re.findall(r"%v = .* -> (!pto\.tile_buf<.*>)", text)
    assert stated in kind
    assert "set_validshape" not in text and "treshape" not in text


@pytest.mark.parametrize("planner", ["ptoas", "pypto"])
def test_a_window_of_a_narrowed_window_lies_in_it(write: Any, body_of: Any, planner: str) -> None:
    body = NARROWED.format(cols=32, at=32, rows="n").replace(
        "e = pl.exp(v)", "i = pl.tile.slice(v, [8, 32], [8, 0])\ne = pl.exp(i)"
    )
    lines = body_of(write(PARAMS, body, planner=planner))
    [inner] = [x for x in lines if x.startswith("%i = ")]
    # What is valid of it: n - 8 rows, at least none and at most 8.
    assert inner.startswith("%i = pto.subview %v[%c8_index, %c0_index] sizes [8, 32] valid [%")
    assert any("arith.subi %arg2, %c8_index" in x for x in lines)


def test_slots_of_a_ring_take_no_other_extents(write: Any) -> None:
    body = """
    for i in pl.range(4):
        t: pl.Tile[[64, 64], pl.FP32, pl.MemRef("ring", slots=2)[i % 2], pl.Mem.Vec] = pl.load(a, [0, 0], [64, 64])
        v = pl.tile.set_validshape(t, {rows}, 16)
        out = pl.store(pl.exp(v), [0, 0], out)
    return out
    """
    for rows, reason in (
        ("n", "has a runtime valid shape"),
        ("8", "different valid shapes (64x64 and 8x16)"),
    ):
        with pytest.raises(UserError) as error:
            write(PARAMS, body.replace("{rows}", rows), planner="ptoas")
        [diagnostic] = error.value.diagnostics
        assert diagnostic.code == "PTO-011" and reason in diagnostic.message
        assert "set_validshape" not in write(PARAMS, body.replace("{rows}", rows), planner="pypto")


def test_extents_set_on_a_reshaped_window_are_refused_by_the_checker(write: Any) -> None:
    """The assembler looks through reshapes for the buffer, and finds a window."""
    text = write(PARAMS, NARROWED.format(cols=64, at=0, rows="n"), planner="ptoas")
    [kind] = re.findall(r"outs\(%e : (.*?>)\)", text)
    for source, maker in (("%x", ""), ("%part", "pto.subview")):
        [have] = re.findall(rf"{source} = pto\.\w+ .*?(!pto\.tile_buf<[^>]*>)$", text, re.M)
        whole = kind if maker else have
        view = f"    %q = pto.treshape {source} : {have} -> {whole}\n"
        narrow = f"    pto.set_validshape %q, %arg2, %arg2 : {whole}\n"
        errors = check_text(text.replace("    return", view + narrow + "    return")).errors
        if maker:
            [error] = errors
            assert error.code == "PTO-106" and f"%q comes from '{maker}'" in error.message
        else:
            assert errors == ()


@pytest.mark.parametrize("planner", ["ptoas", "pypto"])
def test_a_part_of_a_filled_tile_lies_in_it(write: Any, planner: str) -> None:
    """What fills a tile up says nothing of a part that is written into it: the window is of the tile's type."""
    body = """
    x = pl.load(a, [0, 0], [64, 64], [n, 64])
    y = pl.tile.fillpad(x, pad_value=pl.PadValue.zero)
    z = pl.exp(y)
    p = pl.load(a, [0, 0], [16, 64])
    q = pl.tile.assemble(z, p, [16, 0])
    out = pl.store(q, [0, 0], out)
    return out
    """
    text = write(PARAMS, body, planner=planner)
    [window] = re.findall(r"pto\.subview .* -> (!pto\.tile_buf<.*>)", text)
    assert "pad=1" in window and "rows=16" in window
    [source] = re.findall(r"pto\.tmov ins\(%p : (!pto\.tile_buf<.*?>)\)", text)
    assert "pad=0" in source
    assert not check_text(text).errors


@pytest.mark.parametrize("planner", ["ptoas", "pypto"])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("rows", ["n", "8"])
def test_windows_of_one_instruction_have_its_extents(
    write: Any, planner: str, first: bool, rows: str
) -> None:
    body = NARROWED.format(cols=32, at=32, rows=rows).replace(
        "e = pl.exp(v)", f"e = pl.maximum({'v, part' if first else 'part, v'})"
    )
    text = write(PARAMS, body, planner=planner)
    assert check_text(text, "k.pto").findings == ()
    [instruction] = [line for line in text.splitlines() if "pto.tmax" in line]
    operands = instruction.split("outs")[0]
    # The result has the extents of the first operand.
    stated = "16" if not first else "?" if rows == "n" else "8"
    assert re.findall(r"v_row=(\S+),", operands) == [stated, stated]

"""Plans written by hand, most of them wrong: each fault is an error that names both statements, at their lines."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import numpy as np
import pytest

from pypto_core.diagnostics import UserError
from pypto_core.host import load_host
from pypto_core.ir import Program
from pypto_core.language import parse
from pypto_plugin_simulator import plugin
from pypto_plugin_simulator.machine import run

HOST = load_host(entry_points=[], extra_plugins=[plugin])
HEAD = """import pypto_core.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, x: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX],
             out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]]):
"""
X = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)


def kernel(body: str) -> Program:
    """A kernel whose first statement stands in line 7; ``@m0+64:1024`` is a MemRef: base, offset and bytes."""
    text = re.sub(r"@(\w+)\+(\d+):(\d+)", r"pl.MemRef(\1, pl.const(\2, pl.INT64), \3)", body)
    return parse(HEAD + textwrap.indent(textwrap.dedent(text).strip("\n"), " " * 8))


def result(body: str, **options: Any) -> Any:
    """What the kernel writes."""
    inputs = {"x": X, "n": options.pop("n", 3), "out": np.zeros((64, 64), np.float32)}
    return run(kernel(body), inputs, host=HOST, **options).outputs["out"]


def fault(code: str, body: str, **options: Any) -> Any:
    """The diagnostic of a run that has to fail."""
    with pytest.raises(UserError) as caught:
        result(body, **options)
    [diagnostic] = caught.value.diagnostics
    assert diagnostic.code == code, caught.value.render()
    return diagnostic


TWO = """
    m0: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 1024)
    m1: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 1024)
    a: pl.Tile[[16, 16], pl.FP32, @m0+0:1024, pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 16])
    b: pl.Tile[[16, 16], pl.FP32, @m1+{at}:1024, pl.Mem.Vec] = pl.tile.load(x, [16, 0], [16, 16])
    {last}
"""


@pytest.mark.parametrize("at", [0, 32, 992])
def test_a_live_tile_that_is_overwritten(at: int) -> None:
    found = fault("SIM-010", TWO.format(at=at, last="pl.store(a, [0, 0], out)"), addressed=True)
    assert found.span.begin_line == 11
    assert "reads 'a'" in found.message and f"byte {at} of Vec" in found.message
    last, meant = found.notes
    assert "last written by: tile.load writes 'b'" in last.message and last.span.begin_line == 10
    assert "tile.load writes 'a'" in meant.message and meant.span.begin_line == 9


def test_bytes_of_the_dead_may_be_taken() -> None:
    out = result(TWO.format(at=0, last="pl.store(b, [0, 0], out)"), addressed=True)
    np.testing.assert_array_equal(out[:16, :16], X[16:32, :16])
    out = result(TWO.format(at=1024, last="pl.store(pl.add(a, b), [0, 0], out)"), addressed=True)
    np.testing.assert_array_equal(out[:16, :16], X[:16, :16] + X[16:32, :16])


def test_allocations_without_addresses_are_apart() -> None:
    out = result(TWO.format(at=0, last="pl.store(a, [0, 0], out)"), addressed=False)
    np.testing.assert_array_equal(out[:16, :16], X[:16, :16])


@pytest.mark.parametrize(("at", "apart"), [(0, True), (2048, False), (64, False)])
def test_offsets_say_by_themselves_whether_they_are_addresses(at: int, apart: bool) -> None:
    body = TWO.format(at=at, last="pl.store(a, [0, 0], out)")
    if apart or at >= 1024:
        result(body)
    else:
        fault("SIM-010", body)


def test_a_tile_that_nobody_filled() -> None:
    body = """
        c = pl.create_tile([16, 16], pl.FP32)
        pl.store(c, [0, 0], out)
    """
    found = fault("SIM-010", body)
    assert "was never written" in found.message and found.span.begin_line == 8
    assert [note.span.begin_line for note in found.notes] == [7]


def test_elements_outside_of_the_valid_ones() -> None:
    body = """
        a = pl.load(x, [0, 0], [16, 16], valid_shape=[5, 16])
        b = pl.set_validshape(a, {rows}, 16)
        pl.store(b, [0, 0], out)
    """
    out = result(body.format(rows=4))
    np.testing.assert_array_equal(out[:4, :16], X[:4, :16])
    assert not out[4:].any()
    assert "byte 320 of" in fault("SIM-010", body.format(rows=6)).message  # row 5 of 16 floats


def test_a_place_beyond_the_memory() -> None:
    backend = load_host().backend("910b")
    limit = 184 * 1024
    good = TWO.format(at=limit - 1024, last="pl.store(b, [0, 0], out)")
    result(good, addressed=True, backend=backend)
    found = fault(
        "SIM-011", good.replace(str(limit - 1024), str(limit - 992)), addressed=True, backend=backend
    )
    assert "'b' lies outside of Vec" in found.message and found.span.begin_line == 10


def test_a_place_beyond_the_allocation() -> None:
    body = TWO.format(at=1024, last="pl.store(b, [0, 0], out)").replace("@m1+1024:1024", "@m1+1024:512")
    found = fault("SIM-011", body, addressed=True)
    assert found.facts == (("bytes", "[1024, 2048)"), ("allocation", "[1024, 1536)"))


def test_partial_boxes_need_more_than_they_were_given() -> None:
    body = """
        a = pl.load(x, [0, 0], [32, 12], target_memory=pl.Mem.Mat)
        b = pl.move(a, target_memory=pl.Mem.Left)
    """
    assert "whole boxes" in fault("SIM-011", body).remedy  # boxes of 16 x 8


CARRY = """
    m0: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 1024)
    m1: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 1024)
    a: pl.Tile[[16, 16], pl.FP32, @m0+0:1024, pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 16])
    for i, (c,) in pl.range(2, init_values=(a,)):
        d: pl.Tile[[16, 16], pl.FP32, @m1+{at}:1024, pl.Mem.Vec] = pl.tile.adds(c, 1.0)
        r: pl.Tile[[16, 16], pl.FP32, @m0+0:1024, pl.Mem.Vec] = pl.yield_(d)
    pl.store(r, [0, 0], out)
"""


def test_a_carry_that_nobody_copied() -> None:
    np.testing.assert_array_equal(result(CARRY.format(at=0), addressed=True)[:16, :16], X[:16, :16] + 1 + 1)
    found = fault("SIM-012", CARRY.format(at=1024), addressed=True)
    assert "where its value does not lie" in found.message
    assert [note.span.begin_line for note in found.notes] == [11]


def test_an_operator_in_place_whose_result_lies_elsewhere() -> None:
    body = """
        a: pl.Tile[[16, 16], pl.FP32, @m0+0:1024, pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 16])
        s: pl.Tile[[4, 16], pl.FP32, @m1+1024:256, pl.Mem.Vec] = pl.tile.load(x, [32, 0], [4, 16])
        b: pl.Tile[[16, 16], pl.FP32, @{home}:1024, pl.Mem.Vec] = pl.tile.assemble(a, s, [8, 0])
        pl.store({what}, [0, 0], out)
    """
    out = result(body.format(home="m0+0", what="b"), addressed=True)
    np.testing.assert_array_equal(out[:16, :16], np.concatenate([X[:8, :16], X[32:36, :16], X[12:16, :16]]))
    found = fault("SIM-012", body.format(home="m2+2048", what="b"), addressed=True)
    assert "works in place" in found.message and found.span.begin_line == 9
    found = fault("SIM-010", body.format(home="m0+0", what="a"), addressed=True)  # 'a' is no more
    assert [note.span.begin_line for note in found.notes] == [9, 7]


def test_a_result_that_nobody_takes() -> None:
    """It is written where the operand lies, if that is planned; it is a tile of its own otherwise."""
    body = """
        a{place} = pl.tile.load(x, [0, 0], [16, 16])
        s = pl.tile.load(x, [32, 0], [4, 16])
        pl.tile.assemble(a, s, [8, 0])
        pl.store(a, [0, 0], out)
    """
    np.testing.assert_array_equal(result(body.format(place=""))[:16, :16], X[:16, :16])
    place = ": pl.Tile[[16, 16], pl.FP32, @m0+0:1024, pl.Mem.Vec]"
    assert fault("SIM-010", body.format(place=place), addressed=True).span.begin_line == 10


def test_working_in_place_on_what_is_gone() -> None:
    body = """
        a: pl.Tile[[16, 16], pl.FP32, @m0+0:1024, pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 16])
        s: pl.Tile[[4, 16], pl.FP32, @m1+1024:256, pl.Mem.Vec] = pl.tile.load(x, [32, 0], [4, 16])
        b: pl.Tile[[16, 16], pl.FP32, @m0+0:1024, pl.Mem.Vec] = pl.tile.assemble(a, s, [8, 0])
        c: pl.Tile[[16, 16], pl.FP32, @m0+0:1024, pl.Mem.Vec] = pl.tile.assemble(a, s, [0, 0])
        pl.store(c, [0, 0], out)
    """
    found = fault("SIM-010", body, addressed=True)
    assert "hold a later value" in found.message and found.notes[0].span.begin_line == 9


def test_an_element_of_what_is_gone() -> None:
    body = """
        a: pl.Tile[[16, 16], pl.FP32, @m0+0:1024, pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 16])
        s: pl.Tile[[4, 16], pl.FP32, @m1+1024:256, pl.Mem.Vec] = pl.tile.load(x, [32, 0], [4, 16])
        b: pl.Tile[[16, 16], pl.FP32, @m0+0:1024, pl.Mem.Vec] = pl.tile.assemble(a, s, [8, 0])
        pl.tile.write({tile}, [0, 0], 7.0)
        pl.store(b, [0, 0], out)
    """
    assert result(body.format(tile="b"), addressed=True)[0, 0] == 7
    found = fault("SIM-010", body.format(tile="a"), addressed=True)
    assert found.span.begin_line == 10 and found.notes[0].span.begin_line == 9


RESULT = """
    a: pl.Tile[[16, 16], pl.FP32, @m0+0:1024, pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 16])
    b: pl.Tile[[16, 16], pl.{dtype}, @m0+{at}:1024, pl.Mem.Vec] = {value}
    c: pl.Tile[[16, 16], pl.FP32, @m1+4096:1024, pl.Mem.Vec] = pl.tile.cast(b, target_type=pl.FP32, mode='rint')
    pl.store({last}, [0, 0], out)
"""


@pytest.mark.parametrize(
    ("at", "dtype", "value", "wrong"),
    [
        (0, "FP32", "pl.tile.neg(a)", False),
        (32, "FP32", "pl.tile.neg(a)", True),
        (1024, "FP32", "pl.tile.neg(a)", False),
        (0, "FP32", "pl.tile.recip(a)", True),
        (0, "FP16", "pl.tile.cast(a, target_type=pl.FP16, mode='rint')", False),
        (512, "FP16", "pl.tile.cast(a, target_type=pl.FP16, mode='rint')", True),
    ],
)
def test_results_over_operands(at: int, dtype: str, value: str, wrong: bool) -> None:
    body = RESULT.format(at=at, dtype=dtype, value=value, last="b" if dtype == "FP32" else "c")
    if dtype == "FP32":
        body = body.replace("    c: pl.Tile", "    # c: pl.Tile")
    if wrong:
        found = fault("SIM-013", body, addressed=True)
        assert "overwrites its operand 'a'" in found.message and found.span.begin_line == 8
    else:
        want = -X if dtype == "FP32" else X.astype(np.float16).astype(np.float32)
        np.testing.assert_array_equal(result(body, addressed=True)[:16, :16], want[:16, :16])


@pytest.mark.parametrize(("at", "code"), [(2048, ""), (512, "SIM-013"), (1024, "SIM-010")])
def test_scratch_is_overwritten(at: int, code: str) -> None:
    body = f"""
        a: pl.Tile[[16, 16], pl.FP32, @m0+0:1024, pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 16])
        k: pl.Tile[[16, 16], pl.FP32, @m1+1024:1024, pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 16])
        t: pl.Tile[[16, 16], pl.FP32, @m2+{at}:1024, pl.Mem.Vec] = pl.create_tile([16, 16], pl.FP32)
        s: pl.Tile[[16, 1], pl.FP32, @m3+4096:64, pl.Mem.Vec] = pl.tile.row_max(a, t)
        b: pl.Tile[[16, 16], pl.FP32, @m1+1024:1024, pl.Mem.Vec] = pl.tile.row_expand_sub(k, s)
        pl.store(b, [0, 0], out)
    """
    if code:
        found = fault(code, body, addressed=True)
        assert code == "SIM-013" or "uses 't' as scratch" in found.notes[0].message
    else:
        want = X[:16, :16] - X[:16, :16].max(axis=1, keepdims=True)
        np.testing.assert_array_equal(result(body, addressed=True)[:16, :16], want)


RING = """
    ring: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 2048, pinned=True)
    for i in pl.range(4):
        t: pl.Tile[
            [16, 16], pl.FP32, pl.MemRef(ring, {offset}, 1024, slots=2)[{slot}], pl.Mem.Vec
        ] = pl.tile.load(x, [i * 16, 0], [16, 16])
        pl.store(t, [i * 16, 0], out)
"""


@pytest.mark.parametrize("base", [0, 8192])
def test_slots(base: int) -> None:
    def body(offset: str, slot: str) -> str:
        return RING.format(offset=f"{base} + {offset}" if base else offset, slot=slot)

    out = result(body("i % 2 * 1024", "i % 2"), addressed=base > 0)
    np.testing.assert_array_equal(out[:, :16], X[:, :16])
    found = fault(
        "SIM-012", body("i % 2 * 1024", "(i + 1) % 2" if not base else "i % 2 * 0"), addressed=base > 0
    )
    assert "its bytes are not those of that slot" in found.message
    found = fault("SIM-012" if base else "SIM-011", body("i * 1024", "i"), addressed=base > 0)
    assert found.span.begin_line == 9


def test_rows_of_an_accumulator_at_another_pitch() -> None:
    """The first 16 columns would be right, the others would not: the product lies at the pitch of its own rows."""
    body = """
        a = pl.load(x, [0, 0], [64, 64], valid_shape=[5, 64], target_memory=pl.Mem.Mat)
        b = pl.load(x, [0, 0], [64, {cols}], target_memory=pl.Mem.Mat)
        l = pl.move(a, target_memory=pl.Mem.Left)
        r = pl.move(b, target_memory=pl.Mem.Right)
        c0 = pl.create_tile([64, {cols}], pl.FP32, target_memory=pl.Mem.Acc{compact})
        c1 = pl.set_validshape(c0, 5, {cols})
        c2 = pl.matmul_acc(c1, l, r, init_cond=n == 3)
        pl.store(c2, [0, 0], out)
    """
    found = fault("SIM-014", body.format(cols=64, compact=""))
    assert found.facts == (("pitch_written", "16"), ("pitch_of_the_tile", "64"))
    for cols, compact in ((64, ", compact=True"), (16, "")):  # one strip of columns has no pitch
        out = result(body.format(cols=cols, compact=compact))
        np.testing.assert_allclose(out[:5, :cols], X[:5] @ X[:, :cols], rtol=1e-4, atol=1e-4)
        assert not out[5:].any()


def test_a_reshape_that_would_have_to_move_elements() -> None:
    body = """
        a = pl.load(x, [0, 0], [16, 64])
        b = pl.slice(a, [8, 32], [0, 0])
        c = pl.reshape(b, [{shape}])
        pl.store(c, [0, 0], out)
    """
    assert fault("SIM-014", body.format(shape="4, 64")).span.begin_line == 9
    whole = body.replace("[8, 32]", "[4, 64]").format(shape="8, 32")
    np.testing.assert_array_equal(result(whole)[:8, :32], X[:4, :64].reshape(8, 32))


def test_single_elements_are_written_through() -> None:
    body = """
        a = pl.load(x, [0, 0], [16, 16])
        w = pl.slice(a, [4, 16], [4, 0])
        v = pl.tile.read(a, [1, 2])
        pl.tile.write(a, [5, 3], v)
        pl.store(w, [0, 0], out)
    """
    want = X[4:8, :16].copy()
    want[1, 3] = X[1, 2]
    np.testing.assert_array_equal(result(body)[:4, :16], want)
    steps: list[Any] = []
    result(body, recorder=steps.append)
    write = next(step for step in steps if step.op == "tile.write")
    assert [(r.start, r.stop) for r in write.writes] == [(4 * (5 * 16 + 3), 4 * (5 * 16 + 4))]


def test_windows_keep_the_pitch_of_what_they_are_cut_from() -> None:
    steps: list[Any] = []
    body = """
        a = pl.load(x, [0, 0], [16, 32])
        w = pl.slice(pl.slice(a, [8, 16], [n, 8]), [2, 8], [1, 4])
        pl.store(w, [0, 0], out)
    """
    out = result(body, recorder=steps.append)
    np.testing.assert_array_equal(out[:2, :8], X[4:6, 12:20])
    first = 4 * (4 * 32 + 12)
    assert [(r.start, r.stop) for r in steps[-1].reads] == [(first, first + 32), (first + 128, first + 160)]


def test_each_lane_begins_with_the_memory_that_the_region_found() -> None:
    """The first lane takes the bytes of what the second one still reads: they are the other core's."""
    body = """
        a: pl.Tile[[16, 16], pl.FP32, @m0+0:1024, pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 16])
        for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
            b: pl.Tile[[16, 16], pl.FP32, @m1+1024:1024, pl.Mem.Vec] = pl.tile.neg(a)
            c: pl.Tile[[16, 16], pl.FP32, @m2+0:1024, pl.Mem.Vec] = pl.tile.adds(b, 1.0)
            pl.store(c, [lane * 16, 0], out)
    """
    out = result(body, addressed=True)
    np.testing.assert_array_equal(out[:32, :16], np.tile(1 - X[:16, :16], (2, 1)))

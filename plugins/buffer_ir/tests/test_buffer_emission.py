"""Kernels on buffers as PTO text: one instruction per operator. (Every kernel that is run is checked, too.)"""

from __future__ import annotations

import re

from buffer_parts import check_text, in_buffers, lowered, planned, source, text_of
from test_execution import CUBE, KERNELS, PRODUCTS

from pypto_core.host import load_host
from pypto_core.ir import BUFFER_IR_SELECTED, Program, replace
from pypto_core.run import PassContext


def operations(text: str) -> list[str]:
    """The PTO instructions in order, with types cut down to memory and shape."""
    tile = (
        r"!pto\.tile_buf<loc=(\w+), dtype=(\w+), rows=(\d+), cols=(\d+), v_row=(\S+), v_col=([^,]+), [^>]*>"
    )
    cut = re.sub(tile, r"\1[\3x\4 \5x\6 \2]", text)
    return [line.strip() for line in cut.splitlines() if "pto." in line and "view" not in line.split("=")[0]]


def test_allocations_name_what_their_type_leaves_open():
    body = """
    x = pl.load(a, [0, 0], [16, 64], valid_shape=[16, n])
    y = pl.load(a, [16, 0], [16, 64])
    pl.store(pl.add(x, x), [0, 0], o)
    pl.store(y, [16, 0], o)
    """
    allocs = [line for line in operations(text_of(lowered(body, "ptoas"), "ptoas")) if "alloc_tile" in line]
    assert allocs[0] == (
        "%mem_vec_2_buffer = pto.alloc_tile valid_row = %c16_index valid_col = %c64_index : vec[16x64 ?x? f32]"
    )
    assert allocs[1] == "%mem_vec_3_buffer = pto.alloc_tile : vec[16x64 16x64 f32]"


def test_the_instructions_of_a_kernel():
    body = """
    x = pl.load(a, [0, 0], [32, 64])
    s = pl.slice(x, [16, 32], [n, 32])
    d = pl.add(s, s)
    e = pl.tile.assemble(x, d, [0, 0])
    pl.store(pl.tile.div(e, e, high_precision=True), [0, 0], o)
    """
    made = operations(text_of(lowered(body, "ptoas"), "ptoas"))
    whole, part = "vec[32x64 32x64 f32]", "vec[16x32 16x32 f32]"
    copied = next(line for line in made if "tinsert" in line)
    assert copied.endswith(f"%c0_index, %c0_index : {part}, index, index) outs(%mem_vec_2_buffer : {whole})")
    assert any(
        line.startswith(
            "%s = pto.subview %mem_vec_2_buffer[%arg2, %c32_index] sizes [16, 32] valid [%c16_index, "
        )
        for line in made
    )
    assert any("{precisionType = #pto<div_precision high_precision>}" in line for line in made)


def test_windows_as_wide_as_their_buffer_are_moved():
    body = """
    x = pl.load(a, [0, 0], [32, 64])
    y = pl.load(a, [32, 0], [16, 64])
    e = pl.tile.assemble(x, y, [n, 0])
    s = pl.slice(e, [8, 64], [8, 0])
    m = pl.move(s, target_memory=pl.Mem.Vec)
    pl.store(pl.add(m, m), [0, 0], o)
    """
    made = operations(text_of(lowered(body, "ptoas"), "ptoas"))
    assert sum("pto.tmov" in line for line in made) == 2 and not any("tinsert" in line for line in made)


def test_parts_of_windows_are_taken_out_of_the_buffer():
    body = """
    x = pl.load(a, [0, 0], [64, 64])
    s = pl.slice(x, [32, 32], [16, 32])
    pl.store(pl.tile.extract(s, 8, n, [16, 16]), [0, 0], o)
    m = pl.move(s, target_memory=pl.Mem.Vec)
    pl.store(m, [0, 0], o)
    """
    made = operations(text_of(lowered(body, "ptoas"), "ptoas"))
    taken = [line for line in made if "textract" in line]
    assert len(taken) == 2
    assert taken[0].startswith("pto.textract ins(%mem_vec_2_buffer, %c24_index, %0 : vec[64x64 ")
    assert taken[1].startswith("pto.textract ins(%mem_vec_2_buffer, %c16_index, %c32_index : vec[64x64 ")


def test_accumulators_are_named_twice():
    body = PRODUCTS["added up"]
    made = operations(text_of(lowered(body, "pypto", CUBE.format("FP16", "FP32")), "pypto"))
    [added] = [line for line in made if "tmatmul.acc" in line]
    acc = re.search(r"outs\((%\w+)", added)
    assert acc is not None and added.startswith(f"pto.tmatmul.acc ins({acc[1]}, ")


def test_the_place_of_a_kernel_is_a_parameter():
    body = """
    x = pl.load(a, [pl.tile.get_block_idx() * 16, 0], [16, 64])
    pl.store(x, [pl.tile.get_block_num() * 16, 0], o)
    """
    text = text_of(lowered(body), "pypto")
    assert "%__pypto_spmd_block_idx: i32, %__pypto_spmd_block_num: i32)" in text
    assert "arith.index_cast %__pypto_spmd_block_idx : i32 to index" in text


TWO = """
import pypto_core.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def one(self, a: pl.Tensor[[16, 64], pl.FP32], o: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        pl.store(pl.exp(pl.load(a, [0, 0], [16, 64])), [0, 0], o)

    @pl.function(type=pl.FunctionType.InCore)
    def two(self, a: pl.Tensor[[16, 64], pl.FP32], o: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        pl.store(pl.exp(pl.load(a, [0, 0], [16, 64])), [0, 0], o)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: pl.Tensor[[16, 64], pl.FP32], o: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        self.one(a, o)
        self.two(a, o)
"""


def test_one_program_holds_both_forms():
    """Each function is written by its stage, and the caller calls either."""
    import numpy as np

    import pypto_core.language as pl

    program = planned(pl.parse(TWO), "pypto")
    two = program["two"]
    marked = [f for f in program if f.name != "two"]
    mixed = in_buffers(
        Program("P", [*marked, replace(two, attrs={**two.attrs, BUFFER_IR_SELECTED: False})]), "pypto"
    )
    host = load_host()
    context = PassContext(planner="pypto", backend=host.backend("910b"), host=host)
    with context:
        texts = {a.name: str(a.data) for a in host.target("pto").load()(mixed, context)}
    assert (
        "_buffer = pto.alloc_tile" in texts["one.pto"] and "_buffer = pto.alloc_tile" not in texts["two.pto"]
    )
    assert all(check_text(text, name).ok for name, text in texts.items())
    a = np.random.default_rng(0).standard_normal((16, 64)).astype(np.float32)
    out = host.engine("values").load()(mixed, {"a": a, "o": np.zeros_like(a)}, "main").outputs["o"]
    np.testing.assert_allclose(out, np.exp(a), rtol=1e-6)


def test_sources_are_named_by_lines():
    """Every instruction, allocations too, points into the author's text."""
    host = load_host()
    program = in_buffers(planned(source(KERNELS["straight"]), "pypto"), "pypto")
    context = PassContext(planner="pypto", backend=host.backend("910b"), host=host)
    with context:
        [artifact] = host.target("pto").load()(program, context)
    allocs = [line for line in str(artifact.data).splitlines() if "alloc_tile" in line]
    assert allocs and all('loc("' in line for line in allocs)

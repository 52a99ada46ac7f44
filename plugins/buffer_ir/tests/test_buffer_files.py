"""What a compilation leaves behind when kernels are on buffers: files, tables of memory, reports."""

from __future__ import annotations

import pytest
from buffer_parts import source

import pypto_core.language as pl
from pypto_core.contract import load_reference
from pypto_core.ir import FunctionIRStage, structural_equal
from pypto_core.run import compile, memory_table
from pypto_core.text import loads

KERNEL = """
x = pl.load(a, [0, 0], [16, 64])
y = pl.add(x, x)
z = pl.mul(y, x)
pl.store(z, [0, 0], o)
"""
MIXED = """
import pypto_core.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def on_buffers(self, a: pl.Tensor[[16, 64], pl.FP32], o: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        pl.store(pl.exp(pl.load(a, [0, 0], [16, 64])), [0, 0], o)

    @pl.function(type=pl.FunctionType.InCore)
    def in_tiles(self, a: pl.Tensor[[16, 64], pl.FP32], o: pl.Out[pl.Tensor[[16, 64], pl.FP16]]):
        pl.store(pl.cast(pl.load(a, [0, 0], [16, 64]), pl.FP16), [0, 0], o)
"""


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_the_program_is_kept_beside_its_text(tmp_path, planner):
    compiled = compile(source(KERNEL), backend="910b", planner=planner)
    paths = compiled.write(tmp_path)
    assert [p.name for p in paths] == ["k.pto", "buffer_ir.msgpack"]
    back = loads((tmp_path / "buffer_ir.msgpack").read_bytes())
    assert structural_equal(back, compiled.program)
    assert back["k"].ir_stage is FunctionIRStage.Buffer


def test_kernels_in_tiles_leave_their_text_alone(tmp_path):
    compiled = compile(source(KERNEL), backend="910b", enable_buffer_ir=False)
    assert [p.name for p in compiled.write(tmp_path)] == ["k.pto"]


def test_tables_of_memory_name_the_tiles():
    """They are the same whether kernels end on buffers or in tiles."""
    tables = [
        memory_table(compile(pl.parse(MIXED), backend="910b", enable_buffer_ir=on).placed, addressed=True)
        for on in (True, False)
    ]
    assert tables[0] == tables[1]
    assert {row.function for row in tables[0]} == {"on_buffers", "in_tiles"}
    stages = {f.name: f.ir_stage for f in compile(pl.parse(MIXED), backend="910b").program}
    assert stages == {"on_buffers": FunctionIRStage.Buffer, "in_tiles": FunctionIRStage.Functional}


def test_maps_of_memory_show_every_kernel():
    map_of = load_reference("pypto_plugin_memory.command:map_of", "the map of memory")
    maps = [map_of(compile(pl.parse(MIXED), backend="910b", enable_buffer_ir=on)) for on in (True, False)]
    assert maps[0].to_json() == maps[1].to_json()
    assert "on_buffers" in str(maps[0].to_json())


def test_machines_without_buffers_keep_tiles():
    compiled = compile(source(KERNEL), backend="a5")
    assert [f.ir_stage for f in compiled.program] == [FunctionIRStage.Functional]

"""Descriptors of buffers: what they may say, how they compare, and that text and bytes keep them."""

from __future__ import annotations

import pytest

import pypto_core.language as pl
from pypto_core.diagnostics import ParserTypeError, UserError
from pypto_core.ir import (
    BufferType,
    CompactMode,
    DataType,
    Function,
    FunctionIRStage,
    FunctionType,
    MemorySpace,
    MultiBufferType,
    PadValue,
    Program,
    SeqStmts,
    TileLayout,
    TupleType,
    Var,
    structural_equal,
    structural_hash,
    types_equal,
)
from pypto_core.text import dumps, loads, print_program, print_type

VEC, F32 = MemorySpace.Vec, DataType.FP32

PLAIN = BufferType((16, 64), F32, VEC)
FIELDS = {
    "shape": (64, 16),
    "dtype": DataType.INT32,
    "memory_space": MemorySpace.Mat,
    "valid_shape": (16, -1),
    "blayout": TileLayout.col_major,
    "slayout": TileLayout.row_major,
    "fractal": 1024,
    "pad": PadValue.zero,
    "compact": CompactMode.normal,
}


def test_an_omitted_valid_shape_is_the_shape():
    said = BufferType((16, 64), F32, VEC, (16, 64))
    assert PLAIN.valid_shape == (16, 64)
    assert types_equal(PLAIN, said) and structural_hash(PLAIN) == structural_hash(said)
    assert PLAIN.is_fully_valid and PLAIN.is_static and PLAIN.is_dense


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_counts(field):
    parts = {"shape": (16, 64), "dtype": F32, "memory_space": VEC, field: FIELDS[field]}
    other = BufferType(**parts)
    assert not types_equal(PLAIN, other)
    assert structural_hash(PLAIN) != structural_hash(other)
    assert not types_equal(TupleType((PLAIN,)), TupleType((other,)))


def test_slots_count_too():
    two = MultiBufferType(PLAIN, 2)
    assert types_equal(two, MultiBufferType(BufferType((16, 64), F32, VEC), 2))
    assert not types_equal(two, MultiBufferType(PLAIN, 3))
    with pytest.raises(UserError, match="positive number of slots"):
        MultiBufferType(PLAIN, 0)


@pytest.mark.parametrize(
    ("shape", "valid", "said"),
    [
        ((0, 4), (), "positive constant extents"),
        ((16, -1), (), "positive constant extents"),
        ((16, 64), (17, 64), "between 0 and 16"),
        ((16, 64), (-2, 64), "between 0 and 16"),
        ((16, 64), (16,), "2 axes has 1 valid"),
    ],
)
def test_extents_that_make_no_sense_are_refused(shape, valid, said):
    with pytest.raises(UserError, match=said) as caught:
        BufferType(shape, F32, VEC, valid)
    assert caught.value.diagnostics[0].code == "PT212"


@pytest.mark.parametrize(
    ("dtype", "size"), [(F32, 4096), (DataType.FP16, 2048), (DataType.INT8, 1024), (DataType.FP4, 512)]
)
def test_the_size_is_that_of_all_elements(dtype, size):
    assert BufferType((16, 64), dtype, VEC, (0, 3)).size == size


EVERY = [
    PLAIN,
    *(BufferType(**{"shape": (16, 64), "dtype": F32, "memory_space": VEC, k: v}) for k, v in FIELDS.items()),
]


@pytest.mark.parametrize("kind", [*EVERY, MultiBufferType(EVERY[4], 3)], ids=repr)
def test_bytes_and_text_keep_a_descriptor(kind):
    function = Function(
        "k",
        (Var("b", kind),),
        (),
        SeqStmts(()),
        func_type=FunctionType.InCore,
        ir_stage=FunctionIRStage.Buffer,
    )
    program = Program("P", [function])
    assert types_equal(loads(dumps(program))["k"].params[0].type, kind)
    back = pl.parse(print_program(program))
    assert structural_equal(back, program), print_program(program)


def test_a_descriptor_is_written_as_its_constructor():
    assert print_type(PLAIN) == "pl.BufferType([16, 64], pl.FP32, pl.Mem.Vec)"
    assert print_type(EVERY[4]) == "pl.BufferType([16, 64], pl.FP32, pl.Mem.Vec, valid_shape=[16, -1])"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pl.BufferType([16, 64], pl.FP32)", "needs its memory_space"),
        ("pl.BufferType([16, 64], pl.FP32, pl.Mem.Vec, shape=[1])", "given twice"),
        ("pl.BufferType([16, 64], pl.FP32, pl.Mem.Vec, fractals=3)", "no argument 'fractals'"),
        ("pl.BufferType(16, pl.FP32, pl.Mem.Vec)", "must be a list of numbers"),
        ("pl.BufferType([16, 64], pl.Mem.Vec, pl.Mem.Vec)", "must be a DataType"),
        ("pl.MultiBufferType(pl.BufferType([16, 64], pl.FP32, pl.Mem.Vec))", "number of slots"),
    ],
)
def test_a_descriptor_that_is_written_wrongly_is_refused(text, said):
    source = f"""
import pypto_core.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, b: {text}):
        return
"""
    with pytest.raises(ParserTypeError, match=said):
        pl.parse(source)

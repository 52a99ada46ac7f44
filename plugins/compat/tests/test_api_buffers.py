"""What PyPTO's tests ask of operators on buffers."""

from __future__ import annotations

import pytest

from pypto import ir
from pypto.pypto_core import ir as core_ir
from pypto_core.host import load_host
from pypto_core.ops import using_registry


@pytest.fixture(autouse=True)
def operators() -> object:
    with using_registry(load_host().ops):
        yield


def test_stages_and_arity() -> None:
    assert ir.get_op_ir_stage("tile.add") is ir.OpIRStage.Functional
    assert ir.get_op_ir_stage("buffer.add") is ir.OpIRStage.Buffer
    assert (ir.get_op_output_arity("buffer.add"), ir.get_op_output_arity("buffer.alloc")) == (0, 1)


def test_effects() -> None:
    sources = [ir.get_op_buffer_arg_effect("buffer.add", i) for i in (0, 1)]
    assert all(s.data is ir.BufferAccess.Read for s in sources)
    assert ir.get_op_buffer_arg_effect("buffer.add", 2).data is ir.BufferAccess.Write
    assert ir.get_op_buffer_arg_effect("buffer.adds", 1).non_memory
    with pytest.raises(ValueError, match="no buffer effect"):
        ir.get_op_buffer_arg_effect("buffer.add", 9)
    with pytest.raises(ValueError, match="requires GetBufferArgEffect"):
        ir.get_op_arg_effect("buffer.add", 0)


def test_results() -> None:
    spec = ir.get_op_buffer_result_spec("buffer.alloc")
    assert (spec.behavior, spec.alias_arg) == (ir.BufferResultBehavior.Allocate, None)
    assert ir.get_op_buffer_result_spec("buffer.add").behavior is ir.BufferResultBehavior.None_


def test_only_lowering_makes_them() -> None:
    with pytest.raises(ValueError, match="internal-only"):
        ir.create_op_call("buffer.add", [], {}, ir.Span.unknown())
    assert callable(core_ir._create_internal_op_call)

"""Buffer IR through PyPTO's names: what its calls are refused with, and kernels lowered step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pypto.language as pl
from pypto import DataType, backend, codegen, ir, passes, pypto_core
from pypto.ir.pass_manager import PassManager

U = ir.Span.unknown()
F, H, S = DataType.FP32, DataType.FP16, ir.Mem
VIEW = {"blayout": ir.TileLayout.col_major, "slayout": ir.TileLayout.row_major}


def mk(name: str, args: list[Any], *rest: Any) -> Any:
    """A call as lowering makes it: ``kwargs`` where given, then the type of an explicit result."""
    kwargs, kind = (
        next((r for r in rest if isinstance(r, dict)), {}),
        [r for r in rest if not isinstance(r, dict)],
    )
    return pypto_core.ir._create_internal_op_call(name, args, kwargs, *kind, U)


def v(kind: Any) -> Any:
    """A value of a type."""
    return ir.Var("v", kind, U)


def buf(shape: Any = (16, 32), dtype: DataType = F, space: Any = S.Vec, **fields: Any) -> Any:
    """The type of a buffer."""
    return ir.BufferType(list(shape), dtype, space, **fields)


def left(shape: Any = (16, 32), dtype: DataType = H, **fields: Any) -> Any:
    return v(
        buf(shape, dtype, S.Left, blayout=ir.TileLayout.row_major, slayout=ir.TileLayout.row_major, **fields)
    )


def right(shape: Any = (32, 16), dtype: DataType = H, **fields: Any) -> Any:
    return v(buf(shape, dtype, S.Right, slayout=ir.TileLayout.col_major, **fields))


def acc(dtype: DataType = F) -> Any:
    return v(buf((16, 16), dtype, S.Acc, fractal=1024, **VIEW))


def mat(shape: Any = (64, 64), dtype: DataType = H) -> Any:
    return v(buf(shape, dtype, S.Mat, **VIEW))


def t(*items: Any) -> Any:
    """A tuple of numbers."""
    return ir.MakeTuple([ir.ConstInt(i, DataType.INDEX, U) if isinstance(i, int) else i for i in items], U)


def c(value: int) -> Any:
    return ir.ConstInt(value, DataType.INDEX, U)


def gm(dtype: DataType = F) -> Any:
    return v(ir.TensorType([64, 64], dtype))


IDX, FS, HS = (v(ir.ScalarType(d)) for d in (DataType.INDEX, F, H))
TUP = v(ir.TupleType([ir.ScalarType(DataType.INDEX)]))
B, D, OTHER = v(buf()), v(buf(valid_shape=[-1, -1])), v(buf((32, 16)))
OPEN = buf((16, 16), valid_shape=[-1, 16])
ALL, SMALL, L16 = t(16, 32), mat((16, 32)), left((16, 16))

REFUSALS: list[tuple[str, Callable[[], Any]]] = [
    ("requires a runtime-valid tuple", lambda: mk("buffer.alloc", [], buf())),
    ("must be a MakeTuple", lambda: mk("buffer.alloc", [TUP], buf(valid_shape=[-1, 32]))),
    ("one per dynamic descriptor dimension", lambda: mk("buffer.alloc", [t()], buf(valid_shape=[-1, 32]))),
    ("nonnegative", lambda: mk("buffer.alloc", [t(), c(-1)], buf())),
    ("Unknown kwarg 'bogus'", lambda: mk("buffer.alloc", [t()], {"bogus": 1}, buf())),
    ("one valid extent per physical dimension", lambda: mk("buffer.set_validshape", [D, t(4)])),
    ("valid extents must be a MakeTuple", lambda: mk("buffer.set_validshape", [D, TUP])),
    ("integer or INDEX scalar", lambda: mk("buffer.set_validshape", [D, t(FS, 4)])),
    ("must be between", lambda: mk("buffer.set_validshape", [D, t(17, 4)])),
    ("cannot change static valid dimension", lambda: mk("buffer.set_validshape", [B, t(4, 32)])),
    ("matching FP16/BF16/FP32/INT32", lambda: mk("buffer.load", [gm(H), t(0, 0), ALL, B])),
    ("without a scale", lambda: mk("buffer.store", [acc(DataType.INT32), t(0, 0), t(16, 16), gm(H)])),
    ("does not support", lambda: mk("buffer.load", [gm(H), t(0, 0), ALL, left()])),
    ("rank-2 MakeTuple", lambda: mk("buffer.load", [gm(), t(0), ALL, B])),
    ("nonnegative", lambda: mk("buffer.load", [gm(), t(-1, 0), ALL, B])),
    ("between 0 and", lambda: mk("buffer.load", [gm(), t(0, 0), t(17, 32), D])),
    ("static valid dimension", lambda: mk("buffer.load", [gm(), t(0, 0), t(8, 32), B])),
    ("exceeds GM", lambda: mk("buffer.load", [gm(), t(60, 0), ALL, B])),
    ("Unknown kwarg 'cache'", lambda: mk("buffer.load", [gm(), t(0, 0), ALL, B], {"cache": 1})),
    ("identical physical descriptors", lambda: mk("buffer.copy", [B, OTHER])),
    (
        "keep the element type and the physical and valid extents",
        lambda: mk("buffer.copy", [SMALL, left((32, 32))]),
    ),
    ("got Acc -> Mat", lambda: mk("buffer.copy", [acc(), mat((16, 16), F)])),
    ("must be in Vec memory", lambda: mk("buffer.copy", [mat(), mat()])),
    ("Mat -> Left/Right and Vec -> Vec", lambda: mk("buffer.extract", [acc(), c(0), c(0), v(buf((16, 16)))])),
    (
        "matching element types",
        lambda: mk("buffer.extract", [mat(), c(0), c(0), left((16, 16), DataType.BF16)]),
    ),
    (
        "row window \\[56, 72\\) exceeds the source extent 64",
        lambda: mk("buffer.extract", [mat(), c(56), c(0), L16]),
    ),
    ("column window", lambda: mk("buffer.extract", [mat(), c(0), c(56), left((16, 16))])),
    ("dense rank-2 row-major Vec", lambda: mk("buffer.subview", [mat(), t(0, 0)], buf((16, 16), H))),
    ("keep the element type", lambda: mk("buffer.subview", [B, t(0, 0)], buf((16, 16), H))),
    ("exceeds the source", lambda: mk("buffer.subview", [B, t(0, 0)], buf((32, 16)))),
    ("exceeds source capacity on dimension 0", lambda: mk("buffer.subview", [B, t(8, 0)], buf((16, 16)))),
    ("requires a valid-extents tuple", lambda: mk("buffer.subview", [B, t(0, 0)], OPEN)),
    (
        "must equal the static descriptor dimension",
        lambda: mk("buffer.subview", [B, t(0, 0), t(IDX, 8)], OPEN),
    ),
    ("static valid extents", lambda: mk("buffer.reshape", [D], buf((32, 16)))),
    ("physical rows aligned to 32 bytes", lambda: mk("buffer.reshape", [B], buf((128, 4)))),
    ("equal physical byte sizes", lambda: mk("buffer.reshape", [B], buf((8, 32)))),
    ("same memory space", lambda: mk("buffer.reshape", [mat()], left((64, 64)).type)),
    ("same element type", lambda: mk("buffer.reshape", [mat()], mat((64, 32), F).type)),
    ("requires 3 explicit operands, got 2", lambda: mk("buffer.add", [B, B])),
    ("requires a scalar matching the destination dtype", lambda: mk("buffer.adds", [B, HS, B])),
    ("must have BufferType", lambda: mk("buffer.add", [B, gm(), B])),
    ("must be in Vec memory", lambda: mk("buffer.add", [mat((16, 32), F), B, B])),
    ("identical physical descriptors", lambda: mk("buffer.add", [B, OTHER, B])),
    ("requires a distinct destination", lambda: mk("buffer.recip", [B, B])),
    ("Unknown kwarg 'high_precision'", lambda: mk("buffer.add", [B, B, B], {"high_precision": True})),
    ("must be a rank-2 Left buffer", lambda: mk("buffer.matmul", [B, right(), acc()])),
    (
        "does not support",
        lambda: mk("buffer.matmul", [left(dtype=DataType.INT16), right(dtype=DataType.INT16), acc()]),
    ),
    ("requires a fp32 accumulator", lambda: mk("buffer.matmul", [left(), right(), acc(DataType.INT32)])),
    (
        "rhs valid K to cover lhs valid K",
        lambda: mk("buffer.matmul", [left(), right(valid_shape=[16, 16]), acc()]),
    ),
    (
        "must equal the product valid extent",
        lambda: mk("buffer.matmul", [left(valid_shape=[8, 32]), right(), acc()]),
    ),
    ("requires no arguments", lambda: mk("buffer.get_block_idx", [B])),
    ("internal-only", lambda: ir.create_op_call("buffer.get_block_idx", [], {}, U)),
    ("no buffer effect", lambda: ir.get_op_buffer_arg_effect("buffer.add", 7)),
    ("requires GetBufferArgEffect", lambda: ir.get_op_arg_effect("buffer.add", 0)),
    ("requires GetBufferArgEffect", lambda: ir.op_arg_is_workspace("buffer.add", 0)),
]


@pytest.mark.parametrize(
    ("words", "call"), REFUSALS, ids=[f"{i}-{words}" for i, (words, _) in enumerate(REFUSALS)]
)
def test_what_a_call_is_refused_with(words: str, call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_calls_that_are_in_order() -> None:
    assert mk("buffer.alloc", [t()], buf()).type == buf() != mk("buffer.alloc", [t(IDX), c(0)], OPEN).type
    assert isinstance(mk("buffer.add", [B, B, B]).type, ir.VoidType)
    assert mk("buffer.get_block_idx", []).type == ir.ScalarType(DataType.INDEX)
    testing = pypto_core.testing
    kinds = {name: testing.get_execution_memory_access_evidence(name).name for name in _ASKED}
    assert kinds == _ASKED
    assert ir.op_arg_is_workspace("tile.row_sum", 1) and not ir.op_arg_is_workspace("tile.row_sum", 0)


_ASKED = {
    "tile.add": "Full", "tile.reshape": "NoAccess", "buffer.add": "Unknown", "buffer.get_block_idx": "NoAccess",
    "tensor.write": "Unknown",
}  # fmt: skip


# Kernels


@pytest.fixture
def machine(request: pytest.FixtureRequest) -> Iterator[Any]:
    """One of both machines."""
    backend.reset_for_testing()
    backend.set_backend_type(request.param)
    yield request.param
    backend.reset_for_testing()


def kernel(params: str, body: str) -> Any:
    """A kernel that returns ``r``."""
    code = "".join(f"        {line}\n" for line in [*body.strip().splitlines(), "return r"])
    kind = params.rpartition("out: ")[2]
    params = params.replace(f"out: {kind}", f"out: pl.Out[{kind}]")
    return pl.parse_program(
        "@pl.program\nclass Kernel:\n    @pl.function(type=pl.FunctionType.InCore)\n"
        f"    def main(self, {params}) -> {kind}:\n{code}"
    )


def tensors(names: str, shape: str, dtype: str, result: str = "", more: str = "") -> str:
    """Parameters of one type, more of them, and ``out``."""
    kind = f"pl.Tensor[{shape}, pl.{dtype}]"
    parts = [f"{n}: {kind}" for n in names] + [*filter(None, [more])]
    return ", ".join([*parts, f"out: {f'pl.Tensor[{shape}, pl.{result}]' if result else kind}"])


PRODUCT = """
am = pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
bm = pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
al = pl.move(am, target_memory=pl.Mem.Left)
br = pl.move(bm, target_memory=pl.Mem.Right)
x = pl.matmul(al, br)
y = pl.matmul_acc(x, al, br)
r = pl.store(y, [0, 0], out)
"""
WINDOWS = """
whole = pl.load(a, [0, 0], [32, 64])
window = pl.tile.slice(whole, [16, 32], [row, 32])
doubled = pl.add(window, window)
canvas = pl.tile.full([32, 64], dtype=pl.FP32, value=0.0)
placed = pl.tile.assemble(canvas, doubled, [16, 0])
r = pl.store(placed, [0, 0], out)
"""
EXTENTS = """
loaded = pl.load(a, [0, 0], [16, 64], [16, n])
doubled = pl.add(loaded, loaded)
r = pl.store(doubled, [0, 0], out)
"""
CARRIES = """
left = pl.load(a, [0, 0], [16, 64])
right = pl.load(b, [0, 0], [16, 64])
for i, (x, y, k) in pl.range(n, init_values=(left, right, 0)):
    k2 = k + 2
    p, q, row = pl.yield_(y, x, k2)
last = pl.sub(p, q)
r = pl.store(last, [row, 0], out)
"""
MATRIX = ["load", "load", "copy", "copy", "matmul", "matmul_acc", "store"]
KERNELS: dict[str, tuple[Any, Callable[[list[str]], bool]]] = {
    **{
        f"product of {dtype}": (
            lambda dtype=dtype, to=to: kernel(tensors("ab", "[64, 64]", dtype, to), PRODUCT),
            lambda ops: ops == MATRIX,
        )
        for dtype, to in [("FP16", "FP32"), ("BF16", "FP32"), ("FP32", "FP32"), ("INT8", "INT32")]
    },
    "windows": (
        lambda: kernel(tensors("a", "[32, 64]", "FP32", more="row: pl.Scalar[pl.INDEX]"), WINDOWS),
        lambda ops: ops.count("subview") >= 2 and "copy" in ops,
    ),
    "extents": (
        lambda: kernel(tensors("a", "[16, 64]", "FP32", more="n: pl.Scalar[pl.INDEX]"), EXTENTS),
        lambda ops: ops.count("set_validshape") == 2,
    ),
    "carries": (
        lambda: kernel(tensors("ab", "[16, 64]", "FP32", more="n: pl.Scalar[pl.INDEX]"), CARRIES),
        lambda ops: ops.count("copy") >= 2 and "sub" in ops,
    ),
}
STEPS = """convert_to_ssa normalize_stmt_structure flatten_call_expr flatten_tile_nd_to_2d infer_tile_memory_space
    normalize_return_order canonicalize_io_order init_mem_ref materialize_semantic_aliases"""
PLANNERS = passes.MemoryPlanner


def planned(program: Any, planner: Any) -> Any:
    """A kernel with its storage planned, by passes called one by one."""
    for name in STEPS.split():
        program = getattr(passes, name)()(program)
    if planner is PLANNERS.PYPTO:
        program = passes.memory_reuse()(program)
    program = passes.verify_tile_storage()(program)
    return program if planner is PLANNERS.PTOAS else passes.allocate_memory_addr()(program)


@pytest.mark.parametrize("machine", list(backend.BackendType), ids=lambda b: b.name, indirect=True)
@pytest.mark.parametrize("planner", list(PLANNERS), ids=lambda p: p.name)
@pytest.mark.parametrize("name", KERNELS)
def test_lowering_a_kernel_step_by_step(name: str, planner: Any, machine: Any) -> None:
    make, expected = KERNELS[name]
    with passes.PassContext([], memory_planner=planner):
        before = planned(make(), planner)
        stored = ir.serialize(before)
        low = passes.lower_tile_to_buffer()(before)
        assert ir.serialize(before) == stored
        ir.assert_structural_equal(passes.lower_tile_to_buffer()(low), low)
        text = codegen.PTOCodegen().generate(
            low, emit_tile_addr=planner is not PLANNERS.PTOAS, emit_source_loc=False
        )
    calls = [call for call in _calls(low) if call.op.name.startswith("buffer.")]
    assert expected([c.op.name.removeprefix("buffer.") for c in calls if c.op.name != "buffer.alloc"])
    allocs = [call for call in calls if call.op.name == "buffer.alloc"]
    assert {len(call.args) for call in allocs} == {1 if planner is PLANNERS.PTOAS else 2}
    assert (
        low["main"].ir_stage == ir.FunctionIRStage.Buffer
        and passes.PropertyVerifierRegistry.verify([passes.IRProperty.BufferIR], low) == []
    )
    ir.assert_structural_equal(ir.deserialize(ir.serialize(low)), low)
    assert ("addr = " in text) is (planner is not PLANNERS.PTOAS) and " loc(" not in text
    for loop in ir.flatten_to_stmts(low["main"].body):
        if isinstance(loop, ir.ForStmt):  # tiles are carried no longer, numbers are
            assert [type(arg.type) for arg in loop.iter_args] == [ir.ScalarType]


def _calls(program: Any) -> list[Any]:
    found: list[Any] = []

    class Calls(ir.IRVisitor):
        def visit_call(self, op: Any) -> None:
            found.append(op)
            super().visit_call(op)

    Calls().visit_program(program)
    return found


@pytest.mark.parametrize("machine", [backend.BackendType.Ascend950], indirect=True)
@pytest.mark.parametrize("planner", list(PLANNERS), ids=lambda p: p.name)
def test_the_default_pipeline_of_a_machine_without_buffers_keeps_tiles(planner: Any, machine: Any) -> None:
    seen: list[Any] = []
    ears = passes.CallbackInstrument(before_pass=lambda p, program: seen.append((p.get_name(), program)))
    with passes.PassContext([ears], memory_planner=planner):
        low = PassManager().run_passes(kernel(tensors("ab", "[64, 64]", "FP16", "FP32"), PRODUCT))
    assert seen[-1][0] == "LowerTileToBuffer"
    assert low["main"].ir_stage == ir.FunctionIRStage.Functional
    assert low["main"].attrs["buffer_ir_selected"] is False

"""Files written for PyPTO import, print, read back, compile and compute with no edit."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

import pypto.language as pl
from pypto import backend, ir, passes
from pypto.ir.pass_manager import OptimizationStrategy, PassDumpLevel, PassManager

DATA = Path(__file__).parent / "data"
PROGRAMS = {
    "elementwise": ("ElementwiseProgram",),
    "control_flow": ("ControlFlow",),
    "declared_slots": ("DeclaredSlots",),
    "module_functions": ("ModuleFunctions", "Halves"),
    "matmul": ("MatmulProgram",),
    "tensor_level": ("TensorLevel",),
}
ALL = [(file, name) for file, names in PROGRAMS.items() for name in names]


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    """The 910B, as PyPTO's own tests set it up."""
    backend.reset_for_testing()
    backend.set_backend_type(backend.BackendType.Ascend910B)
    yield
    backend.reset_for_testing()


def module(file: str) -> ModuleType:
    """A file of the data folder, executed as Python does."""
    spec = importlib.util.spec_from_file_location(f"pypto_compat_data_{file}", DATA / f"{file}.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def program(file: str, name: str) -> ir.Program:
    """A program of such a file."""
    return getattr(module(file), name)


def test_every_file_is_tested() -> None:
    assert sorted(path.stem for path in DATA.glob("*.py")) == sorted(PROGRAMS)


@pytest.mark.parametrize(("file", "name"), ALL)
def test_prints_under_pypto_and_reads_back(file: str, name: str) -> None:
    found = program(file, name)
    text = found.as_python()
    assert text.splitlines()[:2] == [f"# pypto.program: {name}", "import pypto.language as pl"]
    ir.assert_structural_equal(pl.parse(text), found)
    assert str(found) == ir.python_print(found, concise=True)
    # a stored program has open extents of its own
    ir.assert_structural_equal(ir.deserialize(ir.serialize(found)), found, enable_auto_mapping=True)


@pytest.mark.parametrize("file", sorted(PROGRAMS))
def test_a_file_that_is_read_and_not_executed_holds_the_same_program(file: str) -> None:
    if len(PROGRAMS[file]) > 1:
        pytest.skip("a program made in a function call needs Python")
    [name] = PROGRAMS[file]
    ir.assert_structural_equal(pl.loads_program(DATA / f"{file}.py"), program(file, name))


@pytest.mark.parametrize(("file", "name"), ALL)
def test_the_default_strategy_gives_every_tile_a_place(file: str, name: str, tmp_path: Path) -> None:
    with passes.PassContext([], enable_buffer_ir=False):
        manager = PassManager(OptimizationStrategy.Default)
        lowered = manager.run_passes(program(file, name), dump_ir=PassDumpLevel.EXPLICIT, output_dir=tmp_path)
    wanted = passes.IRPropertySet([passes.IRProperty.AllocatedMemoryAddr, passes.IRProperty.TypeChecked])
    assert passes.PropertyVerifierRegistry.verify(wanted, lowered) == []
    tiles = TileTypes()
    tiles.visit_program(lowered)
    assert tiles.types and all(kind.memref is not None for kind in tiles.types)
    dumps = sorted(path.name for path in tmp_path.glob("*.py"))
    assert dumps[0] == "00_frontend.py" and dumps[-1].startswith(f"{len(dumps) - 1:02}_after_")
    ir.assert_structural_equal(pl.parse((tmp_path / dumps[-1]).read_text()), lowered)


def test_the_default_strategy_writes_kernels_on_buffers() -> None:
    with passes.PassContext([], enable_buffer_ir=True):
        manager = PassManager(OptimizationStrategy.Default)
        lowered = manager.run_passes(program("elementwise", "ElementwiseProgram"))
    assert manager.pass_names[-1] == "LowerTileToBuffer"
    assert {f.ir_stage for f in lowered if f.is_incore} == {ir.FunctionIRStage.Buffer}
    wanted = passes.IRPropertySet([passes.IRProperty.BufferIR, passes.IRProperty.TileStorageLegalized])
    assert passes.PropertyVerifierRegistry.verify(wanted, lowered) == []
    tiles = TileTypes()
    tiles.visit_program(lowered)
    assert tiles.types == []


class TileTypes(ir.IRVisitor):
    """Collects the types of the tiles that are assigned."""

    def __init__(self) -> None:
        self.types: list[ir.TileType] = []

    def visit_assign_stmt(self, op: ir.AssignStmt) -> None:
        if isinstance(op.var.type, ir.TileType):
            self.types.append(op.var.type)
        super().visit_assign_stmt(op)


@pytest.mark.parametrize("planner", list(passes.MemoryPlanner))
def test_compiles_to_text_under_every_planner(planner: passes.MemoryPlanner) -> None:
    compiled = ir.compile(program("elementwise", "ElementwiseProgram"), memory_planner=planner)
    names = [artifact.name for artifact in compiled.compiled.artifacts]
    assert names == ["kernel_add.pto", "kernel_scale.pto"]
    text = compiled.compiled.artifacts[0].data
    # the assembler places buffers itself under PTOAS, and is told where they are otherwise
    assert ("addr" in text) == (planner is not passes.MemoryPlanner.PTOAS)


def random(*shape: int) -> np.ndarray:
    """Numbers that additions and products of a few keep exact enough."""
    return np.random.default_rng(7).standard_normal(shape, dtype=np.float32)


def test_elementwise_computes() -> None:
    a, b = random(128, 128), random(128, 128)[::-1].copy()
    total, scaled = np.zeros_like(a), np.zeros_like(a)
    outputs = ir.compile(program("elementwise", "ElementwiseProgram"))(a, b, total, scaled)
    np.testing.assert_array_equal(total, a + b)
    np.testing.assert_array_equal(scaled, (a + b) * np.float32(0.5))
    np.testing.assert_array_equal(outputs[1], scaled)


def test_control_flow_computes() -> None:
    compiled = ir.compile(program("control_flow", "ControlFlow"))
    x, out = random(128, 64), np.zeros((32, 64), np.float32)
    compiled(x, out, entry="accumulate")
    blocks = x.reshape(4, 32, 64)
    np.testing.assert_array_equal(out, ((blocks[0] + blocks[1]) + blocks[2]) + blocks[3])
    for n, wanted in ((2, x[:32] * 2), (3, x[:32] + 1)):
        compiled(x[:32], n, out, entry="choose")
        np.testing.assert_array_equal(out, wanted)
    compiled(x[:32], out, entry="rebind")
    np.testing.assert_array_equal(out, x[:32] * 16)


def test_declared_slots_keep_their_declaration() -> None:
    found = program("declared_slots", "DeclaredSlots")
    tiles = TileTypes()
    tiles.visit_program(found)
    ring, scratch = (kind.memref for kind in tiles.types)
    assert (ring.base_.name_hint, ring.slot_count_, ring.is_pinned_, ring.size_) == ("ring", 2, True, 0)
    assert str(ring.slot_index_) == "i % 2"
    assert (scratch.base_.name_hint, scratch.slot_count_, scratch.slot_index_) == ("scratch", 1, None)
    x, out = random(256, 64), np.zeros((256, 64), np.float32)
    ir.compile(found, goal="SSAForm")(x, out)
    np.testing.assert_allclose(out, np.exp(x), rtol=1e-6)


def test_module_functions_compute() -> None:
    x, y, z = random(64, 64), np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    found = module("module_functions")
    assert sorted(found.ModuleFunctions.functions) == ["copy_rows", "main", "scale_rows"]
    ir.compile(found.ModuleFunctions)(x, y, z)
    np.testing.assert_array_equal(z, x * 2)
    wide, out = random(32, 128), np.zeros((32, 64), np.float32)
    ir.compile(found.Halves)(wide, out)
    np.testing.assert_array_equal(out, wide[:, :64] + wide[:, 64:])


def test_matmul_computes() -> None:
    a, b = random(64, 128).astype(np.float16), random(128, 64).astype(np.float16)
    c = np.zeros((64, 64), np.float32)
    ir.compile(program("matmul", "MatmulProgram"), platform="a2a3")(a, b, c)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), atol=1e-4)


def test_tensors_compute() -> None:
    x, w = random(32, 128).astype(ml_dtypes.bfloat16), random(64, 128).astype(ml_dtypes.bfloat16)
    bias, out = random(1, 64), np.zeros((32, 64), np.float32)
    compiled = ir.compile(program("tensor_level", "TensorLevel"), platform="a2a3")
    assert [a.name for a in compiled.compiled.artifacts] == ["bias.pto", "product.pto", "softmax.pto"]
    compiled(x, w, bias, out)
    scores = x.astype(np.float64) @ w.astype(np.float64).T + bias
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, weights / weights.sum(axis=1, keepdims=True), atol=1e-5)

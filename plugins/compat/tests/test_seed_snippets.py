"""The code in the seed documents runs as written: calls of the compiler, and kernels in a function around them.

Kernels in a document name values that it does not define (``a_mat``, ``Acc``, ``K``) and may stand for more code with
an ellipsis; ``SURROUNDINGS`` gives those names a meaning, by the names that a kernel leaves open.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from pypto import backend, ir, passes
from pypto.language import parse

SEEDS = Path(__file__).resolve().parents[4] / "shared" / "seeds"
_HERE = Path(__file__).parent


def _snippets_module() -> Any:
    # Tests are no package: what they share is loaded by its file.
    spec = importlib.util.spec_from_file_location("compat_snippets", _HERE / "snippets.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["compat_snippets"] = module  # attrs looks the module up
    spec.loader.exec_module(module)
    return module


FOUND = _snippets_module().snippets(SEEDS) if SEEDS.is_dir() else []
API = [s for s in FOUND if s.is_api]
KERNELS = [s for s in FOUND if not s.is_api]

pytestmark = pytest.mark.skipif(
    not SEEDS.is_dir(), reason="the seed documents are not beside this repository"
)


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    """The 910B."""
    backend.reset_for_testing()
    backend.set_backend_type(backend.BackendType.Ascend910B)
    yield
    backend.reset_for_testing()


@attrs.frozen
class Surroundings:
    """Parameters of the function around a kernel, what precedes it, and its constants."""

    params: str
    before: str = ""
    constants: str = ""


_OPERANDS = (
    "a: pl.Tensor[[{m}, {k}], pl.BF16], b: pl.Tensor[[{k}, {n}], pl.BF16], "
    "out: pl.Out[pl.Tensor[[{m}, {n}], pl.FP32]]"
)
_LOADS = """\
{a} = pl.load(a, [0, 0], [{m}, {k}], target_memory=pl.Mem.Mat)
{b} = pl.load(b, [0, 0], [{k}, {n}], target_memory=pl.Mem.Mat)
"""
_ACC = "acc_init = pl.tile.create([{m}, {n}], pl.FP32, target_memory=pl.Mem.Acc)\n"


def _product(
    m: int, n: int, k: int, a: str = "a_mat", b: str = "b_mat", more: str = "", acc: str = ""
) -> Any:
    sizes = {"m": m, "n": n, "k": k, "a": a, "b": b}
    return (_OPERANDS + more).format(**sizes), (_LOADS + acc).format(**sizes)


SURROUNDINGS = {
    ("a", "out"): Surroundings("a: pl.Tensor[[8192], pl.FP32], out: pl.Out[pl.Tensor[[8192], pl.FP32]]"),
    ("a_mat", "b_mat"): Surroundings(*_product(128, 128, 256)),
    (): Surroundings("out: pl.Out[pl.Tensor[[64, 128], pl.INT32]]"),
    ("K", "a_mat", "acc_init", "b_mat", "k", "m", "n"): Surroundings(
        *_product(64, 128, 256, acc=_ACC), "K, k, m, n = 256, 64, 64, 128"
    ),
    ("a_mat", "acc_init", "b_mat", "k", "k_eff", "k_full", "m", "n", "user_cond"): Surroundings(
        *_product(64, 128, 176, more=", user_cond: pl.Scalar[pl.BOOL]", acc=_ACC),
        "k, k_eff, k_full, m, n = 64, 48, 128, 64, 128",
    ),
    ("lhs_mat", "out", "rhs_mat"): Surroundings(*_product(512, 512, 512, "lhs_mat", "rhs_mat")),
    ("lhs_mat", "out_t0", "rhs_mat"): Surroundings(
        *_product(512, 512, 512, "lhs_mat", "rhs_mat", acc="out_t0 = out\n")
    ),
    ("a_mat", "b_mat", "e_mat", "out"): Surroundings(
        *_product(
            128, 128, 64,
            more=", e: pl.Tensor[[128, 128], pl.BF16]",
            acc="e_mat = pl.load(e, [0, 0], [128, 128], target_memory=pl.Mem.Mat)\n",
        )
    ),
}  # fmt: skip

_SPACES = ("Acc", "Left", "Mat", "Right")
_HEAD = "import pypto.language as pl\n" + "".join(f"{s} = pl.Mem.{s}\n" for s in _SPACES)


def open_names(text: str) -> tuple[str, ...]:
    """The names that are read and not assigned before, in order of the alphabet; spaces and ``pl`` aside."""
    tree = ast.parse(text.replace("(self, ...)", "(self)"))
    assigned: set[str] = {"pl", "self", *_SPACES}
    missing: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            for part in filter(None, [node.value, getattr(node, "annotation", None)]):
                visit(part)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                visit(target)
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                assigned.add(node.id)
            elif node.id not in assigned:
                missing.add(node.id)
        elif isinstance(node, ast.For):
            for part in (node.iter, node.target, *node.body):
                visit(part)
        else:
            for child in ast.iter_child_nodes(node):
                visit(child)

    visit(tree)
    return tuple(sorted(missing))


def program_text(snippet: Any) -> str:
    """A file with the kernel in it, the lines of the document unchanged but for ellipses and indentation."""
    around = SURROUNDINGS[open_names(snippet.text)]
    if snippet.is_program:
        lines = snippet.text.replace("(self, ...)", f"(self, {around.params})").splitlines()
        first, last = [i for i, line in enumerate(lines) if line.strip() == "..."]
        lines[last] = "        return out"
        lines[first] = textwrap.indent(around.before, " " * 8)
        return f"{_HEAD}{around.constants}\n" + "\n".join(lines) + "\n"
    body = textwrap.indent(f"{around.before}{snippet.text}\nreturn out\n", " " * 8)
    return (
        f"{_HEAD}{around.constants}\n@pl.program\nclass Snippet:\n"
        f"    @pl.function(type=pl.FunctionType.InCore)\n    def main(self, {around.params}):\n{body}"
    )


def executed(text: str, folder: Path) -> ir.Program:
    """The program in a file that Python executes, as a user's file is."""
    path = folder / "snippet_of_a_document.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    [found] = [value for value in vars(module).values() if isinstance(value, ir.Program)]
    return found


def test_every_document_has_snippets() -> None:
    assert {s.document for s in FOUND} == {path.stem for path in SEEDS.glob("*.txt")}
    assert (len(API), len(KERNELS)) == (4, 13)


@pytest.mark.parametrize("snippet", KERNELS, ids=str)
def test_kernels_are_programs(snippet: Any, tmp_path: Path) -> None:
    text = program_text(snippet)
    for line in snippet.text.splitlines():
        assert line.strip() in text or "..." in line
    found = executed(text, tmp_path)
    ir.assert_structural_equal(parse(found.as_python()), found)
    structural = passes.get_structural_properties()
    assert passes.PropertyVerifierRegistry.verify(structural, found) == []
    ir.assert_structural_equal(parse(text), found)


class Definitions(ir.IRVisitor):
    """The types of assigned variables and of what loops return, by name."""

    def __init__(self) -> None:
        self.types: dict[str, Any] = {}
        self.loops: list[Any] = []

    def visit_assign_stmt(self, op: Any) -> None:
        self.types[op.var.name_hint] = op.var.type
        super().visit_assign_stmt(op)

    def visit_for_stmt(self, op: Any) -> None:
        self.loops.append(op)
        self.types.update((var.name_hint, var.type) for var in op.return_vars)
        super().visit_for_stmt(op)


def definitions(snippet: Any, folder: Path) -> Definitions:
    """What a kernel defines."""
    found = Definitions()
    found.visit_program(executed(program_text(snippet), folder))
    return found


@pytest.mark.parametrize("snippet", [s for s in KERNELS if "pl.pipeline" in s.text], ids=str)
def test_pipelines_have_the_stages_and_bounds_that_are_written(snippet: Any, tmp_path: Path) -> None:
    [loop] = definitions(snippet, tmp_path).loops
    assert loop.kind is ir.ForKind.Pipeline
    assert loop.attrs == {"pipeline_stages": 2}
    trips = (loop.stop.value - loop.start.value) // loop.step.value
    assert trips == {64: 64, 256: 4, 128: 2, 512: 16}[loop.stop.value]


@pytest.mark.parametrize("snippet", [s for s in KERNELS if "yield_" in s.text], ids=str)
def test_the_name_that_the_yield_binds_holds_the_accumulator(snippet: Any, tmp_path: Path) -> None:
    found = definitions(snippet, tmp_path)
    [result] = found.loops[0].return_vars
    assert f"{result.name_hint} = pl.yield_(" in snippet.text
    assert (result.type.memory_space, result.type.dtype) == (ir.Acc, ir.DataType.FP32)
    [carried] = found.loops[0].iter_args
    assert carried.initValue.type == carried.type


def test_the_compact_seed_keeps_its_mode_on_the_narrowed_tile(tmp_path: Path) -> None:
    [snippet] = [s for s in KERNELS if "compact=True" in s.text]
    types = definitions(snippet, tmp_path).types
    view = types["c_l0_init"].get_effective_tile_view()
    assert [d.value for d in view.valid_shape] == [16, 128]
    assert (view.compact, view.fractal) == (ir.CompactMode.normal, 1024)


def test_a_slot_of_a_named_ring_is_bound_by_its_annotation(tmp_path: Path) -> None:
    found = [s for s in KERNELS if "slots=2" in s.text]
    assert len(found) == 2
    for snippet in found:
        ref = definitions(snippet, tmp_path).types["x"].memref
        assert (ref.base_.name_hint, ref.slot_count_, str(ref.slot_index_)) == ("pipe_x", 2, "i % 2")


PIPELINED = """
import pypto.language as pl

@pl.program
class Pipelined:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, a: pl.Tensor[[8192], pl.FP32], out: pl.Out[pl.Tensor[[8192], pl.FP32]]):
        for i in pl.pipeline(64, stage=2):
            x: pl.Tile[[128], pl.FP32, pl.Mem.Vec] = pl.tile.load(a, [i * 128], [128])
            pl.tile.store(x, [i * 128], out)
        return out
"""
MATMUL = """
import pypto.language as pl

@pl.program
class Product:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, a: pl.Tensor[[128, 256], pl.BF16], b: pl.Tensor[[256, 128], pl.BF16],
             out: pl.Out[pl.Tensor[[128, 128], pl.FP32]]) -> pl.Tensor[[128, 128], pl.FP32]:
        a_mat = pl.load(a, [0, 0], [128, 256], target_memory=pl.Mem.Mat)
        b_mat = pl.load(b, [0, 0], [256, 128], target_memory=pl.Mem.Mat)
        c: pl.Tile[[128, 128], pl.FP32] = pl.tile.matmul(a_mat, b_mat)
        return pl.store(c, [0, 0], out)
"""
PLAIN = """
import pypto.language as pl

@pl.program
class Plain:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, a: pl.Tensor[[64, 64], pl.FP32],
             out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        x = pl.load(a, [0, 0], [64, 64])
        y = pl.exp(x)
        return pl.store(y, [0, 0], out)
"""


def _rotates(result: ir.Program) -> None:
    found = Definitions()
    found.visit_program(result)
    assert [loop.kind for loop in found.loops] == [ir.ForKind.Sequential]
    assert found.types["x"].memref.slot_count_ == 2


def _is_tiled(result: ir.Program) -> None:
    # 128 x 256 of bfloat16 fill L0A exactly and leave no room for a second block
    assert "pl.tile.extract" in str(result) and "stage=2" in str(result)


def _has_places(result: ir.Program) -> None:
    wanted = passes.IRPropertySet([passes.IRProperty.AllocatedMemoryAddr])
    assert passes.PropertyVerifierRegistry.verify(wanted, result) == []
    assert "pl.buffer.alloc([], pl.const(0, pl.INT64))" in str(result)
    assert [kernel.ir_stage for kernel in result] == [ir.FunctionIRStage.Buffer]


CALLS = {
    "lower_pipeline_to_slots": (PIPELINED, "result", _rotates, "pypto-plugin-slots"),
    "auto_tile_matmul_l0": (MATMUL, "program_tiled", _is_tiled, "pypto-plugin-autotile"),
    "run_passes": (PLAIN, "lowered", _has_places, ""),
}


@pytest.mark.parametrize("snippet", API, ids=str)
def test_calls_run_as_written(snippet: Any) -> None:
    [key] = [key for key in CALLS if key in snippet.text]
    source, name, check, distribution = CALLS[key]
    namespace: dict[str, Any] = {"program": parse(source)}
    code = compile(snippet.text, str(snippet), "exec")
    if key != "run_passes" and key not in dir(passes):
        # the pass lies in a distribution that is not installed: the snippet says so
        with pytest.raises(AttributeError, match=f"no installed plugin brings.*{distribution}"):
            exec(code, namespace)
        return
    exec(code, namespace)
    check(namespace[name])

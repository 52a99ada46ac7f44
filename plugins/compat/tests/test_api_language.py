"""Every name of ``pypto.language`` that is no operator, each with what it makes of a small example."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pypto.language as pl
from pypto import DataType, ir
from pypto.language.parser.diagnostics import (
    InvalidOperationError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    ScopeIsolationError,
    SSAViolationError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)

NAMES = """
function program inline parse parse_program loads loads_program range parallel unroll pipeline while_ spmd split_aiv at
cluster scope manual_scope submit spmd_submit split cross_core_slot optimizations yield_ cond const dynamic DynVar
static_print static_assert func_attr dump_tag no_dep adir arg_direction Tensor Tile Scalar Array Tuple Ptr PtrType
MemRef MemRefType TensorView TileView Out InOut TaskId RUNTIME IntLike Mem MemorySpace TensorLayout TileLayout PadValue
CompactMode SplitMode FunctionType Level Role ForKind ScopeMode AUTO PipeType AtomicType DataType tile tensor system
array typing parser ND DN NZ MX_A_ZZ MX_B_NN min max cast
"""


def test_the_names_exist() -> None:
    dtypes = [d.name for d in DataType if d.name != "FP64"]
    assert [n for n in [*NAMES.split(), *dtypes] if not hasattr(pl, n)] == []
    assert all(getattr(pl, name) is DataType[name] for name in dtypes)
    assert pl.Mem is pl.MemorySpace is ir.MemorySpace and pl.NZ is ir.TensorLayout.NZ
    assert pl.AUTO is pl.ScopeMode.AUTO and pl.adir.output_existing is ir.ArgDirection.OutputExisting
    assert pl.typing.Tensor is pl.Tensor and pl.parser.diagnostics.ParserError is ParserError
    assert set(pl.__all__) <= set(dir(pl))


HEAD = "import pypto.language as pl\n"


def function(body: str, params: str = "n: pl.Scalar[pl.INDEX]", decorator: str = "@pl.function") -> Any:
    """A lone function with this body."""
    return pl.parse(
        f"{HEAD}\n{decorator}\ndef f({params}):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    )


def first(body: str, **options: str) -> Any:
    """The first statement of a function with this body."""
    return ir.flatten_to_stmts(function(body, **options).body)[0]


LOOPS = {
    "range": ("for i in pl.range(n):\n    pass", ir.ForKind.Sequential, {}),
    "parallel": ("for i in pl.parallel(0, n, 2):\n    pass", ir.ForKind.Parallel, {}),
    "unroll": ("for i in pl.unroll(4):\n    pass", ir.ForKind.Unroll, {}),
    "pipeline": ("for i in pl.pipeline(n, stage=3):\n    pass", ir.ForKind.Pipeline, {"pipeline_stages": 3}),
}


@pytest.mark.parametrize("name", LOOPS)
def test_counted_loops(name: str) -> None:
    body, kind, attrs = LOOPS[name]
    loop = first(body)
    assert (loop.kind, dict(loop.attrs)) == (kind, attrs)


def test_loops_while_and_carries() -> None:
    loop = first(
        "for (i,) in pl.while_(init_values=(n,)):\n    pl.cond(i < 8)\n    r = pl.yield_(i + 1)\nreturn r"
    )
    assert isinstance(loop, ir.WhileStmt) and str(loop.condition) == "i < 8"
    assert [v.name_hint for v in loop.return_vars] == ["r"]


Check = Callable[[Any], Any]
SCOPES: dict[str, tuple[str, Check, Any]] = {
    "at": (
        """
        with pl.at(level=pl.Level.CORE_GROUP, name_hint='k',
                   optimizations=[pl.split(pl.SplitMode.UP_DOWN), pl.cross_core_slot(slot_num=2)]):
            x = n
        """,
        lambda s: (s.scope_kind, s.split, s.name_hint, s.attrs["slot_num"]),
        (ir.ScopeKind.InCore, ir.SplitMode.UP_DOWN, "k", 2),
    ),
    "at of the host": (
        "with pl.at(level=pl.Level.HOST):\n    x = n",
        lambda s: (s.scope_kind, s.level),
        (ir.ScopeKind.Hierarchy, ir.Level.HOST),
    ),
    "cluster": ("with pl.cluster():\n    x = n", lambda s: s.scope_kind, ir.ScopeKind.Cluster),
    "spmd": (
        "with pl.spmd(4):\n    x = n",
        lambda s: (s.scope_kind, s.core_num.value),
        (ir.ScopeKind.Spmd, 4),
    ),
    "split_aiv": (
        "for lane in pl.split_aiv(2, mode=pl.SplitMode.LEFT_RIGHT):\n    x = lane",
        lambda s: (s.scope_kind, s.split, s.count),
        (ir.ScopeKind.SplitAiv, ir.SplitMode.LEFT_RIGHT, 2),
    ),
    "scope": (
        "with pl.scope(mode=pl.ScopeMode.MANUAL):\n    x = n",
        lambda s: (s.scope_kind, s.manual),
        (ir.ScopeKind.Runtime, True),
    ),
    "manual_scope": ("with pl.manual_scope():\n    x = n", lambda s: s.manual, True),
}


@pytest.mark.parametrize("name", SCOPES)
def test_scopes(name: str) -> None:
    body, look, wanted = SCOPES[name]
    assert look(first(body)) == wanted


TYPES = {
    "pl.Tensor[[64, 32], pl.FP32]": ir.TensorType([64, 32], DataType.FP32),
    "pl.Tensor[[64, 32], pl.FP32, pl.NZ]": ir.TensorType(
        [64, 32], DataType.FP32, None, ir.TensorView([], ir.NZ)
    ),
    "pl.Tensor[[64, 32], pl.FP32, pl.TensorView(valid_shape=[8, 32], stride=[], layout=pl.TensorLayout.ND)]": (
        ir.TensorType([64, 32], DataType.FP32, None, ir.TensorView([], ir.ND, [8, 32]))
    ),
    "pl.Tile[[64, 32], pl.BF16, pl.Mem.Acc]": ir.TileType([64, 32], DataType.BF16, None, None, ir.Acc),
    "pl.Tile[[64, 32], pl.FP32, pl.Mem.Vec, pl.TileView(pad=pl.PadValue.zero, compact=pl.CompactMode.normal)]": (
        ir.TileType(
            [64, 32], DataType.FP32, None,
            ir.TileView(pad=ir.PadValue.zero, compact=ir.CompactMode.normal), ir.Vec,
        )
    ),
    "pl.Scalar[pl.TASK_ID]": ir.ScalarType(DataType.TASK_ID),
    "pl.Tuple[pl.Scalar[pl.INDEX], pl.Scalar[pl.BOOL]]": ir.TupleType(
        [ir.ScalarType(DataType.INDEX), ir.ScalarType(DataType.BOOL)]
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", TYPES)
def test_annotations(text: str) -> None:
    made = function("return", params=f"x: {text}, y: pl.Out[{text}], z: pl.InOut[{text}]")
    assert [p.type == TYPES[text] for p in made.params] == [True] * 3
    assert [d.name for d in made.param_directions] == ["In", "Out", "InOut"]


def test_local_arrays_pointers_and_places() -> None:
    assert first("a: pl.Array[4, pl.INT32] = pl.array.create(4, pl.INT32)").var.type == ir.ArrayType(
        DataType.INT32, 4
    )
    body = """
    m: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 512)
    t: pl.Tile[[8, 16], pl.FP32, pl.MemRef(m, 0, 512), pl.Mem.Vec] = pl.tile.create([8, 16], pl.FP32)
    """
    alloc, tile = function(body).body.stmts
    assert alloc.var.type is ir.PtrType.get() and tile.var.type.memref.base_ is alloc.var


def test_constants_extents_and_scalar_functions() -> None:
    rows = pl.dynamic("ROWS")
    assert isinstance(rows, pl.DynVar)
    made = first("x = pl.min(n, pl.const(3, pl.INT32)) + pl.max(n, 2) - pl.cast(n, pl.INDEX)")
    assert (
        str(made)
        == "x = pl.min(n, pl.cast(pl.const(3, pl.INT32), pl.INDEX)) + pl.max(n, 2) - pl.cast(n, pl.INDEX)"
    )


def test_words_that_act_while_the_kernel_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    function("pl.static_assert(2 + 2 == 4, 'arithmetic')\npl.static_print('hello', 3)")
    assert "hello" in capsys.readouterr().out
    with pytest.raises(ParserError, match="no luck"):
        function("pl.static_assert(1 == 2, 'no luck')")
    made = function('pl.func_attr({"split": pl.SplitMode.UP_DOWN})\nreturn')
    assert made.split is ir.SplitMode.UP_DOWN


def test_tasks() -> None:
    text = f"""{HEAD}
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[8, 8], pl.FP32], o: pl.Out[pl.Tensor[[8, 8], pl.FP32]]) -> pl.Tensor[[8, 8], pl.FP32]:
        return pl.store(pl.load(a, [0, 0], [8, 8]), [0, 0], o)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: pl.Tensor[[8, 8], pl.FP32], o: pl.Out[pl.Tensor[[8, 8], pl.FP32]]):
        pl.dump_tag(a)
        r, tid = pl.submit(self.k, a, o)
        s, other = pl.submit(self.k, pl.no_dep(a), r, deps=[tid])
        u, third = pl.spmd_submit(self.k, a, s, core_num=4)
        return u
"""
    found = Submits()
    found.visit_program(pl.parse_program(text))
    assert [len(s.deps) for s in found.submits] == [0, 1, 0]
    assert found.submits[2].core_num.value == 4
    assert found.submits[1].attrs["arg_direction_overrides"] == (0,)


class Submits(ir.IRVisitor):
    """Collects submissions."""

    def __init__(self) -> None:
        self.submits: list[Any] = []

    def visit_submit(self, op: Any) -> None:
        self.submits.append(op)


def test_inline_functions_and_texts(tmp_path: Path) -> None:
    text = f"{HEAD}\n@pl.inline\ndef twice(x: pl.Scalar[pl.INDEX]):\n    return x + x\n"
    assert pl.parse(text).func_type is ir.FunctionType.Inline
    (tmp_path / "f.py").write_text(text)
    ir.assert_structural_equal(pl.loads(tmp_path / "f.py"), pl.parse(text, "f.py", None))
    program = f"{HEAD}\n@pl.program(strict_ssa=True)\nclass P:\n    @pl.function\n    def f(self):\n        return\n"
    (tmp_path / "p.py").write_text(program)
    assert pl.loads_program(tmp_path / "p.py").name == pl.parse_program(program, source_map=None).name == "P"
    with pytest.raises(ValueError, match="holds functions and no program"):
        pl.parse_program(text)
    with pytest.raises(TypeError, match="source map"):
        pl.parse(text, source_map={})  # type: ignore[arg-type]


ERRORS = {
    ParserSyntaxError: "def broken(",
    ParserTypeError: "if n:\n    pass",
    UndefinedVariableError: "x = missing + 1",
    UnsupportedFeatureError: "n += 1",
    InvalidOperationError: "x = pl.tile.no_such(n)",
    ScopeIsolationError: "for i in pl.range(n):\n    pass\nx = i",
}


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: e.__name__)
def test_errors_of_the_parser(error: type[ParserError]) -> None:
    with pytest.raises(error) as caught:
        function(ERRORS[error])
    assert caught.value.span.is_valid() and not isinstance(caught.value, ValueError)


def test_assigning_twice_where_it_is_forbidden() -> None:
    with pytest.raises(SSAViolationError):
        function("x = n + 1\nx = n + 2", decorator="@pl.function(strict_ssa=True)")


def test_jit_makes_the_kernels_functions_with_settings_of_its_own() -> None:
    import pypto
    from pypto.jit import JITFunction
    from pypto_core.jit import Jit

    assert isinstance(pl.jit, Jit) and pl.jit is pypto.jit.jit

    @pl.jit.incore
    def kern(x: pl.Tensor, out: pl.Out[pl.Tensor]):
        return pl.store(pl.load(x, [0, 0], [16, 16]), [0, 0], out)

    assert isinstance(kern, JITFunction)


def test_pieces_of_annotations_can_be_looked_at() -> None:
    tensor = pl.Tensor[[64, 128], pl.FP16]
    assert (tensor.shape, tensor.dtype, tensor.memory_space) == ([64, 128], pl.FP16, None)
    tile = pl.Tile[[16, 16], pl.FP32, pl.Mem.Vec]
    assert (tile.memory_space, pl.Scalar[pl.INT32].dtype) == (pl.Mem.Vec, pl.INT32)
    with pytest.raises(AttributeError, match="has no shape"):
        _ = pl.Scalar[pl.INT32].shape
    ring = pl.MemRef("ring", slots=2)
    assert (ring.slot_count_, ring.slot_index_, ring.is_pinned_) == (2, None, True)
    assert ring[1].slot_index_ == 1 and pl.dynamic("rows").name == "rows"


def test_errors_carry_the_way_out_and_the_text() -> None:
    text = "@pl.function\ndef f(n: pl.Scalar[pl.INDEX]):\n    m = n + k\n"
    with pytest.raises(UndefinedVariableError, match="'k' is not defined") as caught:
        pl.parse(text)
    assert caught.value.hint == caught.value.diagnostics[0].remedy
    assert caught.value.source_lines[:3] == text.splitlines() and caught.value.span.begin_line == 3
    for error in (ValueError, ParserError):  # what an operator refuses is a matter of both
        with pytest.raises(error, match="don't match"):
            pl.parse(
                "@pl.function\ndef f(a: pl.Tensor[[4, 8], pl.FP32], b: pl.Tensor[[3, 8], pl.FP32]):\n"
                "    c = pl.add(a, b)\n"
            )

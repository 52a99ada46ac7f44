# ruff: noqa: F841, I002 - kernels assign without use, and Python evaluates their annotations here
"""Kernels from decorated Python: what they see of the code around them, positions, comments, and what they return."""

import textwrap
from enum import IntEnum
from pathlib import Path

import pytest

import pypto_core.language as pl
from pypto_core.diagnostics import DiagnosticError, ParserError, UserError
from pypto_core.ir import (
    AssignStmt,
    Call,
    ConstInt,
    ForStmt,
    Function,
    FunctionType,
    Level,
    MemorySpace,
    ParamDirection,
    Program,
    Role,
    SplitMode,
    TileType,
    Var,
    defined_vars,
    flatten,
    static_shape,
    structural_equal,
    walk,
)
from pypto_core.language import FP32, Tensor, load
from pypto_core.language import range as loop
from pypto_core.ops import extent_text
from pypto_core.text import print_program

ROWS, COLS = 64, 32
SHAPE = [ROWS, COLS]
DTYPE = pl.FP16
SPACE = pl.Mem.Mat
M = pl.dynamic("M")
buf = pl.MemRef(slots=2)


class Size(IntEnum):
    small = 16


def calls(node) -> list[Call]:
    return [n for n in walk(node) if isinstance(n, Call)]


@pl.function(type=pl.FunctionType.InCore)
def scale(a: pl.Tensor[[M, 64], pl.FP32], out: pl.Out[pl.Tensor[[M, 64], pl.FP32]], s: pl.Scalar[pl.FP32]):
    t = pl.load(a, [0, 0], [64, 64])
    u = pl.mul(t, s)
    r = pl.store(u, [0, 0], out)
    return r


@pl.inline
def twice(a: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
    x = scale(a, out, 2.0)
    return x


def test_function_is_ir() -> None:
    assert isinstance(scale, Function)
    assert scale.func_type is FunctionType.InCore
    assert (scale.level, scale.role) == (Level.CHIP_DIE, Role.SubWorker)
    assert scale.param_directions == (ParamDirection.In, ParamDirection.Out, ParamDirection.In)
    assert [c.name for c in calls(scale.body)] == ["tile.load", "tile.muls", "tile.store"]
    assert len(scale.return_types) == 1
    assert twice.func_type is FunctionType.Inline


def test_constants_are_taken_by_value() -> None:
    @pl.function
    def kern(a: pl.Tensor[[ROWS, COLS], DTYPE]):
        t: pl.Tile[SHAPE, DTYPE, SPACE] = pl.load(a, [0, 0], SHAPE, target_memory=SPACE)
        s = pl.tile.slice(t, [Size.small, SHAPE[1]], [0, 0])

    load_stmt, slice_stmt = flatten(kern.body)
    assert static_shape(load_stmt.var.type.shape) == (64, 32)
    assert load_stmt.var.type.dtype is pl.FP16
    assert load_stmt.var.type.memory_space is MemorySpace.Mat
    assert static_shape(slice_stmt.var.type.shape) == (16, 32)


def test_factory_values_that_only_annotations_mention() -> None:
    def make(rows: int, dtype):
        cols = 2 * rows

        @pl.function
        def kern(a: pl.Tensor[[256, 256], pl.FP32]):
            t: pl.Tile[[rows, cols], pl.FP32] = pl.load(a, [0, 0], [rows, 2 * rows])
            u: pl.Tile[[rows, cols], dtype] = pl.cast(t, dtype)

        return kern

    small, large = make(16, pl.FP16), make(32, pl.BF16)
    for kern, rows, dtype in ((small, 16, pl.FP16), (large, 32, pl.BF16)):
        last = flatten(kern.body)[-1]
        assert static_shape(last.var.type.shape) == (rows, 2 * rows)
        assert last.var.type.dtype is dtype


def test_factory_of_programs() -> None:
    def make(rows: int):
        @pl.program
        class Prog:
            WIDTH = 4 * rows

            @pl.function(type=pl.FunctionType.InCore)
            def kern(a: pl.Tensor[[128, 128], pl.FP32], out: pl.Out[pl.Tensor[[128, 128], pl.FP32]]):
                t: pl.Tile[[rows, WIDTH], pl.FP32] = pl.load(a, [0, 0], [rows, WIDTH])  # noqa: F821
                pl.store(t, [0, 0], out)

        return Prog

    program = make(8)
    assert isinstance(program, Program)
    first = flatten(program["kern"].body)[0]
    assert static_shape(first.var.type.shape) == (8, 32)


def test_names_imported_one_by_one() -> None:
    @pl.function
    def kern(a: Tensor[[64, 64], FP32]):
        for i in loop(4):
            t = load(a, [i * 16, 0], [16, 64])

    (outer,) = flatten(kern.body)
    assert isinstance(outer, ForStmt)
    assert calls(outer)[0].name == "tile.load"


def test_forward_references_and_self() -> None:
    @pl.program
    class Prog:
        @pl.function
        def main(self, a: pl.Tensor[[128, 64], pl.FP32], b: pl.Tensor[[128, 64], pl.FP32]):
            x, y = self.pair(a, b)
            z = self.pair_without_annotation(x, y)
            return z

        @pl.function(type=pl.FunctionType.InCore)
        def pair(
            a: pl.Tensor[[M, 64], pl.FP32], b: pl.Tensor[[M, 64], pl.FP32]
        ) -> tuple[pl.Tensor[[M, 64], pl.FP32], pl.Tensor[[M, 64], pl.FP32]]:
            return a, b

        @pl.function(type=pl.FunctionType.InCore)
        def pair_without_annotation(a: pl.Tensor[[M, 64], pl.FP32], b: pl.Tensor[[M, 64], pl.FP32]):
            return a

    assert list(Prog.functions) == ["main", "pair", "pair_without_annotation"]
    # The callee's extent M stands for the caller's 128.
    assert static_shape(Prog["main"].return_types[0].shape) == (128, 64)
    assert len(Prog["main"].params) == 2


def test_functions_from_outside_are_pulled_in() -> None:
    @pl.program
    class Prog:
        @pl.function
        def main(self, a: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
            r = twice(a, out)
            return r

    assert list(Prog.functions) == ["main", "scale", "twice"]
    assert Prog["scale"] is scale
    assert Prog["twice"] is twice


def test_two_functions_of_one_name() -> None:
    def other():
        @pl.function
        def scale(a: pl.Tensor[[64, 64], pl.FP32]):
            return a

        return scale

    second = other()
    with pytest.raises(ParserError, match="two functions are called 'scale'"):

        @pl.program
        class Prog:
            @pl.function
            def main(self, a: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
                x = scale(a, out, 1.0)
                y = second(a)


def test_options_of_the_decorator() -> None:
    @pl.function(
        type=pl.FunctionType.Orchestration, auto_scope=False, attrs={"core_num": 4}, external_source="k.cpp"
    )
    def kern(a: pl.Tensor[[64, 64], pl.FP32]):
        pl.func_attr({"split": pl.SplitMode.UP_DOWN})
        ...

    assert dict(kern.attrs) == {
        "core_num": 4,
        "auto_scope": False,
        "external_source": "k.cpp",
        "split": SplitMode.UP_DOWN,
    }
    assert kern.requires_runtime_binding
    assert kern.role is Role.Orchestrator


def test_level_that_contradicts_the_type() -> None:
    with pytest.raises(DiagnosticError, match="can't have level HOST") as caught:

        @pl.function(type=pl.FunctionType.InCore, level=pl.Level.HOST)
        def kern(a: pl.Tensor[[64, 64], pl.FP32]):
            return a

    assert caught.value.span.filename == __file__


def test_strict_ssa() -> None:
    with pytest.raises(ParserError, match="'x' is assigned twice") as caught:

        @pl.function(strict_ssa=True)
        def kern(n: pl.Scalar[pl.INDEX]):
            x = n + 1
            x = n + 2

    assert caught.value.diagnostics[0].code == "PT103"

    @pl.function(strict_ssa=True)
    def branches(n: pl.Scalar[pl.INDEX]):
        if n > 3:
            x = n
        else:
            x = n + 1
        y = x

    assert [s.var.name_hint for s in flatten(branches.body) if isinstance(s, AssignStmt)] == ["y"]


def test_declared_allocations_around_the_kernel() -> None:
    local = pl.MemRef()

    @pl.function(type=pl.FunctionType.InCore)
    def kern(a: pl.Tensor[[256, 64], pl.FP32]):
        for i in pl.pipeline(4, stage=2):
            t: pl.Tile[[64, 64], pl.FP32, buf[i % 2], pl.Mem.Vec] = pl.load(a, [i * 64, 0], [64, 64])
            u: pl.Tile[[64, 64], pl.FP32, local, pl.Mem.Vec] = pl.exp(t)

    t, u = (s.var.type.memref for s in flatten(flatten(kern.body)[0].body))
    assert (t.name, t.slot_count, t.is_pinned, t.size) == ("buf", 2, True, 0)
    assert t.slot_index is not None
    assert (u.name, u.slot_count, u.slot_index) == ("local", 1, None)
    assert isinstance(t.byte_offset, ConstInt) and t.byte_offset.dtype is pl.INT64


def test_one_allocation_under_two_names() -> None:
    first = pl.MemRef()
    second = first
    with pytest.raises(ParserError, match="also referenced as 'first'"):

        @pl.function
        def kern(a: pl.Tensor[[64, 64], pl.FP32]):
            t: pl.Tile[[64, 64], pl.FP32, first, pl.Mem.Vec] = pl.load(a, [0, 0], [64, 64])
            u: pl.Tile[[64, 64], pl.FP32, second, pl.Mem.Vec] = pl.exp(t)


def test_two_allocations_of_one_name() -> None:
    first, second = pl.MemRef("x"), pl.MemRef("x")
    with pytest.raises(ParserError, match="both resolve to the name 'x'"):

        @pl.function
        def kern(a: pl.Tensor[[64, 64], pl.FP32]):
            t: pl.Tile[[64, 64], pl.FP32, first, pl.Mem.Vec] = pl.load(a, [0, 0], [64, 64])
            u: pl.Tile[[64, 64], pl.FP32, second, pl.Mem.Vec] = pl.exp(t)


def test_positions_are_those_of_the_file() -> None:
    @pl.function
    def kern(a: pl.Tensor[[64, 64], pl.FP32]):
        t = pl.load(a, [0, 0], [64, 64])

    (stmt,) = flatten(kern.body)
    lines = Path(__file__).read_text().splitlines()
    assert stmt.value.span.filename == __file__
    line, column = stmt.value.span.begin_line, stmt.value.span.begin_column
    assert lines[line - 1][column - 1 :].startswith("pl.load(a, [0, 0], [64, 64])")
    assert "def kern" in lines[kern.span.begin_line - 1]


# What stands above a kernel
# goes with it.
@pl.function
def commented(n: pl.Scalar[pl.INDEX]):
    """A docstring is no statement."""
    # first
    x = n + 1  # behind it
    for i in pl.range(4):  # of the loop
        # in the loop
        pl.static_assert(True, "# no comment")  # checked
        y = x + i
    # dangling
    z = pl.max(
        x,  # inside
        3,
    )
    # last


def test_comments_go_along() -> None:
    assert commented.leading_comments == ("What stands above a kernel", "goes with it.")
    x, loop_stmt, z = flatten(commented.body)
    assert x.leading_comments == ("first", "behind it")
    assert loop_stmt.leading_comments == ("of the loop",)
    (y,) = flatten(loop_stmt.body)
    assert y.leading_comments == ("in the loop", "checked")
    assert z.leading_comments == ("dangling", "inside", "last")


def test_symbolic_extents_are_one_per_name() -> None:
    rows = pl.dynamic("M")

    @pl.function
    def kern(a: pl.Tensor[[rows // 2, 64], pl.FP32], b: pl.Tensor[[M, 64], pl.FP32]):
        half = rows // 2

    a, b = (p.type.shape[0] for p in kern.params)
    assert a.left is b
    assert structural_equal(flatten(kern.body)[0].value, a)


def test_extents_computed_outside() -> None:
    half = M // 2
    twice_rows = 2 * M - 1

    @pl.function
    def kern(a: pl.Tensor[[half, twice_rows], pl.FP32]):
        x = half

    first, second = kern.params[0].type.shape
    assert flatten(kern.body)[0].value is first
    assert isinstance(second.left.right, Var)


@pytest.mark.parametrize(
    "action",
    [
        lambda: pl.load(1, 2),
        lambda: pl.range(4),
        lambda: pl.tile.matmul(1, 2),
        lambda: pl.yield_(1),
        lambda: pl.at(level=1),
    ],
)
def test_words_outside_of_kernels(action) -> None:
    with pytest.raises(UserError, match="was called outside of a kernel"):
        action()


def test_attributes_of_the_module() -> None:
    assert "matmul" in dir(pl.tile)
    assert repr(pl.tile.matmul) == "<pl.tile.matmul>"
    with pytest.raises(AttributeError, match=r"pl has no 'tile\.matmull': did you mean 'tile\.matmul'"):
        pl.tile.matmull  # noqa: B018
    with pytest.raises(AttributeError, match="pl has no 'lode'"):
        pl.lode  # noqa: B018
    assert set(pl.__all__) <= set(dir(pl))
    for name in pl.__all__:
        getattr(pl, name)


def test_a_kernel_without_source() -> None:
    code = textwrap.dedent(
        """
        import pypto_core.language as pl
        @pl.function
        def kern(n: pl.Scalar[pl.INDEX]):
            x = n
        """
    )
    with pytest.raises(ParserError, match="the source of 'kern' can't be found"):
        exec(compile(code, "<nowhere>", "exec"), {"__name__": "nowhere"})


def test_a_method_outside_of_a_program() -> None:
    class Plain:
        @pl.function
        def kern(n: pl.Scalar[pl.INDEX]):
            x = n

    with pytest.raises(ParserError, match="a class that is no program"):
        Plain.kern()


def test_decorating_the_wrong_thing() -> None:
    with pytest.raises(ParserError, match="decorates functions"):
        pl.function(3)  # type: ignore[arg-type]
    with pytest.raises(ParserError, match="decorates classes"):
        pl.program(3)  # type: ignore[arg-type]


def test_an_undecorated_method() -> None:
    with pytest.raises(ParserError, match="'helper' is no kernel"):

        @pl.program
        class Prog:
            @pl.function
            def main(self, n: pl.Scalar[pl.INDEX]):
                x = n

            def helper(self):
                return 1


def test_a_value_that_a_kernel_cant_use() -> None:
    table = {"a": 1}
    with pytest.raises(ParserError, match="'table' is a dict"):

        @pl.function
        def kern(n: pl.Scalar[pl.INDEX]):
            x = n + table


INLINED = """import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.Inline)
    def f(self, t: pl.Tile[[32, 64], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Tile[[32, 64], pl.FP32]:
        {body}

    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[32, 64], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        t = pl.load(x, [0, 0], [32, 64])
        {use}
        pl.store(u, [0, 0], out)
"""


@pytest.mark.parametrize(
    ("body", "use", "space", "rows"),
    [
        ("return pl.exp(t)", "t = self.f(t, n)\n        u = self.f(t, n)", MemorySpace.Vec, "32"),
        ("return pl.tile.set_validshape(t, 8, 64)", "u = self.f(t, n)", None, "8"),
        ("return pl.tile.set_validshape(pl.exp(t), n, 64)", "u = self.f(t, n)", MemorySpace.Vec, "n"),
        # What is valid is known inside of the function alone: what it declares stays.
        (
            "m = n + 1\n        return pl.tile.set_validshape(pl.exp(t), m, 64)",
            "u = self.f(t, n)",
            MemorySpace.Vec,
            "32",
        ),
    ],
    ids=["memory", "valid rows", "rows of a parameter", "rows of a variable"],
)
def test_a_declared_tile_leaves_its_memory_and_view_to_the_body(
    body: str, use: str, space: MemorySpace | None, rows: str
) -> None:
    program = pl.parse(INLINED.format(body=body, use=use))
    assert isinstance(program, Program)
    [u] = [v for v in defined_vars(program["k"].body) if v.name_hint == "u"]
    assert isinstance(u.type, TileType) and u.type.memory_space is space
    assert extent_text(u.type.valid_shape[0]) == rows
    assert structural_equal(pl.parse(print_program(program)), program)

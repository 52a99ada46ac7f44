"""What importing ``pypto`` does to the kernel: names are added, and nothing that the kernel says or does changes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypto  # noqa: F401 - teaches
from pypto import ir, spellings
from pypto.spellings import FALSE, TRUE, Spelling, teach
from pypto.views import FieldView, FunctionName, Items
from pypto_core import ir as kernel
from pypto_core.diagnostics import InternalError, Span

BEFORE = """
import sys
{first}
from pypto_core import ir
import pypto_core.language as pl
from pypto_core.text import print_program, dumps
from pypto_core.host import load_host
from pypto_core.run import PassContext, Pipeline
text = '''
@pl.function(type=pl.FunctionType.InCore)
def f(x: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
    t = pl.load(x, [0, 0], [64, 64])
    for i in pl.range(n):
        if i * 2 + 1 > n // 3:
            t = pl.add(t, 1.5)
    pl.store(t, [0, 0], out)
'''
program = ir.Program("p", (pl.parse(text),))
host = load_host()
run = Pipeline.of([host.passes["ConvertToSSA"]], host.properties).run(program, PassContext(host=host))
sys.stdout.write(print_program(run.program) + dumps(run.program, spans=False).hex())
sys.stdout.write(repr([(str(s), bool(s.is_valid)) for s in (ir.const_index(1).span, program["f"].span)]))
sys.stdout.write(repr([(d.name, bool(d.is_float), bool(d.is_int)) for d in ir.DataType]))
"""


U = Span.unknown()


def output(code: str) -> str:
    """What a fresh process prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_the_kernel_does_the_same_with_and_without() -> None:
    plain, taught = output(BEFORE.format(first="")), output(BEFORE.format(first="import pypto"))
    assert plain == taught
    assert "pl.tile.adds(t" in plain


def rows() -> list[Spelling]:
    """The spellings, as they are made."""
    groups: list[Any] = [getattr(spellings, name) for name in vars(spellings) if name.endswith("_spellings")]
    return [row for group in groups for row in group()]


def test_all_names_are_new_but_those_that_read_as_before() -> None:
    names = [(row.owner.__name__, row.name) for row in rows() if not row.replaces]
    code = (
        "import sys; from pypto_core import ir, diagnostics\n"
        f"names = {names!r}\n"
        "owner = lambda name: getattr(ir, name, None) or getattr(diagnostics, name)\n"
        "print([(c, n) for c, n in names if n in vars(owner(c))])"
    )
    assert len(names) > 60
    assert output(code) == "[]\n"
    replaced = {(row.owner, row.name): row.value for row in rows() if row.replaces}
    assert replaced.pop((Span, "is_valid")) is not None
    assert {type(value) for value in replaced.values()} == {FieldView}
    assert {name for _, name in replaced} == {
        "functions", "iter_args", "leading_comments", "param_directions", "params", "return_types", "return_vars",
    }  # fmt: skip


def test_a_name_that_a_class_has_already_is_refused() -> None:
    with pytest.raises(InternalError, match="Var.name_hint exists already"):
        teach([Spelling(kernel.Var, "name_hint", None)])


def test_fields_equal_lists_and_functions_are_found_by_references() -> None:
    x = ir.Var("x", ir.ScalarType(ir.DataType.INT64), U)
    body = ir.ReturnStmt([x], U)
    first, second = ir.Function("b", [x], [x.type], body, U), ir.Function("a", [], [], body, U)
    program = ir.Program([first, second], "p", U)
    assert first.params == [x] == list(first.params) and first.params == (x,) and first.params != [x, x]
    assert (
        second.params == [] == body.leading_comments and not second.params and isinstance(first.params, tuple)
    )
    assert hash(first.params) == hash((x,)) and type((*first.params, x)) is tuple
    assert [key.name for key in program.functions] == ["a", "b"] == list(program.functions)
    at = program.get_global_var("b")
    (key,) = (key for key in program.functions if key == "b")
    assert isinstance(at, ir.GlobalVar) and isinstance(key, ir.GlobalVar) and type(at) == ir.GlobalVar  # noqa: E721
    assert isinstance(ir.Call(key, [x], U).op, kernel.GlobalVar) and not isinstance("b", ir.GlobalVar)
    assert program.functions[at] is first is program.functions["b"] and at in program.functions
    assert ir.GlobalVar("c") not in program.functions and len(program.functions) == 2
    assert (
        type(next(iter(program.functions)).name) is str and isinstance("b", str) and FunctionName("b") == "b"
    )
    assert isinstance(Items([1]), tuple) and Items([1]) == [1] and Items([1]) != [2]


def test_numbers_of_enumerations_and_places_of_memory() -> None:
    assert (ir.PipeType.ALL, ir.CoreType.VECTOR, ir.AtomicType.Add) == (7, 1, 1) and ir.PipeType.M != 0
    assert ir.PipeType.M == ir.PipeType.M and ir.MemorySpace.Vec != 1  # a plain enumeration
    tile = ir.Var("t", ir.TileType([16, 16], ir.DataType.FP32), U)
    assert ir.op.tile.cast(tile, ir.DataType.BF16, mode="rint").kwargs["mode"] == 1
    base = ir.Var("mem", ir.PtrType.get(), U)
    first, second, ring = ir.MemRef(base, 0, 64), ir.MemRef(base, 64, 64), ir.MemRef("ring", slots=2)
    assert ir.MemRef.same_allocation(first, second) and not ir.MemRef.may_alias(first, second)
    assert isinstance(ring, ir.Var) and isinstance(ring, ir.MemRef) and ring.name_hint == "ring"
    assert ring[1].slot_index_ == 1 and ring[1].slot_index_.dtype is ir.DataType.INDEX
    at = ir.Span("f.py", 1, 2)
    for made in (
        ir.MemRef("ring", at, 2),
        ir.MemRef(at, 2),
        ir.MemRef(at, slots=2),
        ir.MemRef("ring", at, slots=2),
    ):
        assert (made.slot_count_, made.size_, made.is_pinned_, made.span) == (2, 0, True, at)
    for wrong, index in ((ring, 2), (first, 0)):
        with pytest.raises(ValueError, match=r"out of range|only a declared allocation"):
            wrong[index]
    assert ir.ConstBool(True, U).dtype is ir.DataType.BOOL
    stage = ir.FunctionIRStage.Buffer
    assert ir.Function("f", [], [], ir.SeqStmts([], U), U, ir_stage=stage).ir_stage is stage


def test_truth_is_a_number_that_can_be_called() -> None:
    assert (TRUE(), FALSE(), repr(TRUE), str(FALSE)) == (True, False, "True", "False")
    assert TRUE and not FALSE and TRUE == True and FALSE == False  # noqa: E712
    assert ir.DataType.BF16.is_float() is True and bool(ir.DataType.BF16.is_float) is True
    assert ir.DataType.BF16.is_int() is False
    assert Span("f.py", 3, 1).is_valid() is True and Span.unknown().is_valid() is False
    assert not Span.unknown().is_valid


def var(name: str = "x", dtype: ir.DataType = ir.DataType.INT64) -> Any:
    return ir.Var(name, ir.ScalarType(dtype), ir.Span.unknown())


def test_comparing_scalars_builds_a_node_that_is_as_true_as_the_comparison() -> None:
    x, y = var(), var()
    for node, cls, truth in [(x == y, ir.Eq, False), (x != y, ir.Ne, True), (x == x, ir.Eq, True)]:
        assert isinstance(node, cls) and bool(node) is truth and node.left is x
    assert str(x == 3) == "x == pl.const(3, pl.INT64)" and x != 3 and not (x == 3)  # noqa: SIM201
    three = ir.ConstInt(3, ir.DataType.INDEX, U)
    assert three == 3 and three != 4 and three != ir.ConstInt(3, ir.DataType.INDEX, U) and x + 1 != x + 1
    # Containers ask in the same way, and look no further than identity for anything but scalars.
    assert {x: 1, y: 2}[x] == 1 and y not in (x,) and [x, y].index(y) == 1 and (x, y) != (y, x)
    tile = ir.Var("t", ir.TileType([16, 16], ir.DataType.FP32), U)
    assert tile == tile and (tile == x) is False and (x == None) is False  # noqa: E711
    assert (var("b", ir.DataType.BOOL) == x) is False
    # A node that was not built by comparing is no truth value: it is there, as any other.
    assert bool(ir.eq(x, y)) and bool(ir.Eq(x, y, ir.DataType.BOOL, U)) and bool(ir.ne(x, x))


def test_types_compare_by_what_they_say() -> None:
    def tile(valid: int = 32, space: Any = ir.Vec) -> ir.TileType:
        view = ir.TileView(valid_shape=[valid, 64])
        return ir.TileType([64, 64], ir.DataType.FP32, None, view, space)

    assert tile() == tile() and hash(tile()) == hash(tile())
    assert tile() != tile(16) and tile() != tile(space=ir.Mat) and tile() != 3
    assert ir.TileView(valid_shape=[8, 8]) == ir.TileView(valid_shape=[8, 8])
    assert len({tile(), tile(), tile(16)}) == 2
    n = var("n", ir.DataType.INDEX)
    assert ir.TensorType([n], ir.DataType.FP32) == ir.TensorType([n], ir.DataType.FP32)
    assert ir.TensorType([n], ir.DataType.FP32) != ir.TensorType([var("n", n.type.dtype)], ir.DataType.FP32)


# Expression trees as pairs: what Python makes of numbers, and the same lambda on IR nodes.
EVALUATE = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "BitAnd": lambda a, b: a & b,
    "BitOr": lambda a, b: a | b,
    "BitXor": lambda a, b: a ^ b,
    "BitShiftLeft": lambda a, b: a << b,
    "BitShiftRight": lambda a, b: a >> b,
    "Lt": lambda a, b: a < b,
    "Le": lambda a, b: a <= b,
    "Gt": lambda a, b: a > b,
    "Ge": lambda a, b: a >= b,
}
VALUES = {"x": 13, "y": -7, "z": 2}
LEAVES = {name: var(name) for name in VALUES}


def value(node: Any) -> int:
    """The number that a tree of nodes stands for."""
    if isinstance(node, ir.ConstInt):
        return node.value
    if isinstance(node, ir.Var):
        return VALUES[node.name_hint]
    if isinstance(node, ir.Neg):
        return -value(node.operand)
    if isinstance(node, ir.BitNot):
        return ~value(node.operand)
    assert node.span == ir.Span.unknown()
    return EVALUATE[type(node).__name__](value(node.left), value(node.right))


@st.composite
def trees(draw: Any, depth: int = 3) -> tuple[Any, int]:
    """(node or number, the number it stands for)."""
    if depth == 0 or draw(st.booleans()):
        if draw(st.booleans()):
            name = draw(st.sampled_from(sorted(VALUES)))
            return LEAVES[name], VALUES[name]
        number = draw(st.integers(-20, 20))
        return number, number
    operator = draw(st.sampled_from([n for n in EVALUATE if not n.startswith(("Bit", "L", "G"))]))
    a, x = draw(trees(depth=depth - 1))
    b, y = draw(trees(depth=depth - 1))
    if operator.startswith("Floor") and y == 0:
        operator = "Add"
    return EVALUATE[operator](a, b), EVALUATE[operator](x, y)


@given(trees())
def test_operators_build_what_they_say(drawn: tuple[Any, int]) -> None:
    node, expected = drawn
    assert (value(node) if isinstance(node, kernel.Expr) else node) == expected


@pytest.mark.parametrize("name", sorted(EVALUATE))
def test_each_operator_from_both_sides(name: str) -> None:
    x = LEAVES["x"]
    for node, expected in (
        (EVALUATE[name](x, 2), EVALUATE[name](13, 2)),
        (EVALUATE[name](2, x), EVALUATE[name](2, 13)),
        (EVALUATE[name](x, LEAVES["z"]), EVALUATE[name](13, 2)),
    ):
        assert value(node) == expected
        boolean = name in ("Lt", "Le", "Gt", "Ge")
        assert node.type.dtype is (ir.DataType.BOOL if boolean else ir.DataType.INT64)
    with pytest.raises(TypeError):
        EVALUATE[name](x, "two")


def test_unary_operators_and_division() -> None:
    x = LEAVES["x"]
    assert value(-x) == -13 and value(~x) == ~13
    assert isinstance(x / 2, ir.FloatDiv) and isinstance(2**x, ir.Pow)
    half = var("h", ir.DataType.FP16)
    assert str(half * 2) == "h * pl.const(2.0, pl.FP16)" and (half * 2).right.dtype is ir.DataType.FP16


def test_a_number_follows_the_other_side_and_the_wider_side_wins() -> None:
    narrow = var("i", ir.DataType.INT32)
    assert (narrow + 1).right.dtype is ir.DataType.INT32
    mixed = narrow + LEAVES["x"]
    assert isinstance(mixed.left, ir.Cast) and mixed.type.dtype is ir.DataType.INT64
    index = var("i", ir.DataType.INDEX)
    assert isinstance((index + LEAVES["x"]).right, ir.Var)  # INDEX and INT64 mix without a cast

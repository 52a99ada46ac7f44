"""Structural equality and hash: what counts, what does not, and what a difference says."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    EMPTY,
    PTR,
    Add,
    AssignStmt,
    AtomicType,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    IterArg,
    Lt,
    MemorySpace,
    MemRef,
    Mul,
    Op,
    PadValue,
    ParamDirection,
    Program,
    ReturnStmt,
    Stmt,
    Sub,
    TensorType,
    TileType,
    TileView,
    Var,
    WhileStmt,
    YieldStmt,
    assert_structural_equal,
    replace,
    scalar_type,
    seq,
    structural_equal,
    structural_hash,
    types_equal,
)
from tests.ir.generators import ATTR_VALUES, functions, programs

INDEX, INT64, INT32 = (scalar_type(d) for d in (DataType.INDEX, DataType.INT64, DataType.INT32))
BOOL = scalar_type(DataType.BOOL)
ONE = ConstInt(1)


def equal(a: Any, b: Any, **options: bool) -> bool:
    """Equality both ways, and that equal things have equal hashes."""
    found = structural_equal(a, b, **options)
    assert structural_equal(b, a, **options) is found
    auto = options.get("enable_auto_mapping", False)
    if found:
        assert structural_hash(a, enable_auto_mapping=auto) == structural_hash(b, enable_auto_mapping=auto)
    return found


def index(name: str = "x") -> Var:
    return Var(name, INDEX)


def call(kwargs: dict[str, Any] | None = None, attrs: dict[str, Any] | None = None) -> Call:
    return Call(Op("x.op"), (), kwargs or {}, attrs or {}, type=INDEX)


# Variables


def test_definitions_are_mapped_to_each_other() -> None:
    def body() -> Stmt:
        x, y = index(), index("y")
        return seq([AssignStmt(x, ONE), AssignStmt(y, Add(x, x, INDEX)), ReturnStmt((y,))])

    assert equal(body(), body())


def test_a_mapping_is_one_to_one() -> None:
    def body(first: bool) -> Stmt:
        x, y = index(), index("y")
        return seq([AssignStmt(x, ONE), AssignStmt(y, ONE), ReturnStmt((x if first else y,))])

    assert not equal(body(True), body(False))

    def free(a: Var, b: Var) -> Expr:
        return Add(a, b, INDEX)

    x, y, z = index(), index("y"), index("z")
    assert equal(free(x, y), free(y, z), enable_auto_mapping=True)
    assert not equal(free(x, y), free(z, z), enable_auto_mapping=True)
    assert not equal(free(z, z), free(x, y), enable_auto_mapping=True)


def test_a_free_variable_equals_itself_and_with_auto_mapping_any_of_its_type() -> None:
    x, y = index(), index("y")
    assert equal(x, x)
    assert not equal(x, y)
    assert equal(x, y, enable_auto_mapping=True)
    assert not equal(x, Var("y", INT32), enable_auto_mapping=True)
    assert not equal(x, IterArg("y", INDEX, ONE), enable_auto_mapping=True)


def test_a_definition_shadows_a_free_use_of_the_same_object() -> None:
    x, y = index(), index("y")
    # On the left x is defined and used; on the right the use is of something else.
    left = seq([AssignStmt(x, ONE), ReturnStmt((x,))])
    right = seq([AssignStmt(y, ONE), ReturnStmt((x,))])
    assert not equal(left, right)


@pytest.mark.parametrize("cls", [ForStmt, WhileStmt, IfStmt])
def test_carried_values_and_results(cls: type) -> None:
    def make(init: int, swap: bool = False) -> Stmt:
        c, d = IterArg("c", INDEX, ConstInt(init)), IterArg("d", INDEX, ConstInt(init + 1))
        r, s, p = index("r"), index("s"), Lt(ConstInt(init), ONE, BOOL)
        ending = YieldStmt((d, c) if swap else (c, d))
        if cls is ForStmt:
            stmt: Stmt = ForStmt(index("i"), ConstInt(0), ONE, ONE, (c, d), ending, (r, s))
        elif cls is WhileStmt:
            stmt = WhileStmt(Lt(c, ONE, BOOL), (c, d), ending, (r, s))
        else:
            values = (ConstInt(2), ConstInt(1)) if swap else (ConstInt(1), ConstInt(2))
            stmt = IfStmt(p, YieldStmt(values), YieldStmt(values), (r, s))
        return seq([stmt, ReturnStmt((r, s))])

    assert equal(make(0), make(0))
    assert not equal(make(0), make(1))
    assert not equal(make(0), make(0, swap=True))


# What counts and what does not


def test_names_spans_and_comments_don_t_count() -> None:
    span = Span("k.py", 1, 1)
    a = Function("f", (index("x"),), (), AssignStmt(index("y"), ONE), leading_comments=("c",), span=span)
    b = Function(
        "g", (index("z"),), (), AssignStmt(index("w"), ConstInt(1, span=span), leading_comments=("d",))
    )
    assert equal(a, b)


def test_a_tuple_of_a_subclass_is_what_its_items_are() -> None:
    class Items(tuple[ParamDirection, ...]):
        __slots__ = ()

    params = (index("x"), index("y"))
    ways = (ParamDirection.In, ParamDirection.InOut)
    plain = Function("f", params, (), EMPTY, ways)
    assert equal(plain, Function("f", params, (), EMPTY, Items(ways)))
    assert not equal(plain, Function("f", params, (), EMPTY, Items(reversed(ways))))


def test_functions_of_a_program_are_compared_by_name() -> None:
    f = Function("f", (), (), EMPTY)
    assert equal(Program("p", [f]), Program("q", [Function("f", (), (), EMPTY)]))
    assert not equal(Program("p", [f]), Program("p", [Function("g", (), (), EMPTY)]))
    assert not equal(Program("p", [f]), Program("p", [f, Function("g", (), (), EMPTY)]))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1, 1, True), (1, True, False), (1, 1.0, False), (0, False, False), (1.0, 1.0, True), (0.0, -0.0, False),
        (float("nan"), float("nan"), True), ("1", 1, False), ((1, 2), (1, 2), True), ((1, 2), (1, True), False),
        ((1,), (1, 1), False), (None, None, True), (None, 0, False), (AtomicType.Add, AtomicType.Add, True),
        (AtomicType.Add, 1, False), (DataType.INT64, DataType.INDEX, False),
    ],
)  # fmt: skip
def test_values_of_options_are_compared_with_their_type(a: object, b: object, same: bool) -> None:
    assert equal(call({"k": a}), call({"k": b})) is same
    assert equal(call(None, {"k": a}), call(None, {"k": b})) is same


def test_options_have_no_order_but_the_same_keys() -> None:
    assert equal(call({"a": 1, "b": 2}), call({"b": 2, "a": 1}))
    assert not equal(call({"a": 1}), call({"a": 1, "b": 2}))
    assert not equal(call({"a": 1}), call({"b": 1}))
    assert not equal(call({"a": 1}), call(None, {"a": 1}))


def test_variables_in_notes_go_through_the_mapping() -> None:
    def body(swap: bool) -> Stmt:
        x, y = index(), index("y")
        use = (y, x) if swap else (x, y)
        return seq([AssignStmt(x, ONE), AssignStmt(y, ONE), EvalStmt(call(None, {"deps": use}))])

    assert equal(body(False), body(False))
    assert not equal(body(False), body(True))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (ConstInt(1), ConstInt(1, DataType.INT64), True),
        (ConstInt(1), ConstInt(1, DataType.INT32), False),
        (ConstInt(1), ConstInt(2), False),
        (ConstInt(1), ConstFloat(1.0), False),
        (ConstInt(1), ConstBool(True), False),
        (ConstFloat(1.0), ConstFloat(1.0, DataType.FP16), False),
        (ConstFloat(0.0), ConstFloat(-0.0), False),
        (ConstFloat(float("nan")), ConstFloat(float("nan")), True),
        (ConstFloat(0.1), ConstFloat(0.1), True),
        (Add(ONE, ONE, INDEX), Sub(ONE, ONE, INDEX), False),
        (Add(ONE, ONE, INDEX), Add(ONE, ONE, INT64), True),
        (Op("a"), Op("b"), False),
    ],
)
def test_expressions(a: Expr, b: Expr, same: bool) -> None:
    assert equal(a, b) is same


def test_index_and_int64_variables_are_interchangeable() -> None:
    def loop(kind: Any) -> Stmt:
        i = Var("i", kind)
        return ForStmt(i, ConstInt(0), ONE, ONE, (), EvalStmt(i), ())

    assert equal(loop(INDEX), loop(INT64))
    assert not equal(loop(INDEX), loop(INT32))


# Types


def test_element_types_of_tensors_are_not_merged() -> None:
    assert not equal(TensorType([4], DataType.INT64), TensorType([4], DataType.INDEX))
    assert not types_equal(TensorType([4], DataType.FP32), TensorType([5], DataType.FP32))


def test_a_view_counts() -> None:
    plain = TileType([16, 16], DataType.FP32)
    padded = TileType([16, 16], DataType.FP32, tile_view=TileView(pad=PadValue.zero))
    assert not equal(plain, padded)
    assert not equal(plain, replace(plain, memory_space=MemorySpace.Vec))
    assert equal(padded, TileType([16, 16], DataType.FP32, tile_view=TileView(pad=PadValue.zero)))


def test_memrefs_in_types_count_on_request() -> None:
    base, other = Var("mem", PTR), Var("mem", PTR)

    def tile(*place: Any) -> TileType:
        ref = MemRef(*place) if place else None
        return TileType([4, 4], DataType.FP32, ref, None, MemorySpace.Vec)

    here = tile(base, ConstInt(0), 64)
    for there in (
        tile(),
        tile(other, ConstInt(0), 64),
        tile(base, ConstInt(64), 64),
        tile(base, ConstInt(0), 128),
        tile(base, ConstInt(0), 64, True),
        tile(base, ConstInt(0), 64, False, 2),
        tile(base, ConstInt(0), 64, False, 2, ONE),
    ):
        assert equal(here, there)
        assert types_equal(here, there)
        assert not structural_equal(here, there, compare_memref=True)
        assert not types_equal(here, there, compare_memref=True)
    assert structural_equal(here, tile(base, ConstInt(0, DataType.INT64), 64), compare_memref=True)


def test_allocations_that_a_program_defines_are_mapped() -> None:
    def body(second: bool) -> Stmt:
        a, b = Var("a", PTR), Var("b", PTR)
        make = Call(Op("x.alloc"), (), type=PTR)
        ref = MemRef(b if second else a, ConstInt(0), 64)
        t = Var("t", TileType([4, 4], DataType.FP32, ref, None, MemorySpace.Vec))
        return seq([AssignStmt(a, make), AssignStmt(b, make), AssignStmt(t, Call(Op("x"), (), type=t.type))])

    assert structural_equal(body(False), body(False), compare_memref=True)
    assert equal(body(False), body(True))
    assert not structural_equal(body(False), body(True), compare_memref=True)


def test_variables_in_types_go_through_the_mapping() -> None:
    def body(swap: bool) -> Function:
        n, m = index("n"), index("m")
        t = Var("t", TensorType([m if swap else n, 4], DataType.FP32))
        return Function("f", (n, m, t), (), EMPTY)

    assert equal(body(False), body(False))
    assert not equal(body(False), body(True))


def test_one_type_under_two_mappings() -> None:
    """The same pair of types may be equal under one mapping and not under another."""
    n, m = index("n"), index("m")
    kind_n, kind_m = TensorType([n], DataType.FP32), TensorType([m], DataType.FP32)
    left = seq([AssignStmt(n, ONE), AssignStmt(Var("t", kind_n), call())])
    right = seq([AssignStmt(m, ONE), AssignStmt(Var("t", kind_m), call())])
    assert equal(left, right)
    assert not types_equal(kind_n, kind_m)


# What a difference says


def kernel(value: int) -> Program:
    x = index("x")
    inner = seq([AssignStmt(x, ConstInt(value)), YieldStmt()])
    loop = ForStmt(index("i"), ConstInt(0), ConstInt(4), ONE, (), inner, ())
    return Program("p", [Function("kern", (), (), seq([EvalStmt(ONE), loop]))])


def test_a_difference_names_its_place_both_sides_and_the_reason() -> None:
    with pytest.raises(ValueError, match="structures differ") as caught:
        assert_structural_equal(kernel(1), kernel(2))
    diagnostic = caught.value.diagnostics[0]  # type: ignore[attr-defined]
    assert diagnostic.message == "structures differ at ['kern'].body.stmts[1].body.stmts[0].value"
    assert dict(diagnostic.facts)["Reason"] == "constant 1: index is not 2: index"
    text = str(caught.value)
    assert "left" in text
    assert "Reason" in text


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (call({"k": 1}), call({"k": 2}), "structures differ at kwargs['k']"),
        (Mul(ONE, ONE, INDEX), Mul(ONE, ConstInt(3), INDEX), "structures differ at right"),
        (ReturnStmt((ONE, ONE)), ReturnStmt((ONE,)), "structures differ at values"),
        (ONE, ConstInt(2), "structures differ at ."),
    ],
)
def test_paths(a: Any, b: Any, message: str) -> None:
    with pytest.raises(UserError) as caught:
        assert_structural_equal(a, b)
    assert caught.value.message == message


def test_nothing_is_said_of_equal_things() -> None:
    assert_structural_equal(kernel(1), kernel(1))


# Random programs


@settings(max_examples=30)
@given(functions(), functions())
def test_equal_functions_have_equal_hashes(a: Function, b: Function) -> None:
    equal(a, b)
    equal(a, b, enable_auto_mapping=True)
    assert equal(a, a)


@settings(max_examples=30)
@given(programs(), ATTR_VALUES, ATTR_VALUES)
def test_a_changed_note_is_a_difference(program: Program, one: Any, two: Any) -> None:
    name = next(iter(program.functions))

    def noted(value: Any) -> Program:
        function = replace(program[name], attrs={"changed": value})
        return replace(program, functions=[f for f in program if f.name != name] + [function])

    a, b = noted(one), noted(two)
    alike = type(one) is type(two) and (repr(one) == repr(two))
    assert equal(a, b) is alike
    assert equal(a, noted(one))


@given(st.integers(), st.integers())
def test_integer_hashes_tell_numbers_apart(a: int, b: int) -> None:
    assert equal(ConstInt(a), ConstInt(b)) is (a == b)


def test_hashes_are_the_same_in_every_process() -> None:
    code = (
        "from pypto_core.ir import *\n"
        "i = scalar_type(DataType.INDEX); x = Var('x', i)\n"
        "body = ReturnStmt((Add(x, ConstInt(1), i),))\n"
        "f = Function('f', (x,), (i,), body, attrs={'a': 'text', 'b': AtomicType.Add})\n"
        "print(structural_hash(Program('p', [f])))\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(found) == 1

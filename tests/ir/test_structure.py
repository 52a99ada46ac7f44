"""Nodes, statements, functions, MemRefs and names: what constructors enforce and what helpers keep."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from pypto_core.diagnostics import InternalError, Span, UserError
from pypto_core.ir import (
    EMPTY,
    EMPTY_MAP,
    PTR,
    AssignStmt,
    BreakStmt,
    Call,
    ConstInt,
    DataType,
    ForKind,
    ForStmt,
    Function,
    FunctionType,
    IfStmt,
    IterArg,
    Level,
    MakeTuple,
    MemRef,
    NameSource,
    Node,
    Op,
    ParamDirection,
    Program,
    ReturnStmt,
    Role,
    SeqStmts,
    TupleGetItemExpr,
    Var,
    WhileStmt,
    YieldStmt,
    auto_name,
    base_name,
    fields_of,
    flatten,
    freeze_map,
    is_const,
    last_yield,
    map_functions,
    node_class,
    regions,
    replace,
    scalar_type,
    seq,
)

INDEX = scalar_type(DataType.INDEX)
ZERO, ONE, FOUR = ConstInt(0), ConstInt(1), ConstInt(4)


def assign(name: str, comments: tuple[str, ...] = ()) -> AssignStmt:
    return AssignStmt(Var(name, INDEX), ONE, leading_comments=comments)


def loop(kind: ForKind = ForKind.Sequential, **options: Any) -> ForStmt:
    return ForStmt(Var("i", INDEX), ZERO, FOUR, ONE, (), EMPTY, (), kind, **options)


# Nodes and the field table


def test_fields_stand_in_the_order_in_which_they_are_visited() -> None:
    assert [f.name for f in fields_of(ForStmt)][:8] == [
        "start", "stop", "step", "attrs", "iter_args", "loop_var", "body", "return_vars",
    ]  # fmt: skip
    assert [f.name for f in fields_of(WhileStmt)][:4] == ["iter_args", "condition", "body", "return_vars"]
    assert [f.name for f in fields_of(AssignStmt)][:2] == ["value", "var"]


@pytest.mark.parametrize(
    ("cls", "defined"),
    [
        (AssignStmt, {"var"}),
        (ForStmt, {"loop_var", "iter_args", "return_vars"}),
        (WhileStmt, {"iter_args", "return_vars"}),
        (IfStmt, {"return_vars"}),
        (Function, {"params"}),
    ],
)
def test_what_defines_variables(cls: type, defined: set[str]) -> None:
    assert {f.name for f in fields_of(cls) if f.role == "def"} == defined


@pytest.mark.parametrize(
    ("cls", "ignored"),
    [
        (AssignStmt, {"span", "leading_comments"}),
        (Var, {"span", "name_hint", "unique_id"}),
        (Function, {"span", "name", "leading_comments"}),
        (Program, {"span", "name", "leading_comments"}),
        (Call, {"span"}),
    ],
)
def test_what_is_never_compared(cls: type, ignored: set[str]) -> None:
    assert {f.name for f in fields_of(cls) if f.role == "ignore"} == ignored


def test_a_field_that_does_not_say_its_role_is_a_fault() -> None:
    @node_class
    class Loose(Node):
        value: int = attrs.field(default=0)

    with pytest.raises(InternalError, match="role"):
        fields_of(Loose)


def test_nodes_are_frozen_and_compared_by_identity() -> None:
    a, b = ConstInt(1), ConstInt(1)
    assert a != b
    assert len({a, b}) == 2
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        a.value = 2  # type: ignore[misc]


def test_replace_carries_everything_else_over() -> None:
    span = Span("k.py", 3, 1)
    stmt = AssignStmt(Var("x", INDEX), ONE, leading_comments=("why",), span=span)
    new = replace(stmt, value=FOUR)
    assert (new.value, new.var, new.leading_comments, new.span) == (FOUR, stmt.var, ("why",), span)
    assert stmt.value is ONE


def test_a_replaced_variable_is_another_one() -> None:
    var = Var("x", INDEX)
    assert replace(var, name_hint="y").unique_id > var.unique_id


def test_dictionaries_are_frozen_in_their_order() -> None:
    source = {"b": [1, [2, 3]], "a": (4, [5])}
    frozen = freeze_map(source)
    source["c"] = []
    assert list(frozen.items()) == [("b", (1, (2, 3))), ("a", (4, (5,)))]
    with pytest.raises(TypeError):
        frozen["b"] = 1  # type: ignore[index]
    assert freeze_map(frozen) is frozen
    assert freeze_map({}) is EMPTY_MAP
    assert freeze_map(None) is EMPTY_MAP


def test_lists_given_to_constructors_become_tuples() -> None:
    call = Call(Op("x"), [ONE], {"shape": [1, 2]}, type=INDEX)
    assert call.args == (ONE,)
    assert call.kwargs["shape"] == (1, 2)


# Statements


def test_sequences_are_flat_and_never_of_length_one() -> None:
    a, b, c = assign("a"), assign("b"), assign("c")
    assert seq([a]) is a
    assert flatten(seq([a, seq([b, SeqStmts((c,))])])) == (a, b, c)
    assert flatten(seq([])) == ()
    assert flatten(seq([EMPTY, a, EMPTY])) == (a,)
    assert flatten(None) == ()
    assert flatten(a) == (a,)


def test_comments_of_a_nested_sequence_move_to_its_first_statement() -> None:
    nested = SeqStmts((assign("a", ("own",)), assign("b")), leading_comments=("outer",))
    first, second, third = flatten(seq([assign("z"), nested]))
    assert (first.leading_comments, second.leading_comments, third.leading_comments) == (
        (),
        ("outer", "own"),
        (),
    )


def test_comments_of_a_sequence_inside_a_nested_one() -> None:
    inner = SeqStmts((assign("a"), assign("b")), leading_comments=("inner",))
    outer = SeqStmts((inner, assign("c")), leading_comments=("outer",))
    assert flatten(seq([outer, assign("d")]))[0].leading_comments == ("outer", "inner")


def test_comments_of_an_empty_sequence_are_not_lost() -> None:
    empty = SeqStmts((), leading_comments=("left",))
    after = flatten(seq([assign("a"), empty, assign("b")]))
    assert [s.leading_comments for s in after] == [(), ("left",)]
    last = flatten(seq([assign("a"), assign("b", ("own",)), empty]))
    assert [s.leading_comments for s in last] == [(), ("own", "left")]
    assert seq([empty]).leading_comments == ("left",)


def test_the_last_yield() -> None:
    ending = YieldStmt((ONE,))
    assert last_yield(ending) is ending
    assert last_yield(seq([assign("a"), ending])) is ending
    assert last_yield(seq([ending, assign("a")])) is None
    assert last_yield(EMPTY) is None
    assert last_yield(None) is None


def test_regions_of_statements() -> None:
    then, other = assign("a"), assign("b")
    condition = Var("p", scalar_type(DataType.BOOL))
    assert regions(IfStmt(condition, then, other)) == (then, other)
    assert regions(IfStmt(condition, then)) == (then,)
    assert regions(loop()) == (EMPTY,)
    assert regions(WhileStmt(condition, (), then, ())) == (then,)
    assert regions(then) == ()
    assert regions(BreakStmt()) == ()


def test_pipeline_loops_and_no_others_carry_stages() -> None:
    assert loop(ForKind.Pipeline, attrs={"pipeline_stages": 2}).attrs["pipeline_stages"] == 2
    for kind in (ForKind.Sequential, ForKind.Parallel, ForKind.Unroll):
        with pytest.raises(UserError) as caught:
            loop(kind, attrs={"pipeline_stages": 2})
        assert caught.value.diagnostics[0].code == "PT210"
    with pytest.raises(UserError, match="lacks"):
        loop(ForKind.Pipeline)
    with pytest.raises(UserError):
        replace(loop(ForKind.Pipeline, attrs={"pipeline_stages": 2}), kind=ForKind.Sequential)


# Expressions and MemRefs


def test_tuples() -> None:
    pair = MakeTuple((ONE, ConstInt(2, DataType.INT32)))
    item = TupleGetItemExpr(pair, 1)
    assert item.type is scalar_type(DataType.INT32)
    for bad in (2, -1):
        with pytest.raises(UserError, match="out of range"):
            TupleGetItemExpr(pair, bad)
    with pytest.raises(UserError, match="not a tuple"):
        TupleGetItemExpr(ONE, 0)


def test_integer_constants() -> None:
    assert is_const(ONE)
    assert is_const(ONE, 1)
    assert not is_const(ONE, 2)
    assert not is_const(Var("x", INDEX))
    assert not is_const(None)


BASE, OTHER = Var("mem", PTR), Var("mem", PTR)
N = Var("n", INDEX)


@pytest.mark.parametrize(
    ("base", "offset", "size", "alias"),
    [
        (BASE, ZERO, 64, True),
        (BASE, ConstInt(63), 1, True),
        (BASE, ConstInt(64), 64, False),
        (BASE, N, 1, True),
        (OTHER, ZERO, 64, False),
    ],
)
def test_which_places_may_share_a_byte(base: Var, offset: Any, size: int, alias: bool) -> None:
    a, b = MemRef(BASE, ZERO, 64), MemRef(base, offset, size)
    assert a.may_alias(b) is alias
    assert b.may_alias(a) is alias
    assert a.same_allocation(b) is (base is BASE)


@pytest.mark.parametrize("index", [-1, 2, 5])
def test_constant_slots_are_in_range(index: int) -> None:
    with pytest.raises(UserError, match="out of range"):
        MemRef(BASE, ZERO, 0, True, 2, ConstInt(index))


def test_slots() -> None:
    assert MemRef(BASE, ZERO, 0, True, 2, ConstInt(1)).slot_index is not None
    assert MemRef(BASE, ZERO, 0, True, 2, N).slot_index is N
    with pytest.raises(UserError, match="at least one slot"):
        MemRef(BASE, ZERO, 0, True, 0)


# Functions and programs

PLACES = {
    FunctionType.Orchestration: (Level.CHIP, Role.Orchestrator),
    FunctionType.Graph: (Level.CHIP, Role.Orchestrator),
    FunctionType.InCore: (Level.CHIP_DIE, Role.SubWorker),
    FunctionType.AIC: (Level.AIC, Role.SubWorker),
    FunctionType.AIV: (Level.AIV, Role.SubWorker),
    FunctionType.Group: (Level.CORE_GROUP, Role.SubWorker),
}


@pytest.mark.parametrize("kind", list(FunctionType), ids=lambda k: k.name)
def test_level_and_role_follow_from_the_type(kind: FunctionType) -> None:
    function = Function("f", (), (), EMPTY, func_type=kind)
    assert (function.level, function.role) == PLACES.get(kind, (None, None))


@pytest.mark.parametrize("kind", list(FunctionType), ids=lambda k: k.name)
def test_a_level_or_role_that_contradicts_the_type_is_refused(kind: FunctionType) -> None:
    for field, value in (("level", Level.HOST), ("role", Role.Orchestrator)):
        options: dict[str, Any] = {field: value}
        expected = PLACES.get(kind)
        if expected is None or value in expected:
            assert getattr(Function("f", (), (), EMPTY, func_type=kind, **options), field) is value
        else:
            with pytest.raises(UserError, match=f"can't have {field}"):
                Function("f", (), (), EMPTY, func_type=kind, **options)


def test_parameters_are_inputs_unless_said_otherwise() -> None:
    a, b = Var("a", INDEX), Var("b", INDEX)
    assert Function("f", (a, b), (), EMPTY).param_directions == (ParamDirection.In, ParamDirection.In)
    with pytest.raises(UserError, match="2 parameters and 1 directions"):
        Function("f", (a, b), (), EMPTY, (ParamDirection.Out,))


def test_programs_keep_functions_by_name() -> None:
    f, g = Function("f", (), (), EMPTY), Function("g", (), (), ReturnStmt())
    program = Program("p", [g, f])
    assert list(program.functions) == ["f", "g"]
    assert list(program) == [f, g]
    assert program["g"] is g
    assert program.get_function("h") is None
    with pytest.raises(UserError, match="two functions"):
        Program("p", [f, f])


def test_mapping_functions_keeps_what_does_not_change() -> None:
    f, g = Function("f", (), (), EMPTY), Function("g", (), (), EMPTY)
    program = Program("p", [f, g], leading_comments=("c",))
    assert map_functions(program, lambda x: x) is program
    changed = map_functions(program, lambda x: replace(x, body=ReturnStmt()) if x is f else x)
    assert changed is not program
    assert changed["g"] is g
    assert isinstance(changed["f"].body, ReturnStmt)
    assert (changed.name, changed.leading_comments) == ("p", ("c",))


# Names


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("b_right__ssa_v0", "b_right"), ("x", "x"), ("x_1", "x_1"), ("t__loop_iter_v12", "t"), ("__odd", "__odd"),
    ],
)  # fmt: skip
def test_what_the_author_wrote_of_a_name(name: str, base: str) -> None:
    assert base_name(name) == base


def test_derived_names() -> None:
    assert auto_name("x", "ssa", 3) == "x__ssa_v3"
    assert auto_name("x__ssa_v3", "iter", 0, "outer") == "x__outer_iter_v0"


def test_fresh_names_never_repeat() -> None:
    names = NameSource()
    found = [
        names.fresh("x", "ssa"),
        names.fresh("x__ssa_v0", "ssa"),
        names.fresh("x", "iter"),
        names.fresh("y", "ssa"),
    ]
    assert found == ["x__ssa_v0", "x__ssa_v1", "x__iter_v0", "y__ssa_v0"]


def test_variables_are_numbered_in_the_order_of_their_making() -> None:
    a, b = Var("a", INDEX), IterArg("b", INDEX, ONE)
    assert a.unique_id < b.unique_id

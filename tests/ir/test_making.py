"""The quick maker of nodes makes what the constructor makes."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import attrs
import pytest
from hypothesis import given

import pypto_core.ir as ir
from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    MAKE,
    Add,
    ConstInt,
    DataType,
    ForKind,
    ForStmt,
    Function,
    FunctionType,
    Level,
    Node,
    SeqStmts,
    Type,
    Var,
    collector_paused,
    freeze_map,
    make_order,
    scalar_type,
    walk,
)
from tests.ir.generators import functions

INDEX = scalar_type(DataType.INDEX)
SPAN = Span("k.py", 3, 5, 3, 9)
CLASSES = [
    found
    for found in (getattr(ir, name) for name in ir.__all__)
    if isinstance(found, type) and issubclass(found, Node | Type)
]


def remade(node: Any) -> Any:
    return MAKE[type(node)](*[getattr(node, name) for name in make_order(type(node))])


@given(functions())
def test_it_makes_what_the_constructor_makes(function: Function) -> None:
    for node in (function, *walk(function)):
        copy = remade(node)
        assert type(copy) is type(node) and copy is not node
        for field in attrs.fields(type(node)):
            if field.init:
                mine, theirs = getattr(copy, field.name), getattr(node, field.name)
                assert mine is theirs or mine == theirs == ()  # there may be several empty ones


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_positions_are_those_of_the_constructor(cls: type) -> None:
    # What the constructor takes by position comes first and in its order; the rest it takes by name.
    given_ = [f for f in attrs.fields(cls) if f.init]
    assert make_order(cls) == (
        *[f.name for f in given_ if not f.kw_only],
        *[f.name for f in given_ if f.kw_only],
    )
    assert MAKE[cls] is MAKE[cls]


def test_what_it_makes_is_frozen() -> None:
    var = MAKE[Var]("x", INDEX, SPAN)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        var.name_hint = "y"
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        del var.name_hint
    assert type(var) is Var and var.span is SPAN and hash(var) == object.__hash__(var)


def test_variables_are_numbered_like_all_others() -> None:
    numbers = [Var("a", INDEX).unique_id, MAKE[Var]("b", INDEX, SPAN).unique_id, Var("c", INDEX).unique_id]
    assert numbers[1] == numbers[0] + 1 and numbers[2] == numbers[1] + 1


def test_classes_check_and_complete_themselves() -> None:
    zero = ConstInt(0)
    body = SeqStmts(())
    with pytest.raises(UserError, match="pipeline_stages"):
        MAKE[ForStmt](
            Var("i", INDEX), zero, zero, zero, (), body, (), ForKind.Pipeline, freeze_map({}), SPAN, ()
        )
    plain = Function("f", (), (), body, func_type=FunctionType.InCore)
    order = {name: getattr(plain, name) for name in make_order(Function)}
    made = MAKE[Function](*{**order, "level": None}.values())
    assert made.level is Level.CHIP_DIE


def test_subclasses_without_fields_of_their_own_have_makers_of_their_own() -> None:
    made = MAKE[Add](ConstInt(1), ConstInt(2), INDEX, SPAN)
    assert type(made) is Add and isinstance(made, ir.BinaryExpr) and type(remade(made)) is Add


def test_pausing_the_collector_leaves_it_as_it_was() -> None:
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), collector_paused():
        raise ZeroDivisionError
    assert gc.isenabled()


def test_what_was_made_while_the_collector_paused_is_old_afterwards_and_still_collected() -> None:
    class Loop:
        def __init__(self) -> None:
            self.self = self

    gc.collect()
    with collector_paused():
        kept = [[i] for i in range(1000)]
        cycle = weakref.ref(Loop())
    young = {id(found) for generation in (0, 1) for found in gc.get_objects(generation=generation)}
    assert not young & {id(found) for found in kept}
    assert cycle() is not None
    gc.collect()
    assert cycle() is None


def test_objects_that_somebody_froze_stay_frozen() -> None:
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        with collector_paused():
            pass
        assert gc.get_freeze_count() == before
    finally:
        gc.unfreeze()

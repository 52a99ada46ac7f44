"""Contracts and passes as data: their checks, lazy loading, and options as text and back."""

from __future__ import annotations

import enum
import math

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto_core.contract import (
    OrderFact,
    Pass,
    PassContract,
    Property,
    PropertyKind,
    Relation,
    after,
    before,
    parse_pass_spec,
    strictly_after,
)
from pypto_core.diagnostics import UserError


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


@attrs.frozen
class Options:
    depth: int = 2
    rate: float = 1.0
    name: str = "x"
    colour: Colour = Colour.RED
    deep: bool = False
    sizes: tuple[int, ...] = (1,)
    extra: str | None = None


def make(options: object = Options()) -> Pass:
    return Pass(contract=PassContract(name="AutoTileMatmulL0"), run="math:sqrt", options=options)


def test_only_a_name_is_needed() -> None:
    contract = PassContract(name="A")
    assert contract.runs == ("A",)
    assert contract.requires == contract.produces == contract.touches == frozenset()


def test_contracts_refuse_what_can_only_be_a_slip() -> None:
    with pytest.raises(TypeError, match="one string 'SSAForm'"):
        PassContract(name="A", requires="SSAForm")
    with pytest.raises(ValueError, match="twice"):
        PassContract(name="A", runs=("A", "A"))
    with pytest.raises(ValueError, match="its instance B"):
        PassContract(name="A", order=(before("C", instance="B"),))


def test_order_facts_say_which_way_they_point() -> None:
    assert before("B", "why") == OrderFact(Relation.BEFORE, "B", "why")
    assert not after("B").relation.forward
    assert strictly_after("B").relation.strict


def test_bodies_and_verifiers_load_when_asked() -> None:
    assert make().load() is math.sqrt
    assert Property(name="P", verifier="math:floor").load() is math.floor
    assert Property(name="P").load() is None
    with pytest.raises(ValueError, match="pass A: 'math.sqrt' is not of the form"):
        Pass(contract=PassContract(name="A"), run="math.sqrt").load()
    with pytest.raises(ImportError, match="module math has no nope"):
        Pass(contract=PassContract(name="A"), run="math:nope").load()


def test_kinds_decide_what_disturbs_a_property() -> None:
    loops = frozenset({"loops"})
    assert Property(name="P", disturbed_by={"loops"}).disturbed(loops)
    assert not Property(name="P", disturbed_by={"names"}).disturbed(loops)
    assert Property(name="P", kind=PropertyKind.ANALYSIS).disturbed(loops)
    assert not Property(name="P", kind=PropertyKind.ANALYSIS).disturbed(frozenset())
    assert not Property(name="P", kind=PropertyKind.STRUCTURAL, disturbed_by={"loops"}).disturbed(loops)


texts = st.text(max_size=12) | st.sampled_from(("true", "12", "1e5", "nan", "none", "a b", 'q"', "a,b", "{}"))


@given(
    st.builds(
        Options,
        depth=st.integers(),
        rate=st.floats(allow_nan=False),
        name=texts,
        colour=st.sampled_from(Colour),
        deep=st.booleans(),
        sizes=st.lists(st.integers(), max_size=3).map(tuple),
        extra=st.none() | texts,
    )
)
def test_options_print_and_read_back(options: Options) -> None:
    value = make(options)
    assert parse_pass_spec(value.spec()).apply(make()) == value
    assert parse_pass_spec(value.spec()).apply(make(Options(depth=9))) == value


def test_the_text_shows_what_differs() -> None:
    assert make().spec() == "AutoTileMatmulL0"
    assert make(Options(deep=True, colour=Colour.GREEN)).spec() == "AutoTileMatmulL0{colour=GREEN deep=true}"
    assert make(None).spec() == "AutoTileMatmulL0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AutoTileMatmulL0{nope=1}", "has no option 'nope'"),
        ("AutoTileMatmulL0{depth=x}", "option depth of pass AutoTileMatmulL0 takes a whole number, not x"),
        ("AutoTileMatmulL0{deep=1}", "takes true or false, not 1"),
        ("AutoTileMatmulL0{colour=BLUE}", "takes one of RED, GREEN, not BLUE"),
        ("AutoTileMatmulL0{sizes=3}", "takes a list, not 3"),
        ("AutoTileMatmulL0{depth=[3]}", "takes a whole number, not a list"),
        ("AutoTileMatmulL0{depth=1 depth=2}", "'depth' is given twice at column 31"),
        ("AutoTileMatmulL0{depth=1", "an option name is missing at column 25"),
        ("AutoTileMatmulL0{depth}", "'=' is missing at column 23"),
        ('AutoTileMatmulL0{name="x}', "a string is not closed at column 23"),
        ("AutoTileMatmulL0 x", "'x' is too much at column 18"),
        ("", "a pass name is missing at column 1"),
    ],
)
def test_a_wrong_text_names_the_place(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_pass_spec(text).apply(make())
    assert message in caught.value.message
    assert caught.value.diagnostics[0].code == "PT310"


def test_a_pass_without_options_takes_none() -> None:
    with pytest.raises(UserError, match="takes no options"):
        parse_pass_spec("AutoTileMatmulL0{a=1}").apply(make(None))

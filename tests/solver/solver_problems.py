"""Random problems, each kind biased to the corner where one law of the search could be wrong."""

from __future__ import annotations

from hypothesis import strategies as st

from pypto_core.contract import OrderFact, PassContract, Property, PropertyKind, Relation, Role
from pypto_core.solver import ExtraOrder, Goal, Must, Origin, PassEntry, Problem

LETTERS = "ABCDEFG"
PROPS = tuple(f"p{i}" for i in range(5))
EFFECTS = ("loops", "names")
ANCHORS = ("@one", "@two")


@st.composite
def problems(
    draw: st.DrawFn,
    *,
    size: int = 6,
    roles: tuple[Role, ...] = (Role.PROVIDE, Role.MUST, Role.PROVIDE),
    kill: int = 1,
    rerun: bool = False,
    strict: bool = False,
    forbid: bool = False,
    effects: bool = False,
    anchors: bool = False,
    gates: bool = False,
    orders: int = 4,
) -> Problem:
    """A problem of up to ``size`` instances."""

    def some(values: tuple[str, ...], most: int) -> frozenset[str]:
        return frozenset(draw(st.lists(st.sampled_from(values), max_size=most)))

    count = draw(st.integers(1, size))
    names, left = [], count
    runs: dict[str, tuple[str, ...]] = {}
    for letter in LETTERS:
        if left < 1:
            break
        twice = rerun and left > 1 and draw(st.booleans())
        runs[letter] = (letter, f"{letter}#2") if twice else (letter,)
        left -= len(runs[letter])
        names.append(letter)
    labels = tuple(sorted({*names, *(r for ids in runs.values() for r in ids)})) + (
        ANCHORS if anchors else ()
    )
    relations = list(Relation) if strict else [Relation.BEFORE, Relation.AFTER]
    facts: dict[str, list[OrderFact]] = {name: [] for name in names}
    for _ in range(draw(st.integers(0, orders))):
        name = draw(st.sampled_from(names))
        other = draw(st.sampled_from((*labels, "Absent")))
        mine = draw(st.sampled_from(("", *runs[name])))
        if other not in (name, *runs[name]):
            facts[name].append(OrderFact(draw(st.sampled_from(relations)), other, "because", mine))
    entries: list[PassEntry] = []
    for name in names:
        contract = PassContract(
            name=name,
            requires=some(PROPS, 2),
            produces=some(PROPS, 2),
            invalidates=some(PROPS, kill),
            forbids=some(PROPS, 1) if forbid and draw(st.booleans()) else (),
            needs=some(("x",), 1) if gates else (),
            excludes=some(("y",), 1) if gates else (),
            order=tuple(facts[name]),
            role=draw(st.sampled_from(roles)),
            runs=runs[name],
            touches=some(EFFECTS, 1) if effects else (),
        )
        entries.append(PassEntry(contract, Origin(f"pypto-plugin-{name.lower()}", "1.0")))
    kinds = (PropertyKind.NORMAL, PropertyKind.ANALYSIS, PropertyKind.STRUCTURAL)
    known = [
        Property(name=p, kind=draw(st.sampled_from(kinds)), disturbed_by=some(EFFECTS, 1))
        for p in (PROPS if effects else ())
    ]
    extra = [
        ExtraOrder(*draw(st.tuples(st.sampled_from(labels), st.sampled_from((*labels, "Absent")))), "--order")
        for _ in range(draw(st.integers(0, 1)))
    ]
    return Problem(
        passes=draw(st.permutations(entries)),
        properties=known,
        initial=some(PROPS, 1),
        goals=[Goal(p, "the target") for p in sorted(some(PROPS, 3))],
        must=[Must(draw(st.sampled_from(names)), "--must")] if draw(st.integers(0, 3)) == 0 else [],
        capabilities=some(("x", "y"), 2) if gates else (),
        order=[o for o in extra if o.earlier != o.later],
        anchors=ANCHORS if anchors else (),
    )


def corner_problems() -> st.SearchStrategy[Problem]:
    """One of all corners."""
    wish = (Role.OPTIMISE, Role.PROVIDE, Role.MUST, Role.CHECK)
    return st.one_of(
        problems(),
        problems(kill=2, roles=(Role.MUST,)),
        problems(kill=2, rerun=True, orders=1),
        problems(rerun=True, strict=True, orders=3),
        problems(forbid=True, roles=(Role.MUST, Role.PROVIDE)),
        problems(effects=True, kill=0),
        problems(roles=wish, kill=1, rerun=True, strict=True),
        problems(anchors=True, strict=True, orders=5),
        problems(gates=True, roles=wish, orders=6),
        problems(size=7, kill=1, orders=2, roles=(Role.PROVIDE,)),
    )

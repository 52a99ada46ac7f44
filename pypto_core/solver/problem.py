"""What the solver is asked: passes with their origin, what holds, what is wanted, and who says so.

A problem is a set of facts. Everything that arrives in some order is sorted here, so that neither the order
of registration nor a hash seed can reach an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import attrs

from pypto_core.contract import PassContract, Property, PropertyKind, Relation

T = TypeVar("T")

DEFAULT_NODE_BUDGET = 10_000
"""States one search may open. Plans need tens of them, hard ones hundreds: this is an emergency stop.

When it is spent before any plan is found, that is PT309; after that, the plan is marked as not proved the least.
"""


@attrs.frozen(order=True)
class Origin:
    """The distribution that registered a pass, and its version."""

    distribution: str = ""
    version: str = ""

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}".strip() or "an unnamed source"


@attrs.frozen
class PassEntry:
    """One registered contract and where it comes from."""

    contract: PassContract
    origin: Origin = Origin()

    @property
    def name(self) -> str:
        """The pass's name."""
        return self.contract.name


@attrs.frozen(order=True)
class Goal:
    """A property that has to hold at the end, and who wants it (``target pto``, ``--keep-ssa``)."""

    property: str
    wanted_by: str = ""


@attrs.frozen(order=True)
class Must:
    """A pass that has to run at least once, and who says so, beside what contracts say of themselves."""

    name: str
    wanted_by: str = ""


@attrs.frozen(order=True)
class Capability:
    """A capability that this compilation offers, and who offers it."""

    name: str
    said_by: str = ""


@attrs.frozen(order=True)
class ExtraOrder:
    """An order that no contract states: ``earlier`` before ``later``, from the command line or a target."""

    earlier: str
    later: str
    said_by: str = ""
    reason: str = ""
    strict: bool = False


@attrs.frozen(order=True)
class FailedPlugin:
    """A plugin that is installed and not loaded: its passes may be the missing ones.

    ``by_choice``: it was left out on purpose, nothing is wrong with it.
    """

    distribution: str
    reason: str = ""
    by_choice: bool = False


def _sorted(value: Iterable[T]) -> tuple[T, ...]:
    return tuple(sorted(set(value)))  # type: ignore[type-var]


def _listed(value: Iterable[T]) -> Iterable[T]:
    if isinstance(value, str):
        raise TypeError(f"a list of names is needed, not the one string {value!r}")
    return value


def _capabilities(value: Iterable[Capability | str]) -> tuple[Capability, ...]:
    return _sorted(c if isinstance(c, Capability) else Capability(c) for c in _listed(value))


def _goals(value: Iterable[Goal | str]) -> tuple[Goal, ...]:
    return _sorted(g if isinstance(g, Goal) else Goal(g) for g in _listed(value))


def _held(value: Iterable[str]) -> frozenset[str]:
    return frozenset(_listed(value))


def _entries(value: Iterable[PassEntry]) -> tuple[PassEntry, ...]:
    return tuple(sorted(value, key=lambda e: (e.contract.name, e.origin)))


def _by_name(value: Iterable[Property]) -> tuple[Property, ...]:
    return tuple(sorted(value, key=lambda p: p.name))


def _pairs(value: Mapping[str, T] | Iterable[tuple[str, T]]) -> tuple[tuple[str, T], ...]:
    return tuple(sorted(dict(value).items()))  # type: ignore[arg-type]


@attrs.frozen(kw_only=True)
class Problem:
    """Everything a plan depends on.

    ``passes``: what is installed. ``properties``: what is known of them; one that is not listed is a normal
    property that no effect disturbs. ``initial``: what verifiers found true of the input (structural
    properties always hold and need not be listed). ``goals`` and ``must``: what is wanted, with who wants it.
    ``capabilities``: what backend, planner and options offer. ``order``: order facts that no contract states.
    ``extra_runs``: how many runs beyond its contract each named pass is allowed. ``anchors``: points that
    every plan passes in this order; a pass that stands ``after("@x")`` ranks behind those before it.
    ``catalogue``: property to the distribution that would make it; ``failed``: plugins that did not load;
    both only serve explanations. ``purpose`` completes the sentence "no order reaches the goals of …".
    ``node_budget``: states that one search may open, see `DEFAULT_NODE_BUDGET`.

    Raises ValueError when two passes share a name or an instance id, or a number of runs is negative.
    """

    passes: tuple[PassEntry, ...] = attrs.field(default=(), converter=_entries)
    properties: tuple[Property, ...] = attrs.field(default=(), converter=_by_name)
    initial: frozenset[str] = attrs.field(default=frozenset(), converter=_held)
    goals: tuple[Goal, ...] = attrs.field(default=(), converter=_goals)
    must: tuple[Must, ...] = attrs.field(default=(), converter=_sorted)
    capabilities: tuple[Capability, ...] = attrs.field(default=(), converter=_capabilities)
    order: tuple[ExtraOrder, ...] = attrs.field(default=(), converter=_sorted)
    extra_runs: tuple[tuple[str, int], ...] = attrs.field(default=(), converter=_pairs)
    anchors: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    catalogue: tuple[tuple[str, str], ...] = attrs.field(default=(), converter=_pairs)
    failed: tuple[FailedPlugin, ...] = attrs.field(default=(), converter=_sorted)
    purpose: str = "this compilation"
    node_budget: int = DEFAULT_NODE_BUDGET

    def __attrs_post_init__(self) -> None:
        for name, more in self.extra_runs:
            if more < 0:
                raise ValueError(f"{name} can't be allowed {more} more runs: the number has to be 0 or more")
        owners: dict[str, PassEntry] = {}
        names = {entry.name: entry for entry in self.passes}
        for entry in self.passes:
            for label in (entry.name, *entry.contract.runs):
                other = owners.setdefault(label, entry)
                clash = names.get(label, entry)
                if other is not entry or clash is not entry:
                    first = other if other is not entry else clash
                    raise ValueError(
                        f"two passes answer to {label}: {first.name} of {first.origin} "
                        f"and {entry.name} of {entry.origin}"
                    )

    def structural(self) -> frozenset[str]:
        """The properties that hold of every program."""
        return frozenset(p.name for p in self.properties if p.kind is PropertyKind.STRUCTURAL)

    def offers(self, capability: str) -> bool:
        """Whether the compilation has a capability."""
        return any(c.name == capability for c in self.capabilities)


@attrs.frozen
class Stated:
    """One order fact in one direction, with who states it; names are passes, instances or anchors."""

    earlier: str
    later: str
    strict: bool = attrs.field(default=False)
    reason: str = ""
    said_by: str = ""

    @property
    def key(self) -> tuple[str, str, bool, str, str]:
        """A total order that does not depend on where the fact was found."""
        return (self.earlier, self.later, self.strict, self.said_by, self.reason)

    def __str__(self) -> str:
        strict = "strictly " if self.strict else ""
        return f"{self.earlier} {strict}before {self.later}"


def stated_orders(problem: Problem) -> tuple[Stated, ...]:
    """Every order fact of the problem, from contracts and beyond, sorted."""
    found: list[Stated] = []
    for entry in problem.passes:
        for fact in entry.contract.order:
            me = fact.instance or entry.name
            a, b = (me, fact.other) if fact.relation.forward else (fact.other, me)
            found.append(Stated(a, b, fact.relation.strict, fact.reason, str(entry.origin)))
    for extra in problem.order:
        found.append(Stated(extra.earlier, extra.later, extra.strict, extra.reason, extra.said_by))
    return tuple(sorted(found, key=lambda f: f.key))


def anchor_rank(problem: Problem, contract: PassContract) -> int:
    """Behind how many anchors a pass ranks by its own facts; 0 when it names none, so it runs early.

    The furthest anchor it stands after decides; without one, the first it stands before.
    """
    place = {anchor: i for i, anchor in enumerate(problem.anchors)}
    behind = [place[f.other] + 1 for f in contract.order if not f.relation.forward and f.other in place]
    ahead = [place[f.other] for f in contract.order if f.relation.forward and f.other in place]
    return max(behind) if behind else min(ahead, default=0)


__all__ = [
    "DEFAULT_NODE_BUDGET",
    "Capability",
    "ExtraOrder",
    "FailedPlugin",
    "Goal",
    "Must",
    "Origin",
    "PassEntry",
    "Problem",
    "Relation",
    "Stated",
    "anchor_rank",
    "stated_orders",
]

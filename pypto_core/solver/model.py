"""A problem as integers: one bit per property, one bit per pass instance.

An *atom* is one instance of one pass; it runs at most once. That turns the laws of first and last runs into
plain pairs of atoms:

* instances of one pass run in the order they are listed. A later instance of a MUST or PROVIDE pass waits
  for the earlier ones (``chain``); those of OPTIMISE and CHECK passes are wanted one by one, so a later one
  may stand alone.
* ``a before b`` compares the first listed instance of ``a`` with the first of ``b`` that runs; a name that is
  both a pass and an instance means the pass. ``strictly`` puts every instance of ``a`` before. A fact about
  an instance that does not occur says nothing.
* an anchor has no atom: everything that stands after ``@y`` has everything that stands before ``@x`` as its
  predecessor when ``@x`` is ``@y`` or comes before it. Positions for all anchors exist exactly then.
* ``forbids p`` puts every instance strictly before each establisher of p. Where p holds of the input, the
  pass is left out.

Two reductions are exact: what a pass requires it does not make, and only a property that some pass requires
or somebody wants is worth a bit in what is made or destroyed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from pypto_core.contract import Role
from pypto_core.solver.facts import Fact, FactKind, destroys, order_fact
from pypto_core.solver.gate import GatedOff, gate
from pypto_core.solver.problem import Origin, PassEntry, Problem, Stated, anchor_rank, stated_orders


@attrs.frozen(eq=False)
class Atom:
    """One instance of a pass: its id, its place in the contract's list, and whether it waits for the one before."""

    instance: str
    entry: PassEntry
    number: int
    role: Role
    demanded_by: str | None
    """Who says that it must run; None when nobody does."""


@attrs.frozen(eq=False)
class LeftOut:
    """An enabled pass that can't take part because what it forbids holds of the input."""

    entry: PassEntry
    property: str


@attrs.define(eq=False)
class Model:
    """The compiled problem. Atoms are in key order (anchor rank, pass name, instance number)."""

    problem: Problem
    atoms: list[Atom]
    properties: list[str]
    requires: list[int]
    makes: list[int]
    kills: list[int]
    pred: list[int]
    """Atoms that have to come earlier whenever they occur at all."""
    chain: list[int]
    """Atoms that have to have run."""
    start: int
    goal: int
    must: int
    off: tuple[GatedOff, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    """Demanded passes that are not there at all or not enabled, with who demands them."""
    index: dict[str, int] = attrs.field(factory=dict[str, int])
    stated: dict[tuple[int, int], Stated] = attrs.field(factory=dict[tuple[int, int], Stated])
    """Who said that one atom precedes another, for pairs that one fact states."""
    bans: dict[tuple[int, int], tuple[str, str]] = attrs.field(factory=dict[tuple[int, int], tuple[str, str]])
    """The pairs of ``stated`` that follow from a pass and a property that it forbids."""
    notes: tuple[str, ...] = ()

    def names(self, mask: int) -> list[str]:
        """Property names of a mask, sorted, as bits are in name order."""
        return [self.properties[i] for i in bits(mask)]

    def producers(self) -> list[list[int]]:
        """For each property bit, the atoms that make it, in key order."""
        found: list[list[int]] = [[] for _ in self.properties]
        for i, made in enumerate(self.makes):
            for b in bits(made):
                found[b].append(i)
        return found


def bits(mask: int) -> Iterator[int]:
    """The places of the ones in ``mask``, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def compile_problem(
    problem: Problem, dropped: frozenset[Fact] = frozenset(), wanted: Iterable[str] = ()
) -> Model:
    """The model of a problem without the ``dropped`` facts, with ``wanted`` instances as demanded ones."""
    gone = _Dropped(dropped)
    entries, off, left_out = _enabled(problem, gone)
    atoms, missing = _atoms(problem, gone, entries, frozenset(wanted))
    structural = problem.structural()
    goals = {g.property for g in problem.goals if not gone.has(FactKind.GOAL, g.property, g.wanted_by)}
    read = goals.union(*(e.contract.requires for e in entries)) - structural
    names = sorted(read)
    bit = {name: 1 << i for i, name in enumerate(names)}

    def mask(values: Iterable[str]) -> int:
        total = 0
        for value in values:
            total |= bit.get(value, 0)
        return total

    killed = destroys(problem)
    parts: dict[str, tuple[int, int, int]] = {}
    for e in entries:
        needed = mask(e.contract.requires)
        lost = [p for p in killed[e.name] if not gone.has_pair(FactKind.KILL, e.name, p)]
        parts[e.name] = (needed, mask(e.contract.produces) & ~needed, mask(lost))
    model = Model(
        problem=problem,
        atoms=atoms,
        properties=names,
        requires=[parts[a.entry.name][0] for a in atoms],
        makes=[parts[a.entry.name][1] for a in atoms],
        kills=[parts[a.entry.name][2] for a in atoms],
        pred=[0] * len(atoms),
        chain=[0] * len(atoms),
        start=mask(problem.initial),
        goal=mask(goals),
        must=sum(1 << i for i, a in enumerate(atoms) if a.demanded_by is not None),
        off=off,
        left_out=left_out,
        missing=missing,
        index={a.instance: i for i, a in enumerate(atoms)},
    )
    _Orders(model, gone).add_all()
    return model


class _Dropped:
    """The dropped facts, found by kind and names, as a test of each needs to be cheap."""

    def __init__(self, dropped: frozenset[Fact]) -> None:
        self.exact = {(f.kind, f.subject, f.said_by) for f in dropped}
        self.pairs = {(f.kind, f.subject, f.object) for f in dropped}
        self.subjects = {(f.kind, f.subject) for f in dropped}
        self.orders = {f for f in dropped if f.kind is FactKind.ORDER}

    def has(self, kind: FactKind, subject: str, said_by: str) -> bool:
        return (kind, subject, said_by) in self.exact

    def has_pair(self, kind: FactKind, subject: str, other: str) -> bool:
        return (kind, subject, other) in self.pairs

    def has_any(self, kind: FactKind, subject: str) -> bool:
        return (kind, subject) in self.subjects


def _enabled(
    problem: Problem, gone: _Dropped
) -> tuple[list[PassEntry], tuple[GatedOff, ...], tuple[LeftOut, ...]]:
    on, off = gate(problem)
    reopened = [g.entry for g in off if gone.has_any(FactKind.GATE, g.entry.name)]
    initial = problem.initial | problem.structural()
    entries: list[PassEntry] = []
    left_out: list[LeftOut] = []
    for entry in sorted([*on, *reopened], key=lambda e: e.name):
        held = [
            p
            for p in sorted(entry.contract.forbids & initial)
            if not gone.has_pair(FactKind.FORBID, entry.name, p) and not gone.has_any(FactKind.HOLDS, p)
        ]
        if held:
            left_out.append(LeftOut(entry, held[0]))
        else:
            entries.append(entry)
    return entries, tuple(off), tuple(left_out)


def _atoms(
    problem: Problem, gone: _Dropped, entries: list[PassEntry], wanted: frozenset[str]
) -> tuple[list[Atom], tuple[tuple[str, str], ...]]:
    demands = {
        m.name: m.wanted_by
        for m in reversed(problem.must)
        if not gone.has(FactKind.MUST, m.name, m.wanted_by)
    }
    gated = {g.entry.name for g in gate(problem)[1]}
    extra = dict(problem.extra_runs)
    found: list[tuple[tuple[int, str, int], Atom]] = []
    seen: set[str] = set()
    for entry in entries:
        contract, origin = entry.contract, str(entry.origin)
        # A pass whose gate was dropped comes in as an offer only: dropping a fact may not add a demand.
        owes = contract.role is Role.MUST and entry.name not in gated
        owes = owes and not gone.has(FactKind.MUST, entry.name, origin)
        more = extra.get(entry.name, 0) + gone.has_any(FactKind.ONCE, entry.name)
        rank = anchor_rank(problem, contract)
        for number, instance in enumerate(instances(contract.name, contract.runs, more)):
            by = origin if owes and number < len(contract.runs) else None
            asked = (instance, entry.name) if number == 0 else (instance,)
            by = next((demands[name] for name in asked if name in demands), by)
            if instance in wanted and not gone.has_any(FactKind.WANT, instance):
                by = by or origin
            found.append(((rank, entry.name, number), Atom(instance, entry, number, contract.role, by)))
            seen.update((instance, entry.name))
    found.sort(key=lambda pair: pair[0])
    owed = [
        (e.name, str(e.origin))
        for e in problem.passes
        if e.contract.role is Role.MUST
        and e.name not in seen
        and e.name not in gated
        and not gone.has(FactKind.MUST, e.name, str(e.origin))
    ]
    lacking = sorted({(name, by) for name, by in demands.items() if name not in seen} | set(owed))
    return [atom for _, atom in found], tuple(lacking)


def instances(name: str, runs: tuple[str, ...], more: int) -> list[str]:
    """The instance ids of a pass with ``more`` runs than its contract lists: ``Name#2``, ``Name#3`` …"""
    ids = list(runs)
    number = len(ids) + 1
    while more:
        label = f"{name}#{number}"
        if label not in ids:
            ids.append(label)
            more -= 1
        number += 1
    return ids


class _Orders:
    """Fills ``pred``, ``chain``, ``stated`` and ``notes`` of a model."""

    def __init__(self, model: Model, gone: _Dropped) -> None:
        self.model, self.gone = model, gone
        self.of_pass: dict[str, list[int]] = {}
        for i, atom in enumerate(model.atoms):
            self.of_pass.setdefault(atom.entry.name, []).append(i)
        for ids in self.of_pass.values():
            ids.sort(key=lambda i: model.atoms[i].number)

    def add_all(self) -> None:
        anchors = {name: k for k, name in enumerate(self.model.problem.anchors)}
        ahead = [0] * len(anchors)
        behind: list[list[int]] = [[] for _ in anchors]
        self._instances()
        self._forbids()
        unknown: set[str] = set()
        for fact in stated_orders(self.model.problem):
            if self.gone.orders and order_fact(fact) in self.gone.orders:
                continue
            unknown.update(n for n in (fact.earlier, fact.later) if n.startswith("@") and n not in anchors)
            if fact.later in anchors:
                for i in self.earlier(fact):
                    ahead[anchors[fact.later]] |= 1 << i
            elif fact.earlier in anchors:
                behind[anchors[fact.earlier]] += self.later(fact.later)
            else:
                self._pairs(fact)
        self._anchors(ahead, behind)
        self.model.notes = tuple(_unknown_anchor(name, sorted(anchors)) for name in sorted(unknown))

    def earlier(self, fact: Stated) -> list[int]:
        """Atoms that the earlier side of a fact puts first."""
        if fact.earlier in self.of_pass:
            ids = self.of_pass[fact.earlier]
            return ids if fact.strict else ids[:1]
        return [self.model.index[fact.earlier]] if fact.earlier in self.model.index else []

    def later(self, name: str) -> list[int]:
        """Atoms that wait on the later side: one that others of its pass wait for stands for them all."""
        if name in self.of_pass:
            ids = self.of_pass[name]
            return ids if self._alone(ids[0]) else ids[:1]
        return [self.model.index[name]] if name in self.model.index else []

    def _alone(self, i: int) -> bool:
        return self.model.atoms[i].role in (Role.OPTIMISE, Role.CHECK)

    def _instances(self) -> None:
        for ids in self.of_pass.values():
            for first, second in zip(ids, ids[1:], strict=False):
                target = self.model.pred if self._alone(second) else self.model.chain
                for i in ids[: ids.index(first) + 1]:
                    target[second] |= 1 << i

    def _pairs(self, fact: Stated) -> None:
        for b in self.later(fact.later):
            for a in self.earlier(fact):
                self.model.pred[b] |= 1 << a
                self.model.stated.setdefault((a, b), fact)

    def _forbids(self) -> None:
        makers: dict[str, list[int]] | None = None
        for name, ids in self.of_pass.items():
            contract = self.model.atoms[ids[0]].entry.contract
            for forbidden in sorted(contract.forbids):
                if self.gone.has_pair(FactKind.FORBID, name, forbidden):
                    continue
                makers = self._establishers() if makers is None else makers
                for b in makers.get(forbidden, ()):
                    fact = Stated(
                        name,
                        self.model.atoms[b].entry.name,
                        True,
                        f"{name} must not run once {forbidden} holds",
                        str(self.model.atoms[ids[0]].entry.origin),
                    )
                    for a in ids:
                        if a != b:
                            self.model.pred[b] |= 1 << a
                            self.model.stated.setdefault((a, b), fact)
                            self.model.bans.setdefault((a, b), (name, forbidden))

    def _establishers(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for i, atom in enumerate(self.model.atoms):
            for name in sorted(atom.entry.contract.produces - atom.entry.contract.requires):
                found.setdefault(name, []).append(i)
        return found

    def _anchors(self, ahead: list[int], behind: list[list[int]]) -> None:
        passed = 0
        for mask, later in zip(ahead, behind, strict=True):
            passed |= mask
            for b in later:
                self.model.pred[b] |= passed


def _unknown_anchor(name: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"an order fact names the anchor {name}, which does not exist and orders nothing{hint}"


__all__ = ["Atom", "LeftOut", "Model", "Origin", "bits", "compile_problem", "instances"]

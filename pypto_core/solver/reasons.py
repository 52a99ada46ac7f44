"""The reason for each step of a plan, read off a replay: needs, gains, losses, purpose and place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from pypto_core.contract import Role
from pypto_core.solver.facts import destroys
from pypto_core.solver.model import Atom, Model
from pypto_core.solver.plan import Loss, Need, Step
from pypto_core.solver.problem import Stated

LINKS_SHOWN = 10
"""Links of the chain from a step to what it serves that are told in full; the rest is counted."""


@attrs.define(eq=False)
class _Trace:
    """What one step found and did in the replay."""

    atom: Atom
    needs: list[Need]
    makes: list[str]
    losses: list[str]
    uses: dict[str, list[int]]
    """Property made here to the later steps that need it."""


def make_steps(
    model: Model, sequence: Sequence[int], wanted: frozenset[str], kept: Sequence[Stated]
) -> tuple[tuple[Step, ...], frozenset[str]]:
    """The steps of a sequence with their reasons, and the state at the end.

    ``wanted`` are the optional instances that the plan took in; ``kept`` the orders it keeps that follow
    through absent passes.
    """
    killed = destroys(model.problem)
    trace, makers, state = _replay(model, sequence, killed)
    repaired = _repairs(trace)
    writer = _Purpose(model, trace, makers, wanted)
    places = _Places(model, sequence, trace, kept)
    steps: list[Step] = []
    for k, found in enumerate(trace):
        atom = found.atom
        losses = [Loss(p, killed[atom.entry.name].get(p, ""), repaired.get((k, p), "")) for p in found.losses]
        here, chain = writer.of(k)
        steps.append(
            Step(
                instance=atom.instance,
                name=atom.entry.name,
                origin=atom.entry.origin,
                role=atom.role,
                needs=tuple(found.needs),
                makes=tuple(found.makes),
                destroys=tuple(losses),
                here=here,
                chain=chain,
                not_earlier=places.of(k),
            )
        )
    return tuple(steps), frozenset(state)


def _replay(
    model: Model, sequence: Sequence[int], killed: Mapping[str, Mapping[str, str]]
) -> tuple[list[_Trace], dict[str, int], set[str]]:
    state = set(model.problem.initial) | model.problem.structural()
    makers: dict[str, int] = {}
    trace: list[_Trace] = []
    for k, i in enumerate(sequence):
        atom = model.atoms[i]
        contract = atom.entry.contract
        needs: list[Need] = []
        for name in sorted(contract.requires):
            maker = makers.get(name)
            needs.append(Need(name, "" if maker is None else trace[maker].atom.instance))
            if maker is not None:
                trace[maker].uses[name].append(k)
        renewed = contract.produces & contract.invalidates
        makes = sorted((contract.produces - state) | (renewed - contract.requires))
        losses = [name for name in killed[contract.name] if name in state]
        state.difference_update(losses)
        state |= contract.produces
        for name in losses:
            makers.pop(name, None)
        makers.update(dict.fromkeys(makes, k))
        trace.append(_Trace(atom, needs, makes, losses, {name: [] for name in makes}))
    return trace, makers, state


def _repairs(trace: list[_Trace]) -> dict[tuple[int, str], str]:
    """For each loss, the next step that makes the property again."""
    next_maker: dict[str, str] = {}
    found: dict[tuple[int, str], str] = {}
    for k in range(len(trace) - 1, -1, -1):
        for name in trace[k].losses:
            if name in next_maker:
                found[k, name] = next_maker[name]
        next_maker.update(dict.fromkeys(trace[k].makes, trace[k].atom.instance))
    return found


class _Purpose:
    """Why a step is there: a demand, a wish, or what its products serve in the end."""

    def __init__(
        self, model: Model, trace: list[_Trace], makers: Mapping[str, int], wanted: frozenset[str]
    ) -> None:
        self.model, self.trace, self.wanted = model, trace, wanted
        self.goal_of = {g.property: g for g in reversed(model.problem.goals)}
        self.final = {name: k for name, k in makers.items() if name in self.goal_of}
        self.links = [self._link(k) for k in range(len(trace))]
        # How many links are left to the end of each chain, and the last step of it; users come later than makers.
        self.tails: list[tuple[int, int]] = [(0, 0)] * len(trace)
        for k in range(len(trace) - 1, -1, -1):
            onward = self.links[k][2]
            self.tails[k] = (0, k) if onward < 0 else (self.tails[onward][0] + 1, self.tails[onward][1])

    def of(self, k: int) -> tuple[str, tuple[str, ...]]:
        atom = self.trace[k].atom
        if atom.demanded_by is not None:
            said = f", says {atom.demanded_by}" if atom.demanded_by else ""
            return f"it must run{said}", ()
        if atom.instance in self.wanted:
            kind = "a check" if atom.role is Role.CHECK else "an optimisation"
            return f"{kind} that fits, offered by {atom.entry.origin}", ()
        return self._serves(k)

    def _serves(self, k: int) -> tuple[str, tuple[str, ...]]:
        links: list[str] = []
        chain: list[str] = []
        while k >= 0:
            far, last = self.tails[k]
            skipped = ""
            if far and len(links) == LINKS_SHOWN:
                skipped, k = f"by {far} more steps ", last
            text, served, k = self.links[k]
            links.append(skipped + text)
            chain.append(served)
        return ", which ".join(links), tuple(name for name in chain if name)

    def _link(self, k: int) -> tuple[str, str, int]:
        """What step k is for, whom or what it serves, and the step to go on from; -1 at the end."""
        found = self.trace[k]
        ends = [name for name in found.makes if self.final.get(name) == k]
        if ends:
            goal = self.goal_of[ends[0]]
            said = f", wanted by {goal.wanted_by}" if goal.wanted_by else ""
            return f"makes the goal {goal.property}{said}", goal.property, -1
        uses = sorted((found.uses[name][0], name) for name in found.makes if found.uses[name])
        if not uses:
            return "serves the plan", "", -1
        user, name = uses[0]
        atom = self.trace[user].atom
        text = f"makes {name} for {atom.instance}"
        if atom.demanded_by is not None or atom.instance in self.wanted:
            kind = "is wanted" if atom.instance in self.wanted else "must run"
            return f"{text}, which {kind}", atom.instance, -1
        return text, atom.instance, user


class _Places:
    """Why a step does not stand earlier: the nearest step before it that it can't pass."""

    def __init__(
        self, model: Model, sequence: Sequence[int], trace: list[_Trace], kept: Sequence[Stated]
    ) -> None:
        self.model, self.sequence, self.trace = model, sequence, trace
        self.kept: dict[tuple[str, str], Stated] = {}
        for fact in kept:
            self.kept[fact.earlier, fact.later] = fact
        self.before: dict[str, set[str]] = {}
        for earlier, later in self.kept:
            self.before.setdefault(later, set()).add(earlier)

    def of(self, k: int) -> str:
        if not k:
            return "it is first"
        for j in range(k - 1, -1, -1):
            reason = self._barrier(j, k)
            if reason:
                if j == k - 1:
                    return reason
                tie = f"; only the tie-break puts it behind {self.trace[k - 1].atom.instance}"
                return reason + tie
        return (
            f"nothing keeps it from the front; the tie-break puts it behind {self.trace[k - 1].atom.instance}"
        )

    def _barrier(self, j: int, k: int) -> str:
        """Why step k can't pass step j; empty when it can."""
        model = self.model
        a, b = self.sequence[j], self.sequence[k]
        earlier, later = self.trace[j], self.trace[k]
        if model.makes[a] & model.requires[b]:
            made = [n.property for n in later.needs if n.made_by == earlier.atom.instance]
            if made:
                return f"{earlier.atom.instance} makes {', '.join(made)}, which it needs"
        if (model.pred[b] | model.chain[b]) >> a & 1:
            return self._ordered(a, b)
        if model.kills[b] & model.requires[a]:
            lost = model.names(model.kills[b] & model.requires[a])
            return f"it destroys {', '.join(lost)}, which {earlier.atom.instance} needs"
        if model.kills[a] & model.makes[b]:
            lost = model.names(model.kills[a] & model.makes[b])
            return f"{earlier.atom.instance} would destroy {', '.join(lost)}, which it makes"
        if later.atom.instance in self.before or later.atom.entry.name in self.before:
            return self._implied(earlier.atom, later.atom)
        return ""

    def _ordered(self, a: int, b: int) -> str:
        model = self.model
        if model.atoms[a].entry is model.atoms[b].entry:
            return f"{model.atoms[a].instance} is the run before it"
        fact = model.stated.get((a, b))
        if fact is None:
            return f"an anchor stands between it and {model.atoms[a].instance}"
        said = f", says {fact.said_by}" if fact.said_by else ""
        reason = f": {fact.reason}" if fact.reason else ""
        return f"{fact}{said}{reason}"

    def _implied(self, earlier: Atom, later: Atom) -> str:
        for b in (later.instance, later.entry.name):
            for a in (earlier.instance, earlier.entry.name):
                fact = self.kept.get((a, b))
                if fact is not None:
                    return f"{fact}, {fact.reason}"
        return ""

"""PT301: a wanted property that nothing can make, traced to what is missing and who could supply it."""

from __future__ import annotations

import difflib
from collections import deque
from collections.abc import Iterable

import attrs

from pypto_core.contract import Role
from pypto_core.solver.closure import relaxed
from pypto_core.solver.errors import NO_ORDER, NO_PRODUCER, Explanation, Line, labelled
from pypto_core.solver.facts import Fact, FactKind
from pypto_core.solver.model import Model, bits
from pypto_core.solver.problem import Problem


@attrs.frozen
class Root:
    """A property at which the search for makers ends, and why: no maker, only makers that are off, or a ring."""

    property: str
    off: tuple[tuple[str, str, str], ...] = ()
    """Makers that are installed and can't take part, each with the reason and the way out."""
    ring: tuple[str, ...] = ()
    """Properties, this one among them, of which each is only made from the next."""


def unreachable(model: Model) -> Explanation | None:
    """The explanation when a goal or a demanded pass is out of reach even if nothing were ever destroyed."""
    if model.missing:
        return _absent(model)
    everything = (1 << len(model.atoms)) - 1
    held, order = relaxed(model, everything, model.chain, model.start)
    fired = sum(1 << i for i in order)
    lacking = model.goal & ~held
    stuck = list(bits(model.must & ~fired))
    if not lacking and not stuck:
        return None
    return _Tracer(model, held, fired).explain(model.names(lacking), stuck)


class _Tracer:
    """Walks from what is wanted to the missing makers."""

    def __init__(self, model: Model, held: int, fired: int) -> None:
        self.model, self.fired = model, fired
        self.have = set(model.names(held)) | model.problem.initial | model.problem.structural()
        self.makers: dict[str, list[str]] = {}
        self.user: dict[str, str] = {}
        self.contracts = {a.entry.name: a.entry for a in model.atoms}
        for name in sorted(self.contracts):
            contract = self.contracts[name].contract
            for made in sorted(contract.produces - contract.requires):
                self.makers.setdefault(made, []).append(name)

    def explain(self, goals: list[str], stuck: list[int]) -> Explanation:
        problem = self.model.problem
        lines = [
            Line("goal", g.property, f"wanted by {g.wanted_by}" if g.wanted_by else "")
            for g in problem.goals
            if g.property in goals
        ]
        passes = sorted({self.model.atoms[i].entry.name for i in stuck})
        demands = {self.model.atoms[i].entry.name: self.model.atoms[i].demanded_by for i in reversed(stuck)}
        lines += [Line("must", name, f"says {demands[name]}" if demands[name] else "") for name in passes]
        links, roots = self._walk(goals, passes)
        reasons = [*links, *(pair for root in roots for pair in _root_lines(root))]
        first = next((r for r in roots if not r.off), roots[0] if roots else Root(", ".join(goals)))
        user = self.user.get(first.property, "")
        needed = f", which {user} needs" if user else ""
        wanted, joint = self._to_mend(roots)
        return Explanation(
            code=NO_PRODUCER,
            message=f"nothing {'makes' if not first.ring else 'can be the first to make'} "
            f"{first.property}{needed}, for {problem.purpose}",
            lines=(*lines, *labelled(reasons)),
            fixes=tuple(dict.fromkeys(self._joint_fixes(wanted) if joint else self._any_fixes(wanted))),
            properties=tuple(root.property for root in roots),
            joint=joint,
        )

    def _to_mend(self, roots: list[Root]) -> tuple[list[Root], bool]:
        """The roots to do something about, and whether about all of them: else any one is enough."""
        alone = [root for root in roots if self._suffices([root])]
        if alone:
            return alone, False
        chosen = list(roots)
        for root in roots:
            others = [other for other in chosen if other is not root]
            if self._suffices(others):
                chosen = others
        return chosen, len(chosen) > 1

    def _suffices(self, roots: list[Root]) -> bool:
        """Whether all that is wanted could be reached if these properties held."""
        held, order = self._reach(roots)
        return not (self.model.goal & ~held) and not (self.model.must & ~sum(1 << i for i in order))

    def _reach(self, roots: list[Root]) -> tuple[int, list[int]]:
        """What could be made, and which atoms could run, if the properties of some roots held."""
        model = self.model
        made = sum(1 << model.properties.index(r.property) for r in roots if r.property in model.properties)
        everything = (1 << len(model.atoms)) - 1
        return relaxed(model, everything, model.chain, model.start | made)

    def _any_fixes(self, roots: list[Root]) -> Iterable[str]:
        for root in roots:
            yield from self._fixes(root, root.property)

    def _joint_fixes(self, roots: list[Root]) -> Iterable[str]:
        """One fix per root, its alternatives in it; what one distribution makes is mended at once."""
        catalogue = dict(self.model.problem.catalogue)
        groups: dict[str, list[Root]] = {}
        for root in roots:
            alike = catalogue.get(root.property) if not root.off else None
            groups.setdefault(alike or f"only {root.property}", []).append(root)
        for group in groups.values():
            makes = " and ".join(root.property for root in group)
            yield ", or ".join(self._fixes(group[0], makes))

    def _walk(self, goals: list[str], passes: list[str]) -> tuple[list[tuple[str, str]], list[Root]]:
        queue: deque[str] = deque(goals)
        links: list[tuple[str, str]] = []
        for name in passes:
            self._link(name, "", queue, links)
        seen: set[str] = set()
        roots: list[Root] = []
        while queue:
            wanted = queue.popleft()
            if wanted in seen:
                continue
            seen.add(wanted)
            makers = self.makers.get(wanted, [])
            for name in makers:
                self._link(name, wanted, queue, links)
            if not makers:
                roots.append(Root(wanted, tuple(self._off(wanted))))
        while not self._suffices(roots):
            held, _ = self._reach(roots)
            have = self.have | set(self.model.names(held))
            left = seen - have
            if not left:
                break
            roots.append(self._ring(min(left), have))
        return list(dict.fromkeys(links)), sorted(roots, key=lambda r: r.property)

    def _ring(self, wanted: str, have: set[str]) -> Root:
        """Makers that only need each other: from a need to a need of its first maker, until one comes again."""
        path: list[str] = []
        while wanted not in path:
            path.append(wanted)
            wanted = min(self.contracts[self.makers[wanted][0]].contract.requires - have)
        ring = path[path.index(wanted) :]
        start = ring.index(min(ring))
        ring = ring[start:] + ring[:start]
        return Root(ring[0], ring=tuple(ring))

    def _link(self, name: str, made: str, queue: deque[str], links: list[tuple[str, str]]) -> None:
        entry = self.contracts[name]
        lacking = sorted(entry.contract.requires - self.have)
        queue.extend(lacking)
        for prop in lacking:
            self.user.setdefault(prop, name)
        if lacking:
            makes = f"makes {made} and " if made else ""
            links.append((f"{name} {makes}needs {', '.join(lacking)}", f"says {entry.origin}"))

    def _off(self, wanted: str) -> Iterable[tuple[str, str, str]]:
        for gated in self.model.off:
            if wanted in gated.entry.contract.produces - gated.entry.contract.requires:
                yield gated.entry.name, gated.reason, gated.fix()
        for left in self.model.left_out:
            if wanted in left.entry.contract.produces - left.entry.contract.requires:
                reason = f"must not run once {left.property} holds, and the input has it"
                yield left.entry.name, reason, f"start from an input without {left.property}"

    def _fixes(self, root: Root, makes: str) -> Iterable[str]:
        """Ways to get at a root; ``makes`` are the properties that the same ways bring."""
        problem = self.model.problem
        provider = dict(problem.catalogue).get(root.property)
        absent = {f.distribution: f for f in problem.failed}
        if provider in absent and absent[provider].by_choice:
            yield f"unblock {provider}, which makes {makes}: {absent[provider].reason}"
        elif provider in absent:
            reason = absent[provider].reason
            yield f"repair {provider}, which would make {makes} but failed to load: {reason}"
        elif provider and any(e.origin.distribution == provider for e in problem.passes):
            yield f"update {provider}: this version of it does not make {makes}"
        elif provider:
            yield f"install {provider}, which makes {makes}:  pip install {provider}"
        for _, _, fix in root.off:
            yield fix
        close = difflib.get_close_matches(root.property, sorted(_known(problem) - {root.property}), 1, 0.75)
        if close and not root.off and not provider:
            yield f"did you mean {close[0]}?"
        if not provider and not root.off and not close:
            yield f"install a plugin with a pass that makes {makes}"


def _root_lines(root: Root) -> Iterable[tuple[str, str]]:
    if root.ring:
        yield f"{', '.join(root.ring)} are made only from one another", ""
    elif not root.off:
        yield f"nothing installed makes {root.property}", ""
    for name, reason, _ in root.off:
        yield f"{name} would make {root.property}, but {reason}", ""


def _known(problem: Problem) -> set[str]:
    """Property names that something can make or that are declared: what a misspelt one may have meant."""
    names = {p.name for p in problem.properties} | set(problem.initial) | set(dict(problem.catalogue))
    for entry in problem.passes:
        names |= entry.contract.produces
    return names


def _absent(model: Model) -> Explanation:
    """A demanded pass is not installed, or is switched off, or is barred by the input."""
    problem = model.problem
    name, by = model.missing[0]
    line = Line("must", name, f"says {by}" if by else "")
    gated = next((g for g in model.off if name in (g.entry.name, *g.entry.contract.runs)), None)
    left = next((e for e in model.left_out if name in (e.entry.name, *e.entry.contract.runs)), None)
    message = f"{name} has to run and can't, for {problem.purpose}"
    if gated is not None:
        fact = Fact(FactKind.GATE, gated.entry.name, reason=gated.reason)
        reasons, fixes = [(str(fact), f"says {gated.entry.origin}")], [gated.fix()]
    elif left is not None:
        reasons = [
            (f"{name} must not run once {left.property} holds", f"says {left.entry.origin}"),
            (f"{left.property} already holds of the input", "says its verifier"),
        ]
        fixes = [f"start from an input without {left.property}"]
    else:
        known = sorted({label for e in problem.passes for label in (e.name, *e.contract.runs)})
        close = difflib.get_close_matches(name, known, 1)
        reasons = [(f"no installed plugin has a pass named {name}", "")]
        fixes = [f"did you mean {close[0]}?"] if close else []
        return Explanation(
            code=NO_PRODUCER, message=message, lines=(line, *labelled(reasons)), fixes=tuple(fixes)
        )
    role = next((e.contract.role for e in problem.passes if e.name == name), None)
    if role is not Role.MUST or by.startswith("--"):
        fixes.append(f"leave {name} out")
    return Explanation(
        code=NO_ORDER,
        message=message,
        lines=(line, *labelled(reasons)),
        fixes=tuple(fixes),
        minimal=True,
        sufficient=len(model.missing) == 1,
    )

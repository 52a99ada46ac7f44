"""What can be reached when nothing is ever destroyed: linear closures over a model.

The relaxed closure holds every state that a real plan can reach, so what lies outside it no order can help,
and what every relaxed derivation of the goals uses, every plan uses.
"""

from __future__ import annotations

from collections import deque

from pypto_core.solver.model import Model, bits


def relaxed(model: Model, alive: int, waits: list[int], start: int) -> tuple[int, list[int]]:
    """The properties reachable from ``start`` with the atoms in ``alive``, and the atoms in firing order.

    ``waits`` are the atoms each atom has to follow. Linear: an atom is looked at once for each thing it
    waits for. Atoms that never fire are not in the list.
    """
    held, fired = start, 0
    by_property: dict[int, list[int]] = {}
    by_atom: dict[int, list[int]] = {}
    order: list[int] = []
    queue = deque(bits(alive))
    while queue:
        i = queue.popleft()
        lacking = model.requires[i] & ~held
        behind = waits[i] & ~fired
        if lacking:
            by_property.setdefault(lacking & -lacking, []).append(i)
        elif behind:
            by_atom.setdefault(behind & -behind, []).append(i)
        else:
            order.append(i)
            fired |= 1 << i
            queue.extend(by_atom.pop(1 << i, ()))
            new = model.makes[i] & ~held
            held |= new
            while new:
                low = new & -new
                new ^= low
                queue.extend(by_property.pop(low, ()))
    return held, order


def relevant(model: Model, alive: int, must: int) -> int:
    """The atoms that can serve a goal or a demanded atom, the demanded ones included.

    A property that holds of the input and that no atom destroys needs no maker, and an instance that waits for
    an earlier one is of use only for what can be destroyed.
    """
    lost = 0
    for i in bits(alive):
        lost |= model.kills[i]
    safe = model.start & ~lost
    makers = model.producers()
    keep, seen = must & alive, safe
    todo: list[int] = list(bits(keep))
    wanted = model.goal
    while True:
        for i in todo:
            wanted |= model.requires[i]
        fresh = wanted & ~seen
        if not fresh:
            return keep
        seen |= fresh
        todo = list[int]()
        for b in bits(fresh):
            for i in makers[b]:
                if alive >> i & 1 and not keep >> i & 1 and (not model.chain[i] or lost >> b & 1):
                    keep |= 1 << i
                    todo.append(i)


def landmarks(model: Model, must: int, order: list[int], waits: list[int]) -> tuple[int, dict[int, int]]:
    """Atoms that occur in every plan, and for each atom those that run before it in every plan with it.

    The greatest fixpoint of: what a property depends on is what all its makers share, and what an atom
    depends on is itself with all that its requirements and the atoms it waits for depend on. ``order`` is a
    firing order of the atoms that can fire at all.
    """
    everything = sum(1 << i for i in order)
    need = [0 if model.start >> b & 1 else everything for b in range(len(model.properties))]
    before = dict.fromkeys(order, everything)
    requires = {i: list(bits(model.requires[i])) for i in order}
    makes = {i: list(bits(model.makes[i])) for i in order}
    behind = {i: list(bits(waits[i])) for i in order}
    changed = True
    while changed:
        changed = False
        for i in order:
            mine = 1 << i
            for b in requires[i]:
                mine |= need[b]
            for j in behind[i]:
                mine |= before.get(j, everything)
            if mine != before[i]:
                before[i] = mine
                changed = True
            for b in makes[i]:
                less = need[b] & mine
                if less != need[b]:
                    need[b] = less
                    changed = True
    found = must
    for i in bits(must):
        found |= before.get(i, 0)
    for b in bits(model.goal):
        found |= need[b]
    return found, before

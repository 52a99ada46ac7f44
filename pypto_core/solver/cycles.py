"""PT303: passes that all have to run and whose orders and needs go round in a ring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from pypto_core.solver.closure import landmarks, relaxed, relevant
from pypto_core.solver.conflict import demand_lines, minimal_core, way_out
from pypto_core.solver.errors import CYCLE, Explanation, Line, labelled
from pypto_core.solver.facts import Fact, FactKind, order_fact
from pypto_core.solver.model import Model, bits

if TYPE_CHECKING:
    import networkx as nx


RING_STARTS = 100
"""Passes from which the shortest ring is looked for, in each strongly connected part."""
RING_PROVED = 24
"""Passes in a ring up to which it is proved to be a minimal conflict, which takes a solve for each fact."""


@attrs.frozen
class Edge:
    """Why one instance precedes another: a sentence, who says it, and the fact when one states the order."""

    text: str
    said_by: str
    fact: Fact | None = None

    @property
    def says(self) -> str:
        """Who says it, for the reader."""
        return f"says {self.said_by}" if self.said_by else ""


def order_graph(model: Model) -> nx.DiGraph[str]:
    """The instances that every plan contains, with an edge for each order and each sole maker of a need."""
    import networkx as nx

    everything = (1 << len(model.atoms)) - 1
    alive = relevant(model, everything, model.must)
    _, order = relaxed(model, alive, model.chain, model.start)
    inside, _ = landmarks(model, model.must, order, model.chain)
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(sorted(model.atoms[i].instance for i in bits(inside)))
    makers = model.producers()
    for b in bits(inside):
        for a in bits((model.pred[b] | model.chain[b]) & inside):
            graph.add_edge(model.atoms[a].instance, model.atoms[b].instance, why=_order_edge(model, a, b))
        for p in bits(model.requires[b] & ~model.start):
            able = sorted({i for i in makers[p] if not model.atoms[i].number and alive >> i & 1})
            if len(able) == 1 and able[0] != b:
                name, maker = model.properties[p], model.atoms[able[0]]
                why = Edge(
                    f"{model.atoms[b].instance} needs {name}, which only {maker.instance} makes",
                    str(model.atoms[b].entry.origin),
                )
                if not graph.has_edge(maker.instance, model.atoms[b].instance):
                    graph.add_edge(maker.instance, model.atoms[b].instance, why=why)
    return graph


def _order_edge(model: Model, a: int, b: int) -> Edge:
    fact = model.stated.get((a, b))
    if fact is not None:
        if (a, b) in model.bans:
            name, forbidden = model.bans[a, b]
            ban = Fact(FactKind.FORBID, name, forbidden, said_by=fact.said_by)
            return Edge(f"{ban}, and {model.atoms[b].instance} makes it", fact.said_by, ban)
        reason = f": {fact.reason}" if fact.reason else ""
        return Edge(f"{fact}{reason}", fact.said_by, order_fact(fact))
    first, second = model.atoms[a], model.atoms[b]
    if first.entry is second.entry:
        return Edge(f"{second.instance} is the run after {first.instance}", str(first.entry.origin))
    return Edge(f"an anchor stands between {first.instance} and {second.instance}", "")


def shortest_cycle(graph: nx.DiGraph[str]) -> tuple[str, ...]:
    """The shortest ring of a graph, the first in name order of those, from its least name; empty without one.

    In a part of more than `RING_STARTS` passes, each of which leads to each other, only rings through the first
    ones in name order are compared.
    """
    import networkx as nx

    found: list[tuple[int, tuple[str, ...]]] = []
    for component in nx.strongly_connected_components(graph):
        members = sorted(component)
        if len(members) == 1:
            if graph.has_edge(members[0], members[0]):
                found.append((1, (members[0],)))
            continue
        inside: nx.DiGraph[str] = nx.DiGraph()
        inside.add_nodes_from(members)
        inside.add_edges_from(sorted(graph.subgraph(members).edges()))
        for start in members[:RING_STARTS]:
            back = [_way(inside, after, start) for after in sorted(inside.successors(start))]
            path = min(back, key=lambda way: (len(way), way))
            ring = (start, *path[:-1])
            least = ring.index(min(ring))
            found.append((len(ring), (*ring[least:], *ring[:least])))
    return min(found)[1] if found else ()


def _way(graph: nx.DiGraph[str], start: str, end: str) -> list[str]:
    import networkx as nx

    return nx.shortest_path(graph, start, end)  # pyright: ignore[reportUnknownMemberType]


def explain_cycle(model: Model) -> Explanation | None:
    """The ring among instances that every plan contains, with who says each part; None when there is none."""
    graph = order_graph(model)
    ring = shortest_cycle(graph)
    if not ring:
        return None
    edges: list[Edge] = [graph.edges[a, b]["why"] for a, b in zip(ring, (*ring[1:], ring[0]), strict=True)]
    facts = [edge.fact for edge in edges if edge.fact is not None]
    core = minimal_core(model.problem) if len(ring) <= RING_PROVED else None
    whole = core is not None and set(facts) == set(core.facts) - set(core.demands)
    fixes = [way_out(fact) for fact in facts]
    if core is not None and whole:
        fixes += [way_out(fact) for fact in core.demands]
    demands = demand_lines(core) if core is not None and whole else []
    return Explanation(
        code=CYCLE,
        message=f"the order of {' -> '.join((*ring, ring[0]))} goes round in a ring",
        lines=(*demands, *labelled((edge.text, edge.says) for edge in edges if edge.fact)),
        context=tuple(Line("as", edge.text, edge.says) for edge in edges if not edge.fact),
        fixes=tuple(dict.fromkeys(fixes)) or ("leave one of these passes out",),
        minimal=core is not None and whole and core.minimal,
        sufficient=core is not None and whole and core.sufficient,
    )

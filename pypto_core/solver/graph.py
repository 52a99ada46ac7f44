"""The graph of a plan, for pictures and for questions about ancestors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from pypto_core.solver.plan import Plan
from pypto_core.solver.problem import Problem, stated_orders

if TYPE_CHECKING:
    import networkx as nx

INPUT = "(input)"
GOALS = "(goals)"
_BOX = (220, 34)
_GAP = (40, 56)
_FILL = {
    "must": "#dbe9f6",
    "provide": "#e5f2e0",
    "optimise": "#fdf0d5",
    "check": "#ece4f4",
    "end": "#eeeeee",
}
_STROKE = {"needs": "#3b6ea5", "order": "#a06a2c", "repairs": "#9b3b3b"}


def plan_graph(problem: Problem, plan: Plan) -> nx.DiGraph[str]:
    """Steps, input and goals as nodes; an edge for each need (``properties``), order and repair.

    Every edge goes forward in the plan and has a ``kind``: ``needs``, ``order`` or ``repairs``; the first that
    applies wins. ``nx.ancestors(graph, step)`` is all that a step rests on.
    """
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_node(INPUT, role="end")
    for place, step in enumerate(plan.steps):
        graph.add_node(step.instance, role=step.role.value, place=place, origin=str(step.origin))
    graph.add_node(GOALS, role="end")
    supply: dict[tuple[str, str], list[str]] = {}
    last: dict[str, str] = {}
    for step in plan.steps:
        for need in step.needs:
            supply.setdefault((need.made_by or INPUT, step.instance), []).append(need.property)
        for loss in step.destroys:
            last.pop(loss.property, None)
        last.update(dict.fromkeys(step.makes, step.instance))
    for goal in plan.goals:
        supply.setdefault((last.get(goal.property, INPUT), GOALS), []).append(goal.property)
    for (a, b), names in sorted(supply.items()):
        graph.add_edge(a, b, kind="needs", properties=tuple(sorted(set(names))))
    first = _first_runs(plan)
    for fact in (*stated_orders(problem), *plan.contracted):
        a, b = first.get(fact.earlier), first.get(fact.later)
        if a is not None and b is not None and not graph.has_edge(a, b):
            graph.add_edge(a, b, kind="order", reason=fact.reason, said_by=fact.said_by)
    for step in plan.steps:
        for loss in step.destroys:
            if loss.repaired_by and not graph.has_edge(step.instance, loss.repaired_by):
                graph.add_edge(step.instance, loss.repaired_by, kind="repairs", properties=(loss.property,))
    return graph


def _first_runs(plan: Plan) -> dict[str, str]:
    found: dict[str, str] = {}
    for step in plan.steps:
        found.setdefault(step.name, step.instance)
        found.setdefault(step.instance, step.instance)
    return found


def plan_svg(problem: Problem, plan: Plan) -> str:
    """The plan as an SVG picture: layers by what rests on what, edges that others imply left out."""
    import networkx as nx

    graph = plan_graph(problem, plan)
    order = {name: k for k, name in enumerate((INPUT, *plan.instances, GOALS))}
    reduced: nx.DiGraph[str] = nx.transitive_reduction(graph)
    layers = [sorted(layer, key=order.__getitem__) for layer in nx.topological_generations(graph)]
    spots = _spots(layers)
    width = max(x for x, _ in spots.values()) + _BOX[0] + _GAP[0]
    height = max(y for _, y in spots.values()) + _BOX[1] + _GAP[1]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"',
        f'  viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"',
        '  orient="auto"><path d="M0 0L8 4L0 8z" fill="#666"/></marker></defs>',
    ]
    for a, b in sorted(reduced.edges(), key=lambda e: (order[e[0]], order[e[1]])):
        parts.append(_line(spots[a], spots[b], graph.edges[a, b]))
    for name in sorted(graph.nodes, key=order.__getitem__):
        parts.append(_box(name, spots[name], graph.nodes[name]))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _spots(layers: Sequence[Sequence[str]]) -> dict[str, tuple[int, int]]:
    widest = max(len(layer) for layer in layers)
    found: dict[str, tuple[int, int]] = {}
    for row, layer in enumerate(layers):
        shift = (widest - len(layer)) * (_BOX[0] + _GAP[0]) // 2
        for column, name in enumerate(layer):
            found[name] = (
                _GAP[0] + shift + column * (_BOX[0] + _GAP[0]),
                _GAP[1] // 2 + row * (_BOX[1] + _GAP[1]),
            )
    return found


def _line(start: tuple[int, int], end: tuple[int, int], data: Mapping[str, Any]) -> str:
    x1, y1 = start[0] + _BOX[0] // 2, start[1] + _BOX[1]
    x2, y2 = end[0] + _BOX[0] // 2, end[1]
    kind = str(data["kind"])
    dash = "" if kind == "needs" else ' stroke-dasharray="5 3"'
    title = ", ".join(data.get("properties", ())) or str(data.get("reason") or kind)
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{_STROKE[kind]}"{dash} '
        f'marker-end="url(#tip)"><title>{escape(title)}</title></line>'
    )


def _box(name: str, spot: tuple[int, int], data: Mapping[str, object]) -> str:
    x, y = spot
    return (
        f"<g><title>{escape(str(data.get('origin', '')))}</title>"
        f'<rect x="{x}" y="{y}" width="{_BOX[0]}" height="{_BOX[1]}" rx="4" '
        f'fill="{_FILL[str(data["role"])]}" stroke="#888"/>'
        f'<text x="{x + _BOX[0] // 2}" y="{y + _BOX[1] // 2 + 4}" text-anchor="middle">{escape(name)}</text></g>'
    )

"""Which distribution brings which well-known name, so that an error can say what to install.

The table is data (``catalogue.json``): no code of the kernel knows a plugin.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import cast

KINDS = ("pass", "property", "backend", "planner", "target", "engine", "operator")


@cache
def _table() -> dict[str, dict[str, tuple[str, ...]]]:
    text = files("pypto_core.host").joinpath("catalogue.json").read_text(encoding="utf-8")
    read = cast("dict[str, dict[str, list[str]]]", json.loads(text))
    return {dist: {kind: tuple(names) for kind, names in kinds.items()} for dist, kinds in read.items()}


def known_distributions() -> tuple[str, ...]:
    """The distributions of the catalogue, sorted."""
    return tuple(sorted(_table()))


def distribution_for(kind: str, name: str) -> str | None:
    """The distribution that brings ``name`` (backends in any case), or None when the catalogue has no such name.

    ``kind`` is one of pass, property, backend, planner, target, engine, operator; operators by their first group.
    """
    for distribution, kinds in _table().items():
        names = kinds.get(kind, ())
        if name in names or (kind == "backend" and name.lower() in [n.lower() for n in names]):
            return distribution
    return None


def catalogued(kind: str) -> dict[str, str]:
    """Every known name of a kind, with its distribution."""
    return {name: dist for dist, kinds in _table().items() for name in kinds.get(kind, ())}

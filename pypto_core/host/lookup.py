"""Errors for names that nothing installed has: what there is, what failed to load, what to install."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from pypto_core.diagnostics import ArgumentError, UserError, shown
from pypto_core.host.catalogue import catalogued, distribution_for
from pypto_core.host.health import PluginRecord

# Kinds that have a command of their own to list them.
_LISTED = frozenset({"backend", "pass", "property"})


def unknown_name(
    kind: str, name: object, known: Iterable[str], health: tuple[PluginRecord, ...], code: str
) -> UserError:
    """The error for a ``kind`` that is asked for by a name nobody registered, or by what is no name at all."""
    names = sorted(known)
    short = len(names) <= 12 or kind not in _LISTED
    listed = ", ".join(names) if short else f"{len(names)}, see: pypto {_plural(kind)}"
    if not isinstance(name, str):
        article = "an" if kind[0] in "aeiou" else "a"
        return ArgumentError(
            f"the name of {article} {kind} is text, not {shown(name)}",
            code=code,
            facts={"installed": listed or "none"},
            remedy=_remedy(kind, "", names, health),
        )
    return UserError(
        f"there is no {kind} '{name}'",
        code=code,
        facts=[("installed", listed or "none"), *failed_facts(health)],
        remedy=_remedy(kind, name, names, health),
    )


def none_installed(kind: str, health: tuple[PluginRecord, ...], code: str) -> UserError:
    """The error for a compilation that needs some ``kind`` when there is none at all."""
    distributions = sorted(set(catalogued(kind).values()))
    remedy = " or ".join(_advice(dist, health) for dist in distributions)
    return UserError(f"no {kind} is installed", code=code, facts=failed_facts(health), remedy=remedy)


def failed_facts(health: tuple[PluginRecord, ...]) -> list[tuple[str, str]]:
    """One fact for each plugin that could not be loaded."""
    return [(f"plugin {record.name}", record.reason) for record in health if record.failed]


def install_advice(kind: str, name: str, health: tuple[PluginRecord, ...]) -> str:
    """How to get a well-known name that is absent; empty when the catalogue does not have it."""
    distribution = distribution_for(kind, name)
    return _advice(distribution, health) if distribution else ""


def _advice(distribution: str, health: tuple[PluginRecord, ...]) -> str:
    record = next((r for r in health if r.distribution == distribution), None)
    if record is None:
        return f"pip install {distribution}"
    if record.failed:
        return f"mend {distribution}: {record.reason}"
    return f"unblock {distribution}: {record.reason}" if record.reason else ""


def _remedy(kind: str, name: str, names: list[str], health: tuple[PluginRecord, ...]) -> str:
    advice = install_advice(kind, name, health)
    if advice:
        return advice
    folded = {n.lower(): n for n in [*names, *catalogued(kind)]}
    close = difflib.get_close_matches(name.lower(), sorted(folded), n=1)
    if not close:
        return (
            f"see what there is with: pypto {_plural(kind)}"
            if kind in _LISTED
            else f"choose one of these {_plural(kind)}"
        )
    near = folded[close[0]]
    further = "" if near in names else install_advice(kind, near, health)
    return f"did you mean {near}?" + (f" ({further})" if further else "")


def _plural(kind: str) -> str:
    return {"property": "properties", "pass": "passes"}.get(kind, f"{kind}s")

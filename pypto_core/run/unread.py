"""Options of a compilation that nothing asked for, with the names that may have been meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, cast

import attrs

from pypto_core.contract import Pass
from pypto_core.diagnostics import Diagnostic, warning
from pypto_core.run.context import PassContext


def unread_options(context: PassContext, given: frozenset[str]) -> Iterable[Diagnostic]:
    """Options that no pass looked up and no contract is gated by: most likely misspelt."""
    host, options = context.host, context.options
    passes = host.passes.values() if host is not None else ()
    gates = {
        gate.removesuffix("=false") for p in passes for gate in (*p.contract.needs, *p.contract.excludes)
    }
    switches = {gate.removeprefix("option:") for gate in gates if gate.startswith("option:")}
    known = switches | set(options.asked)
    for name in options.unread:
        if name in given and name not in switches:
            near = get_close_matches(name, sorted(known - {name}), n=3)
            owned = _pass_options(passes, name)
            yield warning(
                "PT816",
                f"option '{name}' was given, and nothing asked for it",
                facts={"nearest": ", ".join([*near, *owned])} if near or owned else {},
                remedy=f"did you mean {near[0]}?"
                if near
                else f"give it to the pass that it is of: {owned[0]}"
                if owned
                else "check its name; an option of one pass is given as Name{option=value}",
            )


def _pass_options(passes: Iterable[Pass], name: str) -> list[str]:
    """Options of single passes of about that name, as they are given: ``Name{option=…}``."""
    fields = {
        f"{value.name}{{{field.name}=…}}": field.name
        for value in passes
        if value.options is not None
        for field in attrs.fields(cast("type[Any]", type(value.options)))
    }
    near = get_close_matches(name, sorted(set(fields.values())), n=3)
    return sorted(
        (text for text, field in fields.items() if field in near), key=lambda t: near.index(fields[t])
    )[:3]

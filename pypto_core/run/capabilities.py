"""What a compilation offers to passes, and who offers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_core.contract import Backend
from pypto_core.run.options import Options, not_a_switch
from pypto_core.solver import Capability

if TYPE_CHECKING:
    from pypto_core.host import Host


def capabilities(
    backend: Backend | None, planner: str, options: Options, host: Host | None = None
) -> tuple[Capability, ...]:
    """The capabilities of a compilation, sorted.

    Those of the backend with ``backend:<name>``; ``planner:<name>`` with those that the planner lists;
    ``option:<name>`` for each option whose value counts as true, and ``option:<name>=false`` for each that was given
    with one that counts as false, by which a pass can be on by default.

    Raises UserError (PT850) for an option that switches passes and is neither on nor off.
    """
    _check_switches(options, host)
    found: list[Capability] = []
    if backend is not None:
        named = {*backend.capabilities, f"backend:{backend.name}"}
        found += [Capability(name, f"backend {backend.name}") for name in named]
    registered = host.planners.get(planner) if host is not None else None
    offered = {f"planner:{planner}", *(registered.capabilities if registered else ())}
    found += [Capability(name, f"planner {planner}") for name in offered]
    found += [Capability(f"option:{name}", f"option {name}") for name in options.truthy]
    found += [Capability(f"option:{name}=false", f"option {name}") for name in options.off]
    return tuple(sorted(found))


def _check_switches(options: Options, host: Host | None) -> None:
    wrong = {name: error for name, value in options.given if (error := not_a_switch(name, value))}
    if not wrong or host is None:
        return
    contracts = [value.contract for value in host.passes.values()]
    gates = {gate.removesuffix("=false") for c in contracts for gate in (*c.needs, *c.excludes)}
    for name, error in wrong.items():
        if f"option:{name}" in gates:
            raise error


def capability_names(
    backend: Backend | None, planner: str, options: Options, host: Host | None = None
) -> frozenset[str]:
    """The names alone."""
    return frozenset(c.name for c in capabilities(backend, planner, options, host))

"""Which properties hold while passes run, by their contracts."""

from __future__ import annotations

from collections.abc import Mapping

from pypto_core.contract import PassContract, Property, PropertyKind


def lost(contract: PassContract, held: frozenset[str], properties: Mapping[str, Property]) -> frozenset[str]:
    """Held properties that a pass takes away before it adds what it makes: invalidated, or disturbed."""

    def goes(name: str) -> bool:
        known = properties.get(name)
        if known is not None and known.kind is PropertyKind.STRUCTURAL:
            return False
        if name in contract.invalidates:
            return True
        return known is not None and known.disturbed(contract.touches) and name not in contract.produces

    return frozenset(name for name in held if goes(name))


def after_pass(
    contract: PassContract, held: frozenset[str], properties: Mapping[str, Property]
) -> tuple[frozenset[str], frozenset[str]]:
    """What holds after a pass, and what of it holds newly and wants to be verified.

    A property that a pass both invalidates and produces holds newly.
    """
    kept = held - lost(contract, held, properties)
    return kept | contract.produces, contract.produces - kept

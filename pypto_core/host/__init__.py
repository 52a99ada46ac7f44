"""Plugins: the hooks they implement, how they are found, and the host that holds what they bring.

The names below are imported when they are first used: to see what is installed should not load all of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypto_core.host import hookspecs
    from pypto_core.host.api import PLUGIN_API, PluginInfo, api_matches
    from pypto_core.host.catalogue import catalogued, distribution_for, known_distributions
    from pypto_core.host.discovery import GROUP, find_candidates
    from pypto_core.host.fingerprint import installed_state
    from pypto_core.host.health import Origin, PluginRecord, Status
    from pypto_core.host.hookspecs import hookimpl
    from pypto_core.host.host import Host, kernel_origin, load_host
    from pypto_core.host.lookup import failed_facts, install_advice, none_installed, unknown_name
    from pypto_core.host.registry import Registered, Registry
    from pypto_core.host.selection import VARIABLE, Selection
    from pypto_core.host.store import Store

_NAMES = {
    "api": ("PLUGIN_API", "PluginInfo", "api_matches"),
    "catalogue": ("catalogued", "distribution_for", "known_distributions"),
    "discovery": ("GROUP", "find_candidates"),
    "fingerprint": ("installed_state",),
    "health": ("Origin", "PluginRecord", "Status"),
    "hookspecs": ("hookimpl",),
    "host": ("Host", "kernel_origin", "load_host"),
    "lookup": ("failed_facts", "install_advice", "none_installed", "unknown_name"),
    "registry": ("Registered", "Registry"),
    "selection": ("VARIABLE", "Selection"),
    "store": ("Store",),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "GROUP",
    "PLUGIN_API",
    "VARIABLE",
    "Host",
    "Origin",
    "PluginInfo",
    "PluginRecord",
    "Registered",
    "Registry",
    "Selection",
    "Status",
    "Store",
    "api_matches",
    "catalogued",
    "distribution_for",
    "failed_facts",
    "find_candidates",
    "hookimpl",
    "hookspecs",
    "install_advice",
    "installed_state",
    "kernel_origin",
    "known_distributions",
    "load_host",
    "none_installed",
    "unknown_name",
]


def __getattr__(name: str) -> Any:
    if name == "hookspecs":
        return import_module("pypto_core.host.hookspecs")
    if name not in _HOMES:
        raise AttributeError(f"module 'pypto_core.host' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"pypto_core.host.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

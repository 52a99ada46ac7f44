"""Plugins: the hooks they implement, how they are found, and the host that holds what they bring."""

from pypto_core.host import hookspecs
from pypto_core.host.api import PLUGIN_API, PluginInfo, api_matches
from pypto_core.host.catalogue import catalogued, distribution_for, known_distributions
from pypto_core.host.discovery import GROUP, find_candidates
from pypto_core.host.health import Origin, PluginRecord, Status
from pypto_core.host.hookspecs import hookimpl
from pypto_core.host.host import Host, kernel_origin, load_host
from pypto_core.host.lookup import failed_facts, install_advice, none_installed, unknown_name
from pypto_core.host.registry import Registered, Registry
from pypto_core.host.selection import VARIABLE, Selection

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
    "api_matches",
    "catalogued",
    "distribution_for",
    "failed_facts",
    "find_candidates",
    "hookimpl",
    "hookspecs",
    "install_advice",
    "kernel_origin",
    "known_distributions",
    "load_host",
    "none_installed",
    "unknown_name",
]

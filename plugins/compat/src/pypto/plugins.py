"""Modules of plugins that stand behind a name of PyPTO's; they are found by entry point, when the name is used."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any


@cache
def module_of(plugin: str, module: str) -> Any:
    """A module of a plugin's package; ImportError that says what to install when the plugin is absent."""
    found = sorted(entry_points(group="pypto.plugins", name=plugin), key=lambda entry: entry.value)
    if not found:
        distribution = f"pypto-plugin-{plugin.replace('_', '-')}"
        raise ImportError(f"this comes with another distribution: pip install {distribution}")
    return import_module(f"{found[0].value.rpartition('.')[0]}.{module}")

"""Runs tile programs on the host: ``run(program, inputs)`` by the engine ``values``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypto_plugin_simulator.values import run as run

__all__ = ["run"]


def __getattr__(name: str) -> Any:
    if name == "run":  # loaded when used: the hooks must not wait for numpy
        from pypto_plugin_simulator.values import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The tile chooser of the autotile plugin, with a configuration whose fields can be written.

The plugin is found by its entry point, and only when the chooser is used.
"""

from __future__ import annotations

from typing import Any

import attrs

from pypto.plugins import module_of


def _chooser() -> Any:
    return module_of("autotile", "chooser")


class L0TileConfig:
    """One question to the chooser; fields have the defaults of the 910B, capacities and extents have to be set."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        fields: Any = attrs.fields(_chooser().L0TileConfig)
        object.__setattr__(self, "_values", {field.name: field.default for field in fields})

    def __getattr__(self, name: str) -> Any:
        values: dict[str, Any] = object.__getattribute__(self, "_values")
        if name in values:
            return values[name]
        raise AttributeError(f"a tile configuration has no field '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._values:
            raise AttributeError(f"a tile configuration has no field '{name}'")
        self._values[name] = value

    def __dir__(self) -> list[str]:
        return sorted(self._values)

    def frozen(self) -> Any:
        """The question as the chooser takes it."""
        return _chooser().L0TileConfig(**self._values)


def choose_l0_tile(config: L0TileConfig) -> Any:
    """The L0TileResult with the least estimated cycles; ValueError when the question is invalid."""
    return _chooser().choose_l0_tile(config.frozen())


def __getattr__(name: str) -> Any:
    """``Stationarity`` and ``L0TileResult``, which are the plugin's own."""
    if name in ("Stationarity", "L0TileResult"):
        return getattr(_chooser(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

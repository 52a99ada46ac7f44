"""Take in what plugins return: all of a plugin, or nothing of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from pypto_core.contract import Property
from pypto_core.host.catalogue import distribution_for
from pypto_core.host.discovery import LoadedPlugin, broken
from pypto_core.host.health import Origin, PluginRecord, Status
from pypto_core.host.kinds import KINDS, Kind
from pypto_core.host.registry import Registered


class _Refused(Exception):
    """A plugin can't be taken in: how it counts, why, and what to do."""

    def __init__(self, status: Status, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.status, self.reason, self.remedy = status, reason, remedy


@attrs.define
class Intake:
    """What was taken in so far: rows by kind, and who holds which name (aliases and instance ids included)."""

    rows: dict[str, dict[str, Registered[Any]]] = attrs.field(
        factory=lambda: {kind.label: dict[str, Registered[Any]]() for kind in KINDS}
    )
    holders: dict[tuple[str, str], Origin] = attrs.field(factory=lambda: dict[tuple[str, str], Origin]())

    def add_kernel(self, origin: Origin, things: dict[str, Iterable[Any]]) -> None:
        """The kernel's own things, by kind label; they come first and never clash."""
        for kind in KINDS:
            for value in things.get(kind.label, ()):
                self._commit(kind, value, origin)

    def add_plugin(self, plugin: LoadedPlugin) -> PluginRecord:
        """Call every hook of a plugin and take in what it returns, or leave all of it out and say why."""
        candidate, info = plugin.candidate, plugin.info
        about = {"summary": info.summary, "docs": info.docs, "requires_api": info.requires_api}
        staged: list[tuple[Kind, Any]] = []
        for kind in KINDS:
            try:
                staged += [(kind, value) for value in _values(plugin, kind)]
            except _Refused as refused:
                return candidate.record(refused.status, refused.reason, remedy=refused.remedy, **about)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                return broken(candidate, f"the hook {kind.hook} failed", error, **about)
        try:
            self._check_names(staged, candidate.origin)
        except _Refused as refused:
            return candidate.record(refused.status, refused.reason, remedy=refused.remedy, **about)
        for kind, value in staged:
            self._commit(kind, value, candidate.origin)
        counts = {kind.field: sum(1 for k, _ in staged if k is kind) for kind in KINDS}
        return candidate.record(
            Status.OK,
            provides=tuple(sorted((name, count) for name, count in counts.items() if count)),
            notes=tuple(_bare_names(staged, candidate.distribution)),
            **about,
        )

    def _check_names(self, staged: list[tuple[Kind, Any]], origin: Origin) -> None:
        taken: set[tuple[str, str]] = set()
        for kind, value in staged:
            for name in kind.names(value):
                key = (kind.label, name)
                if key in taken:
                    raise _Refused(
                        Status.BROKEN,
                        f"it registers the {kind.label} {name} twice",
                        f"return it once from {kind.hook}",
                    )
                taken.add(key)
                holder = self.holders.get(key)
                if holder is not None:
                    raise _Refused(
                        Status.CLASH,
                        f"the {kind.label} {name} is registered by {holder} and by {origin}",
                        f"rename it in one of them, or leave one out: PYPTO_PLUGINS=-{origin.plugin}",
                    )

    def _commit(self, kind: Kind, value: Any, origin: Origin) -> None:
        names = kind.names(value)
        own = value.name if kind.label == "backend" else names[0]
        self.rows[kind.label][own] = Registered(value, origin)
        for name in names:
            self.holders[(kind.label, name)] = origin


def _values(plugin: LoadedPlugin, kind: Kind) -> list[Any]:
    """What the plugin's hook returns, checked and sorted by name."""
    found: list[Any] = []
    for result in plugin.call(kind.hook):
        if isinstance(result, kind.type):
            raise _Refused(Status.BROKEN, f"{kind.hook} returned one {kind.type.__name__} instead of several")
        for value in result:
            if not isinstance(value, kind.type):
                raise _Refused(
                    Status.BROKEN,
                    f"{kind.hook} returned a {type(value).__name__} where a {kind.type.__name__} belongs",
                )
            found.append(value)
    return sorted(found, key=kind.names)


def _bare_names(staged: list[tuple[Kind, Any]], distribution: str) -> Iterable[str]:
    for _, value in staged:
        if isinstance(value, Property) and "." not in value.name:
            if distribution_for("property", value.name) != distribution:
                yield (
                    f"the property {value.name} has no prefix; another plugin may come to use the same name: "
                    f"call it for example {distribution.removeprefix('pypto-plugin-')}.{value.name}"
                )

"""What became of each plugin that is installed."""

from __future__ import annotations

import enum
from typing import Any

import attrs


class Status(enum.Enum):
    """How loading a plugin ended."""

    OK = "ok"
    BROKEN = "broken"
    """It could not be imported, a hook raised, or a hook returned something that does not belong there."""
    BLOCKED = "blocked"
    """``PYPTO_PLUGINS`` leaves it out."""
    DUPLICATE = "duplicate"
    """Two distributions install a plugin of this name; neither is loaded."""
    INCOMPATIBLE = "incompatible"
    """It was written for another version of the plugin API."""
    UNKNOWN_HOOK = "unknown-hook"
    """It implements a hook that does not exist."""
    CLASH = "clash"
    """It registers a name that is taken."""
    MISSING = "missing"
    """``PYPTO_PLUGINS`` selects or blocks it and it is not installed."""


FAILURES = frozenset(Status) - {Status.OK, Status.BLOCKED}


@attrs.frozen(order=True)
class Origin:
    """Where a registered thing comes from; the kernel's own have no plugin."""

    distribution: str
    version: str
    plugin: str = ""

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}".strip()


@attrs.frozen(kw_only=True)
class PluginRecord:
    """One plugin with its fate.

    ``reason``: one sentence, empty when all is well. ``remedy``: what a user can do. ``traceback``: of an
    exception, where there was one. ``provides``: how many things of each kind it registered, kinds sorted.
    ``notes``: what is wrong without keeping it from being used. ``module``: what its entry point names.
    """

    name: str
    distribution: str
    version: str
    status: Status
    reason: str = ""
    remedy: str = ""
    traceback: str = ""
    summary: str = ""
    docs: str = ""
    requires_api: str = ""
    provides: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    module: str = ""

    @property
    def failed(self) -> bool:
        """Whether a user who installed it will miss it."""
        return self.status in FAILURES

    def sentence(self) -> str:
        """The one line to warn with."""
        source = f" ({self.distribution} {self.version})" if self.distribution else ""
        return f"plugin {self.name}{source} is not loaded: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary for ``--json`` outputs."""
        return {
            "name": self.name,
            "distribution": self.distribution,
            "version": self.version,
            "status": self.status.value,
            "reason": self.reason or None,
            "remedy": self.remedy or None,
            "traceback": self.traceback or None,
            "summary": self.summary,
            "docs": self.docs or None,
            "requires_api": self.requires_api or None,
            "provides": dict(self.provides),
            "notes": list(self.notes),
        }

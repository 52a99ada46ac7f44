"""Names that passes give to variables: ``base__[qualifier_]role_vN``.

The double underscore is reserved; messages show only what stands before it.
"""

from __future__ import annotations

ROLES = ("ssa", "iter", "rv", "phi", "tile", "tmp", "out", "store", "idx")


def base_name(name: str) -> str:
    """The author's part of a name: ``b_right__ssa_v0`` → ``b_right``."""
    head, mark, _ = name.partition("__")
    return head if mark and head else name


def auto_name(base: str, role: str, version: int = 0, qualifier: str = "") -> str:
    """A name for a value derived from ``base``."""
    middle = f"{qualifier}_{role}" if qualifier else role
    return f"{base_name(base)}__{middle}_v{version}"


class NameSource:
    """Hands out names that don't repeat: one counter per (base, role)."""

    def __init__(self) -> None:
        self._next: dict[tuple[str, str, str], int] = {}

    def fresh(self, base: str, role: str, qualifier: str = "") -> str:
        """The next unused name of this base and role."""
        key = (base_name(base), role, qualifier)
        version = self._next.get(key, 0)
        self._next[key] = version + 1
        return auto_name(base, role, version, qualifier)

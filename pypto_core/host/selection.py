"""``PYPTO_PLUGINS``: which of the installed plugins are wanted."""

from __future__ import annotations

import re

import attrs

VARIABLE = "PYPTO_PLUGINS"


def normal_name(name: str) -> str:
    """A name as it is compared: lower case, with one ``-`` for any run of ``-``, ``_`` and ``.``."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


@attrs.frozen
class Selection:
    """Names taken from a comma-separated list; each is that of an entry point or of a distribution.

    ``only``: nothing else is loaded; None means everything. ``blocked``: never loaded.
    """

    only: tuple[str, ...] | None = None
    blocked: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str | None) -> Selection:
        """Read the variable's value: None is unset and selects all, an empty text selects nothing.

        ``a,b`` selects those two, ``-a`` blocks one; a list of blocked names alone selects all the others.
        """
        if text is None:
            return cls()
        items = [item.strip() for item in text.split(",") if item.strip()]
        blocked = tuple(normal_name(item[1:]) for item in items if item.startswith("-"))
        wanted = tuple(normal_name(item) for item in items if not item.startswith("-"))
        return cls(None if blocked and not wanted else wanted, blocked)

    def refuses(self, *names: str) -> bool:
        """Whether a thing of these names is to be left out."""
        known = {normal_name(name) for name in names if name}
        return bool(known.intersection(self.blocked)) or (
            self.only is not None and not known.intersection(self.only)
        )

    def unmatched(self, names: set[str]) -> dict[str, str]:
        """Listed names that are not among the given ones, each with what the list says: "selects" or "blocks"."""
        known = {normal_name(name) for name in names}
        said = dict.fromkeys(self.blocked, "blocks") | dict.fromkeys(self.only or (), "selects")
        return {name: verb for name, verb in said.items() if name not in known}

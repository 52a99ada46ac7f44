"""The version of the plugin API, what a plugin says of itself, and version ranges."""

from __future__ import annotations

import re

import attrs

PLUGIN_API: tuple[int, int] = (1, 0)
"""(major, minor). A new hook or a new optional field is minor; whatever breaks a plugin is major."""

_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|~=|<|>)\s*(\d+(?:\.\d+)*)\s*\Z")


_is_text = attrs.validators.instance_of(str)


@attrs.frozen
class PluginInfo:
    """What a plugin says of itself.

    ``name``: the name of its entry point. ``requires_api``: the versions of the plugin API it works with, as
    comma-separated clauses (``>=1,<2``). ``docs``: a URL, or a path in its own repository.
    """

    name: str = attrs.field(validator=_is_text)
    summary: str = attrs.field(validator=_is_text)
    requires_api: str = attrs.field(default=">=1,<2", validator=_is_text)
    docs: str = attrs.field(default="", validator=_is_text)


def api_matches(spec: str, version: tuple[int, ...] = PLUGIN_API) -> bool:
    """Whether ``version`` satisfies every clause of ``spec``; an empty text is satisfied by all.

    Clauses compare as PEP 440 does for plain release numbers: missing parts are zero, ``~=1.2`` is
    ``>=1.2,<2``. Raises ValueError for a text that is no such list.
    """
    return all(_clause(clause, version) for clause in spec.split(",")) if spec.strip() else True


def _clause(text: str, version: tuple[int, ...]) -> bool:
    found = _CLAUSE.match(text)
    if found is None:
        raise ValueError(f"{text.strip()!r} is not a version clause such as >=1 or <2")
    sign, wanted = found[1], tuple(int(part) for part in found[2].split("."))
    if sign == "~=":
        if len(wanted) < 2:
            raise ValueError(f"{text.strip()!r} needs two parts, as in ~=1.0")
        padded = version + (0,) * len(wanted)
        return _order(version, wanted) >= 0 and padded[: len(wanted) - 1] == wanted[:-1]
    order = _order(version, wanted)
    return {
        ">=": order >= 0,
        "<=": order <= 0,
        "==": order == 0,
        "!=": order != 0,
        "<": order < 0,
        ">": order > 0,
    }[sign]


def _order(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    width = max(len(a), len(b))
    left, right = a + (0,) * (width - len(a)), b + (0,) * (width - len(b))
    return (left > right) - (left < right)

"""The quick way to make a node, for code that makes very many: passes, the cloner, the decoder, the parser.

The constructor of a frozen class goes through ``object.__setattr__`` for each field, looks defaults up and converts
what it is given. Where all values are at hand in their final form, that is two thirds of the time that a node takes.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import attrs

# Both share one place in a class's table of operations: with only one of them given back, it stays the slow way.
_ASSIGNABLE = {"__setattr__": object.__setattr__, "__delattr__": object.__delattr__}


class _Makers(dict[type, Callable[..., Any]]):
    def __missing__(self, cls: type) -> Callable[..., Any]:
        self[cls] = made = maker(cls)
        return made


def maker(cls: type) -> Callable[..., Any]:
    """A function that makes a ``cls`` from the values of all its fields, by position: see :data:`MAKE`."""
    fields = attrs.fields(cls)
    names = make_order(cls)
    # The node is born in a subclass that allows assignment, as plain assignment is what Python does quickest, and
    # moves to its own class, which has the same layout, before anyone sees it.
    draft = type(f"{cls.__name__}Draft", (cls,), {"__slots__": (), **_ASSIGNABLE})
    made = {f"make_{f.name}": _factory(f) for f in fields if not f.init}
    lines = [
        f"def make({', '.join(names)}):",
        " self = new(draft)",
        *[f" self.{name} = {name}" for name in names],
        *[f" self.{f.name} = make_{f.name}()" for f in fields if not f.init],
        " self.__class__ = cls",
        *([" self.__attrs_post_init__()"] if hasattr(cls, "__attrs_post_init__") else []),
        " return self",
    ]
    scope: dict[str, Any] = {"new": object.__new__, "draft": draft, "cls": cls, **made}
    exec("\n".join(lines), scope)  # noqa: S102 - made of field names, as the constructors that attrs writes
    return scope["make"]


def make_order(cls: type) -> tuple[str, ...]:
    """The fields that a ``cls`` is made of, in the order of its constructor; those taken by name alone come last."""
    given = [f for f in attrs.fields(cls) if f.init]
    return tuple(f.name for f in sorted(given, key=lambda f: f.kw_only))


def _factory(field: Any) -> Callable[[], Any]:
    default = field.default
    return default.factory if hasattr(default, "factory") else lambda: default


MAKE = _Makers()
"""``MAKE[cls](…)`` is ``cls(…)`` with the values of all fields by position, in the order of :func:`make_order`.

Values must have their final form (tuples, frozen mappings): nothing is converted. The checks of the class are made.
"""


@contextmanager
def collector_paused() -> Generator[None]:
    """No garbage collection meanwhile: where all that is made stays, looking for garbage in it only costs time.

    Nor is it looked through at once afterwards: what was made counts as old, as if it had outlived collections. That
    is left to the usual course where somebody has frozen objects of their own, which would be thawed too.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()

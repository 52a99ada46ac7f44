"""What a tensor of a kernel becomes: memory outside, a window of it, a tile, or nothing until somebody fills it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import attrs

from pypto_core.ir import EMPTY_MAP, Expr, Stmt, TensorType, Var

Slot = list["Stmt | Slot"]
"""Statements in order. A slot inside of a slot keeps a place for what turns out to be needed there."""


@attrs.define(eq=False, kw_only=True)
class Value:
    """A tensor of the author, of type ``kind``.

    ``slot`` is the place right behind its definition, where what is made of it goes, so that all its uses see that.
    ``made``: what has been made of it so far, by kind.
    """

    kind: TensorType
    slot: Slot = attrs.field(factory=list)
    made: dict[Hashable, Var] = attrs.field(factory=dict)


@attrs.define(eq=False, kw_only=True)
class Global(Value):
    """All of a tensor in global memory."""

    var: Var


@attrs.define(eq=False, kw_only=True)
class Window(Value):
    """A part of ``base``: ``extents`` from ``offsets``, of which the axes in ``dropped`` are gone from ``kind``.

    ``clamp``: the window may reach past the end. ``notes``: attributes of the slice. A padding that a slice names is
    not kept, as whatever fills a tile up says with what.
    ``volatile``: the memory is written in this kernel, so that each use has to read it itself.
    """

    base: Var
    offsets: tuple[Expr, ...]
    extents: tuple[Expr, ...]
    dropped: tuple[int, ...] = ()
    clamp: bool = False
    volatile: bool = False
    notes: Mapping[str, Any] = EMPTY_MAP


@attrs.define(eq=False, kw_only=True)
class Tile(Value):
    """A tile on chip. It may be larger than ``kind``, and of the accumulator's element type in place of its own."""

    var: Var


@attrs.define(eq=False, kw_only=True)
class Fresh(Value):
    """A tensor that is made here: undefined, or filled with one value."""

    fill: Expr | None = None


def flat(slot: Slot) -> list[Stmt]:
    """The statements of a slot and of those in it."""
    out: list[Stmt] = []
    stack = [iter(slot)]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
        elif isinstance(item, list):
            stack.append(iter(item))
        else:
            out.append(item)
    return out

"""Copies and views that a pass has made of a tile, and where they may be used again."""

from __future__ import annotations

from collections.abc import Hashable

import attrs

from pypto_core.ir import VOID, Call, Expr, Stmt, TileType, Var, walk
from pypto_core.ops import written_arguments


@attrs.define(eq=False)
class Made:
    """What has been made of values in a region, by value and kind; what the regions around made is seen too."""

    outer: Made | None = None
    table: dict[tuple[Expr, Hashable], Var] = attrs.field(factory=dict)

    def get(self, value: Expr, kind: Hashable) -> Var | None:
        """What was made of ``value``."""
        made: Made | None = self
        while made is not None:
            if (value, kind) in made.table:
                return made.table[(value, kind)]
            made = made.outer
        return None

    def put(self, value: Expr, kind: Hashable, var: Var) -> None:
        """Note that ``var`` was made of ``value``."""
        self.table[(value, kind)] = var


def changes_tiles(body: Stmt) -> bool:
    """Whether a region changes a tile under its name, by an operator without a result."""
    return any(isinstance(node, Call) and changes_a_tile(node) for node in walk(body))


def changes_a_tile(call: Call) -> bool:
    """Whether a call without a result writes one of its tiles."""
    return call.type is VOID and any(isinstance(call.args[i].type, TileType) for i in written_arguments(call))

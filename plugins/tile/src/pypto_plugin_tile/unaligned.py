"""Windows of tiles in Vec begin with a block of 32 bytes, or are copied out.

The vector unit and the transfers read storage from such a block on. A window whose first column is not known to be one
becomes a copy in storage of its own; where elements are written under a tile's name, its windows stay what they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from pypto_core.diagnostics import DiagnosticError
from pypto_core.ir import (
    LINE_BYTES,
    AssignStmt,
    Call,
    Expr,
    Function,
    MakeTuple,
    MemorySpace,
    Mutator,
    NameSource,
    Stmt,
    TileLayout,
    TileType,
    Var,
    divisor,
    divisors_of,
    replace,
    seq,
    types_equal,
    walk,
)
from pypto_core.ops import alias_source, create_call
from pypto_plugin_tile.moves import changes_a_tile

_SLICE = "tile.slice"


def copy_unaligned(function: Function) -> Function:
    """The kernel with such windows copied out; the same object when there are none."""
    if not any(isinstance(node, Call) and node.name == _SLICE for node in walk(function.body)):
        return function
    return _Copier(function).visit(function)


class _Copier(Mutator):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.names = NameSource()
        self.divisors: Mapping[Var, int] = divisors_of(function)
        self.owners = _owners(function)
        calls = [node for node in walk(function.body) if isinstance(node, Call) and changes_a_tile(node)]
        self.written = {self.owner(arg) for call in calls for arg in call.args if isinstance(arg, Var)}

    def owner(self, value: Expr) -> Expr:
        """The tile whose storage a view lies in."""
        while isinstance(value, Var) and value in self.owners:
            value = self.owners[value]
        return value

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """A window that may begin within a block becomes a copy."""
        call = node.value
        if not isinstance(call, Call) or call.name != _SLICE or not self.begins_anywhere(call):
            return node
        if self.owner(node.var) in self.written or self.owner(call.args[0]) in self.written:
            return node
        try:
            return self.copied(node, call)
        except DiagnosticError:
            return node  # its shape or what is valid of it has no form as a copy

    def begins_anywhere(self, call: Call) -> bool:
        source, kind, offset = call.args[0].type, call.type, call.args[2]
        if not (
            isinstance(source, TileType) and isinstance(kind, TileType) and isinstance(offset, MakeTuple)
        ):
            return False
        plain = len(source.shape) == len(kind.shape) == len(offset.elements) == 2 and len(call.args) <= 4
        view = source.view
        if not plain or kind.memref is not None or source.memory_space is not MemorySpace.Vec:
            return False
        if (view.blayout, view.slayout) != (TileLayout.row_major, TileLayout.none_box):
            return False
        column = divisor(offset.elements[1], self.divisors) * source.dtype.bits
        return column % (8 * LINE_BYTES) != 0

    def copied(self, node: AssignStmt, call: Call) -> Stmt:
        kind, offset = node.var.type, call.args[2]
        assert isinstance(kind, TileType) and isinstance(offset, MakeTuple)
        row, col = offset.elements
        args = (call.args[0], row, col, call.args[1])
        copy = create_call("tile.extract", args, {"target_memory": MemorySpace.Vec}, call.span)
        if types_equal(copy.type, kind):
            return replace(node, value=copy)
        inner = Var(self.names.fresh(node.var.name_hint, "tile", "copy"), copy.type, span=node.span)
        last = create_call("tile.set_validshape", [inner, *kind.valid_shape], {}, call.span)
        if not types_equal(last.type, kind):
            return node
        first = AssignStmt(inner, copy, leading_comments=node.leading_comments, span=node.span)
        return seq([first, replace(node, value=last, leading_comments=())], node.span)


def _owners(function: Function) -> dict[Var, Expr]:
    """What each view, and each tile that takes over another one's storage, lies in."""
    found: dict[Var, Expr] = {}
    for node in walk(function.body):
        if isinstance(node, AssignStmt) and isinstance(node.value, Call):
            index = alias_source(node.value)
            if index is not None and index < len(node.value.args):
                found.setdefault(node.var, node.value.args[index])
    return found

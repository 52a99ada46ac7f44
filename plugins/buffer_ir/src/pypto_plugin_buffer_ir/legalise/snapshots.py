"""LegalizeTileStorage: what is written into a part of a tile is not read from another part of it meanwhile.

``tile.assemble`` writes in place. Where its source is a window of the very tile that it writes, and the two parts are
not apart for certain, the tile is copied first and the source is cut from the copy. No copy is made when the source is
exactly the part that is written, or when the bytes are known to be apart; those between the rows of a window count as
its own, as they do when the result is verified.

All else that needs a copy - carries that are read again, values that change places, arms that leave their results in
different places - is the same for kernels in tiles, and MaterializeSemanticAliases does it for both.
"""

from __future__ import annotations

from typing import Any

import attrs

from pypto_core.diagnostics import Span
from pypto_core.ir import (
    PTR,
    AssignStmt,
    Call,
    ConstInt,
    DataType,
    Expr,
    Function,
    MakeTuple,
    MemorySpace,
    MemRef,
    Mutator,
    Stmt,
    TileType,
    Var,
    base_name,
    defined_vars,
    dims_equal,
    flatten,
    physical_bytes,
    replace,
    seq,
    shapes_equal,
    static_dim,
    static_shape,
    sub,
)
from pypto_core.ops import create_call
from pypto_plugin_buffer_ir.selection import wants_buffer_ir

_LOOKS = ("tile.slice", "tile.reshape", "tile.reinterpret_view", "tile.set_validshape")


def legalize_tile_storage(function: Function, ctx: Any) -> Function:
    """A kernel for buffers with its overlapping writes taken apart; the same object when there are none."""
    if not wants_buffer_ir(function):
        return function
    snapshots = _Snapshots(function)
    new = snapshots.visit(function)
    if not snapshots.allocations:
        return function
    stmts = flatten(new.body)
    head = next((at for at, stmt in enumerate(stmts) if not _is_alloc(stmt)), len(stmts))
    body = seq((*stmts[:head], *snapshots.allocations, *stmts[head:]), new.body.span)
    return replace(new, body=body)


def _is_alloc(stmt: Stmt) -> bool:
    return isinstance(stmt, AssignStmt) and stmt.var.type is PTR


class _Looks:
    """Which variables are views, and of what; statements are shown to it in program order."""

    def __init__(self) -> None:
        self.of: dict[Var, Call] = {}
        self.values: dict[Var, Var] = {}

    def clashes(self, stmt: AssignStmt) -> bool:
        """Whether a statement may read bytes of its source after it has written them; views are remembered."""
        value = stmt.value
        if isinstance(value, Var):
            self.values[stmt.var] = self.value(value)
        elif isinstance(value, Call) and value.op.name in _LOOKS and isinstance(value.args[0], Var):
            self.of[stmt.var] = value
            self.values[stmt.var] = self.value(value.args[0])
        elif isinstance(value, Call) and value.op.name == "tile.assemble":
            return self.overlaps(value, *value.args[:2])
        return False

    def overlaps(self, call: Call, target: Expr, source: Expr) -> bool:
        """Whether an assemble may write bytes that it has still to read."""
        if not isinstance(target, Var) or not isinstance(source, Var):
            return False
        if self.value(target) is not self.value(source) or self.exact(call, source):
            return False
        return not _disjoint(call, target, source)

    def value(self, var: Var) -> Var:
        """The variable whose content another one shows, in whole or in part."""
        return self.values.get(var, var)

    def exact(self, call: Call, source: Var) -> bool:
        """Whether the source is the part that is written."""
        look = self.of.get(source)
        if look is None or look.op.name != "tile.slice" or not isinstance(look.args[0], Var):
            return False
        parent, target = look.args[0], call.args[0]
        assert isinstance(parent.type, TileType) and isinstance(target.type, TileType)
        same_rows = shapes_equal(parent.type.shape, target.type.shape) and parent not in self.of
        return same_rows and all(map(dims_equal, _pair(look.args[2]), _pair(call.args[2])))

    def is_window(self, var: Var) -> bool:
        """Whether a view is a part of what it looks at, or a look at such a part."""
        look = self.of.get(var)
        if look is None:
            return False
        return look.op.name == "tile.slice" or (
            isinstance(look.args[0], Var) and self.is_window(look.args[0])
        )


class _Snapshots(Mutator):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.allocations: list[AssignStmt] = []
        self.looks = _Looks()
        self.names = {var.name_hint for var in (*function.params, *defined_vars(function.body))}

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Take an assemble apart that reads what it writes."""
        if self.looks.clashes(node) and isinstance(node.value, Call):
            return self.apart(node, node.value)
        return node

    def apart(self, stmt: AssignStmt, call: Call) -> Stmt:
        """The assemble with its source cut from a copy."""
        source = call.args[1]
        assert isinstance(source, Var)
        chain: list[tuple[Var, Call]] = []
        parent = source
        while self.looks.is_window(parent):
            look = self.looks.of[parent]
            chain.append((parent, look))
            assert isinstance(look.args[0], Var)
            parent = look.args[0]
        copy, memref = self.copied(parent, stmt.span)
        made, last = [copy], copy.var
        for var, look in reversed(chain):
            cut = self.cut_again(var, look, last, memref, _memref(parent), stmt.span)
            made.append(cut)
            last = cut.var
        first = replace(made[0], leading_comments=stmt.leading_comments)
        args = (call.args[0], last, *call.args[2:])
        rest = replace(stmt, value=replace(call, args=args), leading_comments=())
        return seq((first, *made[1:], rest), stmt.span)

    def copied(self, parent: Var, span: Span) -> tuple[AssignStmt, MemRef]:
        """``snapshot = tile.move(parent)`` into an allocation of its own."""
        assert isinstance(parent.type, TileType)
        size = physical_bytes(parent.type)
        base = Var(self.name("mem_vec_snapshot"), PTR, span=span)
        options = {"memory_space": MemorySpace.Vec, "size": size}
        self.allocations.append(AssignStmt(base, create_call("tile.alloc", (), options, span), span=span))
        memref = MemRef(base, ConstInt(0, DataType.INT64), size, span=span)
        call = create_call("tile.move", (parent,), {"target_memory": MemorySpace.Vec}, span)
        assert isinstance(call.type, TileType)
        name = self.name(f"{base_name(parent.name_hint)}_snapshot")
        return AssignStmt(Var(name, replace(call.type, memref=memref), span=span), call, span=span), memref

    def cut_again(
        self, var: Var, look: Call, source: Var, home: MemRef, parent: MemRef, span: Span
    ) -> AssignStmt:
        """The view ``var`` with ``source`` in place of what it was taken of."""
        kind = var.type
        assert isinstance(kind, TileType) and kind.memref is not None
        offset = kind.memref.byte_offset
        start = static_dim(parent.byte_offset)
        moved = offset if start == 0 else sub(offset, parent.byte_offset)
        memref = replace(kind.memref, base=home.base, byte_offset=moved)
        name = self.name(f"{base_name(var.name_hint)}_snapshot")
        call = replace(look, args=(source, *look.args[1:]))
        return AssignStmt(Var(name, replace(kind, memref=memref), span=var.span), call, span=span)

    def name(self, stem: str) -> str:
        """``stem``, or with a number when it is taken."""
        name, count = stem, 0
        while name in self.names:
            count += 1
            name = f"{stem}_{count}"
        self.names.add(name)
        return name


@attrs.frozen
class _Span:
    """Bytes from the first to behind the last."""

    begin: int
    end: int


def _disjoint(call: Call, target: Var, source: Var) -> bool:
    """Whether the bytes that are read and those that are written are constants, and apart."""
    read, written = _read(source), _written(call, target, source)
    return (
        read is not None and written is not None and (read.end <= written.begin or written.end <= read.begin)
    )


def _read(source: Var) -> _Span | None:
    memref = _memref(source)
    begin = static_dim(memref.byte_offset)
    return None if begin is None else _Span(begin, begin + memref.size)


def _written(call: Call, target: Var, source: Var) -> _Span | None:
    whole, part = target.type, source.type
    assert isinstance(whole, TileType) and isinstance(part, TileType)
    base = static_dim(_memref(target).byte_offset)
    row, col = (static_dim(offset) for offset in _pair(call.args[2]))
    shape, extents = static_shape(part.shape), static_shape(whole.shape)
    if base is None or row is None or col is None or shape is None or extents is None:
        return None
    element = whole.dtype.element_bytes
    begin = base + (row * extents[1] + col) * element
    return _Span(begin, begin + ((shape[0] - 1) * extents[1] + shape[1]) * element)


def _memref(var: Var) -> MemRef:
    kind = var.type
    assert isinstance(kind, TileType) and kind.memref is not None
    return kind.memref


def _pair(offsets: Expr) -> tuple[Expr, ...]:
    assert isinstance(offsets, MakeTuple)
    return offsets.elements

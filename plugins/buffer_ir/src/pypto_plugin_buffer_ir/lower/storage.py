"""The first pass over a kernel: which tiles lie in which allocation, and which are windows of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from pypto_core.diagnostics import Span
from pypto_core.ir import (
    AssignStmt,
    BufferType,
    Call,
    ConstInt,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    MemRef,
    Stmt,
    TileType,
    Var,
    WhileStmt,
    base_name,
    shapes_equal,
    walk_stmts,
)
from pypto_plugin_buffer_ir.lower.descriptors import product_descriptor, storage_descriptor
from pypto_plugin_buffer_ir.refusal import broken, refused

_RELABELS = ("tile.reshape", "tile.reinterpret_view")


@attrs.frozen(eq=False)
class Member:
    """A look at an allocation: by a tile, or by a product that fills only a part of an accumulator (``call``)."""

    kind: BufferType
    memref: MemRef
    span: Span
    tile: Var | None = None
    call: Call | None = None

    @property
    def offset(self) -> int:
        """Bytes from the allocation's start, or the address when the planner has given one."""
        offset = self.memref.byte_offset
        assert isinstance(offset, ConstInt)
        return offset.value


@attrs.define(eq=False)
class Root:
    """An allocation: the statement that states it and who looks at it."""

    base: Var
    stated: AssignStmt | None = None
    members: list[Member] = attrs.field(factory=list)


@attrs.define(eq=False)
class StorageIndex:
    """The allocations of a kernel by base.

    ``windows``: tiles that are parts of others. ``parents``: tiles that parts are cut from. ``carried``: bases of what
    loops and branches hand on.
    """

    roots: dict[Var, Root] = attrs.field(factory=dict)
    windows: set[Var] = attrs.field(factory=set)
    parents: set[Var] = attrs.field(factory=set)
    carried: set[Var] = attrs.field(factory=set)


def index_storage(function: Function) -> StorageIndex:
    """Find the allocations of a kernel and everything in them."""
    for param in function.params:
        if isinstance(param.type, TileType):
            raise refused(
                f"parameter '{base_name(param.name_hint)}' is a tile: device Tile parameters require the Buffer "
                "helper ABI recipe",
                param.span,
            )
    index = StorageIndex()
    for stmt in walk_stmts(function.body):
        if isinstance(stmt, AssignStmt):
            _assigned(index, stmt)
        for var in _handed_on(stmt):
            member = _member(index, var, stmt.span)
            index.carried.add(member.memref.base)
    return index


def _handed_on(stmt: Stmt) -> Iterator[Var]:
    """Tiles that a loop or branch defines for itself."""
    if isinstance(stmt, ForStmt | WhileStmt):
        found: Iterable[Var] = (*stmt.iter_args, *stmt.return_vars)
    elif isinstance(stmt, IfStmt):
        found = stmt.return_vars
    else:
        return
    for var in found:
        if isinstance(var.type, TileType):
            yield var


def _assigned(index: StorageIndex, stmt: AssignStmt) -> None:
    var, value = stmt.var, stmt.value
    if isinstance(value, Call) and value.op.name == "tile.alloc":
        root = index.roots.setdefault(var, Root(var))
        if root.stated is not None:
            raise broken("an allocation is stated twice", stmt.span, allocation=var.name_hint)
        root.stated = stmt
        return
    if not isinstance(var.type, TileType):
        return
    if _is_window(index, value):
        index.windows.add(var)
    else:
        _member(index, var, stmt.span)
    if not isinstance(value, Call):
        return
    if value.op.name == "tile.slice":
        _cut_from(index, value.args[0])
    elif value.op.name == "tile.assemble":
        _cut_from(index, var)
    elif value.op.name == "tile.matmul_acc":
        _product(index, stmt, value, var.type)


def _is_window(index: StorageIndex, value: Expr) -> bool:
    if isinstance(value, Call):
        name = value.op.name
        return name == "tile.slice" or (name in _RELABELS and value.args[0] in index.windows)
    return value in index.windows


def _cut_from(index: StorageIndex, source: Expr) -> None:
    if isinstance(source, Var):
        index.parents.add(source)


def _member(index: StorageIndex, var: Var, span: Span) -> Member:
    kind = var.type
    assert isinstance(kind, TileType)
    where = var.span if var.span.is_valid else span
    memref = planned(var, where)
    member = Member(storage_descriptor(kind, where), memref, where, tile=var)
    index.roots.setdefault(memref.base, Root(memref.base)).members.append(member)
    return member


def planned(var: Var, span: Span) -> MemRef:
    """The place of a tile that lies in storage of its own."""
    kind = var.type
    assert isinstance(kind, TileType)
    memref = kind.memref
    if memref is None or memref.is_pinned or memref.slot_count != 1 or memref.slot_index is not None:
        raise refused(
            f"tile '{base_name(var.name_hint)}' is not planned into one place: tile storage must be planned; "
            "multi-slot storage needs its own recipe",
            span,
            "run InitMemRef and the memory planner before kernels are written as buffers",
        )
    if not isinstance(memref.byte_offset, ConstInt) or memref.byte_offset.value < 0:
        raise refused(
            f"tile '{base_name(var.name_hint)}': expected a static nonnegative storage window address", span
        )
    return memref


def _product(index: StorageIndex, stmt: AssignStmt, call: Call, acc: TileType) -> None:
    """The part of a wider accumulator that a product fills."""
    left, right = call.args[1].type, call.args[2].type
    assert isinstance(left, TileType) and isinstance(right, TileType)
    extents = (left.valid_shape[0], right.valid_shape[1])
    if shapes_equal(extents, acc.valid_shape):
        return
    memref = planned(stmt.var, stmt.span)
    kind = product_descriptor(acc, *extents, stmt.span)
    index.roots[memref.base].members.append(Member(kind, memref, stmt.span, call=call))

"""CanonicalizeTileSlice: windows of windows become windows, and what is copied out of one is copied out of the tile.

A slice is only another look at a tile. An extract that reads a slice can read the tile itself, and an operand of the
matrix unit that is a slice of an L1 tile can be cut out on the way to L0; a slice of a boxed tile is nothing that
an instruction could read. Slices that nobody looks at any more go away.
"""

from __future__ import annotations

from typing import Any

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    AssignStmt,
    Call,
    EvalStmt,
    Expr,
    Function,
    MakeTuple,
    MemorySpace,
    Mutator,
    NameSource,
    Stmt,
    TileType,
    Var,
    add,
    replace,
    seq,
    types_equal,
    updated,
)
from pypto_core.ops import create_call, op_of
from pypto_plugin_tile.unused import without_unused

_L0 = (MemorySpace.Left, MemorySpace.Right)


def canonicalize_tile_slice(function: Function, ctx: Any) -> Function:
    """The kernel with its slices folded; the same object when there is nothing to fold."""
    if not function.is_incore:
        return function
    folder = _Folder()
    folded = folder.visit(function)
    return function if folded is function else without_unused(folded, folder.folded)


class _Folder(Mutator):
    def __init__(self) -> None:
        super().__init__()
        self.slices: dict[Var, Call] = {}
        self.folded: set[Var] = set()
        self.names = NameSource()

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Remember slices; rewrite what reads them."""
        ahead: list[Stmt] = []
        value = self.fold(node.value, ahead)
        new = updated(node, value=value)
        if isinstance(value, Call) and value.name == "tile.slice" and _is_plain(value):
            self.slices[node.var] = value
        return _behind(ahead, new)

    def visit_eval_stmt(self, node: EvalStmt) -> Stmt:
        """As for assignments."""
        ahead: list[Stmt] = []
        return _behind(ahead, updated(node, expr=self.fold(node.expr, ahead)))

    def fold(self, value: Expr, ahead: list[Stmt]) -> Expr:
        if not isinstance(value, Call):
            return value
        if value.name in ("tile.slice", "tile.extract"):
            return self.shifted(value)
        return self.operands(value, ahead)

    def shifted(self, call: Call) -> Expr:
        """A window of a slice as a window of what was sliced."""
        inner = self.slice_of(call.args[0])
        if inner is None or (call.name == "tile.slice" and not _is_plain(call)):
            return call
        base, offset = inner.args[0], _offset(inner)
        if call.name == "tile.slice":
            at = MakeTuple(tuple(add(a, o) for a, o in zip(offset, _offset(call), strict=True)))
            args = (base, call.args[1], at, *call.args[3:])
        else:
            row, col, *rest = call.args[1:]
            args = (base, add(offset[0], row), add(offset[1], col), *rest)
        try:
            new = create_call(call.name, args, call.kwargs, call.span, call.attrs)
        except OpError:
            # What the slice says of valid extents is more than the tile does.
            return call
        if not types_equal(new.type, call.type):
            return call
        self.forget(call.args[0])
        return new

    def operands(self, call: Call, ahead: list[Stmt]) -> Call:
        """Operands of the matrix unit, cut out of L1 into L0."""
        op = op_of(call)
        if op is None or op.memory is None:
            return call
        args = list(call.args)
        for i, spaces in enumerate(op.memory.inputs[: len(args)]):
            inner = self.slice_of(args[i]) if spaces and spaces[0] in _L0 else None
            if inner is not None and spaces is not None and _space(inner.args[0]) is MemorySpace.Mat:
                args[i] = self.cut_out(args[i], inner, spaces[0], ahead)
        if all(a is b for a, b in zip(args, call.args, strict=True)):
            return call
        new = create_call(call.name, args, call.kwargs, call.span, call.attrs)
        return new if types_equal(new.type, call.type) else call

    def cut_out(self, var: Expr, inner: Call, space: MemorySpace, ahead: list[Stmt]) -> Expr:
        kind = var.type
        assert isinstance(kind, TileType) and isinstance(var, Var)
        row, col = _offset(inner)
        args = (inner.args[0], row, col, MakeTuple(kind.shape))
        call = create_call("tile.extract", args, {"target_memory": space}, inner.span)
        made = call.type
        assert isinstance(made, TileType)
        if not _same_valid(made, kind):
            return var
        new = Var(self.names.fresh(var.name_hint, "tile", space.name.lower()), made, span=inner.span)
        ahead.append(AssignStmt(new, call, span=inner.span))
        self.forget(var)
        return new

    def slice_of(self, value: Expr) -> Call | None:
        return self.slices.get(value) if isinstance(value, Var) else None

    def forget(self, var: Expr) -> None:
        """A slice has lost a reader."""
        assert isinstance(var, Var)
        self.folded.add(var)


def _behind(ahead: list[Stmt], stmt: Stmt) -> Stmt:
    if not ahead:
        return stmt
    first = replace(ahead[0], leading_comments=stmt.leading_comments)
    return seq([first, *ahead[1:], replace(stmt, leading_comments=())], stmt.span)


def _is_plain(call: Call) -> bool:
    """Whether a slice is a two-dimensional window that keeps its axes and its padding."""
    kind, source = call.type, call.args[0].type
    if len(call.args) > 4 or call.kwargs or not (isinstance(kind, TileType) and isinstance(source, TileType)):
        return False
    return len(kind.shape) == len(source.shape) == 2 and any(isinstance(a, MakeTuple) for a in call.args[2:3])


def _offset(call: Call) -> tuple[Expr, ...]:
    offset = call.args[2]
    assert isinstance(offset, MakeTuple)
    return offset.elements


def _space(value: Expr) -> MemorySpace | None:
    kind = value.type
    return kind.memory_space if isinstance(kind, TileType) else None


def _same_valid(a: TileType, b: TileType) -> bool:
    return types_equal(TileType(a.valid_shape, a.dtype), TileType(b.valid_shape, b.dtype))

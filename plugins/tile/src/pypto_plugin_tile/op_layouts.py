"""ResolveBackendOpLayouts: operands of element-wise operators lie in rows, as the vector unit reads them.

A column ``[N, 1]`` is stored column by column, which is to say that its elements follow each other: looked at as the
row ``[1, N]`` it is what the instruction takes, and so is the result. Tiles that are boxed, or stored column by column
for another reason, are copied into rows first. What was made of a value serves all its readers in a region. Windows
that may begin within a block of 32 bytes are copied out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    AssignStmt,
    Call,
    ConstInt,
    EvalStmt,
    Expr,
    Function,
    IfStmt,
    MakeTuple,
    MemorySpace,
    Mutator,
    NameSource,
    ScopeStmt,
    Stmt,
    TileLayout,
    TileType,
    Type,
    Var,
    is_column,
    replace,
    seq,
    shapes_equal,
    types_equal,
    updated,
)
from pypto_core.ops import create_call
from pypto_plugin_tile.moves import Made, changes_a_tile, changes_tiles
from pypto_plugin_tile.unaligned import copy_unaligned
from pypto_plugin_tile.unused import without_unused

_NAMES = """add sub mul div maximum minimum rem fmod adds subs muls divs maximums minimums rems fmods lrelu
and or xor shl shr ands ors xors shls shrs not exp log sqrt rsqrt recip neg abs relu sin cos cast"""
ELEMENTWISE = frozenset(f"tile.{name}" for name in _NAMES.split())
"""Operators whose instructions take rows only, and treat all elements alike."""

_ROW, _NO_BOX = TileLayout.row_major, TileLayout.none_box
_AS_ROW, _IN_ROWS = "row", "rows"


def resolve_backend_op_layouts(function: Function, ctx: Any) -> Function:
    """The kernel with its element-wise operators on rows, and its windows on blocks; the same object when they are."""
    if not function.is_incore:
        return function
    function = copy_unaligned(function)
    resolver = _Resolver(function)
    new = resolver.visit(function)
    return new if new is function else without_unused(new, resolver.made_here)


class _Resolver(Mutator):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.names = NameSource()
        self.made = Made()
        self.made_here: set[Var] = set()
        self.ahead: list[Stmt] = []
        self.changing = changes_tiles(function.body)

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """An element-wise operator gets its operands in rows, and hands its result back as it was."""
        call = node.value
        if not (isinstance(call, Call) and call.name in ELEMENTWISE):
            return node
        how = _needs(call)
        if how is None:
            return node
        try:
            stmts = self.column(node, call) if how == _AS_ROW else self.rows(node, call)
        except OpError:
            # What is valid of it has no form as a row.
            self.ahead = []
            return node
        ahead, self.ahead = self.ahead, []
        first, *rest = [*ahead, *stmts]
        return seq([replace(first, leading_comments=node.leading_comments), *rest], node.span)

    def column(self, node: AssignStmt, call: Call) -> list[Stmt]:
        """``y = op(x)`` on columns as ``y = column(op(row(x)))``."""
        args = [self.as_row(a, call) if isinstance(a.type, TileType) else a for a in call.args]
        return self.handed_back(node, call, args, "tile.reshape", _AS_ROW)

    def rows(self, node: AssignStmt, call: Call) -> list[Stmt]:
        """``y = op(x)`` with operands in rows; ``y`` in the layout that it had."""
        args = [self.in_rows(a, call) if isinstance(a.type, TileType) else a for a in call.args]
        return self.handed_back(node, call, args, "tile.move", _IN_ROWS)

    def handed_back(self, node: AssignStmt, call: Call, args: list[Expr], back: str, how: str) -> list[Stmt]:
        kind = node.var.type
        assert isinstance(kind, TileType)
        new = create_call(call.name, args, call.kwargs, call.span, call.attrs)
        if types_equal(new.type, kind):
            return [replace(node, value=new, leading_comments=())]
        inner = Var(self.names.fresh(node.var.name_hint, "tile", how), new.type, span=node.span)
        if back == "tile.reshape":
            last = create_call(back, [inner, MakeTuple(kind.shape)], {}, call.span)
        else:
            view = kind.view
            options = {"target_memory": MemorySpace.Vec, "blayout": view.blayout, "slayout": view.slayout}
            last = create_call(back, [inner], options, call.span)
        if not types_equal(last.type, replace(kind, memref=None)):
            raise OpError("the result can't be handed back as it was")
        self.made.put(node.var, how, inner)
        if kind.memref is None:
            self.made_here.add(node.var)
        return [
            AssignStmt(inner, new, span=node.span),
            replace(node, value=last, leading_comments=()),
        ]

    def as_row(self, value: Expr, call: Call) -> Expr:
        kind = value.type
        assert isinstance(kind, TileType)
        shape = MakeTuple((ConstInt(1), kind.shape[0]))
        return self.once(value, _AS_ROW, lambda: create_call("tile.reshape", [value, shape], {}, call.span))

    def in_rows(self, value: Expr, call: Call) -> Expr:
        kind = value.type
        assert isinstance(kind, TileType)
        if _in_rows(kind):
            return value
        options = {"target_memory": MemorySpace.Vec, "blayout": _ROW, "slayout": _NO_BOX}
        return self.once(value, _IN_ROWS, lambda: create_call("tile.move", [value], options, call.span))

    def once(self, value: Expr, how: str, make: Callable[[], Call]) -> Expr:
        known = self.made.get(value, how)
        if known is None:
            call = make()
            base = value.name_hint if isinstance(value, Var) else "operand"
            known = Var(self.names.fresh(base, "tile", how), call.type, span=call.span)
            self.ahead.append(AssignStmt(known, call, span=call.span))
            self.made.put(value, how, known)
            self.made_here.add(known)
        return known

    # -- regions

    def visit_eval_stmt(self, node: EvalStmt) -> Stmt:
        """A tile that is changed under its name has to be looked at again."""
        if isinstance(node.expr, Call) and changes_a_tile(node.expr):
            self.made = Made()
        return node

    def nested(self, body: Stmt, *, again: bool = False) -> Stmt:
        """What is made in a region stays in it."""
        outer, changes = self.made, self.changing and changes_tiles(body)
        self.made = Made() if again and changes else Made(outer)
        new = self.visit(body)
        self.made = Made() if changes else outer
        return new

    def visit_for_stmt(self, node: Any) -> Stmt:
        """A loop's body may run again."""
        return updated(node, body=self.nested(node.body, again=True))

    visit_while_stmt = visit_for_stmt

    def visit_scope_stmt(self, node: ScopeStmt) -> Stmt:
        """As for branches."""
        return updated(node, body=self.nested(node.body))

    def visit_if_stmt(self, node: IfStmt) -> Stmt:
        """Both branches see what was made before."""
        before = self.made
        then_body = self.nested(node.then_body)
        after, self.made = self.made, before
        else_body = None if node.else_body is None else self.nested(node.else_body)
        if after is not before:
            self.made = after
        return updated(node, then_body=then_body, else_body=else_body)


def _needs(call: Call) -> str | None:
    """What has to be done about the tiles of an operator: nothing, look at columns as rows, or copy into rows."""
    kinds = [a.type for a in call.args if isinstance(a.type, TileType)]
    if not kinds or not all(k.memory_space is MemorySpace.Vec for k in kinds):
        return None
    if all(_is_flat_column(k) and shapes_equal(k.shape, kinds[0].shape) for k in kinds) and _is_flat_column(
        call.type
    ):
        return _AS_ROW
    return None if all(_in_rows(k) or _is_flat_column(k) for k in kinds) else _IN_ROWS


def _is_flat_column(kind: Type) -> bool:
    return (
        isinstance(kind, TileType)
        and is_column(kind.shape)
        and kind.view.slayout is _NO_BOX
        and kind.view.blayout is TileLayout.col_major
    )


def _in_rows(kind: TileType) -> bool:
    return kind.view.slayout is _NO_BOX and kind.view.blayout is _ROW

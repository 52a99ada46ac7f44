"""Values for paths on which a variable is never read: what a phi or carry takes where nothing was assigned."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    ArrayType,
    AssignStmt,
    Call,
    CompactMode,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    Expr,
    Function,
    MakeTuple,
    MemorySpace,
    NameSource,
    ScalarType,
    Stmt,
    TensorType,
    TileType,
    TupleType,
    Type,
    Var,
    base_name,
    replace,
    static_shape,
    types_equal,
    walk_stmts,
)
from pypto_core.ops import alias_source, create_call


class Placeholders:
    """Makes values of a type. ``current`` gives a variable's value at the place, None when it has none."""

    def __init__(
        self, function: Function, body: Stmt, names: NameSource, current: Callable[[Var], Expr | None]
    ) -> None:
        self.function, self.body, self.names, self.current = function, body, names, current

    def make(self, var: Var, kind: Type, ahead: list[Stmt], span: Span) -> Expr:
        """A value of ``kind`` for ``var``; statements that make it are appended to ``ahead``.

        Raises UserError PT332 for types of which none can be made.
        """
        value = self._plain(kind, span)
        if value is not None:
            return value
        if isinstance(kind, TensorType):
            root = self._written(var)
            if root is not None and types_equal(root.type, kind):
                return root
        call = self._call(kind, span)
        if call is None:
            name = base_name(var.name_hint)
            raise UserError(
                f"'{name}' gets its first value inside this branch or loop and is used after it",
                code="PT332",
                span=span,
                facts={"function": self.function.name},
                remedy=f"assign '{name}' before it",
            )
        new = Var(self.names.fresh(var.name_hint, "ssa"), kind, span=var.span)
        ahead.append(AssignStmt(new, call, span=span))
        return new

    def _plain(self, kind: Type, span: Span) -> Expr | None:
        if isinstance(kind, TupleType):
            parts = [self._plain(part, span) for part in kind.types]
            return None if None in parts else MakeTuple(tuple(p for p in parts if p is not None), span=span)
        if not isinstance(kind, ScalarType):
            return None
        if kind.dtype is DataType.TASK_ID:
            return create_call("system.task_invalid", (), span=span)
        if kind.dtype is DataType.BOOL:
            return ConstBool(False, span=span)
        if kind.dtype.is_float:
            return ConstFloat(0.0, kind.dtype, span=span)
        return ConstInt(0, kind.dtype, span=span)

    def _call(self, kind: Type, span: Span) -> Call | None:
        if isinstance(kind, ArrayType):
            return create_call("array.create", (ConstInt(kind.extent),), {"dtype": kind.dtype}, span)
        if isinstance(kind, TensorType):
            if self.function.is_incore or kind.tensor_view is not None:
                return None
            return create_call("tensor.create", (MakeTuple(kind.shape),), {"dtype": kind.dtype}, span)
        if not isinstance(kind, TileType) or static_shape(kind.shape) is None:
            return None
        options: dict[str, object] = {
            "dtype": kind.dtype,
            "target_memory": kind.memory_space or MemorySpace.Vec,
        }
        if kind.view.compact is not CompactMode.null:
            options["compact"] = True
        call = create_call("tile.create", (MakeTuple(kind.shape),), options, span)
        return call if types_equal(call.type, kind) else replace(call, type=kind)

    @cached_property
    def _sources(self) -> dict[Var, Var]:
        """For each variable that names a part of another tensor or what was written to it: that other one."""
        found: dict[Var, Var] = {}
        for stmt in walk_stmts(self.body):
            if isinstance(stmt, AssignStmt) and isinstance(stmt.var.type, TensorType):
                value: Expr = stmt.value
                if isinstance(value, Call):
                    index = alias_source(value)
                    value = value if index is None else value.args[index]
                if isinstance(value, Var) and value is not stmt.var:
                    found.setdefault(stmt.var, value)
        return found

    def _written(self, var: Var) -> Expr | None:
        """The tensor that ``var`` will be another name of (``y = pl.store(t, at, out)``: ``out``)."""
        seen = {var}
        current = self._sources.get(var)
        while current is not None and current not in seen:
            value = self.current(current)
            if value is not None:
                return value
            seen.add(current)
            current = self._sources.get(current)
        return None

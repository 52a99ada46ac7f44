"""Types that follow their values: what a rewritten call or assignment has for a type.

A type that names variables (valid extents, slots) was written where these had certain values. When one of them gets
another name, an operand's type may say what the deduced one no longer can by renaming alone; the extents are then
deduced again, and everything that an author or a pass added to the type is kept.
"""

from __future__ import annotations

from pypto_core.diagnostics import DiagnosticError
from pypto_core.ir import (
    AssignStmt,
    Call,
    Expr,
    Mutator,
    Stmt,
    TensorType,
    TensorView,
    TileType,
    TupleType,
    Type,
    Var,
    replace,
    type_vars,
    updated,
)
from pypto_core.ops import op_of, rebuild_call


def is_open(kind: Type) -> bool:
    """Whether the type mentions a variable."""
    return next(type_vars(kind), None) is not None


def following(kind: Type, deduced: Type) -> Type:
    """``kind`` with the extents of ``deduced``; ``kind`` itself when they are of different kinds."""
    if kind is deduced:
        return kind
    if isinstance(kind, TileType) and isinstance(deduced, TileType) and len(kind.shape) == len(deduced.shape):
        valid = () if deduced.is_fully_valid else deduced.valid_shape
        view = kind.tile_view
        if view is not None or valid:
            view = replace(kind.view, valid_shape=valid)
        return TileType(deduced.shape, kind.dtype, kind.memref, view, kind.memory_space)
    if isinstance(kind, TensorType) and isinstance(deduced, TensorType):
        if len(kind.shape) != len(deduced.shape):
            return kind
        valid = deduced.tensor_view.valid_shape if deduced.tensor_view is not None else ()
        stored = kind.tensor_view
        if stored is not None or valid:
            stored = replace(stored or TensorView(), valid_shape=valid)
        return TensorType(deduced.shape, kind.dtype, kind.memref, stored)
    if isinstance(kind, TupleType) and isinstance(deduced, TupleType):
        if len(kind.types) == len(deduced.types):
            return TupleType(tuple(map(following, kind.types, deduced.types)))
    return kind


class TypeFollower(Mutator):
    """Renames variables so that types follow: subclasses say with :meth:`define` what a definition becomes."""

    def define(self, var: Var, kind: Type) -> Var:
        """The variable that is assigned instead of ``var``, of type ``kind``; itself where the type stays."""
        return var if kind is var.type else Var(var.name_hint, kind, span=var.span)

    def visit_def(self, var: Var) -> Var:
        """A definition whose type is the variable's own."""
        return self.define(var, self.visit_type(var.type))

    def visit_call(self, node: Call) -> Expr:
        """The call with its arguments renamed; an open type is deduced again from them."""
        new = super().visit_call(node)
        if not isinstance(new, Call) or new.args is node.args or not is_open(node.type):
            return new
        return _deduced_again(new)

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Rename in the value first: it may use the variable that is assigned."""
        value = self.visit(node.value)
        kind = node.var.type
        if kind is node.value.type:
            kind = value.type
        elif is_open(kind):
            kind = following(self.visit_type(kind), value.type)
        return updated(node, var=self.define(node.var, kind), value=value)


def _deduced_again(call: Call) -> Call:
    if op_of(call) is None:
        return call
    try:
        fresh = rebuild_call(call, call.args)
    except DiagnosticError as error:
        raise error.located(call.span) from error.__cause__
    kind = following(call.type, fresh.type)
    return call if kind is call.type else replace(call, type=kind)

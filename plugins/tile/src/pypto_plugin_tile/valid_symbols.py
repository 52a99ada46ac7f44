"""MaterializeValidShapeSymbols: extents that only a declared valid shape names become parameters.

A kernel may be declared for a tensor of which ``n`` rows are valid, where ``n`` is neither a parameter nor an extent
of any tensor: then nothing tells the kernel how many there are. Such symbols become leading parameters, and callers
hand in the valid extent of what they pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    ARG_DIRECTIONS,
    ArgDirection,
    Call,
    Expr,
    Function,
    FunctionType,
    GlobalVar,
    Mutator,
    ParamDirection,
    Program,
    Submit,
    TensorType,
    Var,
    base_name,
    dims_equal,
    map_functions,
    prove_eq,
    replace,
    type_vars,
)
from pypto_core.ops import extent_text

_ON_DEVICE = (FunctionType.InCore, FunctionType.AIC, FunctionType.AIV, FunctionType.Spmd)

Slots = tuple[tuple[int, int], ...]
"""(parameter, axis) where a symbol stands."""


@attrs.frozen(eq=False)
class Symbols:
    """The symbols of a function in the order of their declaration, each with the places that say it."""

    function: Function
    places: tuple[tuple[Var, Slots], ...]


def materialize_valid_shape_symbols(program: Program, ctx: Any) -> Program:
    """The program with such symbols as parameters and arguments; the same object when it has none.

    Raises UserError for a symbol that stands only within larger expressions (PT345), for calls that give one symbol
    two extents (PT346), and for calls without the argument that would say it (PT347).
    """
    symbols = {f.name: s for f in program if f.func_type in _ON_DEVICE and (s := _symbols(f)).places}
    if not symbols:
        return program

    def change(function: Function) -> Function:
        return _Passing(symbols).visit(_declared(function, symbols.get(function.name)))

    return map_functions(program, change)


def _symbols(function: Function) -> Symbols:
    known = set(function.params)
    for param in function.params:
        if isinstance(param.type, TensorType):
            known.update(v for extent in param.type.shape for v in type_vars(extent))
    places: dict[Var, list[tuple[int, int]]] = {}
    within: dict[Var, Expr] = {}
    for position, axis, extent in _valid_extents(function):
        if isinstance(extent, Var):
            if extent not in known:
                places.setdefault(extent, []).append((position, axis))
        else:
            for var in type_vars(extent):
                if var not in known:
                    within.setdefault(var, extent)
    for var, extent in within.items():
        if var not in places:
            raise UserError(
                f"nothing says what '{base_name(var.name_hint)}' is in kernel '{function.name}'",
                code="PT345",
                span=function.span,
                facts={"valid extent": extent_text(extent)},
                remedy="name it alone in some valid_shape, or make it a parameter",
            )
    return Symbols(function, tuple((var, tuple(slots)) for var, slots in places.items()))


def _valid_extents(function: Function) -> Iterator[tuple[int, int, Expr]]:
    for position, param in enumerate(function.params):
        view = param.type.tensor_view if isinstance(param.type, TensorType) else None
        for axis, extent in enumerate(view.valid_shape if view is not None else ()):
            yield position, axis, extent


def _declared(function: Function, symbols: Symbols | None) -> Function:
    if symbols is None:
        return function
    new = tuple(var for var, _ in symbols.places)
    return replace(
        function,
        params=(*new, *function.params),
        param_directions=((ParamDirection.In,) * len(new) + function.param_directions),
    )


class _Passing(Mutator):
    def __init__(self, symbols: dict[str, Symbols]) -> None:
        super().__init__()
        self.symbols = symbols

    def visit_call(self, node: Call) -> Expr:
        """A call of a kernel with symbols hands them in."""
        new = super().visit_call(node)
        return self.passing(new) if isinstance(new, Call) and isinstance(new.op, GlobalVar) else new

    def visit_submit(self, node: Submit) -> Expr:
        """As for calls."""
        return self.passing(self.mutate_children(node))

    def passing(self, call: Any) -> Expr:
        symbols = self.symbols.get(call.op.name)
        if symbols is None:
            return call
        extra = tuple(_extent(call, var, slots) for var, slots in symbols.places)
        notes = call.attrs
        if ARG_DIRECTIONS in notes:
            scalars = (ArgDirection.Scalar,) * len(extra)
            notes = {**notes, ARG_DIRECTIONS: (*scalars, *notes[ARG_DIRECTIONS])}
        return replace(call, args=(*extra, *call.args), attrs=notes)


def _extent(call: Call | Submit, symbol: Var, slots: Slots) -> Expr:
    """What a call says of a symbol."""
    name, found = base_name(symbol.name_hint), None
    for position, axis in slots:
        kind = call.args[position].type if position < len(call.args) else None
        if not isinstance(kind, TensorType):
            raise UserError(
                f"the call of '{call.op.name}' lacks the argument that says what '{name}' is",
                code="PT347",
                span=call.span,
                facts={"argument": position},
                remedy=f"pass the tensor whose valid extent '{name}' stands for",
            )
        extent = kind.valid_shape[axis]
        if found is not None and not (dims_equal(found, extent) or prove_eq(found, extent)):
            raise UserError(
                f"the call of '{call.op.name}' gives '{name}' two extents",
                code="PT346",
                span=call.span,
                facts={"one": extent_text(found), "other": extent_text(extent)},
                remedy="pass tensors of one valid extent there, or declare two symbols",
            )
        found = extent if found is None else found
    assert found is not None
    return found

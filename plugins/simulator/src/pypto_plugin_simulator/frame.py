"""The variables of one function while it runs, and how parameters take their arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from pypto_core.contract import ArrayValue, BlockPosition
from pypto_core.diagnostics import UNKNOWN_SPAN, Span, UserError
from pypto_core.ir import (
    ConstInt,
    Expr,
    Function,
    ScalarType,
    TensorType,
    TileType,
    Var,
    base_name,
)
from pypto_core.ops import extent_text
from pypto_plugin_simulator.extents import learn
from pypto_plugin_simulator.formats import scalar_of


@attrs.define(eq=False)
class Frame:
    """One running function: its variables, its place in the launch, how deep the calls are.

    ``core``: what the engine keeps for the core that it runs on, the same for the functions that it calls.
    """

    function: Function
    env: dict[Var, Any] = attrs.field(factory=dict)
    block: BlockPosition = BlockPosition()
    launched: bool = False
    depth: int = 0
    core: dict[str, Any] = attrs.field(factory=dict)

    def read(self, var: Var) -> Any:
        """The variable's value; an error when it has none."""
        try:
            return self.env[var]
        except KeyError:
            raise UserError(
                f"'{base_name(var.name_hint)}' has no value here",
                code="SIM-002",
                facts={"function": self.function.name},
                remedy="assign it on every path that leads here",
            ) from None


def bind_parameters(
    frame: Frame, arguments: Sequence[Any], span: Span = UNKNOWN_SPAN, params: Sequence[Var] | None = None
) -> list[tuple[Expr, int, str]]:
    """Give the parameters of ``frame``'s function their values, and the symbolic extents theirs.

    Extents that are a parameter's own come first; what is still unknown is learnt from composite ones.

    ``params``: the parameters that ``arguments`` belong to, all of them when None.

    Returns the composite extents (``M * 2``) with the extent found and the parameter's name, to be compared once they
    can be evaluated. Raises UserError for arguments that don't fit the parameters' types.
    """
    function = frame.function
    params = function.params if params is None else params
    if len(arguments) != len(params):
        raise UserError(
            f"function '{function.name}' takes {len(params)} arguments, not {len(arguments)}",
            code="SIM-003",
            span=span,
            facts={"parameters": ", ".join(base_name(p.name_hint) for p in function.params)},
        )
    composite: list[tuple[Expr, int, str]] = []
    for param, value in zip(params, arguments, strict=True):
        if isinstance(param.type, ScalarType):
            value = scalar_of(value, param.type.dtype)
        frame.env[param] = value
    for param, value in zip(params, arguments, strict=True):
        kind = param.type
        if isinstance(kind, TensorType | TileType) and isinstance(value, ArrayValue):
            name = base_name(param.name_hint)
            _check_format(name, kind, value, span)
            composite += _bind_extents(frame, name, kind.shape, value.shape, span)
            _bind_valid(frame, kind, value)
    for dim, extent, name in learn(composite, frame.env):
        raise UserError(
            f"'{extent_text(dim)}' is {extent} in the argument for '{name}', which leaves open what its variables are",
            code="SIM-003",
            span=span,
            remedy="give some parameter an extent that is the variable alone, or a sum or product with it",
        )
    return composite


def _check_format(name: str, kind: TensorType | TileType, value: ArrayValue, span: Span) -> None:
    if value.dtype is not kind.dtype:
        raise UserError(
            f"'{name}' holds {kind.dtype}, its argument {value.dtype}",
            code="SIM-003",
            span=span,
            remedy="convert the argument to the parameter's element type",
        )
    if len(value.shape) != len(kind.shape):
        raise UserError(
            f"'{name}' has {len(kind.shape)} dimensions, its argument {len(value.shape)}",
            code="SIM-003",
            span=span,
            facts={"parameter": kind, "argument": list(value.shape)},
            remedy="bring the argument to the parameter's number of dimensions",
        )


def _bind_extents(
    frame: Frame, name: str, dims: Iterable[Expr], extents: Iterable[int], span: Span
) -> list[tuple[Expr, int, str]]:
    later: list[tuple[Expr, int, str]] = []
    for axis, (dim, extent) in enumerate(zip(dims, extents, strict=True)):
        if isinstance(dim, Var):
            known = frame.env.setdefault(dim, extent)
        elif isinstance(dim, ConstInt):
            known = dim.value
        else:
            later.append((dim, extent, name))
            continue
        if known != extent:
            raise mismatch(name, axis, extent, known, span)
    return later


def mismatch(name: str, axis: int | None, extent: int, wanted: int, span: Span = UNKNOWN_SPAN) -> UserError:
    """The error for an argument whose extent is not what its parameter's type says."""
    where = "an extent" if axis is None else f"extent {axis}"
    return UserError(
        f"{where} of '{name}' is {extent}, its parameter's type says {wanted}",
        code="SIM-003",
        span=span,
        remedy="pass an array of the declared shape, or declare the extent with pl.dynamic",
    )


def _bind_valid(frame: Frame, kind: TensorType | TileType, value: ArrayValue) -> None:
    for dim, extent in zip(kind.valid_shape, value.valid, strict=True):
        if isinstance(dim, Var):
            frame.env.setdefault(dim, extent)

"""From the user's arrays to the entry function's parameters, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pypto_core.contract import ArrayValue, DistributedValue, RunResult
from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    DataType,
    DistributedTensorType,
    Function,
    ParamDirection,
    ScalarType,
    TensorType,
    TileType,
    Var,
    base_name,
)
from pypto_plugin_simulator.formats import Array, numpy_dtype, poisoned
from pypto_plugin_simulator.frame import Frame, bind_parameters
from pypto_plugin_simulator.interpreter import Interpreter


def bind_inputs(
    function: Function, inputs: Mapping[str, Any] | Iterable[Any], run: Interpreter
) -> tuple[Any, ...]:
    """One value per parameter: copies of the inputs, undefined storage for Out parameters that are not given."""
    given = _by_position(function, inputs)
    arguments: list[Any] = [
        None if value is _MISSING else _argument(param, value)
        for param, value in zip(function.params, given, strict=True)
    ]
    missing = [
        (param, direction)
        for param, direction, value in zip(function.params, function.param_directions, given, strict=True)
        if value is _MISSING
    ]
    for param, direction in missing:
        if direction is not ParamDirection.Out or not isinstance(param.type, TensorType):
            raise UserError(
                f"no input is given for '{base_name(param.name_hint)}'",
                code="SIM-003",
                span=param.span,
                facts={"function": function.name, "type": param.type},
                remedy="give all parameters that are read; those that are only written may be left out",
            )
    if missing:
        _make_outputs(function, arguments, run)
    return tuple(arguments)


class _Missing:
    pass


_MISSING = _Missing()


def _by_position(function: Function, inputs: Mapping[str, Any] | Iterable[Any]) -> list[Any]:
    if not isinstance(inputs, Mapping):
        values: list[Any] = list(inputs)
        if len(values) > len(function.params):
            raise UserError(
                f"{len(values)} inputs are given for the {len(function.params)} parameters of '{function.name}'",
                code="SIM-003",
                span=function.span,
            )
        return values + [_MISSING] * (len(function.params) - len(values))
    names = _names(function)
    left: dict[str, Any] = {**inputs}
    out = [
        left.pop(name) if name in left else left.pop(param.name_hint, _MISSING)
        for name, param in zip(names, function.params, strict=True)
    ]
    if left:
        raise UserError(
            f"'{function.name}' has no parameter '{next(iter(left))}'",
            code="SIM-003",
            span=function.span,
            facts={"parameters": ", ".join(names)},
            remedy="name inputs as the parameters are named",
        )
    return out


def _names(function: Function) -> list[str]:
    """The author's names of the parameters; the full ones where two would be equal."""
    short = [base_name(p.name_hint) for p in function.params]
    return [
        p.name_hint if short.count(name) > 1 else name for name, p in zip(short, function.params, strict=True)
    ]


def _check_number(param: Var, dtype: DataType, number: float) -> None:
    """An integer parameter takes integers; one out of range wraps as it does on its way to the device."""
    if dtype.is_int and not isinstance(number, int):
        raise UserError(
            f"'{base_name(param.name_hint)}' is of type {dtype}, which has no value {number}",
            code="SIM-003",
            span=param.span,
            remedy="give an integer",
        )


def _argument(param: Var, value: Any) -> Any:
    kind = param.type
    name = base_name(param.name_hint)
    if isinstance(kind, ScalarType):
        number: Any = value.item() if hasattr(value, "item") and np.size(value) == 1 else value
        if type(number) in (bool, int, float):
            _check_number(param, kind.dtype, number)
            return number
        raise UserError(
            f"'{name}' takes a number, not a {type(value).__name__}", code="SIM-003", span=param.span
        )
    if not isinstance(kind, TensorType | TileType):
        return value
    wanted = numpy_dtype(kind.dtype)
    array = _copied(name, param, value, wanted)
    if array.dtype != wanted:
        raise UserError(
            f"'{name}' holds {kind.dtype}, the input is an array of {array.dtype}",
            code="SIM-003",
            span=param.span,
            remedy=f"convert it with array.astype({wanted.name!r})",
        )
    return _tensor_value(kind, array)


def _tensor_value(kind: TensorType | TileType, array: Array) -> ArrayValue:
    """An array of a parameter's type; a distributed tensor has no other part where a run begins with a kernel."""
    if isinstance(kind, DistributedTensorType):
        return DistributedValue(array, kind.dtype, array.shape, array.shape, is_tensor=True, parts=(array,))
    return ArrayValue(array, kind.dtype, array.shape, array.shape, isinstance(kind, TensorType))


def _copied(name: str, param: Var, value: Any, wanted: Any) -> Array:
    """A copy in row-major order; lists are brought to the wanted format, arrays keep theirs."""
    try:
        return np.array(value, getattr(value, "dtype", wanted), copy=True, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise UserError(
            f"the input for '{name}' is no array of {param.type!r}: {error}", code="SIM-003", span=param.span
        ) from None


def _make_outputs(function: Function, arguments: list[Any], run: Interpreter) -> None:
    """Undefined storage for the arguments that are None, of the extents that the others determine."""
    frame = Frame(function)
    known = [(p, a) for p, a in zip(function.params, arguments, strict=True) if a is not None]
    bind_parameters(frame, [a for _, a in known], params=[p for p, _ in known])
    for index, param in enumerate(function.params):
        if arguments[index] is not None:
            continue
        assert isinstance(param.type, TensorType)
        shape = tuple(_extent(run, frame, param, dim) for dim in param.type.shape)
        arguments[index] = _tensor_value(param.type, poisoned(shape, param.type.dtype))


def _extent(run: Interpreter, frame: Frame, param: Var, dim: Any) -> int:
    try:
        return int(run.evaluate(dim, frame))
    except UserError:
        raise UserError(
            f"the extents of '{base_name(param.name_hint)}' don't follow from the inputs",
            code="SIM-003",
            span=param.span,
            remedy="give an array for it",
        ) from None


def collect(function: Function, arguments: Sequence[Any], returned: Sequence[Any]) -> RunResult:
    """The arrays of the parameters that are written, and what was returned."""
    outputs = {
        name: value.data
        for name, value, direction in zip(_names(function), arguments, function.param_directions, strict=True)
        if direction is not ParamDirection.In and isinstance(value, ArrayValue)
    }
    return RunResult(outputs, tuple(_plain(value) for value in returned))


def _plain(value: Any) -> Any:
    if isinstance(value, ArrayValue):
        return value.data
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)  # pyright: ignore[reportUnknownVariableType]
    return value

"""Runs single operators on tiles and tensors made from arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from pypto_core.ir import DataType, Expr, TileLayout, TileType, box_shape, defined_vars, static_shape
from pypto_core.testing import build as b
from pypto_core.testing import same_elements
from pypto_plugin_simulator.formats import numpy_dtype, poison
from pypto_plugin_simulator.machine import run as on_bytes
from pypto_plugin_simulator.values import run

# The helpers beside the tests are plain modules; no package, as every plugin has a folder of this name.
sys.path.insert(0, str(Path(__file__).parent))


@attrs.frozen(eq=False)
class Given:
    """An operand: an array of an element type, of which ``valid`` holds data."""

    array: Any
    dtype: DataType
    valid: tuple[int, ...] | None = None

    @property
    def part(self) -> Any:
        """What is valid, as the test sees it."""
        return self.array[tuple(slice(0, n) for n in self.valid or self.array.shape)]


def _tile(name: str, given: Given, stmts: list[Any]) -> tuple[Any, Any]:
    param = b.tensor(name, given.array.shape, given.dtype)
    shape = given.array.shape
    loaded = b.let(
        f"{name}_t",
        b.op("tile.load", param, b.dims(*[0] * len(shape)), b.dims(*shape), b.dims(*(given.valid or shape))),
    )
    stmts.append(loaded)
    return param, loaded.var


def _run_op(name: str, *operands: Given | Expr | Sequence[int] | float, **options: Any) -> Any:
    stmts: list[Any] = []
    params, args, inputs = [], [], []
    for position, operand in enumerate(operands):
        if not isinstance(operand, Given):
            args.append(b.dims(*operand) if isinstance(operand, tuple | list) else operand)
            continue
        array = np.asarray(operand.array, numpy_dtype(operand.dtype))
        param = b.tensor(f"x{position}", array.shape, operand.dtype)
        arg: Any = param
        if name.startswith("tile."):
            param, arg = _tile(f"x{position}", attrs.evolve(operand, array=array), stmts)
        elif operand.valid is not None:
            narrowed = b.let(f"v{position}", b.op("tensor.set_validshape", param, *operand.valid))
            stmts.append(narrowed)
            arg = narrowed.var
        params.append(param)
        args.append(arg)
        inputs.append(array)
    result = b.let("y", b.op(name, *args, **options))
    kind = result.var.type
    returns = (kind,)
    function = b.kernel("k", params, [*stmts, result, b.ret(result.var)], returns=returns)
    result = run(function, inputs).returns[0]
    if name.startswith("tile."):
        _same_on_bytes(function, inputs, result)
    return result


def _fills_boxes(kind: Any) -> bool:
    """Whether a tile's boxes fit what it is given, as those of the machine have to."""
    if not isinstance(kind, TileType):
        return True
    shape, view = static_shape(kind.shape), kind.view
    if shape is None or view.slayout is TileLayout.none_box:
        return shape is not None
    axis = -1 if view.blayout is TileLayout.col_major else -2  # the last box of the other axis may be cut off
    return len(shape) > 1 and shape[axis] % box_shape(view, kind.dtype)[axis] == 0


def _same_on_bytes(function: Any, inputs: Any, result: Any) -> None:
    """Whatever an operator gives as a value it gives on bytes, in the layouts of its operands and result."""
    if not all(_fills_boxes(var.type) for var in defined_vars(function.body)):
        return
    found = on_bytes(function, inputs).returns[0]
    if not isinstance(result, np.ndarray):
        assert found == result or (found != found and result != result)
        return
    undefined = same_elements(found, np.full_like(found, poison(function.return_types[0].dtype)))
    assert (same_elements(result, found) | undefined).all()


@pytest.fixture(scope="session")
def run_op() -> Callable[..., Any]:
    """``run_op(name, *operands, **options)``: the result of one operator, undefined elements and all."""
    return _run_op


@pytest.fixture(scope="session")
def given_array() -> type[Given]:
    """Makes operands for ``run_op``."""
    return Given

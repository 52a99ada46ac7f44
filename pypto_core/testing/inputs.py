"""Random inputs for a function, made from the types of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    Add,
    ConstInt,
    DataType,
    Expr,
    FloorDiv,
    FloorMod,
    Function,
    Max,
    Min,
    Mul,
    ScalarType,
    Sub,
    TensorType,
    TileType,
    Var,
    base_name,
    int_range,
)

if TYPE_CHECKING:
    import numpy as np

DEFAULT_EXTENT = 32
"""What an extent is that neither the types nor the caller fix."""

_ARITHMETIC: dict[type, Callable[[int, int], int]] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    FloorDiv: lambda a, b: a // b,
    FloorMod: lambda a, b: a % b,
    Min: min,
    Max: max,
}

_ML_DTYPES: dict[DataType, str] = {
    DataType.INT4: "int4",
    DataType.UINT4: "uint4",
    DataType.BF16: "bfloat16",
    DataType.FP4: "float4_e2m1fn",
    DataType.FP8E4M3FN: "float8_e4m3fn",
    DataType.FP8E5M2: "float8_e5m2",
    DataType.FP8E8M0: "float8_e8m0fnu",
}
_NUMPY: dict[DataType, str] = {
    DataType.BOOL: "bool",
    DataType.INDEX: "int64",
    DataType.FP16: "float16",
    DataType.FP32: "float32",
    DataType.FP64: "float64",
}


def random_inputs(function: Function, seed: int = 0, dims: Mapping[str, int] | None = None) -> dict[str, Any]:
    """An array or number for every parameter of ``function``, by the author's names.

    Floats lie in [0.25, 2) with either sign, so that sums don't drown single elements and quotients stay tame; integers
    of 8 bits and less take their whole range, wider ones [-1000, 1000); integer scalars lie in [1, 8]. ``dims`` fixes
    symbolic extents and scalars by name; other extents are :data:`DEFAULT_EXTENT`. Out parameters get content too: what
    a function leaves alone can then be told from what it writes. The same seed gives the same inputs.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    fixed = {**(dims or {})}
    out: dict[str, Any] = {}
    for param in function.params:
        name = base_name(param.name_hint)
        kind = param.type
        if isinstance(kind, ScalarType):
            number = _scalar(rng, kind.dtype)
            # A scalar that is also an extent must agree with it, so it is fixed from here on.
            out[name] = fixed.setdefault(name, int(number)) if kind.dtype.is_int else fixed.get(name, number)
        elif isinstance(kind, TensorType | TileType):
            shape = tuple(_extent(dim, fixed) for dim in kind.shape)
            out[name] = random_array(rng, kind.dtype, shape)
        else:
            raise UserError(
                f"no random input can be made for '{name}'",
                code="PT531",
                span=param.span,
                facts={"type": kind},
                remedy="pass the inputs",
            )
    return out


def _extent(dim: Expr, fixed: dict[str, int]) -> int:
    if isinstance(dim, ConstInt):
        return dim.value
    if isinstance(dim, Var):
        return fixed.setdefault(base_name(dim.name_hint), DEFAULT_EXTENT)
    function = _ARITHMETIC.get(type(dim))
    if function is None:
        raise UserError(f"the extent {dim!r} can't be worked out", code="PT531", remedy="pass the inputs")
    return function(_extent(dim.left, fixed), _extent(dim.right, fixed))  # type: ignore[attr-defined]


def _scalar(rng: np.random.Generator, dtype: DataType) -> int | float | bool:
    if dtype is DataType.BOOL:
        return bool(rng.integers(2))
    return float(_floats(rng, ())) if dtype.is_float else int(rng.integers(1, 9))


def _floats(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.uniform(0.25, 2.0, shape) * rng.choice([-1.0, 1.0], shape)


def random_array(rng: np.random.Generator, dtype: DataType, shape: tuple[int, ...]) -> Any:
    """An array of random elements of the exact format of ``dtype``."""
    import numpy as np

    kind = numpy_type(dtype)
    if dtype is DataType.BOOL:
        return rng.integers(2, size=shape).astype(np.bool_)
    if dtype is DataType.FP8E8M0:  # powers of two, none of them negative
        return np.exp2(rng.integers(-3, 4, shape).astype(np.float64)).astype(kind)
    if dtype.is_float:
        return _floats(rng, shape).astype(np.float32).astype(kind)
    low, high = int_range(dtype)
    if dtype.bits > 8:
        low, high = max(low, -1000), 999
    # By way of int8, from which the four-bit types convert.
    drawn = rng.integers(low, high + 1, shape)
    return drawn.astype(np.int8).astype(kind) if dtype.bits < 8 else drawn.astype(kind)


def numpy_type(dtype: DataType) -> Any:
    """The numpy type of ``dtype``. Raises UserError for types that neither numpy nor ml_dtypes has."""
    import numpy as np

    if dtype in _ML_DTYPES:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, _ML_DTYPES[dtype]))
    name = _NUMPY.get(dtype, dtype.name.lower())
    try:
        return np.dtype(name)
    except TypeError:
        raise UserError(f"numpy has no type for {dtype}", code="PT531", remedy="pass the inputs") from None

"""Arrays of any library: what is known of them without looking at elements, and their memory as numpy sees it.

Nothing is imported for a library that is not in use: an array brings the protocols along by which it is read.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from pypto_core.diagnostics import UserError
from pypto_core.ir import DataType
from pypto_core.language.templates import ArrayLike

_DTYPES: Mapping[str, DataType] = MappingProxyType(
    {
        "bool": DataType.BOOL,
        "bool_": DataType.BOOL,
        "int4": DataType.INT4,
        "int8": DataType.INT8,
        "int16": DataType.INT16,
        "int32": DataType.INT32,
        "int64": DataType.INT64,
        "uint4": DataType.UINT4,
        "uint8": DataType.UINT8,
        "uint16": DataType.UINT16,
        "uint32": DataType.UINT32,
        "uint64": DataType.UINT64,
        "float4_e2m1fn": DataType.FP4,
        "float8_e4m3fn": DataType.FP8E4M3FN,
        "float8_e5m2": DataType.FP8E5M2,
        "float8_e8m0fnu": DataType.FP8E8M0,
        "float16": DataType.FP16,
        "bfloat16": DataType.BF16,
        "float32": DataType.FP32,
        "float64": DataType.FP64,
    }
)
_PROTOCOLS = ("__array_interface__", "__dlpack__", "__array__")
# Element types that numpy has no name for travel as integers of their width.
_CARRIERS = {"bfloat16": "int16", "float8_e4m3fn": "int8", "float8_e5m2": "int8", "float8_e8m0fnu": "int8"}


def is_array(value: Any) -> bool:
    """Whether a value is an array: it has extents and an element type, or hands out its memory."""
    return (hasattr(value, "shape") and hasattr(value, "dtype")) or any(hasattr(value, p) for p in _PROTOCOLS)


def number_of(value: Any) -> Any:
    """The Python number in an array without axes, such as ``numpy.float32(2)``; anything else as it is."""
    if is_array(value) and tuple(getattr(value, "shape", (0,))) == () and hasattr(value, "item"):
        return value.item()
    return value


def described(value: Any, name: str) -> ArrayLike:
    """Extents and element type of an array; raises UserError (PT830) for one that no kernel can take."""
    if not (hasattr(value, "shape") and hasattr(value, "dtype")):
        value = as_numpy(value, name)
    shape, text = tuple(value.shape), _dtype_text(value.dtype)
    dtype = value.dtype if isinstance(value.dtype, DataType) else _DTYPES.get(text)
    if dtype is None:
        raise UserError(
            f"'{name}' holds elements of type {text}, which kernels don't know",
            code="PT830",
            facts={"element types": ", ".join(_DTYPES)},
            remedy="convert the array",
        )
    try:
        extents = tuple(int(extent) for extent in shape)
    except (TypeError, ValueError):
        extents = (0,)
    if min(extents) < 1:
        raise UserError(
            f"'{name}' has the shape {list(shape)}, and a kernel needs extents of at least 1",
            code="PT830",
            remedy="call the kernel only when there is something to compute",
        )
    return ArrayLike(extents, dtype)


def _dtype_text(dtype: Any) -> str:
    """``float32`` for numpy's, torch's and jax's types of that name, and for their classes (``numpy.float32``)."""
    named = getattr(dtype, "__name__" if isinstance(dtype, type) else "name", None)
    return named if isinstance(named, str) else str(dtype).rpartition(".")[2]


def as_numpy(value: Any, name: str, *, writable: bool = False) -> Any:
    """The memory of an array as a numpy array that shares it.

    Where only a copy can be had, that is returned for reading. Raises UserError: PT830 when the value can't be read as
    an array, PT832 with ``writable`` when what is written would not reach the caller.
    """
    try:
        found, shared = _seen(value)
    except Exception as error:  # each library fails in its own way
        raise UserError(
            f"'{name}' can't be read as an array: {type(error).__name__}: {error}",
            code="PT830",
            remedy="pass a numpy array, or something that shares its memory by DLPack or __array_interface__",
        ) from error
    if writable and not (shared and found.flags.writeable):
        raise UserError(
            f"'{name}' is written by the kernel, and a {type(value).__name__} can't be written in place",
            code="PT832",
            facts={"reason": "its memory is read-only" if shared else "its memory is out of reach"},
            remedy="pass a writable array in this computer's memory, such as a numpy array",
        )
    return found


def _seen(value: Any) -> tuple[Any, bool]:
    import numpy as np  # only where elements are needed

    if isinstance(value, np.ndarray):
        return cast("Any", value), True
    if hasattr(value, "__array_interface__"):
        return cast("Any", np.asarray(value)), True
    if hasattr(value, "numpy"):  # torch: its __array__ and its DLPack refuse types that numpy has no name for
        return _through_numpy(value), True
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value), True
    return np.asarray(value), False


def _through_numpy(value: Any) -> Any:
    detached = value.detach() if hasattr(value, "detach") else value
    carrier = _CARRIERS.get(_dtype_text(value.dtype))
    if carrier is None:
        return detached.numpy()
    import ml_dtypes  # has the formats that numpy lacks; only for arrays of such

    library = sys.modules[type(value).__module__.partition(".")[0]]
    exact = getattr(ml_dtypes, _dtype_text(value.dtype))
    return detached.view(getattr(library, carrier)).numpy().view(exact)

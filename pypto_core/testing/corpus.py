# pyright: basic, reportInvalidTypeForm=false, reportGeneralTypeIssues=false
"""Small kernels with known results, for any backend: what a conformance run compiles and executes.

Each sample says what it needs of a machine; one whose needs a machine does not meet is left out for it, by name. The
element types of matrix products are the machine's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

import pypto_core.language as pl
from pypto_core.contract import Backend
from pypto_core.ir import DataType, MemorySpace, Program

if TYPE_CHECKING:
    from types import ModuleType

Arrays = dict[str, Any]
Golden = Callable[[Arrays], Mapping[str, Any]]


@attrs.frozen(eq=False)
class Sample:
    """A kernel. ``golden``: inputs by name to expected outputs, worked out by numpy in double precision or in integers.
    ``tolerance``: absolute and relative, for floats; integers are exact.
    """

    name: str
    program: Program
    golden: Golden
    tolerance: float = 0.0


def samples(backend: Backend) -> tuple[Sample, ...]:
    """The kernels that this machine can hold and compute."""
    found: list[Sample] = []
    if _has(backend, MemorySpace.Vec):
        found += [_scale_add(), _softmax(), _narrowed(), _column_sums(), _looped(), _pipelined()]
        if (DataType.FP32, DataType.FP16) in backend.casts:
            found.append(_halved())
    if _has(backend, MemorySpace.Mat, MemorySpace.Left, MemorySpace.Right, MemorySpace.Acc):
        for operand, result in dict.fromkeys(backend.matmul_dtypes):
            if (result, result) in backend.acc_to_gm:
                found += [_product(operand, result), _split_product(operand, result)]
    return tuple(found)


def _has(backend: Backend, *spaces: MemorySpace) -> bool:
    return all(backend.memory(space) is not None for space in spaces)


def _np() -> ModuleType:
    import numpy

    return numpy


def _wide(array: Any) -> Any:
    return array.astype(_np().float64)


def _scale_add() -> Sample:
    @pl.program
    class ScaleAdd:
        @pl.function(type=pl.FunctionType.InCore)
        def scale_add(
            self,
            a: pl.Tensor[[48, 64], pl.FP32],
            b: pl.Tensor[[48, 64], pl.FP32],
            out: pl.Out[pl.Tensor[[48, 64], pl.FP32]],
        ) -> pl.Tensor[[48, 64], pl.FP32]:
            x = pl.load(a, [0, 0], [48, 64])
            y = pl.load(b, [0, 0], [48, 64])
            return pl.store(pl.add(pl.mul(x, 2.0), y), [0, 0], out)

    return Sample("scale_add", ScaleAdd, lambda i: {"out": 2.0 * _wide(i["a"]) + i["b"]}, 1e-6)


def _softmax() -> Sample:
    @pl.program
    class Softmax:
        @pl.function(type=pl.FunctionType.InCore)
        def softmax(
            self,
            x: pl.Tensor[[32, 64], pl.FP32],
            out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
        ) -> pl.Tensor[[32, 64], pl.FP32]:
            rows = pl.load(x, [0, 0], [32, 64])
            scratch = pl.create_tile([32, 64], pl.FP32)
            weights = pl.exp(pl.row_expand_sub(rows, pl.row_max(rows, scratch)))
            total = pl.row_sum(weights, scratch)
            return pl.store(pl.row_expand_div(weights, total), [0, 0], out)

    def golden(inputs: Arrays) -> Arrays:
        np = _np()
        x = _wide(inputs["x"])
        weights = np.exp(x - x.max(axis=1, keepdims=True))
        return {"out": weights / weights.sum(axis=1, keepdims=True)}

    return Sample("softmax", Softmax, golden, 1e-5)


def _narrowed() -> Sample:
    """Rows 5 and more stay as they were."""

    @pl.program
    class Narrowed:
        @pl.function(type=pl.FunctionType.InCore)
        def narrowed(
            self,
            x: pl.Tensor[[16, 32], pl.FP32],
            out: pl.InOut[pl.Tensor[[16, 32], pl.FP32]],
        ) -> pl.Tensor[[16, 32], pl.FP32]:
            part = pl.load(x, [0, 0], [16, 32], valid_shape=[5, 32])
            return pl.store(pl.mul(part, 3.0), [0, 0], out)

    def golden(inputs: Arrays) -> Arrays:
        out = _wide(inputs["out"])
        out[:5] = 3.0 * _wide(inputs["x"])[:5]
        return {"out": out}

    return Sample("narrowed", Narrowed, golden, 1e-6)


def _column_sums() -> Sample:
    @pl.program
    class ColumnSums:
        @pl.function(type=pl.FunctionType.InCore)
        def column_sums(
            self,
            x: pl.Tensor[[32, 64], pl.FP32],
            out: pl.Out[pl.Tensor[[1, 64], pl.FP32]],
        ) -> pl.Tensor[[1, 64], pl.FP32]:
            return pl.store(pl.col_sum(pl.load(x, [0, 0], [32, 64])), [0, 0], out)

    return Sample(
        "column_sums", ColumnSums, lambda i: {"out": _wide(i["x"]).sum(axis=0, keepdims=True)}, 1e-5
    )


def _looped() -> Sample:
    """A loop that carries a tile."""

    @pl.program
    class Looped:
        @pl.function(type=pl.FunctionType.InCore)
        def looped(
            self,
            x: pl.Tensor[[64, 32], pl.FP32],
            out: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
        ) -> pl.Tensor[[16, 32], pl.FP32]:
            total = pl.load(x, [0, 0], [16, 32])
            for i in pl.range(1, 4):
                total = pl.add(total, pl.load(x, [i * 16, 0], [16, 32]))
            return pl.store(total, [0, 0], out)

    return Sample("looped", Looped, lambda i: {"out": _wide(i["x"]).reshape(4, 16, 32).sum(axis=0)}, 1e-5)


def _pipelined() -> Sample:
    """A loop whose trips overlap."""

    @pl.program
    class Pipelined:
        @pl.function(type=pl.FunctionType.InCore)
        def pipelined(
            self,
            x: pl.Tensor[[80, 32], pl.FP32],
            out: pl.Out[pl.Tensor[[80, 32], pl.FP32]],
        ) -> pl.Tensor[[80, 32], pl.FP32]:
            for i in pl.pipeline(0, 5, 1, stage=2):
                part = pl.load(x, [i * 16, 0], [16, 32])
                out = pl.store(pl.add(part, 1.0), [i * 16, 0], out)
            return out

    return Sample("pipelined", Pipelined, lambda i: {"out": _wide(i["x"]) + 1.0}, 1e-6)


def _halved() -> Sample:
    @pl.program
    class Halved:
        @pl.function(type=pl.FunctionType.InCore)
        def halved(
            self,
            x: pl.Tensor[[32, 32], pl.FP32],
            out: pl.Out[pl.Tensor[[32, 32], pl.FP16]],
        ) -> pl.Tensor[[32, 32], pl.FP16]:
            half = pl.cast(pl.load(x, [0, 0], [32, 32]), pl.FP16)
            return pl.store(half, [0, 0], out)

    # Half of the last of eleven bits.
    return Sample("halved", Halved, lambda i: {"out": _wide(i["x"])}, 2.0**-11)


def _product(operand: DataType, result: DataType) -> Sample:
    @pl.program
    class Product:
        @pl.function(type=pl.FunctionType.InCore)
        def product(
            self,
            a: pl.Tensor[[32, 64], operand],
            b: pl.Tensor[[64, 64], operand],
            out: pl.Out[pl.Tensor[[32, 64], result]],
        ) -> pl.Tensor[[32, 64], result]:
            x = pl.load(a, [0, 0], [32, 64], target_memory=pl.Mem.Mat)
            y = pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
            return pl.store(pl.matmul(x, y), [0, 0], out)

    return Sample(f"product_{operand.text}", Product, _matrix_product, 1e-4 if result.is_float else 0.0)


def _split_product(operand: DataType, result: DataType) -> Sample:
    @pl.program
    class SplitProduct:
        @pl.function(type=pl.FunctionType.InCore)
        def split_product(
            self,
            a: pl.Tensor[[32, 128], operand],
            b: pl.Tensor[[128, 32], operand],
            out: pl.Out[pl.Tensor[[32, 32], result]],
        ) -> pl.Tensor[[32, 32], result]:
            a0 = pl.load(a, [0, 0], [32, 64], target_memory=pl.Mem.Mat)
            b0 = pl.load(b, [0, 0], [64, 32], target_memory=pl.Mem.Mat)
            acc = pl.matmul(a0, b0)
            a1 = pl.load(a, [0, 64], [32, 64], target_memory=pl.Mem.Mat)
            b1 = pl.load(b, [64, 0], [64, 32], target_memory=pl.Mem.Mat)
            acc = pl.matmul_acc(acc, a1, b1)
            return pl.store(acc, [0, 0], out)

    name = f"split_product_{operand.text}"
    return Sample(name, SplitProduct, _matrix_product, 1e-4 if result.is_float else 0.0)


def _matrix_product(inputs: Arrays) -> Arrays:
    np = _np()
    kind = np.int64 if inputs["a"].dtype.kind in "iu" else np.float64
    return {"out": inputs["a"].astype(kind) @ inputs["b"].astype(kind)}

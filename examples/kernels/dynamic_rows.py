"""A tensor of any number of rows, in blocks of 32 of which the last one may be partly filled."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

BLOCK, COLS = 32, 64
N = pl.dynamic("N")


@pl.program
class DynamicRows:
    """The valid extents of each block follow from the extent of the tensor, which is known when it runs."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def dynamic_rows(
        self,
        x: pl.Tensor[[N, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[N, COLS], pl.FP32]],
        sums: pl.Out[pl.Tensor[[1, COLS], pl.FP32]],
    ) -> tuple[pl.Tensor[[N, COLS], pl.FP32], pl.Tensor[[1, COLS], pl.FP32]]:
        rows = pl.tensor.dim(x, 0)
        for r in pl.parallel(0, rows, BLOCK):
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="normalise"):
                held = pl.min(BLOCK, rows - r)
                part = pl.slice(x, [BLOCK, COLS], [r, 0], valid_shape=[held, COLS])
                peak = pl.row_max(part)
                out = pl.assemble(out, pl.row_expand_sub(part, peak), [r, 0])
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="column_sums"):
            total = pl.full([1, COLS], dtype=pl.FP32, value=0.0)
            for r in pl.range(0, rows, BLOCK):
                held = pl.min(BLOCK, rows - r)
                part = pl.slice(out, [BLOCK, COLS], [r, 0], valid_shape=[held, COLS])
                filled = pl.fillpad(part, pad_value=pl.PadValue.zero)
                total = pl.add(total, pl.col_sum(filled))
            sums[:] = total
        return out, sums


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Seventy-seven rows: two full blocks and thirteen rows."""
    return {"x": rng.standard_normal((77, COLS), dtype=np.float32)}


def golden(x: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says, in double precision."""
    out = x.astype(np.float64) - x.max(axis=1, keepdims=True)
    return {"out": out, "sums": out.sum(axis=0, keepdims=True)}


TOLERANCE = 1e-4

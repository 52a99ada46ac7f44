"""Tasks that wait for each other, in all the ways of saying so."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Tasks:
    """Dependencies by id, scopes of the runtime, launches that start together."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def tasks(
        self,
        x: pl.Tensor[[64, 32], pl.FP32],
        first: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
        second: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
    ) -> tuple[pl.Tensor[[64, 32], pl.FP32], pl.Tensor[[64, 32], pl.FP32]]:
        with pl.scope():
            with pl.spmd(3, sync_start=True, name_hint="blocks") as launched:
                core = pl.get_block_idx()
                first[core * 16 : core * 16 + 16, :] = pl.neg(x[core * 16 : core * 16 + 16, :])
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="last_block") as last:
                first[48:64, :] = pl.neg(x[48:64, :])
        with pl.manual_scope():
            with pl.at(level=pl.Level.CORE_GROUP, deps=[launched], allow_early_resolve=True) as top:
                second[0:32, :] = pl.exp(first[0:32, :])
            with pl.spmd(2, deps=[launched, last], allow_early_resolve=True) as bottom:
                core = pl.tile.get_block_idx()
                row = 32 + core * 16
                second[row : row + 16, :] = pl.abs(first[row : row + 16, :])
            with pl.at(level=pl.Level.CORE_GROUP, deps=[top, bottom], no_dep_args=[x]):
                second[16:48, :] = pl.add(second[16:48, :], x[16:48, :])
        return first, second


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """One random matrix."""
    return {"x": rng.standard_normal((64, 32), dtype=np.float32)}


def golden(x: np.ndarray) -> dict[str, np.ndarray]:
    """The same with numpy, in double precision."""
    first = -x.astype(np.float64)
    second = np.concatenate([np.exp(first[:32]), np.abs(first[32:])])
    second[16:48] += x[16:48]
    return {"first": first, "second": second}


TOLERANCE = 1e-5

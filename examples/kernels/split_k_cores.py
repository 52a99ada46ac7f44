"""A product whose K axis is spread over cores, which add their parts to the result in memory."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

M, N, K, CORES = 16, 64, 256, 4
BLOCK = K // CORES


@pl.program
class SplitKCores:
    """Once as a loop of independent tasks, once as one launch."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def split_k_cores(
        self,
        a: pl.Tensor[[M, K], pl.BF16],
        b: pl.Tensor[[K, N], pl.BF16],
        tasks: pl.Out[pl.Tensor[[M, N], pl.FP32]],
        launch: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> tuple[pl.Tensor[[M, N], pl.FP32], pl.Tensor[[M, N], pl.FP32]]:
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="clear"):
            tasks[:] = pl.full([M, N], dtype=pl.FP32, value=0.0)
            launch[:] = pl.full([M, N], dtype=pl.FP32, value=0.0)
        for k in pl.parallel(0, K, BLOCK):
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="add_part"):
                part = pl.matmul(a[:, k : k + BLOCK], b[k : k + BLOCK, :], out_dtype=pl.FP32)
                tasks = pl.assemble(tasks, part, [0, 0], atomic=pl.AtomicType.Add)
        with pl.spmd(CORES, name_hint="add_parts"):
            core = pl.tile.get_block_idx()
            k0 = core * BLOCK
            block = pl.matmul(a[:, k0 : k0 + BLOCK], b[k0 : k0 + BLOCK, :], out_dtype=pl.FP32)
            launch = pl.assemble(launch, block, [0, 0], atomic=pl.AtomicType.Add)
        return tasks, launch


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Two random matrices of bfloat16 numbers."""
    import ml_dtypes

    return {
        "a": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "b": rng.standard_normal((K, N)).astype(ml_dtypes.bfloat16),
    }


def golden(a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says, in double precision."""
    product = a.astype(np.float64) @ b.astype(np.float64)
    return {"tasks": product, "launch": product}


TOLERANCE = 1e-4

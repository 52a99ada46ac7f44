"""Products of batches of matrices: experts with weights of three axes, shared sides, sums over K, results handed on."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Batches:
    """Each product is of more than two axes."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def batches(
        self,
        tokens: pl.Tensor[[16, 128], pl.BF16],
        experts: pl.Tensor[[3, 64, 128], pl.BF16],
        heads: pl.Tensor[[2, 3, 16, 64], pl.BF16],
        shared: pl.Tensor[[2, 1, 64, 32], pl.BF16],
        left: pl.Tensor[[3, 16, 128], pl.BF16],
        hidden: pl.Out[pl.Tensor[[3, 16, 64], pl.FP32]],
        mixed: pl.Out[pl.Tensor[[2, 3, 16, 32], pl.FP32]],
        sums: pl.Out[pl.Tensor[[3, 16, 64], pl.FP32]],
        twice: pl.Out[pl.Tensor[[3, 16, 64], pl.FP32]],
    ) -> tuple[
        pl.Tensor[[3, 16, 64], pl.FP32], pl.Tensor[[2, 3, 16, 32], pl.FP32], pl.Tensor[[3, 16, 64], pl.FP32],
        pl.Tensor[[3, 16, 64], pl.FP32],
    ]:  # fmt: skip
        for e in pl.spmd(3, name_hint="experts"):
            acc = pl.create_tensor([1, 16, 64], dtype=pl.FP32)
            for k in pl.pipeline(0, 128, 32, stage=2):
                if k == 0:
                    acc = pl.matmul(
                        tokens[:, 0:32], experts[e : e + 1, :, 0:32], b_trans=True, out_dtype=pl.FP32
                    )
                else:
                    acc = pl.matmul_acc(
                        acc, tokens[:, k : k + 32], experts[e : e + 1, :, k : k + 32], b_trans=True
                    )
            hidden[e : e + 1, :, :] = acc
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="heads"):
            mixed[:, :, :, :] = pl.matmul(heads, shared, out_dtype=pl.FP32)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="sums"):
            total = pl.full([3, 16, 64], dtype=pl.FP32, value=0.0)
            for k in pl.range(0, 128, 64):
                total = pl.matmul_acc(total, left[:, :, k : k + 64], experts[:, :, k : k + 64], b_trans=True)
            sums[:, :, :] = total
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="product"):
            once = pl.matmul(left, experts, b_trans=True, out_dtype=pl.FP32)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="doubled"):
            twice[:, :, :] = pl.mul(once, 2.0)
        return hidden, mixed, sums, twice


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random matrices."""
    import ml_dtypes

    shapes = {
        "tokens": (16, 128), "experts": (3, 64, 128), "heads": (2, 3, 16, 64), "shared": (2, 1, 64, 32),
        "left": (3, 16, 128),
    }  # fmt: skip
    return {name: rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for name, shape in shapes.items()}


def golden(
    tokens: np.ndarray, experts: np.ndarray, heads: np.ndarray, shared: np.ndarray, left: np.ndarray
) -> dict[str, np.ndarray]:
    """The same with numpy, in double precision."""
    turned = experts.astype(np.float64).transpose(0, 2, 1)
    sums = left.astype(np.float64) @ turned
    return {
        "hidden": tokens.astype(np.float64) @ turned,
        "mixed": heads.astype(np.float64) @ shared.astype(np.float64),
        "sums": sums,
        "twice": 2 * sums,
    }


TOLERANCE = 1e-3

"""Products of every kind that models use: transposed operands, integers, sums from zeros, narrow results."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Products:
    """One kernel per form."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def products(
        self,
        a: pl.Tensor[[8, 128], pl.BF16],
        b: pl.Tensor[[64, 128], pl.BF16],
        c: pl.Tensor[[128, 8], pl.BF16],
        small: pl.Tensor[[16, 64], pl.INT8],
        weights: pl.Tensor[[64, 64], pl.INT8],
        sums: pl.Out[pl.Tensor[[8, 64], pl.FP32]],
        zeros: pl.Out[pl.Tensor[[8, 64], pl.FP32]],
        turned: pl.Out[pl.Tensor[[8, 64], pl.FP32]],
        narrow: pl.Out[pl.Tensor[[8, 64], pl.BF16]],
        whole: pl.Out[pl.Tensor[[16, 64], pl.INT32]],
        panel: pl.Tensor[[128, 256], pl.BF16],
        lying: pl.Tensor[[512, 256], pl.BF16],
        large: pl.Out[pl.Tensor[[128, 512], pl.FP32]],
    ) -> tuple[
        pl.Tensor[[8, 64], pl.FP32], pl.Tensor[[8, 64], pl.FP32], pl.Tensor[[8, 64], pl.FP32],
        pl.Tensor[[8, 64], pl.BF16], pl.Tensor[[16, 64], pl.INT32], pl.Tensor[[128, 512], pl.FP32],
    ]:  # fmt: skip
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="sum"):
            acc = pl.create_tensor([8, 64], dtype=pl.FP32)
            for k in pl.range(0, 128, 32):
                if k == 0:
                    acc = pl.matmul(a[:, 0:32], b[:, 0:32], b_trans=True, out_dtype=pl.FP32)
                else:
                    acc = pl.matmul_acc(acc, a[:, k : k + 32], b[:, k : k + 32], b_trans=True)
            sums[:, :] = acc
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="from_zeros"):
            total = pl.full([8, 64], dtype=pl.FP32, value=0.0)
            for k in pl.pipeline(0, 128, 32, stage=2):
                total = pl.matmul_acc(total, a[:, k : k + 32], b[:, k : k + 32], b_trans=True)
            zeros[:, :] = total
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="turned"):
            turned[:, :] = pl.matmul(c, b, a_trans=True, b_trans=True, out_dtype=pl.FP32)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="narrow"):
            narrow[:, :] = pl.matmul(a, b, b_trans=True)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="whole"):
            whole[:, :] = pl.matmul(small, weights, out_dtype=pl.INT32)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="large"):
            room = pl.create_tensor([128, 512], dtype=pl.FP32)
            for k in pl.pipeline(0, 256, 128, stage=2):
                if k == 0:
                    room = pl.matmul(panel[:, 0:128], lying[:, 0:128], b_trans=True, out_dtype=pl.FP32)
                else:
                    room = pl.matmul_acc(room, panel[:, k : k + 128], lying[:, k : k + 128], b_trans=True)
            large[:, :] = room
        return sums, zeros, turned, narrow, whole, large


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random matrices."""
    import ml_dtypes

    shapes = {"a": (8, 128), "b": (64, 128), "c": (128, 8), "panel": (128, 256), "lying": (512, 256)}
    found = {name: rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for name, shape in shapes.items()}
    found["small"] = rng.integers(-128, 128, (16, 64)).astype(np.int8)
    found["weights"] = rng.integers(-128, 128, (64, 64)).astype(np.int8)
    return found


def golden(
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    small: np.ndarray,
    weights: np.ndarray,
    panel: np.ndarray,
    lying: np.ndarray,
) -> dict[str, np.ndarray]:
    """The same with numpy; the narrow result is rounded as the drain does."""
    import ml_dtypes

    product = a.astype(np.float64) @ b.astype(np.float64).T
    return {
        "sums": product,
        "zeros": product,
        "turned": c.astype(np.float64).T @ b.astype(np.float64).T,
        "narrow": product.astype(np.float32).astype(ml_dtypes.bfloat16),
        "whole": small.astype(np.int64) @ weights.astype(np.int64),
        "large": panel.astype(np.float64) @ lying.astype(np.float64).T,
    }


# A unit in the last place of the narrow result, which a different order of the sum may round the other way.
TOLERANCE = 0.25

"""A small transformer layer for one step of decoding: norms, attention over a cache, a gated feed-forward."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

BATCH, HIDDEN, FFN, CACHE = 16, 64, 128, 64
BLOCK = 32
EPS = 1e-6
SCALE = 1.0 / HIDDEN**0.5


@pl.program
class TransformerLayer:
    """Activations are single precision, weights and what goes into products bfloat16; one query row per sequence."""

    @pl.function(type=pl.FunctionType.Inline)
    def rms_norm(
        self, x: pl.Tensor[[BATCH, HIDDEN], pl.FP32], gamma: pl.Tensor[[1, HIDDEN], pl.FP32]
    ) -> pl.Tensor[[BATCH, HIDDEN], pl.BF16]:
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="rms_norm"):
            squares = pl.row_sum(pl.mul(x, x))
            scale = pl.rsqrt(pl.add(pl.mul(squares, 1.0 / HIDDEN), EPS))
            normal = pl.col_expand_mul(pl.row_expand_mul(x, scale), gamma)
            out = pl.cast(normal, pl.BF16, mode="rint")
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def layer(
        self,
        x: pl.Tensor[[BATCH, HIDDEN], pl.FP32],
        gamma_attention: pl.Tensor[[1, HIDDEN], pl.FP32],
        gamma_ffn: pl.Tensor[[1, HIDDEN], pl.FP32],
        w_query: pl.Tensor[[HIDDEN, HIDDEN], pl.BF16],
        keys: pl.Tensor[[CACHE, HIDDEN], pl.BF16],
        values: pl.Tensor[[CACHE, HIDDEN], pl.BF16],
        w_out: pl.Tensor[[HIDDEN, HIDDEN], pl.BF16],
        w_gate: pl.Tensor[[HIDDEN, FFN], pl.BF16],
        w_up: pl.Tensor[[HIDDEN, FFN], pl.BF16],
        w_down: pl.Tensor[[FFN, HIDDEN], pl.BF16],
        out: pl.Out[pl.Tensor[[BATCH, HIDDEN], pl.FP32]],
    ) -> pl.Tensor[[BATCH, HIDDEN], pl.FP32]:
        normal = self.rms_norm(x, gamma_attention)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="query_scores"):
            query = pl.cast(pl.matmul(normal, w_query, out_dtype=pl.FP32), pl.BF16, mode="rint")
            scores = pl.matmul(query, keys, b_trans=True, out_dtype=pl.FP32)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="softmax"):
            scaled = pl.mul(scores, SCALE)
            weights = pl.exp(pl.row_expand_sub(scaled, pl.row_max(scaled)))
            shares = pl.row_expand_div(weights, pl.row_sum(weights))
            narrow = pl.cast(shares, pl.BF16, mode="rint")
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="attend"):
            mixed = pl.cast(pl.matmul(narrow, values, out_dtype=pl.FP32), pl.BF16, mode="rint")
            projected = pl.matmul(mixed, w_out, out_dtype=pl.FP32)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="residual"):
            middle = pl.add(x, projected)
        normal2 = self.rms_norm(middle, gamma_ffn)
        gated = pl.create_tensor([BATCH, FFN], dtype=pl.BF16)
        for column in pl.parallel(0, FFN, BLOCK):
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="gate_up"):
                gate = pl.matmul(normal2, w_gate[:, column : column + BLOCK], out_dtype=pl.FP32)
                up = pl.matmul(normal2, w_up[:, column : column + BLOCK], out_dtype=pl.FP32)
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="swiglu"):
                sigmoid = pl.recip(pl.add(pl.exp(pl.neg(gate)), 1.0))
                product = pl.mul(pl.mul(gate, sigmoid), up)
                gated[:, column : column + BLOCK] = pl.cast(product, pl.BF16, mode="rint")
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="down"):
            down = pl.create_tensor([BATCH, HIDDEN], dtype=pl.FP32)
            for k in pl.pipeline(0, FFN, BLOCK, stage=2):
                left = gated[:, k : k + BLOCK]
                right = w_down[k : k + BLOCK, :]
                if k == 0:
                    down = pl.matmul(left, right, out_dtype=pl.FP32)
                else:
                    down = pl.matmul_acc(down, left, right)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="residual2"):
            out[:, :] = pl.add(middle, down)
        return out


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random activations, weights of about unit gain, a random cache."""
    import ml_dtypes

    def weights(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / shape[0] ** 0.5).astype(ml_dtypes.bfloat16)

    return {
        "x": rng.standard_normal((BATCH, HIDDEN), dtype=np.float32),
        "gamma_attention": rng.uniform(0.5, 1.5, (1, HIDDEN)).astype(np.float32),
        "gamma_ffn": rng.uniform(0.5, 1.5, (1, HIDDEN)).astype(np.float32),
        "w_query": weights(HIDDEN, HIDDEN),
        "keys": rng.standard_normal((CACHE, HIDDEN)).astype(ml_dtypes.bfloat16),
        "values": rng.standard_normal((CACHE, HIDDEN)).astype(ml_dtypes.bfloat16),
        "w_out": weights(HIDDEN, HIDDEN),
        "w_gate": weights(HIDDEN, FFN),
        "w_up": weights(HIDDEN, FFN),
        "w_down": weights(FFN, HIDDEN),
    }


def golden(**arrays: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says, in double precision without any rounding in between."""
    a = {name: array.astype(np.float64) for name, array in arrays.items()}

    def norm(x: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        return x / np.sqrt((x**2).mean(axis=1, keepdims=True) + EPS) * gamma

    query = norm(a["x"], a["gamma_attention"]) @ a["w_query"]
    scores = query @ a["keys"].T * SCALE
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    mixed = weights / weights.sum(axis=1, keepdims=True) @ a["values"]
    middle = a["x"] + mixed @ a["w_out"]
    normal = norm(middle, a["gamma_ffn"])
    gate, up = normal @ a["w_gate"], normal @ a["w_up"]
    return {"out": middle + (gate / (1 + np.exp(-gate)) * up) @ a["w_down"]}


# Every product takes operands of eight bits: each of the seven in a row is right to about one part in 256 of numbers
# up to 4.
TOLERANCE = 0.1

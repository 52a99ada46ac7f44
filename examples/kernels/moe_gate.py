"""The gate of a mixture of experts: scores of all experts, the best of them in order, and their shares."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

TOKENS, HIDDEN, EXPERTS, CHOSEN = 16, 256, 64, 6
BLOCK = 128
PAIRS = 16
"""Pairs of score and number that are looked at: the chosen ones, in whole blocks of 32 bytes."""


@pl.program
class MoeGate:
    """The bias takes part in the choice, not in the shares."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def moe_gate(
        self,
        x: pl.Tensor[[TOKENS, HIDDEN], pl.BF16],
        weight: pl.Tensor[[EXPERTS, HIDDEN], pl.BF16],
        bias: pl.Tensor[[EXPERTS], pl.FP32],
        chosen: pl.Out[pl.Tensor[[TOKENS, CHOSEN], pl.INT32]],
        shares: pl.Out[pl.Tensor[[TOKENS, CHOSEN], pl.FP32]],
    ) -> tuple[pl.Tensor[[TOKENS, CHOSEN], pl.INT32], pl.Tensor[[TOKENS, CHOSEN], pl.FP32]]:
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="logits"):
            logits = pl.matmul(x[:, 0:BLOCK], weight[:, 0:BLOCK], b_trans=True, out_dtype=pl.FP32)
            for k in pl.pipeline(BLOCK, HIDDEN, BLOCK, stage=2):
                logits = pl.matmul_acc(logits, x[:, k : k + BLOCK], weight[:, k : k + BLOCK], b_trans=True)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="scores"):
            scores = pl.recip(pl.add(pl.exp(pl.neg(logits)), 1.0))
            ranked = pl.col_expand_add(scores, pl.reshape(bias, [1, EXPERTS]))
        best = pl.create_tensor([TOKENS, 2 * EXPERTS], dtype=pl.FP32)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="sort"):
            numbers = pl.arange(0, [1, EXPERTS], dtype=pl.UINT32)
            for t in pl.range(TOKENS):
                runs = pl.sort32(ranked[t : t + 1, :], numbers)
                best[t : t + 1, :] = pl.mrgsort(runs[:, 0:64], runs[:, 64:128])
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="shares"):
            experts = pl.gather(best[:, 0:PAIRS], mask_pattern=2, output_dtype=pl.INT32)
            picked = pl.set_validshape(pl.gather(scores, dim=-1, index=experts), TOKENS, CHOSEN)
            total = pl.row_sum(pl.fillpad(picked, pad_value=pl.PadValue.zero))
            shares = pl.assemble(shares, pl.row_expand_div(picked, total), [0, 0])
            chosen = pl.assemble(chosen, pl.set_validshape(experts, TOKENS, CHOSEN), [0, 0])
        return chosen, shares


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random activations, weights of about unit gain, and a bias that changes some choices."""
    import ml_dtypes

    return {
        "x": rng.standard_normal((TOKENS, HIDDEN)).astype(ml_dtypes.bfloat16),
        "weight": (rng.standard_normal((EXPERTS, HIDDEN)) / HIDDEN**0.5).astype(ml_dtypes.bfloat16),
        "bias": rng.normal(0, 0.1, EXPERTS).astype(np.float32),
    }


def golden(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says, in double precision."""
    scores = 1 / (1 + np.exp(-(x.astype(np.float64) @ weight.astype(np.float64).T)))
    chosen = np.argsort(-(scores + bias), axis=1, kind="stable")[:, :CHOSEN]
    picked = np.take_along_axis(scores, chosen, axis=1)
    return {"chosen": chosen, "shares": picked / picked.sum(axis=1, keepdims=True)}


TOLERANCE = 1e-4

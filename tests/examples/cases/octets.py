"""Unsigned bytes: windows of them, conversions, single elements."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Octets:
    """Tables of bytes, as quantised weights and flags are kept."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def octets(
        self,
        table: pl.Tensor[[2, 32, 64], pl.UINT8],
        halves: pl.Tensor[[32, 64], pl.FP16],
        wide: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
        copied: pl.Out[pl.Tensor[[16, 64], pl.UINT8]],
        narrowed: pl.Out[pl.Tensor[[32, 64], pl.UINT8]],
        picked: pl.Out[pl.Tensor[[2], pl.INT32]],
    ) -> tuple[
        pl.Tensor[[32, 64], pl.FP32], pl.Tensor[[16, 64], pl.UINT8], pl.Tensor[[32, 64], pl.UINT8],
        pl.Tensor[[2], pl.INT32],
    ]:  # fmt: skip
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="convert"):
            page = pl.cast(pl.reshape(table[1:2, :, :], [32, 64]), pl.FP16, mode="none")
            wide[:, :] = pl.mul(pl.cast(page, pl.FP32), 0.5)
            narrowed[:, :] = pl.cast(halves, pl.UINT8, mode="rint")
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="copy"):
            copied[:, :] = pl.reshape(table[0:1, 16:32, :], [16, 64])
            pl.write(picked, [0], pl.cast(pl.read(table, [0, 3, 5]), pl.INT32))
            pl.write(picked, [1], pl.cast(pl.cast(table[1, 7, 9], pl.INDEX) + 1, pl.INT32))
        return wide, copied, narrowed, picked


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """All bytes there are, and whole numbers as halves."""
    return {
        "table": rng.integers(0, 256, (2, 32, 64)).astype(np.uint8),
        "halves": rng.integers(0, 256, (32, 64)).astype(np.float16),
    }


def golden(table: np.ndarray, halves: np.ndarray) -> dict[str, np.ndarray]:
    """The same with numpy."""
    return {
        "wide": table[1] * 0.5,
        "copied": table[0, 16:],
        "narrowed": halves,
        "picked": np.array([table[0, 3, 5], int(table[1, 7, 9]) + 1]),
    }


TOLERANCE = 0.0

"""Neighbours exchange halves by way of windows: published, a barrier, and loaded from there."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl
import pypto_core.language.distributed as pld

RANKS = 3


@pl.program
class Exchange:
    """Each device adds the upper half of its left neighbour to the lower half of its right one."""

    @pl.function(type=pl.FunctionType.InCore)
    def swap(
        self,
        x: pl.Tensor[[32, 64], pl.FP16],
        out: pl.Out[pl.Tensor[[16, 64], pl.FP16]],
        data: pl.InOut[pld.DistributedTensor[[32, 64], pl.FP16]],
        signal: pl.InOut[pld.DistributedTensor[[RANKS, 1], pl.INT32]],
    ):
        ctx = pld.get_comm_ctx(data)
        me = pld.rank(ctx)
        n = pld.nranks(ctx)
        pld.tensor.put(data, peer=me, src=x)
        pld.tensor.barrier(signal)
        left = pld.tile.remote_load(data, peer=(me + n - 1) % n, offsets=[0, 0], shape=[16, 64])
        right = pld.tile.remote_load(data, peer=(me + 1) % n, offsets=[16, 0], shape=[16, 64])
        pl.store(pl.add(left, right), [0, 0], out)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self, x: pl.Tensor[[RANKS, 32, 64], pl.FP16], out: pl.Out[pl.Tensor[[RANKS, 16, 64], pl.FP16]]):
        data_buf = pld.alloc_window_buffer(32 * 64 * 2)
        signal_buf = pld.alloc_window_buffer(4 * pld.world_size())
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [32, 64], dtype=pl.FP16)
            signal = pld.window(signal_buf, [RANKS, 1], dtype=pl.INT32)
            self.swap(x[r], out[r], data, signal, device=r)


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Whole numbers, which half precision adds exactly."""
    return {"x": rng.integers(-99, 99, (RANKS, 32, 64)).astype(np.float16)}


def golden(x: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says."""
    return {"out": np.roll(x, 1, axis=0)[:, :16] + np.roll(x, -1, axis=0)[:, 16:]}


REFUSED = ("PT390", "reaches other devices")
TOLERANCE = 0.0

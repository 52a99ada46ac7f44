"""The sum over all devices, in one shot: each publishes its part in a window and adds up what the others have."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl
import pypto_core.language.distributed as pld

RANKS = 4
ROWS, COLS = 16, 64


@pl.program
class AllReduce:
    """A kernel per device, told when the others are ready."""

    @pl.function(type=pl.FunctionType.InCore)
    def reduce(
        self,
        x: pl.Tensor[[ROWS, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[ROWS, COLS], pl.FP32]],
        ready: pl.InOut[pld.DistributedTensor[[RANKS, 1], pl.INT32]],
    ) -> pl.Tensor[[ROWS, COLS], pl.FP32]:
        ctx = pld.get_comm_ctx(data)
        me = pld.rank(ctx)
        n = pld.nranks(ctx)
        mine = pl.load(x, [0, 0], [ROWS, COLS])
        data = pl.store(mine, [0, 0], data)
        for peer in pl.range(n):
            if peer != me:
                pld.system.notify(ready, peer=peer, offsets=[me, 0], value=1, op=pld.NotifyOp.AtomicAdd)
        total = pl.load(x, [0, 0], [ROWS, COLS])
        for peer in pl.range(n):
            if peer != me:
                pld.system.wait(ready, offsets=[peer, 0], expected=1, cmp=pld.WaitCmp.Ge)
                theirs = pld.tile.remote_load(data, peer=peer, offsets=[0, 0], shape=[ROWS, COLS])
                total = pl.add(total, theirs)
        return pl.store(total, [0, 0], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(
        self,
        x: pl.Tensor[[ROWS, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[ROWS, COLS], pl.FP32]],
        ready: pl.InOut[pld.DistributedTensor[[RANKS, 1], pl.INT32]],
    ) -> pl.Tensor[[ROWS, COLS], pl.FP32]:
        return self.reduce(x, out, data, ready)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[RANKS, ROWS, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[RANKS, ROWS, COLS], pl.FP32]],
    ) -> pl.Tensor[[RANKS, ROWS, COLS], pl.FP32]:
        data_buf = pld.alloc_window_buffer(ROWS * COLS * 4)
        ready_buf = pld.alloc_window_buffer(RANKS * 4)
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [ROWS, COLS], dtype=pl.FP32)
            ready = pld.window(ready_buf, [RANKS, 1], dtype=pl.INT32)
            self.chip(x[r], out[r], data, ready, device=r)
        return out


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A matrix for each device."""
    return {"x": rng.standard_normal((RANKS, ROWS, COLS), dtype=np.float32)}


def golden(x: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says."""
    return {"out": np.broadcast_to(x.astype(np.float64).sum(0), x.shape)}


REFUSED = ("PT390", "reaches other devices")
TOLERANCE = 2e-6

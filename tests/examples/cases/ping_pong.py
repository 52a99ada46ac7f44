"""Two devices hand a tile to and fro; each adds one, and tells the other by a signal that it may go on."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl
import pypto_core.language.distributed as pld

RANKS = 2
ROUNDS = 3


@pl.program
class PingPong:
    """Device 0 serves."""

    @pl.function(type=pl.FunctionType.InCore)
    def play(
        self,
        x: pl.Tensor[[16, 32], pl.FP32],
        out: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
        ball: pl.InOut[pld.DistributedTensor[[16, 32], pl.FP32]],
        turn: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]],
    ):
        me = pld.rank(pld.get_comm_ctx(ball))
        other = 1 - me
        t = pl.load(x, [0, 0], [16, 32])
        for i in pl.range(ROUNDS):
            if me == 0:
                pld.tile.remote_store(t, target=ball, peer=other, offsets=[0, 0])
                pld.system.notify(turn, peer=other, offsets=[0, 0], value=1, op=pld.NotifyOp.AtomicAdd)
                pld.system.wait(turn, offsets=[0, 0], expected=i, cmp=pld.WaitCmp.Gt)
                back = pl.load(ball, [0, 0], [16, 32])
                t = pl.add(back, 1.0)
            else:
                pld.system.wait(turn, offsets=[0, 0], expected=i + 1, cmp=pld.WaitCmp.Eq)
                came = pl.load(ball, [0, 0], [16, 32])
                t = pl.add(came, 1.0)
                pld.tile.remote_store(t, target=ball, peer=other, offsets=[0, 0])
                pld.system.notify(turn, peer=other, offsets=[0, 0], value=1, op=pld.NotifyOp.AtomicAdd)
        pl.store(t, [0, 0], out)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self, x: pl.Tensor[[RANKS, 16, 32], pl.FP32], out: pl.Out[pl.Tensor[[RANKS, 16, 32], pl.FP32]]):
        balls = pld.alloc_window_buffer(16 * 32 * 4)
        turns = pld.alloc_window_buffer(4)
        for r in pl.range(pld.world_size()):
            ball = pld.window(balls, [16, 32], dtype=pl.FP32)
            turn = pld.window(turns, [1, 1], dtype=pl.INT32)
            self.play(x[r], out[r], ball, turn, device=r)


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Whole numbers."""
    return {"x": rng.integers(-9, 9, (RANKS, 16, 32)).astype(np.float32)}


def golden(x: np.ndarray) -> dict[str, np.ndarray]:
    """What device 0 begins with, plus one for each stroke."""
    return {"out": np.stack([x[0] + 2 * ROUNDS, x[0] + 2 * ROUNDS - 1])}


REFUSED = ("PT390", "reaches other devices")
TOLERANCE = 0.0

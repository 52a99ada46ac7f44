"""What is said about how work is divided, and tasks whose ids are kept in arrays."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Hints:
    """Chunks of parallel loops, kernels to be split between the cores, waits for many tasks at once."""

    @pl.function(type=pl.FunctionType.InCore)
    def raised(
        self, x: pl.Tensor[[64, 32], pl.FP32], out: pl.InOut[pl.Tensor[[64, 32], pl.FP32]]
    ) -> pl.Tensor[[64, 32], pl.FP32]:
        block = pl.tile.get_block_idx()
        part = pl.load(x, [block * 16, 0], [16, 32])
        return pl.store(pl.add(part, 1.0), [block * 16, 0], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def hints(
        self,
        x: pl.Tensor[[64, 32], pl.FP32],
        first: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
        second: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
        third: pl.InOut[pl.Tensor[[64, 32], pl.FP32]],
    ) -> tuple[pl.Tensor[[64, 32], pl.FP32], pl.Tensor[[64, 32], pl.FP32], pl.Tensor[[64, 32], pl.FP32]]:
        waits = pl.array.create(4, pl.TASK_ID)
        for i in pl.range(4):
            with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.auto_chunk]) as tid:
                for j in pl.parallel(0, 2, 1, chunk=2):
                    row = i * 16 + j * 8
                    first[row : row + 8, :] = pl.neg(x[row : row + 8, :])
            waits[i] = tid
        ready = pl.system.task_dummy(deps=[waits])
        for i in pl.spmd(4, optimizations=[pl.split(pl.SplitMode.UP_DOWN, slot_num=2)], deps=[ready]):
            second[i * 16 : i * 16 + 16, :] = pl.exp(first[i * 16 : i * 16 + 16, :])
        with pl.spmd(2, optimizations=[pl.cross_core_slot(slot_num=4)], deps=[waits]):
            i = pl.tile.get_block_idx()
            second[i * 8 : i * 8 + 8, :] = pl.abs(first[i * 8 : i * 8 + 8, :])
        third, task = pl.spmd_submit(self.raised, pl.no_dep(x), third, core_num=4)
        waits[0] = task
        with pl.at(level=pl.Level.CORE_GROUP, deps=[waits[0], ready]):
            for i in pl.range(8):
                if not (i == 3 or i == 5):
                    third[i * 8 : i * 8 + 8, :] = pl.mul(third[i * 8 : i * 8 + 8, :], 2.0)
        return first, second, third


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random matrices."""
    return {name: rng.standard_normal((64, 32), dtype=np.float32) for name in ("x", "third")}


def golden(x: np.ndarray, third: np.ndarray) -> dict[str, np.ndarray]:
    """The same with numpy, in double precision."""
    first = -x.astype(np.float64)
    second = np.exp(first)
    second[:16] = np.abs(first[:16])
    raised = x.astype(np.float64) + 1
    factors = np.full((64, 1), 2.0)
    factors[24:32] = factors[40:48] = 1.0
    return {"first": first, "second": second, "third": raised * factors}


TOLERANCE = 1e-5

"""How long each engine takes for one compiled matrix product, and the parts of a timed run."""

from __future__ import annotations

from functools import partial

from benchmarks.figures import Figure, best_of, growth
from pypto_core.contract import Backend, entry_function
from pypto_core.host import load_host
from pypto_core.ir import PipeType
from pypto_core.language import parse
from pypto_core.run import compile
from pypto_core.testing import random_inputs
from pypto_plugin_simulator.machine import run as run_bytes
from pypto_plugin_simulator.timing.cores import Core, Streams, recorder
from pypto_plugin_simulator.timing.engine import run as run_time
from pypto_plugin_simulator.timing.engine import time_streams
from pypto_plugin_simulator.timing.stream import Item, Work
from pypto_plugin_simulator.values import run as run_values

PRODUCT = """
import pypto_core.language as pl

@pl.program
class Product:
    @pl.function(type=pl.FunctionType.InCore)
    def main(
        self,
        a: pl.Tensor[[512, 512], pl.BF16],
        b: pl.Tensor[[512, 512], pl.BF16],
        out: pl.Out[pl.Tensor[[512, 512], pl.FP32]],
    ) -> pl.Tensor[[512, 512], pl.FP32]:
        for i in pl.range(4):
            for j in pl.range(2):
                c = pl.tile.create([128, 256], pl.FP32, target_memory=pl.Mem.Acc)
                for p in pl.pipeline(8, stage=2):
                    x = pl.load(a, [i * 128, p * 64], [128, 64], target_memory=pl.Mem.Mat)
                    y = pl.load(b, [p * 64, j * 256], [64, 256], target_memory=pl.Mem.Mat)
                    c = pl.tile.matmul_acc(c, x, y, p == 0)
                out = pl.store(c, [i * 128, j * 256], out)
        return out
"""


SIZES = (2_000, 4_000, 8_000, 16_000)


def scaling(backend: Backend) -> list[Figure]:
    """Double-buffered load, compute and store, in ever more trips: the time must grow with them, no faster."""
    seconds = [best_of(partial(time_streams, stream(size), backend), repeat=2) for size in SIZES]
    exponent = growth(SIZES, seconds)
    return [
        Figure(name="time: an operation of three", value=seconds[-1] / SIZES[-1] * 1e6, unit="us"),
        Figure(name="time: growth with the operations", value=exponent, unit="exponent", target=1.2),
    ]


def stream(size: int) -> Streams:
    """``size`` operations; the loads and stores are windows of 16 rows of global memory, none twice."""
    items: list[Item] = []
    for i in range(size):
        trip = i // 3
        slot = trip % 2
        rows, out = (
            tuple((area, trip * 64 + row * 2**20, trip * 64 + row * 2**20 + 64) for row in range(16))
            for area in ("DDR of a", "DDR of b")
        )
        x, y = ("Vec", slot * 1024, (slot + 1) * 1024), ("Vec", 4096 + slot * 1024, 4096 + (slot + 1) * 1024)
        pipe, reads, writes = (
            (PipeType.MTE2, rows, (x,)),
            (PipeType.V, (x,), (y,)),
            (PipeType.MTE3, (y,), out),
        )[i % 3]
        items.append(Work(index=i, pipe=pipe, cycles=100.0, reads=reads, writes=writes))
    return Streams({Core(0, 0, 0): items})


def run() -> list[Figure]:
    """The engines on a 512x512x512 bf16 product in tiles of 128x256x64, with the seconds they may take."""
    host = load_host()
    backend = host.backend("910b")
    program = compile(parse(PRODUCT), backend=backend, planner="pypto", verification="none").program
    inputs = random_inputs(entry_function(program))
    streams = Streams()
    run_bytes(program, inputs, backend=backend, recorder=recorder(streams, program, backend, {}))
    assert list(streams.of) == [Core(0, 0, 0)]
    items = len(streams.of[Core(0, 0, 0)])
    values = best_of(lambda: run_values(program, inputs), repeat=2)
    on_bytes = best_of(lambda: run_bytes(program, inputs, backend=backend), repeat=2)
    timed = best_of(lambda: run_time(program, inputs, backend=backend), repeat=2)
    model = best_of(lambda: time_streams(streams, backend), repeat=3)
    product = "512x512x512 bf16 compiled"
    return [
        Figure(name=f"values: {product}", value=values, unit="s", target=1.0),
        Figure(name=f"bytes: {product}", value=on_bytes, unit="s", target=3.0),
        Figure(name=f"time: {product}", value=timed, unit="s", target=3.0),
        Figure(
            name="time: events, schedule and races of it", value=model, unit="s", note=f"{items} operations"
        ),
        *scaling(backend),
    ]

"""How long the engines ``values`` and ``bytes`` take for a tiled matrix product, and per statement."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.figures import Figure, best_of
from pypto_core.contract import Backend
from pypto_core.host import load_host
from pypto_core.ir import (
    AssignStmt,
    ConstFloat,
    DataType,
    Function,
    ParamDirection,
    Program,
    add,
    mul,
)
from pypto_core.language import parse
from pypto_core.run import PassContext, compile
from pypto_core.testing import build as b
from pypto_core.testing import random_array
from pypto_plugin_simulator.machine import run as on_bytes
from pypto_plugin_simulator.values import run as simulate

SIZE, TILE_M, TILE_N, TILE_K = 512, 128, 256, 64
TRIPS = 20_000


def tiled_matmul() -> Function:
    """A 512x512x512 bf16 product in tiles of 128x256x64, accumulated in fp32."""
    x, y = (b.tensor(name, (SIZE, SIZE), DataType.BF16) for name in "xy")
    out = b.tensor("out", (SIZE, SIZE))

    def step(i: Any, j: Any, p: Any, acc: Any) -> list[Any]:
        left = b.let(
            "l", b.op("tile.load", x, b.dims(mul(i, TILE_M), mul(p, TILE_K)), b.dims(TILE_M, TILE_K))
        )
        right = b.let(
            "r", b.op("tile.load", y, b.dims(mul(p, TILE_K), mul(j, TILE_N)), b.dims(TILE_K, TILE_N))
        )
        more = b.let("c", b.op("tile.matmul_acc", acc, left.var, right.var))
        return [left, right, more, b.give(more.var)]

    def tile(i: Any, j: Any) -> list[Any]:
        seed = b.let("s", b.op("tile.full", b.dims(TILE_M, TILE_N), ConstFloat(0.0), dtype=DataType.FP32))
        loop = b.loop(SIZE // TILE_K, lambda p, acc: step(i, j, p, acc), carries={"acc": seed.var}, var="p")
        place = b.dims(mul(i, TILE_M), mul(j, TILE_N))
        return [seed, loop, b.do(b.op("tile.store", loop.return_vars[0], place, out))]

    rows = b.loop(SIZE // TILE_M, lambda i: [b.loop(SIZE // TILE_N, lambda j: tile(i, j), var="j")])
    return b.kernel("matmul", [x, y, (out, ParamDirection.Out)], [rows])


def planned_matmul() -> tuple[Program, Backend]:
    """The same product as an author writes it, through Mat and L0, compiled for a machine, which comes with it."""
    host = load_host()
    backend = host.backend("910b")
    with PassContext(backend=backend, planner="pypto"):
        return compile(parse(KERNEL), host=host, emit=False).program, backend


KERNEL = """
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def matmul(self, x: pl.Tensor[[512, 512], pl.BF16], y: pl.Tensor[[512, 512], pl.BF16],
               out: pl.Out[pl.Tensor[[512, 512], pl.FP32]]) -> pl.Tensor[[512, 512], pl.FP32]:
        for i in pl.range(0, 512, 128):
            for j in pl.range(0, 512, 128):
                seed = pl.create_tile([128, 128], pl.FP32, target_memory=pl.Mem.Acc)
                for k, (acc,) in pl.pipeline(0, 512, 64, stage=2, init_values=(seed,)):
                    left = pl.load(x, [i, k], [128, 64], target_memory=pl.Mem.Mat)
                    right = pl.load(y, [k, j], [64, 128], target_memory=pl.Mem.Mat)
                    more = pl.matmul_acc(acc, left, right, init_cond=k == 0)
                    total = pl.yield_(more)
                out = pl.store(total, [i, j], out)
        return out
"""


def counting_loop() -> Function:
    """Nothing but scalar statements: what the walk itself costs."""
    total = b.scalar("total")
    body = [AssignStmt(total, add(total, 3)), AssignStmt(total, mul(total, 5))]
    return b.function("count", [total], [b.loop(TRIPS, lambda i: body)])


def tiny_tiles() -> Function:
    """Many operators on one 16x16 tile: what an operator costs beside its elements."""
    x = b.tensor("x", (16, 16))
    load = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(16, 16)))
    more = b.let("u", b.op("tile.add", load.var, load.var))
    return b.kernel("tiny", [x], [load, b.loop(TRIPS // 10, lambda i: [more])])


def run() -> list[Figure]:
    """The figures, in seconds and microseconds."""
    rng = np.random.default_rng(0)
    product, inputs = tiled_matmul(), [random_array(rng, DataType.BF16, (SIZE, SIZE)) for _ in range(2)]
    seconds = best_of(lambda: simulate(product, inputs), repeat=3)
    wide = [a.astype(np.float32) for a in inputs]
    blas = best_of(lambda: wide[0] @ wide[1], repeat=3)
    count = counting_loop()
    statement = best_of(lambda: simulate(count, [1]), repeat=3) / (2 * TRIPS)
    tiny = tiny_tiles()
    block = random_array(rng, DataType.FP32, (16, 16))
    operator = best_of(lambda: simulate(tiny, [block]), repeat=3) / (TRIPS // 10)
    planned, backend = planned_matmul()
    arguments = {"x": inputs[0], "y": inputs[1]}
    bytes_seconds = best_of(lambda: on_bytes(planned, arguments, backend=backend, addressed=True), repeat=3)
    return [
        Figure(name="bytes: 512x512x512 bf16 in tiles", value=bytes_seconds, unit="s", target=3.0),
        Figure(name="values: 512x512x512 bf16 in tiles", value=seconds, unit="s", target=1.0),
        Figure(
            name="values: the same product by numpy's own order",
            value=blas,
            unit="s",
            note="not in order of k",
        ),
        Figure(name="values: scalar statement", value=statement * 1e6, unit="us", target=20.0),
        Figure(name="values: add of two 16x16 tiles", value=operator * 1e6, unit="us", target=200.0),
    ]

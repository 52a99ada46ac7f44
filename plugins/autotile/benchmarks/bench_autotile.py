"""The pass on functions of many products: time, and whether it grows with their number alone."""

from __future__ import annotations

from typing import Any

from benchmarks.figures import Figure, best_of
from pypto_core.host import load_host
from pypto_core.ir import DataType, MemorySpace, Program
from pypto_core.run import PassContext
from pypto_core.testing import build as b
from pypto_plugin_autotile.auto_tile import auto_tile_matmul_l0
from pypto_plugin_autotile.chooser import choose_l0_tile

MAT = {"target_memory": MemorySpace.Mat}
# M, N, K of products that are left whole, split along K, or cut into grids of either kind.
SHAPES = (
    (16, 64, 2048), (16, 256, 512), (64, 64, 64), (128, 128, 512), (256, 544, 128), (192, 512, 64), (272, 416, 32),
    (256, 256, 256), (64, 192, 64), (32, 128, 512),
)  # fmt: skip


def kernel(products: int, distinct: bool = False) -> Program:
    """A function of so many loads, products and stores; with ``distinct`` no two products have the same extents."""
    params: list[Any] = []
    stmts: list[Any] = []
    for i in range(products):
        m, n, k = SHAPES[i % len(SHAPES)]
        k += 16 * (i // len(SHAPES)) if distinct else 0
        a = b.tensor(f"a{i}", (m, k), DataType.BF16)
        w = b.tensor(f"b{i}", (k, n), DataType.BF16)
        out = b.tensor(f"o{i}", (m, n))
        params += [a, w, out]
        lhs = b.let(f"l{i}", b.op("tile.load", a, b.dims(0, 0), b.dims(m, k), b.dims(m, k), **MAT))
        rhs = b.let(f"r{i}", b.op("tile.load", w, b.dims(0, 0), b.dims(k, n), b.dims(k, n), **MAT))
        c = b.let(f"c{i}", b.op("tile.matmul", lhs.var, rhs.var))
        stmts += [lhs, rhs, c, b.let(f"s{i}", b.op("tile.store", c.var, b.dims(0, 0), out))]
    return b.program(b.kernel("main", params, [*stmts, b.ret()]))


def _seconds(program: Program, planner: str = "pypto", cold: bool = True) -> float:
    host = load_host()
    context = PassContext(backend=host.backend("910b"), planner=planner, host=host)

    def once() -> None:
        if cold:
            choose_l0_tile.cache_clear()
        auto_tile_matmul_l0(program, context)

    with context:
        return best_of(once, repeat=5)


def run() -> list[Figure]:
    """Seconds for 200 products of ten shapes, and of 200 shapes; time per product at 1,000 against 100."""
    small, large = _seconds(kernel(100), cold=False) / 100, _seconds(kernel(1000), cold=False) / 1000
    return [
        Figure(
            name="AutoTile, 200 products of 10 shapes, cold",
            value=_seconds(kernel(200)),
            unit="s",
            target=0.5,
        ),
        Figure(
            name="AutoTile, 200 products of 200 shapes, cold",
            value=_seconds(kernel(200, distinct=True)),
            unit="s",
            target=0.5,
        ),
        Figure(
            name="AutoTile, the same with two accumulators allowed",
            value=_seconds(kernel(200, distinct=True), "dsa_rp"),
            unit="s",
            target=0.5,
        ),
        Figure(name="time per product, 1,000 over 100 products", value=large / small, unit="x", target=2.0),
    ]

"""Kernels, and their compiled forms for every planner and machine.

PYPTO_KERNELS=1000 runs that many random programs of a kind; the tests run a few.
"""

from __future__ import annotations

import os
from functools import cache
from random import Random
from typing import Any

from pypto_core.contract import entry_function
from pypto_core.host import Host, load_host
from pypto_core.language import parse
from pypto_core.run import PassContext, compile
from pypto_core.testing import assert_same_behaviour, random_inputs

COUNT = int(os.environ.get("PYPTO_KERNELS", "6"))
BACKENDS, PLANNERS = ("910b", "a5"), ("pypto", "dsa_rp", "ptoas")
TARGETS = [(backend, planner) for backend in BACKENDS for planner in PLANNERS]


@cache
def host() -> Host:
    """The installed plugins."""
    return load_host()


def planned(program: Any, backend: str, planner: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """The compiled program, and what the engine has to know of it."""
    machine = host().backend(backend)
    with PassContext(backend=machine, planner=planner):
        compiled = compile(program, host=host(), emit=False, **options)
    return compiled.program, {"backend": machine, "addressed": planner != "ptoas"}


def check(program: Any, inputs: Any, backend: str, planner: str, **options: Any) -> None:
    """Values of the program as written against bytes of the compiled one."""
    after, where = planned(program, backend, planner, **options)
    assert_same_behaviour(program, after, inputs, host=host(), engine="bytes", engine_options=where)


def targets(seed: int) -> list[tuple[str, str]]:
    """All machines and planners in a full run, else some that differ from seed to seed."""
    return TARGETS if COUNT > 6 else [TARGETS[seed % 6]]


def inputs_of(program: Any, seed: int) -> dict[str, Any]:
    """Random arguments of its entry."""
    return dict(random_inputs(entry_function(program, None), seed))


CUBE = """
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, a: pl.Tensor[[{m}, {k}], pl.{dt}], b: pl.Tensor[[{k}, {n}], pl.{dt}], n: pl.Scalar[pl.INDEX],
             out: pl.InOut[pl.Tensor[[{m}, {n}], pl.{acc}]]) -> pl.Tensor[[{m}, {n}], pl.{acc}]:
        rows = {rows}
        c0 = pl.create_tile([{m}, {n}], pl.{acc}, target_memory=pl.Mem.Acc{compact})
        c = {seed}
        for k in {loop}:
            ta = pl.load(a, [0, k], [{m}, {step}]{valid}, target_memory=pl.Mem.Mat)
            tb = pl.load(b, [k, 0], [{step}, {n}], target_memory=pl.Mem.Mat)
            {product}
        return pl.store(c, [0, 0], out)
"""
PRODUCTS = (
    "c = pl.matmul_acc(c, ta, tb, init_cond=k == 0)",
    """if k == 0:
                c = pl.matmul(ta, tb)
            else:
                c = pl.matmul_acc(c, ta, tb)""",
)


def cube_kernel(rng: Random) -> Any:
    """A product over K blocks: any type, shape and pipeline depth, accumulators of all or of some rows."""
    dt, acc = rng.choice([("BF16", "FP32"), ("INT8", "INT32"), ("FP16", "FP32"), ("FP32", "FP32")])
    m, n = rng.choice([16, 32, 48, 64, 128]), rng.choice([32, 64, 128])
    step, stage = rng.choice([32, 64]), rng.choice([0, 2, 2, 3, 4])
    k = step * rng.choice([1, 2, 3, 5])
    narrow = rng.random() < 0.4
    text = CUBE.format(
        m=m, n=n, k=k, dt=dt, acc=acc, step=step, rows=f"pl.min(n, {m})",
        compact=", compact=True" if narrow else "",
        seed=f"pl.set_validshape(c0, rows, {n})" if narrow else "c0",
        valid=f", valid_shape=[rows, {step}]" if narrow else "",
        loop=f"pl.pipeline(0, {k}, {step}, stage={stage})" if stage else f"pl.range(0, {k}, {step})",
        product=PRODUCTS[0] if narrow else rng.choice(PRODUCTS),
    )  # fmt: skip
    return parse(text)

"""The planned kernels on the bytes of the simulator: the same numbers under every planner, wrong plans caught.

The oracle of harm is ``memory_replay``, which shares nothing with the simulator. PYPTO_KERNELS=1000 runs that many
kernels, PYPTO_PLANS=200 corrupts that many plans; the tests do a few.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from memory_kernels import inputs, kernel
from memory_machine import context, machine
from memory_replay import OnBytes

from pypto_core.contract import NoPlacementError
from pypto_core.diagnostics import UserError
from pypto_core.host import load_host
from pypto_core.ir import ConstInt, DataType, Function, MemRef, TileType, Var, defined_vars, replace
from pypto_core.testing import same_elements
from pypto_plugin_memory.aliases import materialize_semantic_aliases
from pypto_plugin_memory.allocate import allocate_memory_addr
from pypto_plugin_memory.init_memref import init_mem_ref
from pypto_plugin_memory.reuse import memory_reuse
from pypto_plugin_memory.rewrite import place_tiles

KERNELS = int(os.environ.get("PYPTO_KERNELS", "12"))
PLANS = int(os.environ.get("PYPTO_PLANS", "40"))
SIZE = 184 * 1024


@pytest.fixture(scope="session")
def engines() -> dict[str, Any]:
    """The engines of the simulator by name."""
    host = load_host()
    if "bytes" not in host.engines:
        pytest.skip("no plugin brings the engine 'bytes'")
    return {name: host.engine(name).load() for name in ("values", "bytes")}


def planned(function: Function, ctx: Any) -> tuple[Function, Function]:
    """The function without and with addresses."""
    closed = materialize_semantic_aliases(init_mem_ref(function, ctx), ctx)
    shared = memory_reuse(closed, ctx) if ctx.planner == "pypto" else closed
    return closed, allocate_memory_addr(shared, ctx)


@pytest.mark.parametrize("seed", range(KERNELS))
def test_every_plan_computes_what_values_do(engines: dict[str, Any], seed: int) -> None:
    function = kernel(Random(seed), 2 + seed % 40, halves=seed % 2 > 0, windows=seed % 4 > 0)
    arrays = {param.name_hint: array for param, array in inputs(function, seed).items()}
    want = engines["values"](function, arrays).outputs["out"]
    plans = [(function, False, machine())]
    for planner in ("pypto", "dsa_rp"):
        for capacity in (SIZE, (4096, 2048, 1024)[seed % 3]):
            ctx = context(planner, backend=machine(Vec=capacity))
            try:
                closed, placed = planned(function, ctx)
            except NoPlacementError:
                assert capacity < SIZE
                continue
            plans += [(closed, False, ctx.backend), (placed, True, ctx.backend)]
    for plan, addressed, backend in plans:
        have = engines["bytes"](plan, arrays, backend=backend, addressed=addressed).outputs["out"]
        assert same_elements(want, have).all()


def corrupted(rng: Random, function: Function) -> tuple[str, dict[Var, MemRef]] | None:
    """(what is done, wrong places for some tiles)."""
    tiles = [
        v
        for v in dict.fromkeys(defined_vars(function.body))
        if isinstance(v.type, TileType) and isinstance(v.type.memref.byte_offset, ConstInt)
    ]
    victim = rng.choice(tiles)
    here = victim.type.memref.byte_offset.value
    group = [v for v in tiles if v.type.memref.base is victim.type.memref.base]
    what = rng.choice(["allocation moved", "name moved", "name shifted", "alias dropped"])
    by = rng.choice(tiles).type.memref.byte_offset.value - here
    if what == "name shifted":
        by = 32 * rng.choice([-1, 1, 2])
    elif what == "alias dropped":
        by = max(v.type.memref.byte_offset.value + v.type.memref.size for v in tiles) - here
    starts = {
        v: v.type.memref.byte_offset.value + by for v in (group if what == "allocation moved" else [victim])
    }
    if by == 0 or min(starts.values()) < 0:
        return None
    return what, {
        v: replace(v.type.memref, byte_offset=ConstInt(at, DataType.INT64)) for v, at in starts.items()
    }


def replayed(plan: Function, arrays: dict[str, Any]) -> Any:
    """What the independent replay writes; None when it finds a value elsewhere than its name says."""
    run = OnBytes({param: arrays[param.name_hint] for param in plan.params}, SIZE)
    try:
        run.run(plan)
    except AssertionError:
        return None
    return run.tensors[plan.params[1]]


def test_whatever_changes_a_result_is_caught(engines: dict[str, Any]) -> None:
    found: Counter[tuple[str, bool]] = Counter()
    seed = tried = 0
    while tried < PLANS:
        rng = Random(seed)
        function = kernel(rng, 4 + seed % 30, halves=seed % 2 > 0, windows=seed % 4 > 0)
        arrays = {param.name_hint: array for param, array in inputs(function, seed).items()}
        ctx = context(rng.choice(["pypto", "dsa_rp"]))
        _, good = planned(function, ctx)
        seed += 1
        made = corrupted(rng, good)
        if made is None:
            continue
        tried += 1
        what, places = made
        bad = place_tiles(good, places)
        want, have = replayed(good, arrays), replayed(bad, arrays)
        harm = have is not None and not np.array_equal(want, have, equal_nan=True)
        found[what, harm] += 1
        try:
            ran = engines["bytes"](bad, arrays, backend=ctx.backend, addressed=True).outputs["out"]
        except UserError as error:
            assert error.diagnostics[0].code.startswith("SIM-01")
            continue
        assert not harm, (seed - 1, what)
        assert same_elements(np.asarray(want), ran).all()
    assert sum(count for (_, harm), count in found.items() if harm) >= PLANS // 10

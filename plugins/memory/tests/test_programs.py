"""Random kernels through the whole stage: audited at every step, run by values and on the planned bytes."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_kernels import inputs, kernel
from memory_machine import context, machine
from memory_replay import ByValue, OnBytes

from pypto_core.contract import NoPlacementError
from pypto_core.ir import (
    AssignStmt,
    ConstInt,
    DataType,
    MemorySpace,
    TileType,
    replace,
    structural_equal,
    walk_stmts,
)
from pypto_core.testing import build as b
from pypto_plugin_memory.aliases import materialize_semantic_aliases
from pypto_plugin_memory.allocate import allocate_memory_addr
from pypto_plugin_memory.audit import audit
from pypto_plugin_memory.init_memref import init_mem_ref
from pypto_plugin_memory.reuse import memory_reuse
from pypto_plugin_memory.rewrite import place_tiles

SIZE = 184 * 1024


def staged(function, ctx):
    """The function after each pass, audited."""
    closed = materialize_semantic_aliases(init_mem_ref(function, ctx), ctx)
    assert audit(closed, addressed=False) == ()
    assert materialize_semantic_aliases(closed, ctx) is closed
    shared = memory_reuse(closed, ctx) if ctx.planner == "pypto" else closed
    assert audit(shared, addressed=False) == ()
    placed = allocate_memory_addr(shared, ctx)
    assert audit(placed, addressed=True) == ()
    return closed, shared, placed


def expected(function, array):
    run = ByValue(array)
    run.run(function)
    return run.tensors[function.params[1]]


def on_bytes(placed, function, array):
    run = OnBytes({p: array[q] for p, q in zip(placed.params, function.params, strict=True)}, SIZE)
    run.run(placed)
    return run.tensors[placed.params[1]]


@settings(max_examples=60)
@given(
    st.integers(0, 1 << 30),
    st.integers(2, 40),
    st.sampled_from(["pypto", "dsa_rp"]),
    st.sampled_from([SIZE, 4096, 2048, 1024]),
    st.booleans(),
)
def test_planned_bytes_compute_what_values_do(seed, size, planner, capacity, halves):
    function = kernel(Random(seed), size, halves=halves, windows=seed % 4 > 0)
    array = inputs(function, seed)
    ctx = context(planner, backend=machine(Vec=capacity))
    try:
        _, _, placed = staged(function, ctx)
    except NoPlacementError:
        assert capacity < SIZE
        return
    np.testing.assert_array_equal(on_bytes(placed, function, array), expected(function, array))


@settings(max_examples=15)
@given(st.integers(0, 1 << 30))
def test_closing_and_sharing_keep_what_a_kernel_computes(seed):
    function = kernel(Random(seed), 30, halves=True)
    array = inputs(function, seed)
    want = expected(function, array)
    for stage in staged(function, context()):
        run = ByValue({p: array[q] for p, q in zip(stage.params, function.params, strict=True)})
        run.run(stage)
        np.testing.assert_array_equal(run.tensors[stage.params[1]], want)


@settings(max_examples=10)
@given(st.integers(0, 1 << 30))
def test_the_same_kernel_gets_the_same_plan(seed):
    def once(planner):
        return staged(kernel(Random(seed), 30), context(planner, backend=machine(Vec=4096)))[-1]

    for planner in ("pypto", "dsa_rp"):
        try:
            one, two = once(planner), once(planner)
        except NoPlacementError:
            continue
        assert structural_equal(one, two)
        assert _addresses(one) == _addresses(two)


def _addresses(function):
    return [
        (s.var.name_hint, s.var.type.memref.name, s.var.type.memref.size, _offset(s.var.type.memref))
        for s in walk_stmts(function.body)
        if isinstance(s, AssignStmt) and isinstance(s.var.type, TileType)
    ]


def _offset(memref):
    return memref.byte_offset.value if isinstance(memref.byte_offset, ConstInt) else "run time"


def planted(rng, placed):
    """The function with one tile that owns its bytes put where another one lies."""
    tiles = [
        s.var
        for s in walk_stmts(placed.body)
        if isinstance(s, AssignStmt) and isinstance(s.var.type, TileType) and s.value.op.name == "tile.load"
    ]
    victim, other = rng.sample(tiles, 2)
    if victim.type.memref.byte_offset.value == other.type.memref.byte_offset.value:
        return None
    moved = replace(victim.type.memref, byte_offset=other.type.memref.byte_offset)
    return place_tiles(placed, {victim: moved})


def test_a_planted_overlap_is_caught():
    caught = run_differs = tried = 0
    for seed in range(40):
        rng = Random(seed)
        function = straight(rng)
        array = inputs(function, seed)
        _, _, placed = staged(function, context("dsa_rp"))
        wrong = planted(rng, placed)
        if wrong is None:
            continue
        tried += 1
        caught += bool(audit(wrong, addressed=True))
        differs = not np.array_equal(on_bytes(wrong, function, array), expected(function, array))
        run_differs += differs
        # What the bytes show, the audit has said.
        assert bool(audit(wrong, addressed=True)) or not differs
    assert tried >= 20 and caught == tried and run_differs == tried


def straight(rng):
    """Loads that are all alive at the end, where each is stored."""
    source, out = b.tensor("source", [64, 16]), b.tensor("out", [64, 16])
    loads = [
        b.let(
            f"l{i}", b.op("tile.load", source, b.dims(5 * i, 0), b.dims(4, 8), target_memory=MemorySpace.Vec)
        )
        for i in range(6)
    ]
    rng.shuffle(loads)
    stores = [b.do(b.op("tile.store", s.var, b.dims(4 * i, 0), out)) for i, s in enumerate(loads)]
    return b.kernel("k", [source, out], [*loads, *stores, b.ret()])


def test_a_result_over_a_shifted_part_of_its_operand_is_caught():
    source, out = b.tensor("source", [64, 16]), b.tensor("out", [64, 16])
    x = b.let("x", b.op("tile.load", source, b.dims(0, 0), b.dims(4, 8), target_memory=MemorySpace.Vec))
    y = b.let("y", b.op("tile.neg", x.var))
    store = b.do(b.op("tile.store", y.var, b.dims(0, 0), out))
    f = b.kernel("k", [source, out], [x, y, store, b.ret()])
    array = inputs(f, 1)
    _, _, placed = staged(f, context())
    [var] = [s.var for s in walk_stmts(placed.body) if isinstance(s, AssignStmt) and s.var.name_hint == "y"]
    shifted = replace(var.type.memref, byte_offset=ConstInt(32, DataType.INT64))
    wrong = place_tiles(placed, {var: shifted})
    [finding] = audit(wrong, addressed=True)
    assert "shifted part of its operand 'x'" in finding.message
    assert not np.array_equal(on_bytes(wrong, f, array), expected(f, array))


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp"])
def test_the_engine_of_the_simulator_agrees(planner):
    from pypto_core.host import load_host
    from pypto_core.testing import assert_same_behaviour

    host = load_host()
    if "values" not in host.engines:
        pytest.skip("no plugin brings the engine 'values'")
    for seed in range(12):
        function = kernel(Random(seed), 25)
        for stage in staged(function, context(planner)):
            assert_same_behaviour(b.program(function), b.program(stage), seed=seed, host=host)

"""No kernel takes more of a memory than the field's default planner would: ``memory_field`` says what that is.

The two stages of a pipelined loop have buffers of their own there too, in every memory (buffer_ir_and_memory.md
4.4.2), so the model has that rule and no memory is left out.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from random import Random
from typing import Any

import pytest
from memory_field import peaks, taken
from memory_kernels import kernel
from memory_machine import context, machine
from memory_parts import KIB, RIGHT, VEC, pipeline, prepared, tile, use

from pypto_core.contract import Backend, NoPlacementError
from pypto_core.host import load_host
from pypto_core.ir import DataType, Program
from pypto_core.run import PipelineStep, Run, Wishes, compile
from pypto_core.solver import Goal
from pypto_core.testing import build as b
from pypto_plugin_memory.aliases import materialize_semantic_aliases
from pypto_plugin_memory.allocate import allocate_memory_addr
from pypto_plugin_memory.init_memref import init_mem_ref
from pypto_plugin_memory.reuse import memory_reuse

ROOT = Path(__file__).resolve().parents[3]
FILES = {
    path.stem: path
    for folder in ("examples/kernels", "tests/examples/cases")
    for path in sorted((ROOT / folder).glob("*.py"))
}
MACHINES = ("910b", "a5")
RESOLVED = Goal(property="PipelineResolved", wanted_by="this test")


class Watch:
    """Keeps the program that reuse begins with and the one that has addresses."""

    before: Program
    after: Program

    def before_pass(self, run: Run, step: PipelineStep) -> None:
        if step.name == "MemoryReuse":
            self.before = run.program

    def after_pass(self, run: Run, step: PipelineStep) -> None:
        if step.name == "AllocateMemoryAddr":
            self.after = run.program


def program_of(name: str) -> tuple[Any, Any]:
    """An example and the program in it."""
    spec = importlib.util.spec_from_file_location(f"pypto_peaks_{name}", FILES[name])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if hasattr(module, "program"):
        return module, module.program()
    return module, next(value for value in vars(module).values() if isinstance(value, Program))


def capacities(backend: Backend) -> dict[Any, int]:
    return {spec.space: spec.capacity for spec in backend.memories}


@pytest.mark.parametrize("name", FILES)
def test_no_example_takes_more(name: str) -> None:
    module, program = program_of(name)
    # Pipelined loops are written out on the way to the target, which refuses kernels of both cores.
    goal, more = ("AllocatedMemoryAddr", [RESOLVED]) if hasattr(module, "MIXED") else ("pto", [])
    figures = 0
    for machine_name in MACHINES:
        watch = Watch()
        compile(program, backend=machine_name, goal=goal, emit=False, wishes=Wishes(goals=more),
                instruments=[watch], verification="none")  # fmt: skip
        room = capacities(load_host().backend(machine_name))
        for function in (f for f in watch.before if f.is_incore):
            theirs = peaks(function, room)
            [placed] = [f for f in watch.after if f.name == function.name]
            ours = taken(placed)
            assert ours.keys() == theirs.keys()
            assert {s: n for s, n in ours.items() if n > theirs[s]} == {}, (
                machine_name,
                function.name,
                theirs,
            )
            figures += len(ours)
    assert figures > 0 or name == "tasks"


@pytest.mark.parametrize("capacity", [184 * KIB, 4096, 2048])
def test_no_random_kernel_takes_more(capacity: int) -> None:
    """Nor does one find no place where the model does."""
    lower = 0
    ctx = context(backend=machine(Vec=capacity))
    for seed in range(25):
        function = kernel(Random(seed), 2 + seed % 40, halves=seed % 2 > 0, windows=seed % 4 > 0)
        closed = materialize_semantic_aliases(init_mem_ref(function, ctx), ctx)
        theirs = peaks(closed, capacities(ctx.backend))[VEC]
        try:
            ours = taken(allocate_memory_addr(memory_reuse(closed, ctx), ctx))[VEC]
        except NoPlacementError:
            assert theirs > capacity, seed
            continue
        assert ours <= theirs, seed
        lower += ours < theirs
    assert lower > 3


# -- the model says what was seen of the field's planner


def model(stmts: list[Any], params: tuple[Any, ...] = (), **capacity: int) -> Any:
    ctx = context(**capacity)
    return peaks(prepared(stmts, ctx, params), capacities(ctx.backend))


@pytest.mark.parametrize("stages", [3, 4])
def test_the_model_gives_a_pipeline_what_fits(stages: int) -> None:
    """4.4.2: tiles of 32768 bytes in 64 KiB of Right get two buffers, whatever the number of stages."""
    assert model(pipeline(stages))[RIGHT] == 65536
    assert model(pipeline(stages), Right=1024 * KIB)[RIGHT] == stages * 32768


def test_the_model_sheds_the_larger_group() -> None:
    """4.4.2: two groups beside a tile that lives through both need 81920 bytes, and lose a stage of the larger."""
    long = tile("long", 16, 512, RIGHT, DataType.FP16)
    stmts = [long, *pipeline(2), *pipeline(2, group=1, size=16 * KIB, stem="q"), *use(long.var)]
    assert model(stmts, Right=1024 * KIB)[RIGHT] == 81920
    assert model(stmts)[RIGHT] == 65536


def test_the_model_frees_after_an_inner_loop_what_was_made_in_the_outer_one() -> None:
    """4.4 item 1: a tile of the outer body is free behind the inner loop, one from before both is not."""
    inner, late, before = (tile(name, 16, 16, RIGHT, DataType.FP16) for name in ("inner", "late", "before"))
    body = [inner, b.loop(4, lambda j: use(inner.var)), late, *use(late.var)]
    assert model([b.loop(4, lambda i: body)])[RIGHT] == 512
    nest = [b.loop(4, lambda j: use(before.var)), late, *use(late.var)]
    assert model([before, b.loop(4, lambda i: nest)])[RIGHT] == 2 * 512


def test_the_model_keeps_a_result_off_the_window_that_it_reads() -> None:
    """4.4.1 and D14: nothing is written where a part of it is read; an operator that reads all may end in place."""
    x = tile("x", 64, 64)
    part = b.let("part", b.op("tile.slice", x.var, b.dims(32, 64), b.dims(16, 0)))
    for source, total in ((part.var, 16384 + 8192), (x.var, 16384)):
        y = b.let("y", b.op("tile.exp", source))
        assert model([x, part, y])[VEC] == total


def test_the_model_keeps_some_results_off_their_arguments() -> None:
    """4.4.1: recip writes before it has read, neg does not."""
    for name, total in (("tile.recip", 2 * 256), ("tile.neg", 256)):
        x = tile("x", 8)
        y = b.let("y", b.op(name, x.var))
        assert model([x, y])[VEC] == total

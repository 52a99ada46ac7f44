"""Compiled kernels on the pipes: walls by hand arithmetic, overlap by slots, the program's own events."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pypto_core.contract import OpExecutor, RunResult, entry_function, load_reference
from pypto_core.diagnostics import UserError
from pypto_core.host import PluginInfo, hookimpl, load_host
from pypto_core.ir import Call, PipeType, walk
from pypto_core.language import parse
from pypto_core.ops import Kind, OpDef, Param, builtin_registry, create_call, using_registry
from pypto_core.run import PassContext, compile
from pypto_core.testing import build as b
from pypto_core.testing import random_inputs
from pypto_plugin_simulator import plugin
from pypto_plugin_simulator.timing.engine import run
from pypto_plugin_simulator.timing.report import CoreTimes, TimeReport

MTE1, MTE2, MTE3, M, V, FIX = (PipeType[n] for n in ("MTE1", "MTE2", "MTE3", "M", "V", "FIX"))
SLOTS = [
    ("pypto", {}),
    ("dsa_rp", {}),
    ("ptoas", {}),
    ("pypto", {"enable_addressed_slots": True}),
    ("dsa_rp", {"enable_addressed_slots": True}),
]

# Cycles on the 910B of a transfer of 128 x 64 fp32 from and to global memory, and of exp over it.
BYTES = 128 * 64 * 4
LOAD = 200 + BYTES / (100.9 * 2**30 / 1.85e9)
STORE = 50 + BYTES / (188.46 * 2**30 / 1.85e9)
EXP = 14 + 26 + 2 * BYTES / 256

ROWS = """
import pypto_core.language as pl

@pl.program
class Rows:
    @pl.function(type=pl.FunctionType.InCore)
    def main(
        self, a: pl.Tensor[[{rows}, 64], pl.FP32], out: pl.Out[pl.Tensor[[{rows}, 64], pl.FP32]]
    ) -> pl.Tensor[[{rows}, 64], pl.FP32]:
        for i in pl.pipeline({trips}, stage={stage}):
            x = pl.load(a, [i * 128, 0], [128, 64])
            {compute}
            out = pl.store(y, [i * 128, 0], out)
        return out
"""


def compiled(text: str, planner: str = "pypto", backend: str = "910b", **options: Any) -> Any:
    return compile(
        parse(text), backend=backend, planner=planner, verification="none", emit=False, **options
    ).program


def timed(program: Any, backend: str = "910b", inputs: Any = None, **options: Any) -> RunResult:
    given = random_inputs(entry_function(program)) if inputs is None else inputs
    return run(program, given, backend=backend, **options)


def report(program: Any, **options: Any) -> TimeReport:
    return timed(program, **options).report["time"]


def rows(trips: int, stage: int, compute: str = "y = pl.exp(x)") -> str:
    return ROWS.format(rows=trips * 128, trips=trips, stage=stage, compute=compute)


def together(core: CoreTimes, first: PipeType, second: PipeType) -> float:
    """Cycles in which both pipes work."""
    spans = {
        pipe: [
            (s, e)
            for w, s, e in zip(core.schedule.works, core.schedule.starts, core.schedule.ends, strict=True)
            if w.pipe is pipe
        ]
        for pipe in (first, second)
    }
    return sum(max(0.0, min(e1, e2) - max(s1, s2)) for s1, e1 in spans[first] for s2, e2 in spans[second])


# -- overlap


@pytest.mark.parametrize(("planner", "options"), SLOTS)
def test_load_bound_pipelines_hide_compute_and_store(planner: str, options: dict[str, bool]) -> None:
    """Two slots: the next load runs under compute and store, and only the last of these is seen."""
    made = report(compiled(rows(8, 2), planner, **options))
    assert made.wall == pytest.approx(8 * LOAD + EXP + STORE)
    core = made.cores[0]
    assert together(core, MTE2, V) == pytest.approx(7 * EXP), "each compute but the last"
    assert core.load_exposed == pytest.approx(8 * LOAD - 7 * EXP)
    assert made.hazards == ()


@pytest.mark.parametrize(("planner", "in_place"), [("pypto", True), ("dsa_rp", False), ("ptoas", False)])
def test_one_stage_hides_no_compute(planner: str, in_place: bool) -> None:
    """The planner pypto lets exp work in place: then the store, too, has to be done before the next load."""
    made = report(compiled(rows(8, 1), planner))
    each = LOAD + EXP + (STORE if in_place else 0)
    assert made.wall == pytest.approx(8 * each + (0 if in_place else STORE))
    assert together(made.cores[0], MTE2, V) == 0


@pytest.mark.parametrize(("planner", "options"), SLOTS)
def test_compute_bound_pipelines_hide_the_loads(planner: str, options: dict[str, bool]) -> None:
    """Four times exp (1184 cycles) is longer than a load (760): only the first load is seen.

    Where the planner pypto has one body with slots for the loads, the four work in place in one buffer that no slot
    belongs to: each store then has to be done before the next trip can write there.
    """
    chain = "y1 = pl.exp(x); y2 = pl.exp(y1); y3 = pl.exp(y2); y = pl.exp(y3)"
    made = report(compiled(rows(6, 2, chain), planner, **options))
    assert LOAD < 4 * EXP and STORE < 4 * EXP
    stores = 6 if planner == "pypto" and options else 1
    assert made.wall == pytest.approx(LOAD + 6 * 4 * EXP + stores * STORE)
    if stores == 1:
        assert together(made.cores[0], MTE2, V) == pytest.approx(5 * LOAD)
        assert made.cores[0].load_exposed == pytest.approx(LOAD)


PRODUCT = """
import pypto_core.language as pl

@pl.program
class Product:
    @pl.function(type=pl.FunctionType.InCore)
    def main(
        self,
        a: pl.Tensor[[128, 512], pl.BF16],
        b: pl.Tensor[[512, 128], pl.BF16],
        out: pl.Out[pl.Tensor[[128, 128], pl.FP32]],
    ) -> pl.Tensor[[128, 128], pl.FP32]:
        c = pl.tile.create([128, 128], pl.FP32, target_memory=pl.Mem.Acc)
        for p in pl.pipeline(8, stage={stage}):
            x = pl.load(a, [0, p * 64], [128, 64], target_memory=pl.Mem.Mat)
            y = pl.load(b, [p * 64, 0], [64, 128], target_memory=pl.Mem.Mat)
            c = pl.tile.matmul_acc(c, x, y, p == 0)
        return pl.store(c, [0, 0], out)
"""


@pytest.mark.parametrize(("planner", "options"), SLOTS)
def test_cube_pipelines(planner: str, options: dict[str, bool]) -> None:
    """128 x 128 x 512 in blocks of 64: two loads of 16 KiB into L1, two into L0, one product of 277 cycles."""
    block = 128 * 64 * 2
    gm, left, right = 200 + block / (135 * 2**30 / 1.85e9), block / 129.7, block / 85.4
    mad, drain = 21 + 8 * 8 * 4, 164 + 128 * max(4.45, 512 / 118)
    made = report(compiled(PRODUCT.format(stage=2), planner, **options))
    # The loads from global memory are the bottleneck. Only the last block's way is seen behind them; its left operand
    # goes to L0 while the right one is still loaded.
    assert gm > left and 2 * gm > left + right + mad
    assert made.wall == pytest.approx(16 * gm + right + mad + drain)
    core = made.cores[0]
    assert core.pipe(M).busy == 8 * mad
    assert together(core, MTE2, M) == pytest.approx(7 * mad)
    one = report(compiled(PRODUCT.format(stage=1), planner, **options))
    assert one.wall == pytest.approx(made.wall), (
        "while one operand is fetched, the other's only buffer is emptied"
    )
    assert one.hazards == made.hazards == ()


# -- the program's own events

MANUAL = """
import pypto_core.language as pl

@pl.program
class Manual:
    @pl.function(type=pl.FunctionType.InCore)
    def main(
        self, a: pl.Tensor[[128, 64], pl.FP32], out: pl.Out[pl.Tensor[[128, 64], pl.FP32]]
    ) -> pl.Tensor[[128, 64], pl.FP32]:
        x = pl.load(a, [0, 0], [128, 64])
        {one}
        y = pl.exp(x)
        {two}
        return pl.store(y, [0, 0], out)
"""


def event(source: str, target: str, number: int = 0) -> str:
    pipes = f"set_pipe=pl.PipeType.{source}, wait_pipe=pl.PipeType.{target}, event_id={number}"
    return f"pl.system.sync_src({pipes}); pl.system.sync_dst({pipes})"


def test_events_of_the_program_are_enough() -> None:
    text = MANUAL.format(one=event("MTE2", "V"), two=event("V", "MTE3", 5))
    made = report(compiled(text), sync="program")
    assert made.hazards == ()
    assert made.wall == pytest.approx(LOAD + EXP + STORE)
    assert report(compiled(text), sync="auto").wall == made.wall


def test_a_missing_event_is_a_race_with_both_lines() -> None:
    made = report(compiled(MANUAL.format(one="pass", two=event("V", "MTE3"))), sync="program")
    assert {race.code for race in made.hazards} == {"SIM-040"}
    assert {tuple(span.begin_line for span in race.spans) for race in made.hazards} == {(10, 12), (10, 14)}, (
        "exp works in place, so that the store, too, may come before the load"
    )
    assert any(
        "'y = tile.exp' on V reads what the other writes, 'x = tile.load' on MTE2" in race.message
        for race in made.hazards
    )
    assert report(compiled(MANUAL.format(one="pass", two="pass"))).hazards == (), (
        "the assembler would see to it"
    )


def test_a_barrier_orders_everything() -> None:
    made = report(
        compiled(MANUAL.format(one="pl.system.bar_all()", two="pl.system.bar_all()")), sync="program"
    )
    assert made.hazards == ()
    assert made.wall == pytest.approx(LOAD + EXP + STORE)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (event("MTE2", "V").split("; ")[0], "set and never waited for"),
        (event("MTE2", "V").split("; ")[1], "waited for and never set"),
        (event("MTE2", "V", 8), "there are 8 ids"),
    ],
)
def test_unbalanced_events_name_their_lines(one: str, message: str) -> None:
    made = report(compiled(MANUAL.format(one=one, two=event("V", "MTE3"))), sync="program")
    found = [hazard for hazard in made.hazards if message in hazard.message]
    assert [[span.begin_line for span in hazard.spans] for hazard in found] in ([[11]], [[11, 11]])


# -- the engine


def test_results_are_those_of_the_run() -> None:
    program = compiled(rows(2, 2))
    data = np.linspace(-1, 1, 256 * 64, dtype=np.float32).reshape(256, 64)
    result = timed(program, inputs={"a": data})
    np.testing.assert_allclose(result.outputs["out"], np.exp(data), rtol=1e-6)


def test_the_host_has_the_engine() -> None:
    program = compiled(rows(2, 2))
    found = load_host().engine("time").load()(program, random_inputs(entry_function(program)), backend="910b")
    assert found.report["time"].wall == pytest.approx(2 * LOAD + EXP + STORE)


def test_the_machine_is_that_of_the_context() -> None:
    program = compiled(rows(2, 2))
    host = load_host()
    with PassContext(backend=host.backend("a5"), planner="pypto", host=host):
        assert report(program, backend=None).backend == "a5"
    with pytest.raises(UserError) as caught:
        report(program, backend=None)
    assert caught.value.diagnostics[0].code == "SIM-044"
    with pytest.raises(UserError, match="no kind of sync 'never'"):
        report(program, sync="never")


BLOCKS = """
import pypto_core.language as pl

@pl.program
class Blocks:
    @pl.function(type=pl.FunctionType.InCore)
    def main(
        self, a: pl.Tensor[[6400, 64], pl.FP32], out: pl.Out[pl.Tensor[[6400, 64], pl.FP32]]
    ) -> pl.Tensor[[6400, 64], pl.FP32]:
        i = pl.tile.get_block_idx()
        x = pl.load(a, [i * 128, 0], [128, 64])
        y = pl.exp(x)
        return pl.store(y, [i * 128, 0], out)
"""


def test_each_block_has_a_core() -> None:
    """50 blocks on the 48 vector cores of a 910B: two have to wait."""
    made = report(compiled(BLOCKS), block_num=50)
    assert len(made.cores) == 50
    assert made.wall == pytest.approx(2 * (LOAD + EXP + STORE))
    assert report(compiled(BLOCKS), block_num=48).wall == pytest.approx(LOAD + EXP + STORE)


TWICE = """
import pypto_core.language as pl

@pl.program
class Twice:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, a: pl.Tensor[[6400, 64], pl.FP32], out: pl.Out[pl.Tensor[[6400, 64], pl.FP32]]
    ) -> pl.Tensor[[6400, 64], pl.FP32]:
        i = pl.tile.get_block_idx()
        x = pl.load(a, [i * 128, 0], [128, 64])
        y = pl.exp(x)
        return pl.store(y, [i * 128, 0], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        a: pl.Tensor[[6400, 64], pl.FP32],
        one: pl.Out[pl.Tensor[[6400, 64], pl.FP32]],
        two: pl.Out[pl.Tensor[[6400, 64], pl.FP32]],
    ) -> pl.Tensor[[6400, 64], pl.FP32]:
        one = self.kernel(a, one)
        two = self.kernel(one, two)
        return two
"""


@pytest.mark.parametrize("blocks", [1, 3])
def test_launches_follow_each_other(blocks: int) -> None:
    made = report(compiled(TWICE), block_num=blocks)
    each = LOAD + EXP + STORE
    assert made.launches == pytest.approx((each, each))
    assert [(core.core.launch, core.core.block) for core in made.cores] == [
        (launch, block) for launch in range(2) for block in range(blocks)
    ]
    assert [core.begin for core in made.cores] == pytest.approx([0] * blocks + [each] * blocks)


def same_type(args: Any, options: Any) -> Any:
    return args[0].type


CUBE = OpDef(name="acme.cube", params=(Param("x", Kind.TILE),), deduce=same_type)


class Acme:
    """A plugin with an operator of its own that runs on the cube's pipe."""

    @hookimpl
    def pypto_plugin(self) -> PluginInfo:
        return PluginInfo(name="acme", summary="cubes", requires_api=">=1,<2")

    @hookimpl
    def pypto_ops(self) -> list[OpDef]:
        return [CUBE]

    @hookimpl
    def pypto_executors(self) -> list[OpExecutor]:
        def cube(ctx: Any, x: Any) -> Any:
            return ctx.value(x.defined**3, x.shape)

        return [OpExecutor("acme.cube", cube, pipe=M, cycles=lambda ctx, x: 10.0 * x.valid[0])]


def test_operators_of_plugins_bring_pipe_and_time() -> None:
    x = b.tensor("x", (16, 64))
    load = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(16, 64)))
    with using_registry(builtin_registry().extended([CUBE])):
        cubed = b.let("c", create_call("acme.cube", [load.var], {}))
    kernel = b.kernel("k", [x], [load, cubed, b.ret(cubed.var)], returns=[cubed.var.type])
    host = load_host(entry_points=[], extra_plugins=[Acme(), plugin])
    data = np.arange(16 * 64, dtype=np.float32).reshape(16, 64)
    result = run(kernel, [data], host=host, backend=load_host().backend("910b"))
    np.testing.assert_array_equal(result.returns[0], data**3)
    core = result.report["time"].cores[0]
    assert core.pipe(M).busy == 160
    assert core.makespan == pytest.approx(200 + 4096 / (100.9 * 2**30 / 1.85e9) + 160)


@pytest.mark.parametrize("text", [rows(8, 2), PRODUCT.format(stage=2)], ids=["vector", "cube"])
def test_buffers_take_as_long_as_the_tiles_that_they_come_from(text: str) -> None:
    lower = load_reference("pypto_plugin_buffer_ir.lower:lower_tile_to_buffer", "kernels on buffers")
    tiles = compiled(text, enable_buffer_ir=False)
    with using_registry(load_host().ops):
        buffers = lower(tiles, SimpleNamespace(capabilities=frozenset({"planner:pypto"})))
    operators = {node.op.name for node in walk(entry_function(buffers).body) if isinstance(node, Call)}
    assert "buffer.load" in operators and "tile.load" not in operators
    one, other = report(tiles).cores[0], report(buffers).cores[0]
    assert [work.pipe for work in other.schedule.works] == [work.pipe for work in one.schedule.works]
    assert other.schedule.starts == pytest.approx(one.schedule.starts)

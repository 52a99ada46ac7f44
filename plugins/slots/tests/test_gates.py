"""Every gate from both sides, and what the hint of a loop that fails one says."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.ir import DataType, ForKind, ForStmt, MemorySpace, TileType, flatten, replace
from pypto_core.testing import build as b
from pypto_plugin_slots.codes import PAGES
from pypto_plugin_slots.rotate import lower_pipeline_to_slots

A, OUT = "a: pl.Tensor[[64, 16], pl.FP32]", "out: pl.Out[pl.Tensor[[64, 16], pl.FP32]]"
N = "n: pl.Scalar[pl.INDEX]"
INT64_MAX = 2**63 - 1


def rows(head: str, extra: str = "") -> str:
    """A kernel that copies rows; the loads and stores stay inside of the tensor whatever the counter is."""
    return f"for i in pl.{head}:\n    t = pl.load(a, [i % 64, 0], [1, 16])\n{extra}    pl.store(t, [i % 64, 0], out)"


def bounds(kit: Any, start: object, stop: object, step: object, stage: int = 2, run: bool = True) -> Any:
    program = kit.kernel(f"{A}, {OUT}, {N}", rows(f"pipeline({start}, {stop}, {step}, stage={stage})"))
    return kit.rotate(program, run=run)


def declined(done: Any, code: str) -> Any:
    """The one hint of a loop that is left as it is."""
    assert done.untouched and done.codes == [code]
    [hint] = done.hints
    facts = dict(hint.facts)
    assert "'i'" in hint.message and facts["function"] == "main" and facts["gate"]
    assert hint.remedy and hint.span.is_valid
    return hint


# -- stages


@pytest.mark.parametrize("stages", [2, 3, 16])
def test_stages_that_a_ring_can_have(kit: Any, stages: int) -> None:
    done = bounds(kit, 0, 32, 1, stages)
    assert done.rings == {"t": ("pipe_t", stages, f"i % {stages}")} and not done.hints


@pytest.mark.parametrize("stages", [17, 32])
def test_more_stages_than_a_ring_has_slots(kit: Any, stages: int) -> None:
    hint = declined(bounds(kit, 0, 64, 1, stages), "PH-LS-001")
    assert f"{stages} stages" in hint.message and "2 to 16" in hint.message


def test_one_stage_is_nobodys_business(kit: Any) -> None:
    done = bounds(kit, 0, 64, 1, 1)
    assert done.untouched and not done.hints and done.loops == [("i", ForKind.Pipeline, 1)]


# -- bounds


@pytest.mark.parametrize(("step", "index"), [(1, "i % 2"), (2, "i // 2 % 2"), (64, "i // 64 % 2")])
def test_constant_steps_upwards(kit: Any, step: int, index: str) -> None:
    assert bounds(kit, 0, 256, step).rings["t"] == ("pipe_t", 2, index)


def test_steps_of_run_time(kit: Any) -> None:
    assert "not a constant" in declined(bounds(kit, 0, 64, "n", run=False), "PH-LS-003").message


@pytest.mark.parametrize("step", [-1, -64])
def test_counting_down(kit: Any, step: int) -> None:
    assert f"step is {step}" in declined(bounds(kit, 63, 0, step), "PH-LS-003").message


@pytest.mark.parametrize(
    ("start", "index"), [(0, "i % 4"), (8, "i % 4"), (1, "(i - 1) % 4"), (7, "(i - 7) % 4")]
)
def test_constant_starts_from_0_on(kit: Any, start: int, index: str) -> None:
    assert bounds(kit, start, 20, 1, 4).rings["t"] == ("pipe_t", 4, index)


@pytest.mark.parametrize("start", [-1, -2, -64, -(2**63)])
@pytest.mark.parametrize("step", [1, 3])
def test_negative_starts(kit: Any, start: int, step: int) -> None:
    done = bounds(kit, start, 8, step, run=start > -100)
    assert f"starts at {start}" in declined(done, "PH-LS-004").message


@pytest.mark.parametrize("step", [1, 3])
def test_starts_of_run_time(kit: Any, step: int) -> None:
    assert "not a constant" in declined(bounds(kit, "n", 8, step), "PH-LS-004").message


def test_stops_of_run_time_need_step_1(kit: Any) -> None:
    assert bounds(kit, 0, "n", 1).rings["t"] == ("pipe_t", 2, "i % 2")
    assert bounds(kit, 3, "n", 1).rings["t"] == ("pipe_t", 2, "(i - 3) % 2")
    hint = declined(bounds(kit, 0, "n", 2), "PH-LS-005")
    assert "step 1" in hint.remedy and "not a constant" in hint.message


@pytest.mark.parametrize(
    ("start", "stop", "step", "stages", "fits"),
    [
        (INT64_MAX - 4, INT64_MAX, 3, 3, False),
        (INT64_MAX - 7, INT64_MAX - 2, 3, 2, True),
        (INT64_MAX - 7, INT64_MAX - 1, 3, 2, False),
        (INT64_MAX - 200, INT64_MAX - 63, 64, 2, True),
        (INT64_MAX - 200, INT64_MAX - 62, 64, 2, False),
        (INT64_MAX - 4, INT64_MAX, 1, 2, True),
    ],
)
def test_the_counter_must_not_leave_64_bits(
    kit: Any, start: int, stop: int, step: int, stages: int, fits: bool
) -> None:
    done = bounds(kit, start, stop, step, stages, run=False)
    if fits:
        assert done.loops == [("i", ForKind.Sequential, None)] and not done.hints
    else:
        hint = declined(done, "PH-LS-005")
        assert dict(hint.facts)["greatest stop"] == str(INT64_MAX - (step - 1))


@pytest.mark.parametrize(
    ("dtype", "rotates"),
    [(DataType.INDEX, True), (DataType.INT64, True), (DataType.INT32, False), (DataType.UINT64, False)],
)
def test_counters_of_other_types(kit: Any, dtype: DataType, rotates: bool) -> None:
    program = kit.kernel(f"{A}, {OUT}", rows("pipeline(0, 8, 1, stage=2)"))
    [loop] = flatten(program["main"].body)
    assert isinstance(loop, ForStmt)
    counter = b.scalar("i", dtype)
    narrow = replace(program["main"], body=replace(loop, loop_var=counter, body=b.seq(flatten(loop.body))))
    ctx = kit.context()
    after = lower_pipeline_to_slots(narrow, ctx)
    assert (after is not narrow) == rotates
    assert [d.code for d in ctx.log] == ([] if rotates else ["PH-LS-006"])


# -- loads


def test_a_loop_that_loads_nothing(kit: Any) -> None:
    body = """
        t = pl.load(a, [0, 0], [1, 16])
        for i in pl.pipeline(0, 8, 1, stage=2):
            e = pl.exp(t)
            pl.store(e, [i, 0], out)
    """
    assert "loads nothing" in declined(kit.rotate(kit.kernel(f"{A}, {OUT}", body)), "PH-LS-007").message


def test_reading_a_number_is_no_load(kit: Any) -> None:
    body = """
        t = pl.load(a, [0, 0], [1, 16])
        for i in pl.pipeline(0, 8, 1, stage=2):
            s = pl.tile.read(t, [0, i])
            e = pl.add(t, s)
            pl.store(e, [i, 0], out)
    """
    declined(kit.rotate(kit.kernel(f"{A}, {OUT}", body)), "PH-LS-007")


def test_loads_below_the_body_belong_there(kit: Any) -> None:
    body = """
        for i in pl.pipeline(0, 4, 1, stage=2):
            for j in pl.range(0, 2, 1):
                t = pl.load(a, [i * 2 + j, 0], [1, 16])
                pl.store(t, [i * 2 + j, 0], out)
            if i == 1:
                u = pl.load(a, [40, 0], [1, 16])
                pl.store(u, [40, 0], out)
    """
    hint = declined(kit.rotate(kit.kernel(f"{A}, {OUT}", body)), "PH-LS-007")
    assert "(t, u)" in hint.message


def test_a_nested_load_stays_as_it_is_beside_one_that_rotates(kit: Any) -> None:
    body = """
        for i in pl.pipeline(0, 4, 1, stage=2):
            t = pl.load(a, [i, 0], [1, 16])
            if i == 1:
                u = pl.load(a, [40, 0], [1, 16])
                pl.store(u, [40, 0], out)
            pl.store(t, [i, 0], out)
    """
    assert list(kit.rotate(kit.kernel(f"{A}, {OUT}", body)).rings) == ["t"]


BOUND = 'pl.Tile[[1, 16], pl.FP32, pl.MemRef("mine", slots=3)[i % 3], pl.Mem.Vec]'


def test_what_the_author_bound_stays_bound(kit: Any) -> None:
    body = f"""
        for i in pl.pipeline(0, 8, 1, stage=2):
            t: {BOUND} = pl.load(a, [i, 0], [1, 16])
            u = pl.load(a, [i, 0], [1, 16])
            w = pl.add(t, u)
            pl.store(w, [i, 0], out)
    """
    done = kit.rotate(kit.kernel(f"{A}, {OUT}", body))
    assert done.rings == {"t": ("mine", 3, "i % 3"), "u": ("pipe_u", 2, "i % 2")}
    assert done.loops == [("i", ForKind.Sequential, None)]


def test_a_bound_load_is_not_judged(kit: Any) -> None:
    """It is the source of a view, for which an unbound one would be declined."""
    body = f"""
        for i in pl.pipeline(0, 8, 1, stage=2):
            t: {BOUND} = pl.load(a, [i, 0], [1, 16])
            u = pl.load(a, [i, 0], [1, 16])
            v = pl.reshape(t, [2, 8])
            w = pl.reshape(v, [1, 16])
            x = pl.add(w, u)
            pl.store(x, [i, 0], out)
    """
    assert list(kit.rotate(kit.kernel(f"{A}, {OUT}", body)).rings) == ["t", "u"]


def test_bound_loads_alone_are_left_to_the_author(kit: Any) -> None:
    body = f"""
        for i in pl.pipeline(0, 8, 1, stage=2):
            t: {BOUND} = pl.load(a, [i, 0], [1, 16])
            pl.store(t, [i, 0], out)
    """
    hint = declined(kit.rotate(kit.kernel(f"{A}, {OUT}", body)), "PH-LS-007")
    assert "(t)" in hint.message


@pytest.mark.parametrize(
    ("space", "rotates"),
    [(MemorySpace.Vec, True), (MemorySpace.Mat, True), (MemorySpace.Acc, True),
     (MemorySpace.Left, False), (MemorySpace.Right, False), (MemorySpace.Bias, False), (None, False)],
)  # fmt: skip
def test_memories_of_slots(kit: Any, space: MemorySpace | None, rotates: bool) -> None:
    a = b.tensor("a", (16, 16))

    def body(i: Any) -> list[Any]:
        kind = b.tile_type((16, 16), space=space)
        load = b.raw_op("tile.load", [a, b.dims(0, 0), b.dims(16, 16), b.dims(16, 16)], kind)
        return [b.let("t", load), b.let("k", b.as_expr(1))]

    loop = b.loop(8, body, kind=ForKind.Pipeline, attrs={"pipeline_stages": 2})
    ctx = kit.context()
    function = b.kernel("main", [a], [loop])
    after = lower_pipeline_to_slots(function, ctx)
    assert (after is not function) == rotates
    assert [d.code for d in ctx.log] == ([] if rotates else ["PH-LS-008"])


def test_valid_extents_have_to_be_constant(kit: Any) -> None:
    body = """
        for i in pl.pipeline(0, 8, 1, stage=2):
            t = pl.load(a, [i, 0], [1, 16], valid_shape=[1, {}])
            pl.store(t, [i, 0], out)
    """
    done = kit.rotate(kit.kernel(f"{A}, {OUT}, {N}", body.format(9)))
    assert done.rings == {"t": ("pipe_t", 2, "i % 2")}
    hint = declined(kit.rotate(kit.kernel(f"{A}, {OUT}, {N}", body.format("n")), run=False), "PH-LS-009")
    assert dict(hint.facts)["valid shape"] == "[1, ?]" and dict(hint.facts)["load"] == "t"


def test_one_load_that_fails_declines_its_loop(kit: Any) -> None:
    body = """
        for i in pl.pipeline(0, 8, 1, stage=2):
            t = pl.load(a, [i, 0], [1, 16])
            u = pl.load(a, [i, 0], [1, 16], valid_shape=[1, n])
            v = pl.load(a, [i, 0], [1, 16])
            r = pl.reshape(v, [2, 8])
            pl.store(r, [i, 0], out)
            pl.store(t, [i, 0], out)
            pl.store(u, [i, 0], out)
    """
    done = kit.rotate(kit.kernel(f"{A}, {OUT}, {N}", body), run=False)
    # Both that fail are named, so that nobody finds the second after mending the first.
    assert done.untouched and done.codes == ["PH-LS-009", "PH-LS-011"]
    assert [dict(h.facts)["load"] for h in done.hints] == ["u", "v"]


# -- planners


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp"])
def test_other_planners_keep_every_function(kit: Any, planner: str) -> None:
    program = kit.kernel(f"{A}, {OUT}", rows("pipeline(0, 8, 1, stage=2)"))
    done = kit.apply(program, planner=planner)
    assert done.untouched and not done.hints
    assert not kit.apply(program, planner=planner, enable_addressed_slots=False).hints
    asked = kit.apply(program, planner=planner, enable_addressed_slots=True)
    assert asked.rings == {"t": ("pipe_t", 2, "i % 2")}


def test_without_a_context_nothing_changes(kit: Any) -> None:
    function = kit.kernel(f"{A}, {OUT}", rows("pipeline(0, 8, 1, stage=2)"))["main"]
    assert lower_pipeline_to_slots(function, None) is function


def test_every_code_has_a_page() -> None:
    assert [page.code for page in PAGES] == [f"PH-LS-{n:03}" for n in range(1, 13)]
    assert all(len(page.text.split()) > 20 for page in PAGES)


def test_what_is_not_a_tile_type_is_no_load(kit: Any) -> None:
    """Kernels of tensors alone have pipelined loops too."""
    program = kit.kernel(
        f"{A}, {OUT}, {N}", "for i in pl.pipeline(0, 8, 1, stage=2):\n    k = i * n\n    m = k + 1"
    )
    done = kit.apply(program)
    assert done.codes == ["PH-LS-007"]
    assert not any(isinstance(v.type, TileType) for v in program["main"].params)

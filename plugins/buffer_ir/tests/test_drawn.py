"""Whatever kernel is drawn: one that is selected lowers, is in order, is written as legal text and computes the same.

One that is not selected is compiled as if nobody had asked.
"""

from __future__ import annotations

import numpy as np
from drawn_cubes import drawn_cube
from drawn_kernels import drawn
from hypothesis import event, given, settings
from hypothesis import strategies as st
from selecting import compiled, host, on_buffers

from pypto_core.diagnostics import UserError
from pypto_core.ir import BUFFER_IR_SELECTED, Program, walk
from pypto_core.testing import random_inputs
from pypto_plugin_buffer_ir.verify import verify_buffer_ir

PLANNERS = st.sampled_from(["pypto", "dsa_rp", "ptoas"])
NUMBERS = ((0, 3), (2, 1), (3, 0))
SEEDS = st.integers(0, 1 << 32)


def texts(made) -> dict[str, bytes]:
    return {a.name: a.content for a in made.artifacts}


def check(program: Program, planner: str, numbers=NUMBERS) -> None:
    try:
        tiles = compiled(program, planner, enable_buffer_ir=False)
    except UserError:
        event("not even in tiles")
        return
    made = compiled(program, planner)
    if not on_buffers(made.program):
        event("in tiles")
        assert made.program["k"].attrs[BUFFER_IR_SELECTED] is False
        assert texts(made) == texts(tiles)
        return
    event("on buffers")
    assert list(verify_buffer_ir(made.program)) == []
    target = host().target("pto")
    check_text = target.load_check()
    assert check_text is not None
    assert [d for a in made.artifacts for d in check_text(a, host().backend("910b"))] == []
    for n, m in numbers:
        same(program, made.program, {"n": n, "m": m})


def same(program: Program, made: Program, dims: dict[str, int]) -> None:
    inputs = random_inputs(program["k"], 1, dims)
    want = host().engine("values").load()(program, inputs).outputs
    for engine in ("values", "bytes"):
        got = host().engine(engine).load()(made, inputs).outputs
        for name, value in want.items():
            np.testing.assert_array_equal(got[name], value, err_msg=f"{engine} {dims}")


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(2, 14), PLANNERS)
def test_kernels_of_the_table(seed, size, planner):
    check(drawn(seed, size, beyond=0), planner)


@settings(max_examples=12, deadline=None)
@given(SEEDS, st.integers(2, 14), st.integers(5, 40), PLANNERS)
def test_kernels_beyond_the_table(seed, size, beyond, planner):
    check(drawn(seed, size, beyond), planner, NUMBERS[1:2])


@settings(max_examples=8, deadline=None)
@given(SEEDS, PLANNERS)
def test_kernels_of_the_matrix_unit(seed, planner):
    check(drawn_cube(seed), planner, NUMBERS[:1])


def test_the_draw_covers_the_table():
    """Most of what can be selected is drawn, and most of what is drawn is selected."""
    seen: set[str] = set()
    for seed in range(80):
        program = drawn(seed, 14, 0)
        seen |= {
            node.op.name
            for node in walk(program["k"].body)
            if hasattr(node, "op") and hasattr(node, "kwargs")
        }
    from pypto_plugin_buffer_ir.rules import RULES

    matrix = {"tile.matmul", "tile.matmul_acc", "tile.extract", "tile.transpose_view", "tile.create"}
    queries = {name for name in RULES if ".get_" in name}
    assert set(RULES) - seen <= matrix | queries | {"tile.alloc"}

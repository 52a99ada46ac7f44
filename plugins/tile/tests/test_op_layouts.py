"""ResolveBackendOpLayouts: columns are looked at as rows, boxed tiles are copied into rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.ir import AssignStmt, Call, TileType, walk_stmts
from pypto_core.testing import SSA_FEATURES, random_program
from pypto_plugin_tile.op_layouts import ELEMENTWISE, resolve_backend_op_layouts

X, Y = "x: pl.Tensor[[64, 64], pl.FP32]", "y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
KEPT = ("SSAForm", "NormalizedStmtStructure", "TileMemoryInferred", "AssignTypeSymmetry", "TileTypeCoherence")


def resolved(kit: Any, params: str, body: str, **options: Any) -> tuple[Any, Any]:
    transform = kit.on_functions(resolve_backend_op_layouts, "910b")
    program = kit.kernel(params, body)
    after = kit.prove(transform, program, kept=KEPT, **options)
    assert transform(after) is after
    check_rows(after)
    return program, after


def check_rows(program: Any) -> None:
    """What the assembler checks of element-wise instructions, read off the types alone."""
    for function in program:
        for s in walk_stmts(function.body):
            if isinstance(s, AssignStmt) and isinstance(s.value, Call) and s.value.name in ELEMENTWISE:
                for value in (*s.value.args, s.var):
                    if isinstance(value.type, TileType):
                        view = value.type.view
                        assert (view.blayout.name, view.slayout.name) == ("row_major", "none_box"), (
                            s.value.name
                        )


def names(program: Any) -> list[str]:
    return [
        s.value.name.removeprefix("tile.") if isinstance(s.value, Call) else "="
        for s in walk_stmts(program["main"].body)
        if isinstance(s, AssignStmt)
    ]


HEAD = """
t = pl.load(x, [0, 0], [64, 64])
tmp = pl.create_tile([64, 64], pl.FP32)
m = pl.row_max(t, tmp)
"""


def test_a_column_is_looked_at_as_a_row(kit: Any) -> None:
    rest = "# scaled\n{}w = pl.row_expand_mul(t, e)\npl.store(w, [0, 0], y)"
    _, after = resolved(kit, f"{X}, {Y}", HEAD + rest.format("e = pl.exp(m)\n"))
    wanted = "r = pl.tile.reshape(m, [1, 64])\nq = pl.exp(r)\ne = pl.tile.reshape(q, [64, 1])\n"
    kit.equal(after, f"{X}, {Y}", HEAD + rest.format(wanted))
    assert [c.strip("# ") for s in walk_stmts(after["main"].body) for c in s.leading_comments] == ["scaled"]


def test_a_chain_stays_a_row_in_between(kit: Any) -> None:
    """Reshapes between the operators would only be undone; the last result goes back for its other reader."""
    body = (
        HEAD
        + """
e = pl.exp(m)
f = pl.muls(e, 2.0)
g = pl.add(f, m)
w = pl.row_expand_mul(t, g)
pl.store(w, [0, 0], y)
"""
    )
    _, after = resolved(kit, f"{X}, {Y}", body)
    assert names(after) == [
        "load", "create", "row_max", "reshape", "exp", "muls", "add", "reshape", "row_expand_mul",
    ]  # fmt: skip


def test_both_readers_of_a_column(kit: Any) -> None:
    body = (
        HEAD
        + """
e = pl.exp(m)
w = pl.row_expand_mul(t, e)
f = pl.neg(e)
v = pl.row_expand_add(w, f)
pl.store(v, [0, 0], y)
"""
    )
    _, after = resolved(kit, f"{X}, {Y}", body)
    assert names(after).count("reshape") == 3, (
        "into a row once, out of it for each operator that reads a column"
    )


def test_partly_valid_columns(kit: Any) -> None:
    body = """
t = pl.load(x, [0, 0], [64, 64], valid_shape=[n, 64])
tmp = pl.create_tile([64, 64], pl.FP32)
m = pl.row_max(t, tmp)
e = pl.exp(m)
w = pl.row_expand_mul(t, e)
pl.store(w, [0, 0], y)
"""
    import numpy as np

    array = np.random.default_rng(3).standard_normal((64, 64)).astype(np.float32)
    cases = [{"x": array, "y": array * 0, "n": n} for n in (1, 17, 64)]
    _, after = resolved(kit, f"{X}, {Y}, n: pl.Scalar[pl.INDEX]", body, inputs=cases)
    assert names(after).count("reshape") == 2


def test_what_is_made_in_a_region_stays_there(kit: Any) -> None:
    body = (
        HEAD
        + """
for i, (k,) in pl.range(0, 3, 1, init_values=(m,)):
    if i == 0:
        e = pl.exp(m)
        p = pl.yield_(e)
    else:
        f = pl.add(k, m)
        p = pl.yield_(f)
    q = pl.yield_(p)
g = pl.neg(m)
h = pl.add(g, q)
w = pl.row_expand_mul(t, h)
pl.store(w, [0, 0], y)
"""
    )
    _, after = resolved(kit, f"{X}, {Y}", body)
    # m in either branch and behind the loop, k, e and f handed on as columns, q, h.
    assert names(after).count("reshape") == 8


def test_a_column_that_is_changed_is_looked_at_again(kit: Any) -> None:
    """The view itself would do; what was computed from it would not."""
    body = (
        HEAD
        + """
e = pl.exp(m)
pl.write(e, [3, 0], 2.0)
f = pl.neg(e)
w = pl.row_expand_mul(t, f)
pl.store(w, [0, 0], y)
"""
    )
    _, after = resolved(kit, f"{X}, {Y}", body)
    assert names(after)[3:] == ["reshape", "exp", "reshape", "reshape", "neg", "reshape", "row_expand_mul"]


def test_boxed_tiles_are_copied_into_rows(kit: Any) -> None:
    params = "a: pl.Tensor[[64, 64], pl.FP16], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
    body = """
l = pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
left = pl.move(l, target_memory=pl.Mem.Left)
right = pl.move(l, target_memory=pl.Mem.Right)
c = pl.matmul(left, right)
v = pl.move(c, target_memory=pl.Mem.Vec, blayout=pl.TileLayout.col_major, slayout=pl.TileLayout.row_major)
e = pl.exp(v)
f = pl.add(e, v)
pl.store(f, [0, 0], y)
"""
    _, after = resolved(kit, params, body)
    # One copy of v serves both, and nothing reads e as it was; f is handed back to the store.
    assert names(after)[5:] == ["move", "exp", "add", "move"]


def test_rows_stay_as_they_are(kit: Any) -> None:
    program, after = resolved(
        kit, f"{X}, {Y}", "t = pl.load(x, [0, 0], [64, 64])\ne = pl.exp(t)\npl.store(e, [0, 0], y)"
    )
    assert after is program


@settings(max_examples=25)
@given(st.integers(0, 1 << 30), st.integers(5, 45))
def test_random_programs_compute_the_same(kit: Any, seed: int, size: int) -> None:
    program = random_program(seed, size, SSA_FEATURES)
    after = kit.prove(
        kit.on_functions(resolve_backend_op_layouts, "910b"),
        program,
        kept=("SSAForm", "NormalizedStmtStructure"),
    )
    check_rows(after)


@pytest.mark.parametrize("backend", ["910b", "a5"])
def test_a_softmax_that_works_on_its_columns_is_written(kit: Any, backend: str) -> None:
    """Through the whole pipeline to the text for the assembler, where one is installed."""
    if "pto" not in kit.host.targets:
        pytest.skip("no plugin brings the target 'pto'")
    from pypto_core.run import compile

    body = (
        HEAD
        + """
d = pl.row_expand_sub(t, m)
e = pl.exp(d)
s = pl.row_sum(e, tmp)
r = pl.recip(s)
w = pl.row_expand_mul(e, r)
pl.store(w, [0, 0], y)
"""
    )
    compiled = compile(kit.kernel(f"{X}, {Y}", body), backend=backend, host=kit.host)
    [artifact] = compiled.artifacts
    assert "pto.trecip" in str(artifact.data) and "rows=1, cols=64" in str(artifact.data)

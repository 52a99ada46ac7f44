"""CanonicalizeTileSlice: what is folded, what is not, and that the numbers stay."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.ir import walk_stmts
from pypto_core.testing import SSA_FEATURES, Feature, random_program
from pypto_plugin_tile.slices import canonicalize_tile_slice

A, OUT = "a: pl.Tensor[[64, 64], pl.FP16]", "out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
X, Y = "x: pl.Tensor[[64, 64], pl.FP32]", "y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
MAT, LEFT, RIGHT = (f"target_memory=pl.Mem.{name}" for name in ("Mat", "Left", "Right"))


def folded(kit: Any, params: str, body: str, **options: Any) -> Any:
    transform = kit.on_functions(canonicalize_tile_slice)
    program = kit.kernel(params, body)
    after = kit.prove(transform, program, **options)
    assert transform(after) is after
    return program, after


def test_windows_of_windows(kit: Any) -> None:
    body = """
    t = pl.load(x, [0, 0], [64, 64])
    # outer
    s = pl.tile.slice(t, [32, 32], [8, 16])
    u = pl.tile.slice(s, [16, 16], [4, 8])
    e = pl.exp(u)
    pl.store(e, [0, 0], y)
    """
    _, after = folded(kit, f"{X}, {Y}", body)
    wanted = "t = pl.load(x, [0, 0], [64, 64])\nu = pl.tile.slice(t, [16, 16], [12, 24])\n"
    kit.equal(after, f"{X}, {Y}", wanted + "e = pl.exp(u)\npl.store(e, [0, 0], y)")
    comments = [c.strip("# ") for s in walk_stmts(after["main"].body) for c in s.leading_comments]
    assert comments == ["outer"]


def test_a_slice_that_is_read_elsewhere_stays(kit: Any) -> None:
    body = """
    t = pl.load(x, [0, 0], [64, 64])
    s = pl.tile.slice(t, [32, 32], [8, 16])
    u = pl.tile.slice(s, [32, 32], [0, 0])
    e = pl.add(s, u)
    pl.store(e, [0, 0], y)
    """
    _, after = folded(kit, f"{X}, {Y}", body)
    kit.equal(after, f"{X}, {Y}", body.replace("slice(s, [32, 32], [0, 0])", "slice(t, [32, 32], [8, 16])"))


def test_offsets_of_run_time_are_added(kit: Any) -> None:
    body = """
    t = pl.load(x, [0, 0], [64, 64])
    for i in pl.range(0, 4, 1):
        s = pl.tile.slice(t, [16, 64], [i * 16, 0])
        u = pl.tile.slice(s, [8, 64], [i % 2 * 8, 0])
        e = pl.exp(u)
        pl.store(e, [i * 8, 0], y)
    """
    _, after = folded(kit, f"{X}, {Y}", body)
    lines = body.splitlines()
    del lines[3]
    kit.equal(after, f"{X}, {Y}", "\n".join(lines).replace(
        "slice(s, [8, 64], [i % 2 * 8, 0])", "slice(t, [8, 64], [i * 16 + i % 2 * 8, 0])"
    ))  # fmt: skip


def test_extracts_read_the_tile_itself(kit: Any) -> None:
    body = f"""
    t = pl.load(a, [0, 0], [64, 64], {MAT})
    s = pl.tile.slice(t, [64, 32], [0, 32])
    z = pl.create_tile([64, 64], pl.FP32, target_memory=pl.Mem.Acc)
    for k, (c,) in pl.range(0, 32, 16, init_values=(z,)):
        l = pl.tile.extract(s, 0, k, [64, 16], {LEFT})
        r = pl.tile.extract(t, k, 0, [16, 64], {RIGHT})
        m = pl.tile.matmul_acc(c, l, r, k == 0)
        d = pl.yield_(m)
    pl.store(d, [0, 0], out)
    """
    _, after = folded(kit, f"{A}, {OUT}", body)
    wanted = body.replace("    s = pl.tile.slice(t, [64, 32], [0, 32])\n", "")
    kit.equal(after, f"{A}, {OUT}", wanted.replace("extract(s, 0, k,", "extract(t, 0, 32 + k,"))


def test_operands_of_the_matrix_unit_are_cut_out(kit: Any) -> None:
    body = f"""
    t = pl.load(a, [0, 0], [64, 64], {MAT})
    s = pl.tile.slice(t, [32, 16], [32, 16])
    u = pl.tile.slice(t, [16, 64], [16, 0])
    c = pl.matmul(s, u)
    pl.store(c, [0, 0], out)
    """
    _, after = folded(kit, f"{A}, {OUT}", body)
    wanted = f"""
    t = pl.load(a, [0, 0], [64, 64], {MAT})
    l = pl.tile.extract(t, 32, 16, [32, 16], {LEFT})
    r = pl.tile.extract(t, 16, 0, [16, 64], {RIGHT})
    c = pl.matmul(l, r)
    pl.store(c, [0, 0], out)
    """
    kit.equal(after, f"{A}, {OUT}", wanted)


@pytest.mark.parametrize(
    "line",
    [
        # Narrower than what is left of the tile: the extract would say that more is valid.
        "s = pl.tile.slice(t, [32, 16], [32, 16], valid_shape=[20, 16])",
        "s = pl.tile.slice(t, [32, 16], [32, 16], pad_value=pl.PadValue.zero)",
    ],
)
def test_slices_that_say_more_than_a_window_stay(kit: Any, line: str) -> None:
    body = f"""
    t = pl.load(a, [0, 0], [64, 64], {MAT})
    {line}
    l = pl.move(s, {LEFT})
    r = pl.load(a, [0, 0], [16, 64], {MAT})
    q = pl.move(r, {RIGHT})
    c = pl.matmul(l, q)
    pl.store(c, [0, 0], out)
    """
    program, after = folded(kit, f"{A}, {OUT}", body)
    assert after is program


def test_tiles_in_the_vector_buffer_are_left_to_their_moves(kit: Any) -> None:
    body = "t = pl.load(a, [0, 0], [64, 64])\ns = pl.tile.slice(t, [32, 64], [32, 0])\nc = pl.matmul(s, t)\n"
    program, after = folded(kit, f"{A}, {OUT}", body + "pl.store(c, [0, 0], out)")
    assert after is program


def test_only_kernels_are_looked_at(kit: Any) -> None:
    body = "t = pl.load(x, [0, 0], [64, 64])\ns = pl.tile.slice(t, [32, 32], [8, 16])\n"
    body += "u = pl.tile.slice(s, [16, 16], [4, 8])\npl.store(u, [0, 0], y)"
    program = kit.kernel(f"{X}, {Y}", body, kind="Opaque")
    assert kit.on_functions(canonicalize_tile_slice)(program) is program


@settings(max_examples=25)
@given(st.integers(0, 1 << 30), st.integers(5, 40))
def test_random_programs_compute_the_same(kit: Any, seed: int, size: int) -> None:
    program = random_program(seed, size, SSA_FEATURES | {Feature.VIEWS})
    kit.prove(kit.on_functions(canonicalize_tile_slice), program, kept=("SSAForm", "NormalizedStmtStructure"))

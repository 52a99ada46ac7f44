"""The forms in which pipelined loops are written in practice: which rotate, and why the others don't."""

from __future__ import annotations

from typing import Any

import pytest

PARAMS = (
    "a: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]], "
    "lo: pl.Scalar[pl.INDEX], hi: pl.Scalar[pl.INDEX]"
)

# Bounds, and what becomes of them: the slot index with F for the stages, or the code of the hint.
BOUNDS = [
    ("0, 8, 1", "i % F"),
    ("0, 64, 16", "i // 16 % F"),
    ("1, 8, 1", "(i - 1) % F"),
    ("16, 64, 16", "(i - 16) // 16 % F"),
    ("2, 8, 2", "(i - 2) // 2 % F"),
    ("0, hi, 1", "i % F"),
    ("1, hi, 1", "(i - 1) % F"),
    ("0, hi, 16", "PH-LS-005"),
    ("lo, 8, 1", "PH-LS-004"),
    ("lo, hi, 1", "PH-LS-004"),
    ("lo, 64, 16", "PH-LS-004"),
]


@pytest.mark.parametrize(("bounds", "wanted"), BOUNDS, ids=[x[0] for x in BOUNDS])
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_bounds(kit: Any, bounds: str, wanted: str, stages: int) -> None:
    body = f"""
        for i in pl.pipeline({bounds}, stage={stages}):
            t = pl.load(a, [i % 64, 0], [1, 64])
            e = pl.mul(t, 2.0)
            pl.store(e, [i % 64, 0], out)
    """
    done = kit.rotate(kit.kernel(PARAMS, body))
    if stages == 1:
        assert done.untouched and not done.hints
    elif wanted.startswith("PH-"):
        assert done.untouched and done.codes == [wanted]
    else:
        assert done.rings == {"t": ("pipe_t", stages, wanted.replace("F", str(stages)))} and not done.hints


def test_starting_at_2_is_aligned_for_two_stages_only(kit: Any) -> None:
    body = "for i in pl.pipeline(2, 8, 1, stage={}):\n    t = pl.load(a, [i, 0], [1, 64])\n    pl.store(t, [i, 0], out)"
    indices = [kit.rotate(kit.kernel(PARAMS, body.format(f))).rings["t"][2] for f in (2, 3, 4)]
    assert indices == ["i % 2", "(i - 2) % 3", "(i - 2) % 4"]


CUBE = "p: pl.Tensor[[16, 64], pl.FP16], q: pl.Tensor[[64, 16], pl.FP16], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]"
LOADS = """
    l = pl.load(p, [0, k * 16], [16, 16], target_memory=pl.Mem.Mat)
    r = pl.load(q, [k * 16, 0], [16, 16], target_memory=pl.Mem.Mat)
    x = pl.move(l, target_memory=pl.Mem.Left)
    y = pl.move(r, target_memory=pl.Mem.Right)
"""
FIRST = """
l0 = pl.load(p, [0, 0], [16, 16], target_memory=pl.Mem.Mat)
r0 = pl.load(q, [0, 0], [16, 16], target_memory=pl.Mem.Mat)
x0 = pl.move(l0, target_memory=pl.Mem.Left)
y0 = pl.move(r0, target_memory=pl.Mem.Right)
c0 = pl.matmul(x0, y0)
"""
PEELED = f"""{FIRST}
for k, (c,) in pl.pipeline(1, 4, 1, stage=2, init_values=(c0,)):{LOADS}
    m = pl.matmul_acc(c, x, y)
    d = pl.yield_(m)
pl.store(d, [0, 0], out)
"""
BRANCHED = f"""
c0 = pl.create_tile([16, 16], pl.FP32, target_memory=pl.Mem.Acc)
for k, (c,) in pl.pipeline(0, 4, 1, stage=2, init_values=(c0,)):{LOADS}
    if k == 0:
        m0 = pl.matmul(x, y)
        m = pl.yield_(m0)
    else:
        m1 = pl.matmul_acc(c, x, y)
        m = pl.yield_(m1)
    d = pl.yield_(m)
pl.store(d, [0, 0], out)
"""


def test_a_product_with_its_first_step_in_front(kit: Any) -> None:
    done = kit.rotate(kit.kernel(CUBE, PEELED))
    assert done.rings == {"l": ("pipe_l", 2, "(k - 1) % 2"), "r": ("pipe_r", 2, "(k - 1) % 2")}


def test_a_product_that_starts_in_a_branch(kit: Any) -> None:
    done = kit.rotate(kit.kernel(CUBE, BRANCHED))
    assert done.rings == {"l": ("pipe_l", 2, "k % 2"), "r": ("pipe_r", 2, "k % 2")}


def test_rows_that_are_cut_short_at_run_time(kit: Any) -> None:
    body = """
        for i in pl.pipeline(0, 64, 16, stage=2):
            m = pl.min(16, hi - i)
            t = pl.load(a, [i, 0], [16, 64], valid_shape=[m, 64])
            e = pl.mul(t, 2.0)
            pl.store(e, [i, 0], out)
    """
    assert kit.rotate(kit.kernel(PARAMS, body), run=False).codes == ["PH-LS-009"]


def test_a_body_of_branches_alone(kit: Any) -> None:
    """What is loaded in front of the branches turns; what each branch loads for itself keeps the loop as it is."""
    body = """
        for i in pl.pipeline(0, 8, 1, stage=2):
            {front}if i == 0:
                {first}e = pl.mul(t, 2.0)
                pl.store(e, [i, 0], out)
            else:
                {second}f = pl.exp(u)
                pl.store(f, [i, 0], out)
    """
    load = "{} = pl.load(a, [i, 0], [1, 64])\n{}"
    front = body.format(front=load.format("t", " " * 12), first="", second="").replace("exp(u)", "exp(t)")
    done = kit.rotate(kit.kernel(PARAMS, front))
    assert done.rings == {"t": ("pipe_t", 2, "i % 2")} and not done.hints
    inside = body.format(front="", first=load.format("t", " " * 16), second=load.format("u", " " * 16))
    done = kit.rotate(kit.kernel(PARAMS, inside))
    assert done.untouched and done.codes == ["PH-LS-007"] and "(t, u)" in done.hints[0].message


def test_a_product_with_a_loop_of_its_own(kit: Any) -> None:
    """A strip of columns per trip, multiplied block by block: the strip turns, the blocks belong to the inner loop."""
    params = CUBE.replace("[64, 16]", "[64, 64]").replace("[[16, 16]", "[[16, 64]")
    body = """
        for n in pl.pipeline(0, 64, 16, stage=2):
            w = pl.load(q, [0, n], [64, 16], target_memory=pl.Mem.Mat)
            c0 = pl.create_tile([16, 16], pl.FP32, target_memory=pl.Mem.Acc)
            for k, (c,) in pl.{kind}(0, 64, 16{stage}, init_values=(c0,)):
                l = pl.load(p, [0, k], [16, 16], target_memory=pl.Mem.Mat)
                x = pl.move(l, target_memory=pl.Mem.Left)
                y = pl.tile.extract(w, k, 0, [16, 16], target_memory=pl.Mem.Right)
                m = pl.matmul_acc(c, x, y, k == 0)
                d = pl.yield_(m)
            pl.store(d, [0, n], out)
    """
    plain = kit.rotate(kit.kernel(params, body.format(kind="range", stage="")))
    assert plain.rings == {"w": ("pipe_w", 2, "n // 16 % 2")} and not plain.hints
    both = kit.rotate(kit.kernel(params, body.format(kind="pipeline", stage=", stage=4")))
    assert both.rings == {"w": ("pipe_w", 2, "n // 16 % 2"), "l": ("pipe_l", 4, "k // 16 % 4")}

"""Tiles whose buffer is somebody else's as well: carries, views, operators in place, under any name."""

from __future__ import annotations

from typing import Any

import pytest

PARAMS = "a: pl.Tensor[[64, 16], pl.FP32], out: pl.Out[pl.Tensor[[64, 16], pl.FP32]], n: pl.Scalar[pl.INDEX]"
LOOP = "for i in pl.pipeline(0, 8, 1, stage=2):\n    t = pl.load(a, [i, 0], [1, 16])\n"


def judged(kit: Any, body: str) -> Any:
    return kit.rotate(kit.kernel(PARAMS, body))


def inside(text: str) -> str:
    return LOOP + "".join(f"    {line}\n" for line in text.strip("\n").splitlines())


CARRIED = {
    "yielded by the loop": (
        "c = pl.load(a, [9, 0], [1, 16])\n"
        "for i, (x,) in pl.pipeline(0, 8, 1, stage=2, init_values=(c,)):\n"
        "    t = pl.load(a, [i, 0], [1, 16])\n    pl.store(x, [i, 0], out)\n    y = pl.yield_({})\n"
        "pl.store(y, [60, 0], out)"
    ),
    "yielded by a branch": inside(
        "if i == 1:\n    r = pl.yield_({})\nelse:\n    z = pl.exp(t)\n    r = pl.yield_(z)\npl.store(r, [i, 0], out)"
    ),
    "yielded by an inner loop": inside(
        "z = pl.exp(t)\nfor j, (x,) in pl.range(0, 2, 1, init_values=(z,)):\n    y = pl.yield_({})\n"
        "pl.store(y, [i, 0], out)"
    ),
    "starts an inner loop": inside(
        "for j, (x,) in pl.range(0, 2, 1, init_values=({},)):\n    z = pl.exp(x)\n    y = pl.yield_(z)\n"
        "pl.store(y, [i, 0], out)"
    ),
}


@pytest.mark.parametrize("case", CARRIED)
@pytest.mark.parametrize("name", ["t", "v"])
def test_what_is_carried_declines_the_loop(kit: Any, case: str, name: str) -> None:
    body = CARRIED[case].format(name)
    if name == "v":
        load = "    t = pl.load(a, [i, 0], [1, 16])\n"
        body = body.replace(load, f"{load}    v = t\n")
    done = judged(kit, body)
    assert done.untouched and done.codes == ["PH-LS-010"]
    assert dict(done.hints[0].facts)["load"] == "t"


@pytest.mark.parametrize("case", CARRIED)
def test_what_is_computed_from_a_load_may_be_carried(kit: Any, case: str) -> None:
    load = "    t = pl.load(a, [i, 0], [1, 16])\n"
    done = judged(kit, CARRIED[case].format("e").replace(load, f"{load}    e = pl.exp(t)\n"))
    assert done.rings == {"t": ("pipe_t", 2, "i % 2")} and not done.hints


def test_a_while_loop_carries_too(kit: Any) -> None:
    body = inside("""
for (x, k) in pl.while_(init_values=(t, 0)):
    pl.cond(k < 2)
    z = pl.exp(x)
    y, m = pl.yield_(z, k + 1)
pl.store(y, [i, 0], out)
""")
    assert judged(kit, body).codes == ["PH-LS-010"]


def test_the_name_of_a_carry_is_given(kit: Any) -> None:
    done = judged(kit, CARRIED["starts an inner loop"].format("t"))
    assert "'x'" in done.hints[0].message


TAKEN = {
    "tile.reshape": "w = pl.reshape({}, [2, 8])\nx = pl.reshape(w, [1, 16])",
    "tile.slice": "x = pl.tile.slice({}, [1, 8], [0, 8])",
    "tile.set_validshape": "x = pl.tile.set_validshape({}, 1, 8)",
    "tile.assemble": "s = pl.load(a, [9, 0], [1, 8])\nx = pl.tile.assemble({}, s, [0, 8])",
}


@pytest.mark.parametrize("operator", TAKEN)
@pytest.mark.parametrize("name", ["t", "v", "u"])
def test_a_result_in_the_buffer_of_a_load_declines_the_loop(kit: Any, operator: str, name: str) -> None:
    alias = {"t": "", "v": "v = t\n", "u": "v = t\nu = v\n"}[name]
    done = judged(kit, inside(alias + TAKEN[operator].format(name) + "\npl.store(x, [i, 0], out)"))
    assert done.untouched and done.codes == ["PH-LS-011"]
    facts = dict(done.hints[0].facts)
    assert (facts["load"], facts["operator"]) == ("t", operator)


def test_a_view_in_a_branch_counts(kit: Any) -> None:
    done = judged(kit, inside("if i == 1:\n    w = pl.reshape(t, [2, 8])\n    pl.store(w, [8, 0], out)"))
    assert done.codes == ["PH-LS-011"]


FREE = {
    "stored": "pl.store(t, [i, 0], out)",
    "stored by another name": "v = t\npl.store(v, [i, 0], out)",
    "stored into a carried tensor": "o = pl.store(t, [i, 0], out)",
    "assembled": "z = pl.exp(a0)\nx = pl.tile.assemble(z, t, [0, 0])\npl.store(x, [i, 0], out)",
    "view of what is computed": "e = pl.exp(t)\nw = pl.reshape(e, [2, 8])\npl.store(w, [i, 0], out)",
    "moved": "x = pl.tile.move(t, target_memory=pl.Mem.Vec)\npl.store(x, [i, 0], out)",
    "read in a branch": "if i == 1:\n    e = pl.exp(t)\n    pl.store(e, [i, 0], out)",
    "read in an inner loop": "for j in pl.range(0, 2, 1):\n    e = pl.exp(t)\n    pl.store(e, [i + j, 0], out)",
    "cast": "e = pl.cast(t, pl.FP16)\nx = pl.cast(e, pl.FP32)\npl.store(x, [i, 0], out)",
}


@pytest.mark.parametrize("case", FREE)
def test_other_uses_are_free(kit: Any, case: str) -> None:
    before = "a0 = pl.load(a, [0, 0], [1, 16])\n" if "a0" in FREE[case] else ""
    done = judged(kit, before + inside(FREE[case]))
    assert done.rings == {"t": ("pipe_t", 2, "i % 2")} and not done.hints


MATMUL = """
acc = pl.create_tile([16, 16], pl.FP32, target_memory=pl.Mem.Acc)
for k, (c,) in pl.pipeline(0, 4, 1, stage=2, init_values=(acc,)):
    l = pl.load(p, [0, k * 16], [16, 16], target_memory=pl.Mem.Mat)
    r = pl.load(q, [k * 16, 0], [16, 16], target_memory=pl.Mem.Mat)
    x = pl.move(l, target_memory=pl.Mem.Left)
    y = pl.move(r, target_memory=pl.Mem.Right)
    m = pl.tile.matmul_acc(c, x, y, k == 0)
    d = pl.yield_(m)
pl.store(d, [0, 0], out)
"""


def test_factors_of_a_product_rotate_and_its_accumulator_does_not(kit: Any) -> None:
    params = (
        "p: pl.Tensor[[16, 64], pl.FP16], q: pl.Tensor[[64, 16], pl.FP16], "
        "out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]"
    )
    done = kit.rotate(kit.kernel(params, MATMUL))
    assert done.rings == {"l": ("pipe_l", 2, "k % 2"), "r": ("pipe_r", 2, "k % 2")}

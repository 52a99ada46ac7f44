"""Loops that are L0 pipelines already: which get a second accumulator, and which stay as they are."""

from __future__ import annotations

from typing import Any

import pytest

MARKS = {"pipeline_overlap_stores": False, "pipeline_double_buffer_c": True}
MAT = "target_memory=pl.Mem.Mat"


def stored(
    kit: Any, m: int, N: int, trips: int, *, stage: int = 2, dtype: str = "BF16", attrs: str = "", loop: str = "",
    more: str = "", moving: str = "left", head: str = "", K: int = 64,
) -> Any:  # fmt: skip
    """A panel that stays and blocks that move past it, each product stored."""
    rows, cols = (m * trips, N) if moving == "left" else (m, N * trips)
    out = f"pl.Tensor[[{rows}, {cols}], pl.{kit.result(dtype)}]"
    params = (f"a: pl.Tensor[[{rows}, {K}], pl.{dtype}]", f"b: pl.Tensor[[{K}, {cols}], pl.{dtype}]",
              f"aux: pl.InOut[pl.Tensor[[64, 64], pl.{kit.result(dtype)}]]", f"out: pl.Out[{out}]")  # fmt: skip
    if moving == "left":
        held = "held = pl.move(rhs, target_memory=pl.Mem.Right)"
        block = f"block = pl.tile.extract(lhs, i * {m}, 0, [{m}, {K}], target_memory=pl.Mem.Left)"
        product, at = "pl.matmul(block, held)", f"[i * {m}, 0]"
    else:
        held = "held = pl.move(lhs, target_memory=pl.Mem.Left)"
        block = f"block = pl.tile.extract(rhs, 0, i * {N}, [{K}, {N}], target_memory=pl.Mem.Right)"
        product, at = "pl.matmul(held, block)", f"[0, i * {N}]"
    body = f"""lhs = pl.load(a, [0, 0], [{rows}, {K}], {MAT})
rhs = pl.load(b, [0, 0], [{K}, {cols}], {MAT})
{held}
{head}
for i, (o,) in pl.pipeline({loop or trips}, stage={stage}, init_values=(out,){attrs}):
    {block}
{more}
    c = {product}
    s = pl.store(c, {at}, o)
    res = pl.yield_(s)
return res"""
    return kit.program(params, out, body)


def marks(
    kit: Any, program: Any, backend: str = "910b", planner: str = "pypto", **options: Any
) -> list[bool]:
    tiled = kit.tile(program, backend, planner, check=False, **options)
    out = []
    for loop in tiled.loops():
        on = loop.attrs.get("pipeline_double_buffer_c") is True
        assert not on or {key: loop.attrs[key] for key in MARKS} == MARKS
        out.append(on)
    return out


@pytest.mark.parametrize(
    ("backend", "dtype", "m", "N", "marked"),
    [
        ("910b", "BF16", 16, 128, True),  # 8 KiB each
        ("910b", "BF16", 128, 128, True),  # 64 KiB twice is all of L0C
        ("910b", "BF16", 192, 128, False),
        ("910b", "INT8", 16, 512, True),  # 16 rows take 32: 64 KiB each
        ("910b", "INT8", 16, 768, False),
        ("a5", "BF16", 256, 128, True),
        ("a5", "BF16", 256, 144, False),
    ],
)
def test_two_accumulators_have_to_fit(
    kit: Any, backend: str, dtype: str, m: int, N: int, marked: bool
) -> None:
    program = stored(kit, m, N, 4, dtype=dtype)
    assert marks(kit, program, backend) == [marked]
    tiled = kit.tile(program, backend, check=False)
    assert (tiled.after is program) is not marked
    if marked:
        kit.same(tiled)


@pytest.mark.parametrize("planner", ["dsa_rp", "ptoas"])
def test_other_planners_decide_for_themselves(kit: Any, planner: str) -> None:
    program = stored(kit, 128, 128, 4)
    assert kit.tile(program, "910b", planner).after is program


@pytest.mark.parametrize(("trips", "stage", "marked"), [(2, 2, False), (4, 2, True), (6, 3, True), (8, 4, True),
                                                       (6, 4, False), (5, 2, False), (4, 1, False)])  # fmt: skip
def test_trips_come_in_whole_groups(kit: Any, trips: int, stage: int, marked: bool) -> None:
    assert marks(kit, stored(kit, 16, 128, trips, stage=stage)) == [marked]


def test_either_operand_may_move(kit: Any) -> None:
    program = stored(kit, 32, 128, 4, moving="right")
    assert marks(kit, program) == [True]


@pytest.mark.parametrize("value", ["True", "False"])
@pytest.mark.parametrize("key", list(MARKS))
def test_a_loop_that_says_what_it_wants_is_left_alone(kit: Any, key: str, value: str) -> None:
    program = stored(kit, 16, 128, 4, attrs=f', attrs={{"{key}": {value}}}')
    assert kit.tile(program, "910b").after is program


@pytest.mark.parametrize(
    "more",
    [
        "    extra = pl.store(c0, [0, 0], aux)",
        "    if i == 0:\n        z = pl.yield_(i)\n    else:\n        z = pl.yield_(i)",
        "    other = pl.tile.extract(big, 0, 0, [16, 16], target_memory=pl.Mem.Acc)",
    ],
    ids=["a second store", "nested control flow", "a second accumulator"],
)
def test_anything_more_in_the_loop_refuses_it(kit: Any, more: str) -> None:
    result = "FP32"
    head = (
        f"big = pl.load(aux, [0, 0], [64, 64], {MAT})\nc0 = pl.load(aux, [0, 0], [16, 16])\n"
        f"zero = pl.tile.full([16, 16], pl.{result}, 0.0)"
    )
    assert marks(kit, stored(kit, 16, 128, 4, more=more, head=head)) == [False]


def test_unrelated_loads_do_not_matter(kit: Any) -> None:
    more = f"    spare = pl.load(aux, [0, 0], [64, 64], {MAT})"
    assert marks(kit, stored(kit, 16, 128, 4, more=more)) == [True]


def test_both_operands_moving_refuses_it(kit: Any) -> None:
    out = "pl.Tensor[[64, 128], pl.FP32]"
    params = ("a: pl.Tensor[[64, 64], pl.BF16]", "b: pl.Tensor[[64, 128], pl.BF16]", f"out: pl.Out[{out}]")
    program = kit.program(params, out, kit.loads(64, 128, 64) + """
for i, (o,) in pl.pipeline(4, stage=2, init_values=(out,)):
    sa = pl.tile.extract(lhs, i * 16, 0, [16, 64], target_memory=pl.Mem.Left)
    sb = pl.tile.extract(rhs, 0, 0, [64, 128], target_memory=pl.Mem.Right)
    c = pl.matmul(sa, sb)
    s = pl.store(c, [i * 16, 0], o)
    res = pl.yield_(s)
return res""")  # fmt: skip
    assert kit.tile(program, "910b").after is program


def test_a_product_onto_an_accumulator_refuses_it(kit: Any) -> None:
    head = "seed = pl.tile.create([16, 128], pl.FP32, target_memory=pl.Mem.Acc)"
    program = stored(kit, 16, 128, 4, head=head)
    text = kit.tile(program, "910b").text
    from pypto_core.language import parse

    onto = parse(
        text.replace("pl.tile.matmul(block, held)", "pl.tile.matmul_acc(seed, block, held, True)").replace(
            ', attrs={"pipeline_overlap_stores": False, "pipeline_double_buffer_c": True}', ""
        )
    )
    assert marks(kit, onto) == [False]


@pytest.mark.parametrize(
    ("m", "trips", "marked"), [(16, 8, False), (32, 8, False), (64, 4, False), (64, 8, True)]
)
def test_results_that_go_to_mat(kit: Any, m: int, trips: int, marked: bool) -> None:
    """Cheaper to drain: eight trips, and at least a quarter of L0C (32 KiB = 64 x 128 fp32)."""
    rows = m * trips
    out = f"pl.Tensor[[{rows}, 16], pl.FP32]"
    params = (f"a: pl.Tensor[[{rows}, 64], pl.BF16]", "b: pl.Tensor[[64, 128], pl.BF16]",
              "e: pl.Tensor[[128, 16], pl.BF16]", f"out: pl.Out[{out}]")  # fmt: skip
    program = kit.program(params, out, f"""
lhs = pl.load(a, [0, 0], [{rows}, 64], {MAT})
rhs = pl.load(b, [0, 0], [64, 128], {MAT})
held = pl.move(rhs, target_memory=pl.Mem.Right)
scratch = pl.tile.create([{rows}, 128], pl.BF16, {MAT})
for i, (o,) in pl.pipeline({trips}, stage=2, init_values=(scratch,)):
    block = pl.tile.extract(lhs, i * {m}, 0, [{m}, 64], target_memory=pl.Mem.Left)
    c = pl.matmul(block, held)
    s = pl.tile.assemble(o, c, [i * {m}, 0])
    filled = pl.yield_(s)
return out""")  # fmt: skip
    assert marks(kit, program) == [marked]


def staged(kit: Any, rows: int, cols: int, stage: int, trips: int) -> str:
    """An accumulator that is no product, made in a pipelined loop ahead: as many copies as stages."""
    return f"""big = pl.tile.create([{rows}, {cols}], pl.BF16, {MAT})
for j in pl.pipeline({trips}, stage={stage}):
    idle = pl.tile.extract(big, 0, 0, [{rows}, {cols}], target_memory=pl.Mem.Acc)"""


@pytest.mark.parametrize(
    ("rows", "cols", "stage", "marked"),
    [
        (112, 256, 2, True),  # 2 x 56 KiB + 2 x 8 KiB is all of L0C
        (128, 240, 2, False),
        (120, 240, 2, False),  # 120 rows take 128
        (56, 256, 4, False),  # 4 x 32 KiB: 56 rows take 64
        (48, 256, 4, True),
    ],
)
def test_copies_of_other_accumulators_count(kit: Any, rows: int, cols: int, stage: int, marked: bool) -> None:
    program = stored(kit, 16, 128, 4, head=staged(kit, rows, cols, stage, 4))
    assert marks(kit, program) == [False, marked]


def test_opting_in_counts_everything_twice(kit: Any) -> None:
    idle = "idle = pl.tile.create([16, 512], pl.FP32, target_memory=pl.Mem.Acc)"
    program = stored(kit, 64, 128, 4, head=idle)
    # 32 KiB idle and 32 KiB in the loop: 96 KiB with one more, 128 KiB when both count twice.
    assert marks(kit, program) == [True]
    assert marks(kit, program, enable_pypto_l0c_double_buffer=True) == [True]
    wider = stored(kit, 64, 128, 4, head=idle.replace("512", "528"))
    assert marks(kit, wider) == [True]
    assert marks(kit, wider, enable_pypto_l0c_double_buffer=True) == [False]


def test_all_or_none(kit: Any) -> None:
    """Two loops of 32 KiB each fit with a second accumulator each; two of 40 KiB don't, though one would."""

    def two(m: int) -> Any:
        rows = m * 4
        out = f"pl.Tensor[[{rows}, 128], pl.FP32]"
        params = (f"a: pl.Tensor[[{rows}, 64], pl.BF16]", "b: pl.Tensor[[64, 128], pl.BF16]",
                  f"first: pl.InOut[{out}]", f"out: pl.Out[{out}]")  # fmt: skip
        body = kit.loads(rows, 128, 64) + "held = pl.move(rhs, target_memory=pl.Mem.Right)\n"
        for name, target in (("x", "first"), ("y", "out")):
            body += f"""
for i, (o,) in pl.pipeline(4, stage=2, init_values=({target},)):
    block_{name} = pl.tile.extract(lhs, i * {m}, 0, [{m}, 64], target_memory=pl.Mem.Left)
    c_{name} = pl.matmul(block_{name}, held)
    s_{name} = pl.store(c_{name}, [i * {m}, 0], o)
    {name} = pl.yield_(s_{name})"""
        return kit.program(params, out, body + "\nreturn y")

    assert marks(kit, two(64)) == [True, True]
    assert marks(kit, two(80)) == [False, False]


def test_switching_it_off(kit: Any) -> None:
    program = stored(kit, 128, 128, 4)
    assert kit.tile(program, "910b", mark_pipelines=False).after is program

"""The cost model and the vector rates: formulas against hand arithmetic, and the demand that figures have sources."""

from __future__ import annotations

import math

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto_core.contract import CostModel, VectorRates
from pypto_core.diagnostics import UserError

FIGURES = {
    "bw_l0a": 129.7,
    "bw_l0b": 85.4,
    "bw_drain": 118.0,
    "drain_fixed_cycles": 164.0,
    "drain_row_cycles": 4.45,
    "drain_penalty_cycles": 2.6,
    "drain_c0_bytes": 32,
    "mad_head": 21,
    "mad_k_fractal_bytes": 32,
    "mad_fp32_passes": 2,
}
MODEL = CostModel(**FIGURES, sources={"*": "test"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n", "passes"), [(64, 0), (80, 4), (96, 2), (128, 0), (160, 4), (192, 2), (256, 0), (8, 0), (1, 0)]
)
def test_extra_passes_are_the_odd_part_of_the_fractals(n: int, passes: int) -> None:
    assert MODEL.drain_extra_passes(n, 4) == passes


def test_worked_drain_and_load() -> None:
    # One 16 x 256 fp32 accumulator, and the operand bytes of a 16 x 256 x 512 bf16 product.
    assert MODEL.drain_cycles(16, 256, 4) == pytest.approx(164 + 16 * 1024 / 118)
    assert MODEL.load_cycles(2 * 16 * 512, 2 * 512 * 256) == pytest.approx(126.3 + 3069.6, abs=0.1)


@pytest.mark.parametrize(
    ("m", "n", "k", "width", "cycles"),
    [
        (16, 256, 64, 2, 21 + 1 * 4 * 16),
        (16, 16, 16, 2, 22),
        (17, 16, 17, 2, 21 + 2 * 2),
        (32, 32, 32, 4, 21 + 2 * 2 * 4 * 2),
        (16, 32, 64, 1, 21 + 2 * 2),
    ],
)
def test_multiply_add(m: int, n: int, k: int, width: int, cycles: int) -> None:
    assert MODEL.mad_cycles(m, n, k, width) == cycles


def test_eight_byte_operands_still_have_a_fractal() -> None:
    assert MODEL.mad_cycles(16, 16, 64, 64) == 21 + 32 * 64


@given(st.integers(1, 512), st.integers(1, 1024), st.sampled_from([1, 2, 4]))
def test_drains_grow_with_rows_and_never_undercut_the_floor(m: int, n: int, width: int) -> None:
    cost = MODEL.drain_cycles(m, n, width)
    assert cost >= 164 + m * 4.45
    assert MODEL.drain_cycles(m + 1, n, width) > cost
    fractals = math.ceil(n / (32 // width))
    odd = fractals
    while odd % 2 == 0:
        odd //= 2
    assert MODEL.drain_extra_passes(n, width) == odd - 1


@pytest.mark.parametrize(
    ("name", "value"), [("bw_l0a", 0.0), ("bw_drain", -1.0), ("drain_fixed_cycles", -0.1), ("mad_head", -1)]
)
def test_impossible_figures_are_refused(name: str, value: float) -> None:
    with pytest.raises(UserError, match=name):
        CostModel(**(FIGURES | {name: value}), sources={"*": "test"})  # type: ignore[arg-type]
    with pytest.raises(UserError, match=name):
        CostModel(**(FIGURES | {name: math.nan}), sources={"*": "test"})  # type: ignore[arg-type]


def test_zero_drain_costs_are_possible() -> None:
    free = CostModel(
        **(FIGURES | {"drain_fixed_cycles": 0.0, "drain_row_cycles": 0.0, "drain_penalty_cycles": 0.0}),
        sources={"*": "test"},
    )  # type: ignore[arg-type]
    assert free.drain_cycles(16, 80, 4) == pytest.approx(16 * 320 / 118)


def test_every_figure_needs_a_source() -> None:
    with pytest.raises(UserError) as caught:
        CostModel(**FIGURES, sources={"bw_l0a": "device", "speed": "guess"})  # type: ignore[arg-type]
    facts = dict(caught.value.diagnostics[0].facts)
    assert facts["unknown"] == "speed"
    assert "bw_l0b" in facts["without source"] and "bw_l0a" not in facts["without source"]


def test_rows_carry_unit_meaning_and_source() -> None:
    model = CostModel(**FIGURES, sources={"bw_l0a": "device", "*": "rest"})  # type: ignore[arg-type]
    rows = {row.name: row for row in model.rows()}
    assert list(rows) == [f.name for f in attrs.fields(CostModel) if f.name != "sources"]
    assert (rows["bw_l0a"].value, rows["bw_l0a"].unit, rows["bw_l0a"].source) == (129.7, "B/cycle", "device")
    assert rows["mad_head"].source == "rest"
    assert all(row.meaning and row.unit for row in rows.values())


def test_vector_cycles() -> None:
    rates = VectorRates(
        repeat_bytes=256,
        startup_cycles=14.0,
        completion_cycles=19.0,
        repeat_cycles=1.0,
        slow_ops=(("exp", 26.0, 2.0),),
        sources={"*": "test"},
    )
    assert rates.cycles("tile.add", 64, 4) == 14 + 19 + 1
    assert rates.cycles("tile.add", 65, 4) == 14 + 19 + 2
    assert rates.cycles("tile.exp", 128, 4) == 14 + 26 + 2 * 2
    assert rates.cycles("add", 0, 4) == 0
    assert (rates.elements_per_cycle("add", 4), rates.elements_per_cycle("exp", 2)) == (64, 64)

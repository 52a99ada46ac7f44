"""Explanations: the winner is the chooser's, walls add up, reasons are true, verdicts match the search."""

from __future__ import annotations

import json
import re
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_plugin_autotile.chooser import (
    Candidate,
    L0TileConfig,
    TileChoice,
    choose_l0_tile,
    explain,
    landscape,
    plot_landscape,
)
from pypto_plugin_autotile.chooser.regimes import BASELINE, alternatives
from pypto_plugin_autotile.chooser.search import explore, survey
from pypto_plugin_autotile.chooser.verdict import why_illegal

C910 = {"l0a_bytes": 65536, "l0b_bytes": 65536, "l0c_bytes": 131072}
ALL_GATES = {
    "allow_a_stationary": True,
    "allow_b_stationary": True,
    "allow_double_buffer_c": True,
    "allow_k_boundary": True,
}


def question(m: int, n: int, k: int, **fields: Any) -> L0TileConfig:
    return L0TileConfig(M=m, N=n, K=k, **(C910 | fields))


def found(choice: TileChoice, m: int, n: int) -> Candidate:
    return next(c for c in choice.runners_up if (c.m, c.n) == (m, n))


extents = st.integers(1, 24).map(lambda x: 16 * x)
gates = st.fixed_dictionaries(
    {name: st.booleans() for name in ALL_GATES}
    | {
        "l0c_align_m": st.sampled_from([16, 32]),
        "box_align_n": st.sampled_from([1, 32]),
        "max_n": st.sampled_from([0, 128]),
        "max_n_pipelined": st.sampled_from([0, 64]),
        "allow_padding": st.booleans(),
    }
)


@settings(max_examples=60, deadline=None)
@given(extents, extents, extents, gates)
def test_winner_is_the_choice_and_runners_follow_in_order(
    m: int, n: int, k: int, fields: dict[str, Any]
) -> None:
    config = question(m, n, k, **fields)
    choice, result = explain(config, top=25), choose_l0_tile(config)
    assert choice.result == result
    assert choice.winner.tile == result.tile and choice.winner.cost == result.estimated_cost_cycles
    costs = [choice.winner.cost, *(c.cost for c in choice.runners_up)]
    assert costs == sorted(costs)
    assert len({c.tile for c in (choice.winner, *choice.runners_up)}) == len(costs)
    assert choice.winner.reason == "" and all(c.reason for c in choice.runners_up)
    assert len(choice.runners_up) <= min(25, choice.considered - 1)


@settings(max_examples=60, deadline=None)
@given(extents, extents, extents, gates)
def test_walls_are_the_sum_of_their_parts(m: int, n: int, k: int, fields: dict[str, Any]) -> None:
    choice = explain(question(m, n, k, **fields), top=10)
    for c in (choice.winner, *choice.runners_up):
        hidden = 0.0
        if c.double_buffer_c:
            hidden = min(c.compute, c.drain) * (1 - 1 / c.tiles)
        assert c.wall == pytest.approx(c.compute + c.drain - hidden)
        assert c.compute + c.exposed_drain == pytest.approx(c.wall)
        assert (c.rows, c.cols, c.k_blocks) == (-(-m // c.m), -(-n // c.n), -(-k // c.k))


@settings(max_examples=40, deadline=None)
@given(extents, extents, extents, gates, st.data())
def test_a_tile_is_called_illegal_exactly_when_the_search_skips_it(
    m: int, n: int, k: int, fields: dict[str, Any], data: st.DataObject
) -> None:
    config = question(m, n, k, **fields)
    field = survey(config)
    for regime in (BASELINE, *alternatives(config)):
        space = explore(config, regime, field)
        legal = {space.tile(at) for at in range(space.size)}
        tried = data.draw(st.lists(st.tuples(*[st.integers(1, 40).map(lambda x: 8 * x)] * 3), max_size=20))
        sample = [*sorted(legal)[:: max(1, len(legal) // 20)], *tried, (m, n, k)]
        assert [
            tile for tile in sample if (why_illegal(config, regime, *tile) == "") != (tile in legal)
        ] == []


@settings(max_examples=60, deadline=None)
@given(extents, extents, extents, gates)
def test_opening_a_gate_never_costs_cycles(m: int, n: int, k: int, fields: dict[str, Any]) -> None:
    cost = choose_l0_tile(question(m, n, k, **fields)).estimated_cost_cycles
    assert choose_l0_tile(question(m, n, k, **(fields | ALL_GATES))).estimated_cost_cycles <= cost


def test_misaligned_columns_are_charged_with_their_passes() -> None:
    choice = explain(question(320, 320, 64), top=200)
    assert choice.winner.tile == (160, 128, 64)
    # 80 columns are ten 8-column fractals: the odd part 5 serialises, 128 columns are sixteen and go in one pass.
    assert found(choice, 160, 80).reason.startswith("n=80 pays 4 extra drain passes")
    assert found(choice, 160, 80).extra_passes == 4 and choice.winner.extra_passes == 0


def test_more_tiles_more_rows_and_more_loads_are_told_apart() -> None:
    choice = explain(question(320, 320, 64), top=200)
    assert "drains 9 tiles instead of 6" in found(choice, 112, 128).reason
    assert "drains 1056 accumulator rows instead of 960" in found(choice, 176, 128).reason
    small = explain(question(128, 128, 192), top=200)
    assert "bound by loads, streaming B 2 times" in found(small, 64, 128).reason


def test_a_tie_is_decided_by_padding() -> None:
    choice = explain(question(128, 128, 192), ask=[(128, 128, 128)], top=1)
    (asked,) = explain(question(128, 128, 192, allow_k_boundary=True), ask=[(128, 128, 128)]).asked
    assert choice.winner.tile == (128, 128, 96)
    # K=192 in blocks of 128 is 256 deep: 64 more rows of 128 x 128.
    assert asked.candidate is not None and asked.candidate.cost == choice.winner.cost
    assert "multiplies 1048576 more elements of padding" in asked.candidate.reason


def test_one_accumulator_loses_to_two() -> None:
    choice = explain(question(512, 512, 64, **ALL_GATES), top=100)
    assert choice.winner.double_buffer_c
    assert "one accumulator leaves the drain exposed" in found(choice, 128, 256).reason


def test_more_multiply_adds() -> None:
    choice = explain(question(1024, 1024, 1024), ask=[(128, 256, 16)])
    reason = choice.asked[0].candidate.reason if choice.asked[0].candidate else ""
    # 8 x 4 tiles, 64 K blocks against 16.
    assert "issues 2048 multiply-adds instead of 512" in reason


def test_the_cycles_in_a_reason_are_the_difference_of_walls() -> None:
    choice = explain(question(768, 768, 48, **ALL_GATES), top=50)
    checked = 0
    for c in choice.runners_up:
        match = re.search(r"\+(\d+) cycles \(([\d.]+) %\)$", c.reason)
        if match:
            assert int(match[1]) == round(c.wall - choice.winner.wall)
            assert float(match[2]) == pytest.approx(100 * (c.wall / choice.winner.wall - 1), abs=0.06)
            checked += 1
    assert checked > 40


@pytest.mark.parametrize(
    ("tile", "schedule", "words"),
    [
        (
            (128, 256, 128),
            "output-stationary",
            "right block of 65536 bytes exceeds the 32768 bytes of one L0B",
        ),
        (
            (256, 256, 16),
            "output-stationary",
            "accumulator of 262144 bytes exceeds the 131072 bytes of one L0C",
        ),
        (
            (256, 128, 128),
            "output-stationary",
            "left block of 65536 bytes exceeds the 32768 bytes of one L0A",
        ),
        ((256, 128, 64), "A-stationary", "A-stationary needs k=K=512"),
        ((100, 64, 64), "output-stationary", "m=100 is not 16 plus a multiple of 16"),
        ((1024, 16, 16), "output-stationary", "m=1024 exceeds M=512"),
    ],
)
def test_an_illegal_tile_is_told_which_rule_it_breaks(
    tile: tuple[int, int, int], schedule: str, words: str
) -> None:
    (asked,) = explain(question(512, 512, 512, allow_a_stationary=True), ask=[tile]).asked
    if asked.candidate is None:
        assert words in dict(asked.broken)[schedule]
    else:
        config = question(512, 512, 512, allow_a_stationary=True)
        (regime,) = alternatives(config)
        assert regime.title == schedule and words in why_illegal(config, regime, *tile)


@pytest.mark.parametrize(
    ("fields", "tile", "words"),
    [
        ({"max_n": 64}, (64, 128, 64), "n=128 exceeds the 64 columns a bias row may have"),
        ({"max_n_pipelined": 64}, (64, 128, 128), "holds two bias rows"),
        ({"max_n_nested_pipelined": 32, "bw_a": 1.0}, (64, 64, 128), "hold four bias rows"),
        ({}, (64, 64, 80), "k=80 does not divide K=128"),
    ],
)
def test_limits_of_grids_are_named(fields: dict[str, Any], tile: tuple[int, int, int], words: str) -> None:
    (asked,) = explain(question(256, 256, 128, **fields), ask=[tile]).asked
    assert words in dict(asked.broken)["output-stationary"]


def test_two_accumulators_need_two_tiles() -> None:
    # A is held, so N is the inner axis, and 192 columns hold one full tile of 128.
    config = question(16, 192, 128, allow_double_buffer_c=True)
    (regime,) = alternatives(config)
    assert why_illegal(config, regime, 16, 128, 128) == (
        "only 1 full tile along N: two accumulators need two to alternate"
    )
    assert why_illegal(config, regime, 16, 96, 128) == ""


def test_a_product_of_one_tile_is_not_compared_with_grids() -> None:
    choice = explain(question(64, 64, 64, **ALL_GATES), ask=[(32, 64, 64), (32, 32, 32)])
    assert choice.winner.tile == (64, 64, 64) and choice.schedules == ("output-stationary",)
    assert choice.asked[0].candidate is not None


def test_json_and_html_hold_the_table() -> None:
    choice = explain(question(320, 320, 64, **ALL_GATES), top=5, ask=[(160, 80, 64), (1, 1, 1)])
    data = json.loads(json.dumps(choice.to_json()))
    assert data["winner"]["m"] == choice.winner.m and len(data["runners_up"]) == 5
    assert data["result"]["stationarity"] == choice.result.stationarity.name
    assert data["config"]["M"] == 320 and data["considered"] == choice.considered
    assert data["asked"][0]["candidate"]["n"] == 80 and data["asked"][1]["candidate"] is None
    page = choice._repr_html_()
    assert page.count("<tr>") == 7 and "why not" in page
    for row in choice.rows():
        assert all(cell.replace("&", "&amp;") in page for cell in row.values())


def test_html_escapes_what_it_shows() -> None:
    choice = explain(question(320, 320, 64, **ALL_GATES), top=2)
    hostile = attrs.evolve(choice.runners_up[0], schedule="<b>", reason="<script>alert('&')</script>")
    page = attrs.evolve(choice, runners_up=(hostile,))._repr_html_()
    assert "<b>" not in page and "<script" not in page
    assert "&lt;script&gt;" in page and "&amp;" in page


def test_explaining_a_refused_question_raises_the_same_error() -> None:
    with pytest.raises(ValueError, match="allow_padding=false but M=7"):
        explain(question(7, 64, 64))


def test_landscape_holds_the_least_wall_of_each_window() -> None:
    config = question(320, 192, 64, **ALL_GATES)
    rows, cols, wall = landscape(config)
    choice = explain(config, top=10_000)
    assert wall.shape == (rows.size, cols.size)
    best = choice.winner
    assert wall[list(rows).index(best.m), list(cols).index(best.n)] == best.wall
    for c in choice.runners_up:
        if (c.m, c.n) != (best.m, best.n):
            assert wall[list(rows).index(c.m), list(cols).index(c.n)] <= c.wall + 1
    # A 320 x 192 fp32 accumulator takes 240 KiB of 128.
    assert wall[-1, -1] != wall[-1, -1]


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_picture(tmp_path: Any, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    config = question(320, 320, 64, **ALL_GATES)
    first, second = (plot_landscape(config, tmp_path / f"{name}{suffix}") for name in "ab")
    assert first.stat().st_size > 5000
    assert first.read_bytes() == second.read_bytes()


def test_picture_of_a_single_window(tmp_path: Any) -> None:
    pytest.importorskip("matplotlib")
    assert plot_landscape(question(16, 16, 64), tmp_path / "one.svg").exists()


def test_a_picture_without_matplotlib_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ValueError, match="needs matplotlib") as caught:
        plot_landscape(question(64, 64, 64), tmp_path / "x.svg")
    assert "pypto-core[plot]" in caught.value.diagnostics[0].remedy  # type: ignore[attr-defined]

"""The benchmark harness judges figures rightly: checked by hand arithmetic and on made-up benchmarks."""

from __future__ import annotations

import gc
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import __main__ as harness
from benchmarks.figures import Figure, best_of, best_of_both, growth

ROOT = Path(__file__).resolve().parents[2]
seconds = st.floats(min_value=1e-9, max_value=1e3)


@pytest.mark.parametrize(
    ("value", "target", "better", "ok"),
    [
        (5.0, 5.0, "lower", True),
        (5.1, 5.0, "lower", False),
        (5.0, 5.0, "higher", True),
        (4.9, 5.0, "higher", False),
        (math.nan, 5.0, "lower", False),
        (math.nan, 5.0, "higher", False),
        (5.0, None, "lower", None),
    ],
)
def test_a_target_is_a_ceiling_or_a_floor(
    value: float, target: float | None, better, ok: bool | None
) -> None:
    assert Figure(name="x", value=value, unit="us", target=target, better=better).ok is ok


@given(value=seconds, times=st.floats(min_value=0.01, max_value=100))
def test_the_ratio_says_how_many_times_better(value: float, times: float) -> None:
    slower_peer = Figure(name="x", value=value, unit="s", peer=value * times)
    lesser_peer = Figure(name="x", value=value * times, unit="GB/s", better="higher", peer=value)
    assert slower_peer.ratio == pytest.approx(times)
    assert lesser_peer.ratio == pytest.approx(times)


def test_no_ratio_without_something_to_divide_by() -> None:
    assert Figure(name="x", value=1.0, unit="s").ratio is None
    assert Figure(name="x", value=0.0, unit="s", peer=1.0).ratio is None


@given(
    exponent=st.floats(min_value=-1, max_value=3),
    factor=seconds,
    sizes=st.lists(st.integers(2, 10_000), min_size=2, max_size=6, unique=True),
)
def test_growth_finds_the_exponent_of_a_power_law(exponent: float, factor: float, sizes: list[int]) -> None:
    times = [factor * size**exponent for size in sizes]
    assert growth(sizes, times) == pytest.approx(exponent, abs=1e-6)


@pytest.mark.parametrize(("sizes", "times"), [([1.0], [1.0]), ([2.0, 2.0], [1.0, 1.0]), ([1.0, 2.0], [1.0])])
def test_growth_refuses_what_has_no_slope(sizes: list[float], times: list[float]) -> None:
    with pytest.raises(ValueError, match="at least two different sizes"):
        growth(sizes, times)


def test_best_of_counts_its_calls_and_keeps_the_collector_off() -> None:
    enabled: list[bool] = []
    best_of(lambda: enabled.append(gc.isenabled()), repeat=3, number=4)
    assert len(enabled) == 1 + 3 * 4
    assert not any(enabled[1:])
    assert gc.isenabled()


def test_best_of_puts_the_collector_back_when_the_function_raises() -> None:
    calls = iter([None, ZeroDivisionError()])

    def second_call_fails() -> None:
        if (outcome := next(calls)) is not None:
            raise outcome

    with pytest.raises(ZeroDivisionError):
        best_of(second_call_fails)
    assert gc.isenabled()


def write_benchmarks(root: Path) -> None:
    """One benchmark of the kernel and one of a plugin that raises."""
    (root / "benchmarks").mkdir()
    (root / "benchmarks" / "bench_fine.py").write_text(
        "from benchmarks.figures import Figure\n"
        "def run():\n"
        "    return [Figure(name='walk', value=4.0, unit='us', target=5.0, peer=48.0, peer_name='other')]\n"
    )
    (root / "plugins" / "some" / "benchmarks").mkdir(parents=True)
    (root / "plugins" / "some" / "benchmarks" / "bench_fine.py").write_text("def run():\n    return 1 // 0\n")


def test_benchmarks_of_plugins_are_found_and_a_failing_one_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_benchmarks(tmp_path)
    monkeypatch.setattr(harness, "ROOT", tmp_path)
    found = harness.discover()
    assert list(found) == ["fine", "some.fine"]
    rows = harness.as_json(harness.run_one(name, path) for name, path in found.items())
    assert [(row["benchmark"], row["ok"]) for row in rows] == [("fine", True), ("some.fine", False)]
    assert rows[0]["ratio"] == 12.0
    assert "ZeroDivisionError" in rows[1]["failure"]


def test_an_unknown_benchmark_is_a_mistake_of_the_user() -> None:
    command = [sys.executable, "-m", "benchmarks", "--only", "no-such-thing", "--json"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "no benchmark named no-such-thing" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_list_names_every_benchmark_file() -> None:
    command = [sys.executable, "-m", "benchmarks", "--list"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    files = [*ROOT.glob("benchmarks/bench_*.py"), *ROOT.glob("plugins/*/benchmarks/bench_*.py")]
    assert len(result.stdout.split()) == len(files)


def test_json_is_json_even_with_nothing_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    monkeypatch.setattr(harness, "ROOT", tmp_path)
    result = CliRunner().invoke(harness.main, ["--json"])
    assert (result.exit_code, json.loads(result.stdout)) == (0, [])


def test_two_are_timed_in_turns() -> None:
    calls: list[str] = []
    first, second = best_of_both(lambda: calls.append("a"), lambda: calls.append("b"), repeat=3)
    # One call that is not counted and three that are, of each, three times over.
    assert "".join(calls) == "aaaabbbb" * 3
    assert 0 <= first < 1 and 0 <= second < 1

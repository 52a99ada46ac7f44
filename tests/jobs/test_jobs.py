"""Many jobs at once: the same results as one after the other, whoever does them and whoever dies meanwhile."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pypto_core.cli import main
from pypto_core.diagnostics import UserError
from pypto_core.jobs import Outcome, compile_many, map_jobs, open_workers

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples" / "kernels").glob("[a-m]*.py"))[:6]
BROKEN = "import pypto_core.language as pl\n\n@pl.program\nclass P:\n    def nothing(self): pass\n"


def square(number: int) -> int:
    return number * number


def die_once(folder: str, number: int) -> int:
    """Kill the process that runs it, the first time that it is asked for 3."""
    mark = Path(folder) / "died"
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return number * number


def always_die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def fail_at_five(number: int) -> int:
    if number == 5:
        raise UserError("five", code="PT850")
    return number


def contents(outcomes: list[Outcome]) -> list[tuple[str, bool, list[tuple[str, bytes]], list[str]]]:
    return [
        (o.name, o.ok, [(a.name, a.content) for a in o.artifacts], [d.code for d in o.errors])
        for o in outcomes
    ]


@pytest.mark.parametrize("jobs", [None, 1, 2])
def test_results_are_in_order(jobs: int | None) -> None:
    done: list[int] = []
    with open_workers(jobs) as workers:
        found = map_jobs(square, range(20), workers, lambda number, _: done.append(number))
    assert found == [n * n for n in range(20)]
    assert sorted(done) == list(range(20))


def test_any_executor_will_do() -> None:
    with ThreadPoolExecutor(2) as pool:
        assert map_jobs(square, range(5), pool) == [0, 1, 4, 9, 16]


def test_a_killed_process_takes_nothing_with_it(tmp_path: Path) -> None:
    with open_workers(2) as workers:
        found = map_jobs(partial(die_once, str(tmp_path)), range(12), workers)
    assert found == [n * n for n in range(12)]
    assert (tmp_path / "died").exists()


def test_what_always_kills_its_worker_is_named() -> None:
    with open_workers(2) as workers, pytest.raises(UserError) as caught:
        map_jobs(always_die, [41], workers)
    assert caught.value.diagnostics[0].code == "PT864"
    assert dict(caught.value.diagnostics[0].facts)["first of them"] == "41"


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_job_raises_is_raised(jobs: int) -> None:
    with open_workers(jobs) as workers, pytest.raises(UserError, match="five"):
        map_jobs(fail_at_five, range(10), workers)


def test_kernels_side_by_side_equal_kernels_in_turn(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(BROKEN)
    files = [*EXAMPLES[:3], broken, *EXAMPLES[3:]]
    serial = compile_many(files, backend="910b", verification="basic")
    with open_workers(2) as workers:
        shared = compile_many(files, workers, backend="910b", verification="basic")
    assert contents(shared) == contents(serial)
    assert [o.ok for o in serial].count(False) == 1 and not serial[3].ok
    assert str(serial[3].errors[0].span).startswith(str(broken))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as running:
        yield running


def address(cluster: Any) -> str:
    return str(cluster.scheduler_address).replace("tcp://", "dask://")


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same(cluster: Any) -> None:
    with open_workers(executor=address(cluster)) as workers:
        shared = compile_many(EXAMPLES[:3], workers, backend="910b", verification="basic")
    assert contents(shared) == contents(compile_many(EXAMPLES[:3], backend="910b", verification="basic"))


@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_of_a_cluster_takes_nothing_with_it(cluster: Any, tmp_path: Path) -> None:
    with open_workers(executor=address(cluster)) as workers:
        found = map_jobs(partial(die_once, str(tmp_path)), range(40), workers)
    assert found == [n * n for n in range(40)]
    assert (tmp_path / "died").exists()


@pytest.mark.parametrize("text", ["ray://here:1", "dask://", "dask://127.0.0.1:1"])
def test_an_executor_that_is_not_there(text: str) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(UserError) as caught, open_workers(executor=text):
        pass
    assert caught.value.diagnostics[0].code == "PT865"


def test_the_command_takes_many_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(BROKEN)
    out = tmp_path / "out"
    names = [str(path) for path in (*EXAMPLES[:2], broken)]
    assert main(["compile", *names, "--backend", "910b", "-o", str(out), "--json", "--jobs", "2"]) == 2
    rows = json.loads(capsys.readouterr().out)
    assert [row["ok"] for row in rows] == [True, True, False]
    for row in rows[:2]:
        assert all(Path(a["file"]).stat().st_size == a["bytes"] for a in row["artifacts"])


def test_workers_under_another_name_are_no_option() -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(TypeError, match="second argument"):
        compile_many(EXAMPLES[:1], executor=pool)


def test_what_is_finished_is_written_before_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pypto_core.jobs import many

    seen: list[str] = []

    def interrupted(options: Any, named: tuple[str, str]) -> Outcome:
        if seen:
            raise KeyboardInterrupt
        seen.append(named[0])
        return whole(options, named)

    whole = many._compile_text
    monkeypatch.setattr(many, "_compile_text", interrupted)
    out = tmp_path / "out"
    names = [str(path) for path in EXAMPLES[:2]]
    assert main(["compile", *names, "--backend", "910b", "-o", str(out)]) == 130
    assert [path.name for path in out.iterdir()] == [EXAMPLES[0].stem]


def test_two_files_of_one_name_do_not_overwrite_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.py").write_text(EXAMPLES[0].read_text())
    files = [str(tmp_path / folder / "k.py") for folder in ("a", "b")]
    assert main(["compile", *files, "--backend", "910b", "-o", str(tmp_path / "out")]) == 2
    assert "PT866" in capsys.readouterr().err

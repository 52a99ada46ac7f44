"""Dumps and reports: one file per pass, the same text whatever happens, and programs that read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pypto_core.contract import PropertyKind
from pypto_core.diagnostics import VerificationError
from pypto_core.ir import Function, replace
from pypto_core.run import (
    DumpInstrument,
    PassContext,
    Pipeline,
    ReportInstrument,
    RoundTripInstrument,
    VerificationLevel,
    check_round_trip,
)
from pypto_core.text import print_program


def dumped(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


def test_the_program_is_written_after_each_pass(toy: Any, tmp_path: Path) -> None:
    program = toy.program("f")
    context = PassContext(instruments=(DumpInstrument(tmp_path / "dump"),))
    run = Pipeline.of([toy.pass_("A"), toy.pass_("A"), toy.pass_("B")]).run(program, context)
    texts = [print_program(p) for p in (program, *(stage.program for stage in run.stages))]
    assert dumped(tmp_path / "dump") == {
        "00_frontend.py": texts[0],
        "01_after_MakeA.py": texts[1],
        "02_after_MakeA.py": texts[2],
        "03_after_MakeB.py": texts[3],
    }
    assert texts[0] != texts[1] == texts[2] != texts[3]


def test_passes_that_changed_nothing_can_be_left_out(toy: Any, tmp_path: Path) -> None:
    context = PassContext(instruments=(DumpInstrument(tmp_path, only_changed=True),))
    Pipeline.of([toy.pass_("A"), toy.pass_("A"), toy.pass_("B")]).run(toy.program("f"), context)
    assert list(dumped(tmp_path)) == ["00_frontend.py", "01_after_MakeA.py", "03_after_MakeB.py"]


def test_the_output_of_a_lying_pass_is_dumped_before_it_is_refused(toy: Any, tmp_path: Path) -> None:
    properties = {"toy.A": toy.property("A"), "toy.S": toy.property("S", kind=PropertyKind.STRUCTURAL)}
    lying = toy.pass_("A", lambda function, _: replace(function, attrs={"marks": "S!"}))
    context = PassContext(instruments=(DumpInstrument(tmp_path),))
    start = Pipeline.of([toy.pass_("S")]).run(toy.program("f")).program
    with pytest.raises(VerificationError):
        Pipeline.of([lying], properties).run(start, context)
    assert "S!" in dumped(tmp_path)["01_after_MakeA.py"]


def test_what_a_pass_reports_stands_beside_its_dump(toy: Any, tmp_path: Path) -> None:
    def hint(function: Function, ctx: PassContext) -> Function:
        ctx.hint("PH001", f"{function.name} moves little", facts={"bytes": 64})
        return function

    context = PassContext(instruments=(DumpInstrument(tmp_path / "d"), ReportInstrument(tmp_path / "r")))
    Pipeline.of([toy.pass_("A"), toy.pass_("B", hint)]).run(toy.program("f"), context)
    expected = "hint[PH001]: f moves little\n  bytes = 64\n"
    assert dumped(tmp_path / "d")["02_after_MakeB.log"] == expected
    assert not (tmp_path / "d" / "01_after_MakeA.log").exists()
    assert (tmp_path / "r" / "perf_hints.log").read_text(encoding="utf-8") == expected
    assert not (tmp_path / "r" / "warnings.log").exists()


def test_two_runs_write_the_same_bytes(toy: Any, tmp_path: Path) -> None:
    pipeline = Pipeline.of([toy.pass_("A"), toy.pass_("B")])
    for name in ("one", "two"):
        pipeline.run(toy.program("g", "f"), PassContext(instruments=(DumpInstrument(tmp_path / name),)))
    assert dumped(tmp_path / "one") == dumped(tmp_path / "two")


def test_programs_read_back_from_their_text(toy: Any) -> None:
    context = PassContext(instruments=(RoundTripInstrument(),), verification=VerificationLevel.ROUNDTRIP)
    run = Pipeline.of([toy.pass_("A"), toy.pass_("B")]).run(toy.program("f", "g"), context)
    assert toy.marks(run.program) == {"f": "AB", "g": "AB"}


def test_a_program_that_reads_back_as_another_is_refused(toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import pypto_core.language as language

    program = toy.program("f")
    other = replace(program, functions=[replace(program["f"], attrs={"marks": "X"})])
    monkeypatch.setattr(language, "parse", lambda text, filename="": other)
    with pytest.raises(VerificationError, match="pass MakeA made reads back .* as another one"):
        check_round_trip(program, "pass MakeA")


def test_a_program_that_can_not_be_read_back_is_refused_by_the_pass_name(
    toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pypto_core.text as text

    monkeypatch.setattr(text, "print_program", lambda program: "def f(:\n")
    level = PassContext(verification=VerificationLevel.ROUNDTRIP)
    with pytest.raises(VerificationError, match="pass MakeA made can't be read back"):
        Pipeline.of([toy.pass_("A")]).run(toy.program("f"), level)

"""Arguments of the wrong type are refused where they are given: by name, with what they take and what they got."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

import pypto_core.language as pl
from pypto_core.contract import Backend
from pypto_core.diagnostics import ArgumentError, DiagnosticError, checked
from pypto_core.host import Host, load_host
from pypto_core.jit import JitConfig, jit
from pypto_core.jobs import compile_many
from pypto_core.run import (
    DumpInstrument,
    PassContext,
    Pipeline,
    ReportInstrument,
    TimingInstrument,
    VerificationInstrument,
    VerificationLevel,
    VerificationMode,
    Wishes,
    compile,
    compile_context,
    memory_table,
    resolve,
)

Call = Callable[[Any, Host], Any]


def build(toy: Any, host: Host, **arguments: Any) -> Any:
    """A compilation in which only ``arguments`` are out of the ordinary."""
    usual = {"backend": "box", "goal": "toy.A", "host": host}
    return compile(toy.program("f"), **(usual | arguments))


CASES: dict[str, tuple[Call, str]] = {
    # compile: argument, what it takes, what it got
    "planner": (lambda t, h: build(t, h, planner=7), "the name of a planner is text, not 7 (int)"),
    "planner list": (lambda t, h: build(t, h, planner=[]), "the name of a planner is text, not [] (list)"),
    "backend": (lambda t, h: build(t, h, backend=7), "the name of a backend is text, not 7 (int)"),
    "backend class": (lambda t, h: build(t, h, backend=Backend), "the name of a backend is text"),
    "goal": (lambda t, h: build(t, h, goal=None), "the name of a target is text, not None"),
    "goal list": (lambda t, h: build(t, h, goal=["a"]), "the name of a target is text, not ['a'] (list)"),
    "emit": (lambda t, h: build(t, h, emit="no"), "emit of compile takes True or False, not 'no' (str)"),
    "output_dir": (
        lambda t, h: build(t, h, output_dir=7),
        "output_dir of compile takes text, a path or None, not 7 (int)",
    ),
    "dump_passes": (lambda t, h: build(t, h, dump_passes="no"), "dump_passes of compile takes True or False"),
    "verification": (lambda t, h: build(t, h, verification=7), "there is no verification level '7'"),
    "instruments": (lambda t, h: build(t, h, instruments=7), "instruments of compile takes a list, not 7"),
    "instrument class": (
        lambda t, h: build(t, h, instruments=[TimingInstrument]),
        "instruments are objects, and <class",
    ),
    "instrument text": (
        lambda t, h: build(t, h, instruments=["timing"]),
        "instruments are objects, and 'timing'",
    ),
    "disabled text": (
        lambda t, h: build(t, h, disabled_diagnostics="PT816"),
        "disabled_diagnostics of compile takes a list of text, not 'PT816' (str)",
    ),
    "disabled number": (
        lambda t, h: build(t, h, disabled_diagnostics=["PT816", 7]),
        "each element of disabled_diagnostics of compile takes text, not 7 (int)",
    ),
    "wishes": (lambda t, h: build(t, h, wishes={}), "wishes of compile takes Wishes or None, not {} (dict)"),
    "host": (
        lambda t, h: compile(t.program("f"), backend="box", host="here"),
        "host of compile takes Host or None, not 'here' (str)",
    ),
    "program": (lambda t, h: compile(None, backend="box", host=h), "a NoneType can't be compiled"),
    "context options": (
        lambda t, h: compile_context(backend="box", options=7, host=h),
        "options of compile_context takes a mapping or None, not 7 (int)",
    ),
    # contexts
    "context backend": (
        lambda t, h: PassContext(backend="box"),
        "the backend of a context is a Backend, not 'box'",
    ),
    "context planner": (
        lambda t, h: PassContext(planner=7),
        "planner of PassContext takes text, not 7 (int)",
    ),
    "context names": (
        lambda t, h: PassContext(options={1: 2, "a": 3}),
        "each name of options of PassContext takes text, not 1 (int)",
    ),
    "context disabled": (
        lambda t, h: PassContext(disabled_diagnostics="PT816"),
        "disabled_diagnostics of PassContext takes a list of text",
    ),
    "context log": (
        lambda t, h: PassContext(log=[]),
        "log of PassContext takes DiagnosticLog, not [] (list)",
    ),
    "derived": (
        lambda t, h: PassContext().derive(host=7),
        "host of PassContext takes Host or None, not 7 (int)",
    ),
    # pipelines
    "passes": (
        lambda t, h: Pipeline.of(["A"]),
        "each element of passes of Pipeline.of takes Pass, not 'A' (str)",
    ),
    "passes iterator": (
        lambda t, h: Pipeline.of(iter([1])),
        "each element of passes of Pipeline.of takes Pass",
    ),
    "pipeline backend": (
        lambda t, h: Pipeline.of([], backend=h.backend("box")),
        "backend of Pipeline.of takes text or None, not Backend(",
    ),
    "steps": (
        lambda t, h: Pipeline(steps=["A"]),
        "each element of steps of Pipeline takes PipelineStep, not 'A'",
    ),
    "run": (lambda t, h: Pipeline.of([]).run("f"), "program of Pipeline.run takes Program, not 'f' (str)"),
    "run context": (
        lambda t, h: Pipeline.of([]).run(t.program("f"), {}),
        "context of Pipeline.run takes PassContext or None, not {} (dict)",
    ),
    "prefix": (
        lambda t, h: Pipeline.of([]).prefix("1"),
        "count of Pipeline.prefix takes a whole number, not '1'",
    ),
    "a truth value is no number": (
        lambda t, h: Pipeline.of([]).prefix(True),
        "count of Pipeline.prefix takes a whole number, not True (bool)",
    ),
    "resolve": (
        lambda t, h: resolve(PassContext(), h, ["toy.A"]),
        "each element of goals of resolve takes Goal, not 'toy.A' (str)",
    ),
    "wishes must": (
        lambda t, h: Wishes(must=["A"]),
        "each element of must of Wishes takes Must, not 'A' (str)",
    ),
    "wishes specs": (lambda t, h: Wishes(specs="A"), "specs of Wishes takes a list of text, not 'A' (str)"),
    "wishes runs": (
        lambda t, h: Wishes(extra_runs=["A"]),
        "each element of extra_runs of Wishes takes a tuple",
    ),
    "mode": (
        lambda t, h: VerificationInstrument("after"),
        "mode of VerificationInstrument takes VerificationMode",
    ),
    "dump": (lambda t, h: DumpInstrument(7), "directory of DumpInstrument takes text or a path, not 7 (int)"),
    "report": (
        lambda t, h: ReportInstrument(None),
        "directory of ReportInstrument takes text or a path, not None",
    ),
    "memory table": (
        lambda t, h: memory_table("f"),
        "program of memory_table takes Program or Function, not 'f'",
    ),
    "files": (
        lambda t, h: compile_many("a.py"),
        "files of compile_many takes a list of text or a path, not 'a.py'",
    ),
    # hosts
    "host backend": (lambda t, h: h.backend(None), "the name of a backend is text, not None"),
    "host planner": (lambda t, h: h.planner({}), "the name of a planner is text, not {} (dict)"),
    "host target": (lambda t, h: h.target(7), "the name of a target is text, not 7 (int)"),
    "host pass": (lambda t, h: h.find_pass(7), "the name of a pass is text, not 7 (int)"),
    "host engine": (lambda t, h: h.engine(7), "the name of an engine is text, not 7 (int)"),
    "host emitters": (lambda t, h: h.emitters_of(7), "target of Host.emitters_of takes text, not 7 (int)"),
    "host plugin": (lambda t, h: h.plugin(7), "name of Host.plugin takes text, not 7 (int)"),
    "environment": (
        lambda t, h: load_host(env="a"),
        "env of load_host takes a mapping or None, not 'a' (str)",
    ),
    "extra plugins": (
        lambda t, h: load_host(extra_plugins=7),
        "extra_plugins of load_host takes a list, not 7",
    ),
    # decorators and settings of calls
    "function type": (
        lambda t, h: pl.function(type="InCore"),
        "type of pl.function takes FunctionType, not 'InCore'",
    ),
    "function attrs": (
        lambda t, h: pl.function(attrs=7),
        "attrs of pl.function takes a mapping or None, not 7 (int)",
    ),
    "strict": (
        lambda t, h: pl.program(strict_ssa="no"),
        "strict_ssa of pl.program takes True or False, not 'no'",
    ),
    "inline": (lambda t, h: pl.inline(attrs=[]), "attrs of pl.inline takes a mapping or None, not [] (list)"),
    "jit config": (lambda t, h: jit(config={}), "config of pl.jit takes HasJitConfig or None, not {} (dict)"),
    "jit scope": (
        lambda t, h: jit.incore(auto_scope="no"),
        "auto_scope of pl.jit takes True or False or None",
    ),
    "config backend": (
        lambda t, h: JitConfig(backend=7),
        "backend of JitConfig takes text, Backend or None, not 7",
    ),
    "config cache": (
        lambda t, h: JitConfig(cache="no"),
        "cache of JitConfig takes True or False, not 'no' (str)",
    ),
    "config options": (
        lambda t, h: JitConfig(options=7),
        "options of JitConfig takes a mapping, not 7 (int)",
    ),
}


@pytest.fixture
def host(toy: Any) -> Host:
    return toy.host(backends=[toy.backend("box")], passes=[toy.pass_("A")], properties=[toy.property("A")])


@pytest.mark.parametrize("case", CASES)
def test_the_error_names_the_argument(case: str, toy: Any, host: Host) -> None:
    call, message = CASES[case]
    with pytest.raises(DiagnosticError) as caught:
        call(toy, host)
    assert caught.value.message.startswith(message)


def test_names_that_a_host_looks_up_are_listed(toy: Any, host: Host) -> None:
    with pytest.raises(ArgumentError) as caught:
        build(toy, host, backend=7)
    assert caught.value.diagnostics[0].code == "PT701"
    assert dict(caught.value.diagnostics[0].facts) == {"installed": "box"}


def test_members_of_an_enumeration_are_listed() -> None:
    with pytest.raises(ArgumentError) as caught:
        VerificationInstrument(1)  # type: ignore[arg-type]
    assert caught.value.diagnostics[0].code == "PT002"
    listed = ", ".join(f"VerificationMode.{mode.name}" for mode in VerificationMode)
    assert dict(caught.value.diagnostics[0].facts) == {"allowed": listed}


def test_the_error_is_a_type_error_too() -> None:
    with pytest.raises(TypeError):
        PassContext(planner=7)  # type: ignore[arg-type]


def test_what_fits_is_taken(toy: Any, host: Host, tmp_path: Path) -> None:
    """Every form that an argument may have, iterators and paths of any kind included."""
    done = build(
        toy,
        host,
        backend=host.backend("box"),
        planner=None,
        output_dir=str(tmp_path),
        dump_passes=True,
        verification=VerificationLevel.BASIC,
        instruments=iter([TimingInstrument()]),
        disabled_diagnostics=(code for code in ["PT816"]),
        wishes=Wishes(),
        unknown=1,
    )
    assert done.pipeline.names == ("MakeA",)
    assert done.warnings == ()  # the one of the option that nothing asks for is disabled
    assert (tmp_path / "passes_dump" / "00_frontend.py").exists()


def test_an_option_that_switches_takes_no_text() -> None:
    """Whatever text says, it counts as true."""
    assert PassContext(options={"loud": 0}).option("loud", True) == 0
    assert PassContext(options={"name": "no"}).option("name") == "no"
    with pytest.raises(DiagnosticError, match="option 'loud' is a switch, and 'no' is neither on nor off"):
        PassContext(options={"loud": "no"}).option("loud", True)


def test_a_container_is_no_switch(toy: Any) -> None:
    gated = toy.pass_("A", needs={"option:fast"})
    host = toy.host(backends=[toy.backend("box")], passes=[gated], properties=[toy.property("A")])
    for value in ([], "yes"):
        with pytest.raises(DiagnosticError, match="option 'fast' is a switch"):
            build(toy, host, fast=value)
    assert build(toy, host, fast=1).pipeline.names == ("MakeA",)


def double(values: list[int]) -> list[int]:
    return [2 * value for value in values]


@checked("apart")
@attrs.frozen
class _Box:
    """A class of every kind of field."""

    _count: int
    parts: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    doubled: list[int] = attrs.field(factory=list, converter=double)
    apart: int = 0
    unknown: Missing = None  # type: ignore[name-defined]  # noqa: F821


def test_fields_take_what_their_annotation_or_converter_says() -> None:
    assert _Box(3, ["a"], [1, 2], "x", ...) == _Box(
        count=3, parts=("a",), doubled=[1, 2], apart="x", unknown=...
    )
    for wrong in ({"count": "3"}, {"count": 3, "parts": "ab"}, {"count": 3, "doubled": 3}):
        with pytest.raises(ArgumentError, match=f"{list(wrong)[-1]} of _Box takes"):
            _Box(**wrong)

"""Contexts keep every field when they are derived, and stay in their own thread."""

from __future__ import annotations

import threading
from typing import Any

import attrs
import pytest

from pypto_core.diagnostics import Diagnostic, Severity, Span, UserError
from pypto_core.run import DiagnosticLog, Options, PassContext, VerificationLevel, level_from_environment

OTHER: dict[str, Any] = {
    "backend": None,  # replaced by a machine below
    "planner": "dsa_rp",
    "options": Options({"enable_buffer_ir": True}),
    "instruments": (object(),),
    "verification": VerificationLevel.NONE,
    "disabled_diagnostics": frozenset({"PH001"}),
    "log": DiagnosticLog(),
    "host": None,  # replaced by a host below
    "pass_options": ("some", "options"),
}


@pytest.fixture
def full(toy: Any) -> dict[str, Any]:
    """A value for every field that differs from its default."""
    return OTHER | {"backend": toy.backend("box"), "host": toy.host()}


def test_each_field_has_a_value_to_test_with(full: dict[str, Any]) -> None:
    fields = attrs.fields(PassContext)
    assert [f.name for f in fields] == list(full)
    plain = PassContext()
    assert [name for name, value in full.items() if getattr(plain, name) == value] == []


@pytest.mark.parametrize("changed", [f.name for f in attrs.fields(PassContext)])
def test_derive_copies_every_other_field(changed: str, full: dict[str, Any]) -> None:
    original = PassContext(**{name: value for name, value in full.items() if name != changed})
    derived = original.derive(**{changed: full[changed]})
    for name, value in full.items():
        assert getattr(derived, name) is value, name


def test_the_active_context_is_the_innermost() -> None:
    outer, inner = PassContext(planner="a"), PassContext(planner="b")
    assert PassContext.current() is None
    with outer:
        assert PassContext.current() is outer
        with inner, outer.derive(planner="c") as third:
            assert PassContext.current() is third
        assert PassContext.current() is outer
    assert PassContext.current() is None


def test_a_context_is_left_when_its_block_fails() -> None:
    with pytest.raises(KeyError), PassContext():
        raise KeyError
    assert PassContext.current() is None


def test_a_context_may_be_entered_twice() -> None:
    context = PassContext()
    with context, context:
        assert PassContext.current() is context
    assert PassContext.current() is None


def test_another_thread_has_its_own_stack() -> None:
    seen: list[object] = []
    with PassContext():
        thread = threading.Thread(target=lambda: seen.append(PassContext.current()))
        thread.start()
        thread.join()
    assert seen == [None]


def test_options_know_what_was_asked_for() -> None:
    context = PassContext(options={"b": 0, "a": 1, "c": 2})
    assert list(context.options) == ["a", "b", "c"]
    assert context.option("a") == 1
    assert context.option("nothing", 5) == 5
    derived = context.derive(planner="x")
    assert derived.option("b", 9) == 0
    assert context.options.unread == ("c",)
    assert context.options.truthy == ("a", "c")
    with pytest.raises(TypeError):
        context.options["a"] = 2  # type: ignore[index]


def test_capabilities_come_from_backend_planner_and_options(toy: Any) -> None:
    host = toy.host(planners=[])
    box = toy.backend("box", "isa.slots")
    context = PassContext(backend=box, planner="fit", options={"x": 1, "y": False}, host=host)
    assert context.capabilities == {*box.capabilities, "planner:fit", "option:x", "option:y=false"}
    assert {"backend:box", "isa.slots"} <= context.capabilities


def test_a_planner_adds_what_it_lists(world: Any) -> None:
    assert "toy.other" in PassContext(planner="other", host=world).capabilities
    assert "toy.other" not in PassContext(planner="pypto", host=world).capabilities


def test_hints_are_kept_once_per_place() -> None:
    context = PassContext()
    here, there = Span("k.py", 3, 1), Span("k.py", 4, 1)
    for span in (here, there, here):
        context.hint("PH001", "short rows", span, facts={"bytes": 64}, remedy="load more")
    context.warn("PT999", "odd", here)
    assert [(d.code, d.span, d.severity) for d in context.log] == [
        ("PH001", here, Severity.PERF_HINT),
        ("PH001", there, Severity.PERF_HINT),
        ("PT999", here, Severity.WARNING),
    ]
    assert next(iter(context.log)).facts == (("bytes", "64"),)


def test_disabled_diagnostics_are_not_logged() -> None:
    context = PassContext(disabled_diagnostics={"PH001", "UnusedVariable"})
    context.hint("PH001", "short rows")
    context.hint("PH002", "short columns")
    context.report(Diagnostic(code="PT407", message="unused", rule="UnusedVariable"))
    assert [d.code for d in context.log] == ["PH002"]


def test_the_log_says_whether_something_is_new() -> None:
    first = Diagnostic(code="X", message="m", remedy="one way")
    log = DiagnosticLog()
    assert [log.add(first), log.add(attrs.evolve(first, remedy="another"))] == [True, False]
    assert log.add(attrs.evolve(first, severity=Severity.WARNING))
    assert [d.remedy for d in log] == ["one way", "one way"]


def test_the_log_takes_from_many_threads() -> None:
    log = DiagnosticLog()
    threads = [
        threading.Thread(target=lambda: log.extend(Diagnostic(code="X", message=str(n)) for n in range(500)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(d.message) for d in log) == list(range(500))


@pytest.mark.parametrize(
    ("text", "level"),
    [
        (None, VerificationLevel.BASIC),
        ("", VerificationLevel.BASIC),
        ("none", VerificationLevel.NONE),
        ("Basic", VerificationLevel.BASIC),
        ("ROUNDTRIP", VerificationLevel.ROUNDTRIP),
    ],
)
def test_the_level_comes_from_the_environment(
    text: str | None, level: VerificationLevel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYPTO_VERIFY_LEVEL", raising=False)
    if text is not None:
        monkeypatch.setenv("PYPTO_VERIFY_LEVEL", text)
    assert level_from_environment() is level
    assert PassContext().verification is level


def test_an_unknown_level_is_refused_with_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTO_VERIFY_LEVEL", "much")
    with pytest.raises(UserError, match="none, basic, roundtrip"):
        PassContext()


def test_a_context_takes_a_machine_and_not_its_name() -> None:
    with pytest.raises(UserError) as caught:
        PassContext(backend="box")  # type: ignore[arg-type]
    assert "not 'box'" in str(caught.value) and "load_host().backend('box')" in str(caught.value)
    with pytest.raises(UserError):
        PassContext().derive(backend="box")

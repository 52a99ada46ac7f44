"""Passes, verifiers and targets that raise or return anything: the error names them, and nothing else escapes."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.contract import Artifact, PassScope
from pypto_core.diagnostics import InternalError, UserError
from pypto_core.run import compile, write_file


class Unforeseen(BaseException):
    """No Exception."""


RAISED = [ValueError("v"), SystemExit(0), Unforeseen(), RecursionError(), StopIteration(), GeneratorExit()]


def raiser(error: BaseException) -> Any:
    def fail(*_: Any) -> Any:
        raise error

    return fail


def run(toy: Any, **parts: Any) -> Any:
    given: dict[str, Any] = {
        "backends": [toy.backend("box")],
        "properties": [toy.property("A")],
        "passes": [toy.pass_("A")],
        "targets": [toy.target("toy.A")],
    }
    return compile(toy.program("f"), goal="text", host=toy.host(**given | parts))


@pytest.mark.parametrize("error", RAISED, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("scope", list(PassScope))
def test_a_pass_that_raises_is_named(error: BaseException, scope: PassScope, toy: Any) -> None:
    with pytest.raises(InternalError, match=f"pass MakeA failed on .*{type(error).__name__}"):
        run(toy, passes=[toy.pass_("A", raiser(error), scope)])


@pytest.mark.parametrize("error", RAISED, ids=lambda e: type(e).__name__)
def test_a_verifier_that_raises_is_named(error: BaseException, toy: Any) -> None:
    wrong = toy.property("A", verifier=raiser(error))
    with pytest.raises(InternalError, match=f"verifier of toy.A failed: {type(error).__name__}"):
        run(toy, passes=[toy.pass_("A")], properties=[wrong])


@pytest.mark.parametrize("result", [[1], "ab", [None]])
def test_a_verifier_returns_diagnostics(result: Any, toy: Any) -> None:
    wrong = toy.property("A", verifier=lambda program: result)
    with pytest.raises(InternalError, match="where a Diagnostic belongs"):
        run(toy, passes=[toy.pass_("A")], properties=[wrong])


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (None, "not iterable"),
        ([None], "returned a NoneType where an Artifact belongs"),
        ("ab", "returned a str where an Artifact belongs"),
        ([Artifact("x", 3)], "put a int into artifact x"),  # type: ignore[arg-type]
        ([Artifact("x", "\ud800")], "UTF-8 can't hold"),
    ],
)
def test_a_target_returns_artifacts(result: Any, said: str, toy: Any) -> None:
    with pytest.raises(InternalError, match=said):
        run(toy, passes=[], properties=[], targets=[toy.target(emit=lambda program, ctx: result)])


@pytest.mark.parametrize(
    "goals", [lambda caps: None, lambda caps: [1], raiser(ValueError("v")), raiser(SystemExit(0)), 3]
)
def test_a_target_that_can_not_say_its_goals_is_named(goals: Any, toy: Any) -> None:
    from pypto_core.contract import Target

    wrong = Target("text", "", goals, lambda program, ctx: [])
    with pytest.raises(InternalError, match="target text can't say its goals"):
        run(toy, passes=[], properties=[], targets=[wrong])


def test_a_target_that_finds_nothing_to_write_is_warned_of(toy: Any) -> None:
    compiled = run(toy, passes=[], properties=[], targets=[toy.target(emit=lambda program, ctx: [])])
    [said] = compiled.warnings
    assert said.code == "PT817" and dict(said.facts)["functions"] == "f: Opaque"


def test_files_that_can_not_be_written(tmp_path: Any) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file" / "below", tmp_path / "a\0b", tmp_path):
        with pytest.raises(UserError, match="can't be written"):
            write_file(path, "text")
    write_file(tmp_path / "new" / "deep" / "x", "ä\n")
    assert (tmp_path / "new" / "deep" / "x").read_bytes() == b"\xc3\xa4\n"

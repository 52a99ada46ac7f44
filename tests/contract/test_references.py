"""Values that name code in another module import it when it is needed, and say whose it was when they can't."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click
import pytest

from pypto_core.contract import (
    Artifact,
    CodePage,
    Command,
    Engine,
    OpEmitter,
    OpExecutor,
    Planner,
    ReportSection,
    Target,
)

LOADERS: dict[str, Callable[[str], Callable[[], Any]]] = {
    "target t": lambda ref: Target("t", "", lambda caps: (), ref).load,
    "emitter of tile.add for t": lambda ref: OpEmitter("t", "tile.add", ref).load,
    "planner p": lambda ref: Planner("p", "", plan=ref).load,
    "executor of tile.add": lambda ref: OpExecutor("tile.add", ref).load,
    "engine e": lambda ref: Engine("e", "", ref).load,
    "command c": lambda ref: Command("c", ref, "help").load_command,
    "report section r": lambda ref: ReportSection("r", "R", ref).load,
}


@pytest.mark.parametrize("owner", LOADERS)
def test_a_reference_is_imported_when_it_is_loaded(owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    load = LOADERS[owner]("wave:open")
    assert "wave" not in sys.modules
    found = load()
    assert found is sys.modules["wave"].open


@pytest.mark.parametrize("owner", LOADERS)
@pytest.mark.parametrize(
    ("reference", "error", "said"),
    [
        ("json.dumps", ValueError, "is not of the form 'module:name'"),
        ("json:no_such_name", ImportError, "module json has no no_such_name"),
        ("json:__name__", ImportError, "is not callable"),
    ],
)
def test_a_wrong_reference_says_whose_it_is(
    owner: str, reference: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said) as caught:
        LOADERS[owner](reference)()
    assert owner in str(caught.value)


def test_callables_are_taken_as_they_are() -> None:
    assert Target("t", "", lambda caps: (), print).load() is print
    assert Planner("p", "", plan=len).load() is len
    assert Planner("p", "").load() is None
    assert isinstance(Command("c", "click:Command", "").load_command()("x"), click.Command)


def test_an_artifact_is_bytes_in_the_end() -> None:
    assert Artifact("a/b.pto", "µ\r\n").content == b"\xc2\xb5\r\n"
    assert Artifact("x.bin", b"\x00\xff", "application/octet-stream").content == b"\x00\xff"


@pytest.mark.parametrize("code", ["PT101", "PH-AT-003", "PH001", "PH-DSA-001", "ACME12"])
def test_codes_that_have_pages(code: str) -> None:
    assert CodePage(code, "title", "text").code == code


@pytest.mark.parametrize("code", ["", "PT", "101", "pt101", "PT-", "PT101 ", "P1"])
def test_texts_that_are_no_codes(code: str) -> None:
    with pytest.raises(ValueError, match="a code looks like PT101"):
        CodePage(code, "title", "text")

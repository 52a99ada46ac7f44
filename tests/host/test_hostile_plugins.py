"""Plugins that raise what nobody catches, or say nonsense of themselves: they are broken and no one else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pypto_core.diagnostics import UserError
from pypto_core.host import Status, load_host

Make = Callable[..., Any]


class Unforeseen(BaseException):
    """No Exception, as the outcomes of test runners and cancelled tasks are none."""


class Mute(Exception):
    """An exception that can't even say what it is."""

    def __str__(self) -> str:
        raise ValueError("no text")


RAISED = [
    Unforeseen("u"),
    SystemExit(3),
    GeneratorExit(),
    RecursionError("r"),
    MemoryError(),
    Mute(),
    StopIteration(),
]


def raiser(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def load(*entries: Any, extra: Any = ()) -> Any:
    return load_host(env={}, entry_points=entries, extra_plugins=extra)


@pytest.mark.parametrize("error", RAISED, ids=lambda e: type(e).__name__)
def test_whatever_a_plugin_raises_ends_it_alone(
    error: BaseException, installed: Make, plugin_module: Make
) -> None:
    entries = [
        installed("imported", error),
        installed("asked", pypto_plugin=raiser(error)),
        installed("hooked", pypto_passes=raiser(error)),
        installed("good"),
    ]
    host = load(*entries, extra=[plugin_module("inside", pypto_plugin=raiser(error))])
    found = {record.name: record for record in host.health}
    assert found.pop("good").status is Status.OK
    assert len(found) == 4
    for record in found.values():
        assert record.status is Status.BROKEN and type(error).__name__ in record.reason


def test_an_interruption_is_the_user_s_and_goes_through(installed: Make) -> None:
    for entry in (
        installed("a", KeyboardInterrupt()),
        installed("b", pypto_passes=raiser(KeyboardInterrupt())),
    ):
        with pytest.raises(KeyboardInterrupt):
            load(entry)


@pytest.mark.parametrize(
    "parts",
    [{"name": 3}, {"name": "odd", "summary": None}, {"name": "odd", "requires_api": None}],
    ids=["name", "summary", "range"],
)
def test_a_plugin_describes_itself_in_text(parts: dict[str, Any], installed: Make) -> None:
    from pypto_core.host import PluginInfo

    [record] = load(installed("odd", pypto_plugin=lambda: PluginInfo(**{"summary": ""} | parts))).health
    assert record.status is Status.BROKEN and "TypeError" in record.reason


def test_damaged_metadata_does_not_hide_a_plugin(installed: Make) -> None:
    class Damaged:
        @property
        def name(self) -> str:
            raise KeyError("Name")

        version = None

    class Entry:
        name, value, dist = "odd", "odd.plugin", Damaged()

        def load(self) -> Any:
            return installed("odd").result

    [record] = load(Entry()).health
    assert (record.status, record.distribution, record.version) == (Status.OK, "an unnamed distribution", "")


def test_an_object_that_refuses_to_be_looked_at_is_broken() -> None:
    class Closed:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    [record] = load(extra=[Closed()]).health
    assert record.failed


@pytest.mark.parametrize(
    ("kind", "advice"), [("backend", "pypto backends"), ("planner", None), ("target", None), ("engine", None)]
)
def test_advice_names_commands_that_exist(kind: str, advice: str | None) -> None:
    from pypto_core.cli.app import BUILTIN

    host = load()
    with pytest.raises(UserError) as caught:
        getattr(host, kind)("zzzzzz")
    [said] = caught.value.diagnostics
    assert said.remedy
    words = said.remedy.split("pypto ")
    assert (len(words) == 2) is (advice is not None)
    assert advice is None or words[1] in BUILTIN

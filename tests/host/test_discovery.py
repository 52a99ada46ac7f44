"""Whatever state plugins are in, the others work and the host says what is wrong."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pypto_core.contract import (
    CodePage,
    Command,
    Engine,
    OpEmitter,
    OpExecutor,
    Pass,
    PassContract,
    Planner,
    Property,
    ReportSection,
    Target,
)
from pypto_core.diagnostics import UserError
from pypto_core.host import Host, Status, find_candidates, hookimpl, load_host
from pypto_core.ir import UnknownType
from pypto_core.ops import OpDef

Make = Callable[..., Any]


def a_pass(name: str, *runs: str) -> Pass:
    return Pass(contract=PassContract(name=name, runs=runs), run="nowhere:nothing")


def load(*entries: Any, selection: str | None = None) -> Host:
    env = {} if selection is None else {"PYPTO_PLUGINS": selection}
    return load_host(env=env, entry_points=entries)


def statuses(host: Host) -> dict[str, str]:
    return {f"{record.name}/{record.distribution}": record.status.value for record in host.health}


def test_a_good_plugin_is_taken_in_with_its_origin(installed: Make) -> None:
    host = load(installed("good", pypto_passes=[a_pass("Polish")], version="4.5"))
    assert host.passes["Polish"].name == "Polish"
    origin = host.passes.origin("Polish")
    assert (origin.distribution, origin.version, origin.plugin) == ("pypto-plugin-good", "4.5", "good")
    [record] = host.health
    assert (record.status, record.provides, record.summary) == (
        Status.OK,
        (("passes", 1),),
        "what good does",
    )


def test_the_kernel_registers_its_own_things_as_itself() -> None:
    host = load()
    assert host.health == ()
    assert "SSAForm" in host.properties
    assert host.properties.origin("SSAForm").distribution == "pypto-core"
    assert len(host.passes) == len(host.backends) == len(host.targets) == 0
    for name in host.operators:
        assert host.operators.origin(name).distribution == "pypto-core"
        assert host.ops[name] is host.operators[name]


def boom() -> Any:
    raise RuntimeError("the disk is on fire")


def broken_plugins(installed: Make, plugin_module: Make) -> dict[str, tuple[list[Any], Status, str]]:
    """Every way to be wrong: entry points, the status they get and a part of the reason."""
    misspelt = plugin_module("misspelt")

    def pypto_pases() -> list[Pass]:
        return []

    misspelt.pypto_pases = hookimpl(pypto_pases)
    unmarked = plugin_module("unmarked")

    def pypto_passes() -> list[Pass]:
        return []

    pypto_passes.__module__ = unmarked.__name__
    unmarked.pypto_passes = pypto_passes
    wrong_arguments = plugin_module("wrong_arguments")

    def with_argument(registry: object) -> list[Pass]:
        return []

    wrong_arguments.pypto_passes = hookimpl(specname="pypto_passes")(with_argument)
    missing = ModuleNotFoundError("No module named 'heavylib'")
    return {
        "import": ([installed("bad", missing)], Status.BROKEN, "No module named 'heavylib'"),
        "exit": ([installed("bad", SystemExit(3))], Status.BROKEN, "SystemExit: 3"),
        "hook raises": ([installed("bad", pypto_passes=boom)], Status.BROKEN, "the disk is on fire"),
        "no info": ([installed("bad", ModuleType("bad.plugin"))], Status.BROKEN, "does not say who it is"),
        "not a module": ([installed("bad", 7)], Status.BROKEN, "does not say who it is"),
        "wrong name": ([installed("bad", plugin_module("other"))], Status.BROKEN, "calls itself other"),
        "bad info": (
            [installed("bad", SimpleNamespace(pypto_plugin=hookimpl(lambda: "hello")))],
            Status.BROKEN,
            "returned str instead of a PluginInfo",
        ),
        "wrong type": ([installed("bad", pypto_passes=["Simplify"])], Status.BROKEN, "str where a Pass"),
        "one, not many": ([installed("bad", pypto_passes=lambda: a_pass("P"))], Status.BROKEN, "one Pass"),
        "twice": (
            [installed("bad", pypto_passes=[a_pass("P"), a_pass("P")])],
            Status.BROKEN,
            "registers the pass P twice",
        ),
        "api": (
            [installed("bad", plugin_module("bad", requires_api=">=2,<3"))],
            Status.INCOMPATIBLE,
            "needs plugin API >=2,<3, and this is 1.0",
        ),
        "unreadable api": (
            [installed("bad", plugin_module("bad", requires_api="one or two"))],
            Status.BROKEN,
            "'one or two' is not a version clause",
        ),
        "misspelt hook": ([installed("misspelt", misspelt)], Status.UNKNOWN_HOOK, "pypto_pases"),
        "unmarked hook": (
            [installed("unmarked", unmarked)],
            Status.UNKNOWN_HOOK,
            "not marked with @hookimpl",
        ),
        "wrong arguments": (
            [installed("wrong_arguments", wrong_arguments)],
            Status.BROKEN,
            "wrong arguments",
        ),
        "duplicate": (
            [installed("bad", distribution="one"), installed("bad", distribution="two", version="9")],
            Status.DUPLICATE,
            "one 1.2.3 and two 9 both install a plugin named bad",
        ),
        "clash with the kernel": (
            [installed("bad", pypto_properties=[Property(name="SSAForm")])],
            Status.CLASH,
            "the property SSAForm is registered by pypto-core",
        ),
    }


CASES = [
    "import", "exit", "hook raises", "no info", "not a module", "wrong name", "bad info", "wrong type",
    "one, not many", "twice", "api", "unreadable api", "misspelt hook", "unmarked hook", "wrong arguments",
    "duplicate", "clash with the kernel",
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_plugin_with_a_fault_is_reported_and_the_others_work(
    case: str, installed: Make, plugin_module: Make
) -> None:
    entries, status, reason = broken_plugins(installed, plugin_module)[case]
    host = load(*entries, installed("good", pypto_passes=[a_pass("Polish")]))
    assert list(host.passes) == ["Polish"]
    bad = [record for record in host.health if record.name != "good"]
    assert len(bad) == len(entries)
    for record in bad:
        assert record.status is status
        assert reason in record.reason
        assert record.failed
    assert host.failed == tuple(bad)


def test_every_fault_has_a_case(installed: Make, plugin_module: Make) -> None:
    assert list(broken_plugins(installed, plugin_module)) == CASES


def test_all_plugins_broken_at_once(installed: Make, plugin_module: Make) -> None:
    groups = broken_plugins(installed, plugin_module).values()
    entries = [entry for group, *_ in groups for entry in group]
    host = load(*entries)
    assert len(host.passes) == 0
    assert "SSAForm" in host.properties
    assert all(record.failed for record in host.health)


def test_a_failed_import_keeps_its_traceback(installed: Make) -> None:
    host = load(installed("bad", pypto_passes=boom))
    [record] = host.health
    assert "Traceback (most recent call last)" in record.traceback
    assert "in boom" in record.traceback
    assert record.to_json()["traceback"] == record.traceback


def test_a_misspelt_hook_is_told_its_nearest_name(installed: Make, plugin_module: Make) -> None:
    entries, _, _ = broken_plugins(installed, plugin_module)["misspelt hook"]
    [record] = load(*entries).health
    assert "did you mean pypto_passes?" in record.remedy


def test_a_plugin_is_taken_in_whole_or_not_at_all(installed: Make) -> None:
    bad = installed("bad", pypto_passes=[a_pass("Fine")], pypto_targets=["pto"])
    host = load(bad)
    assert len(host.passes) == 0


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        ({"pypto_passes": [a_pass("P")]}, {"pypto_passes": [a_pass("P")]}, "the pass P "),
        ({"pypto_passes": [a_pass("P")]}, {"pypto_passes": [a_pass("Q", "Q", "P")]}, "the pass P "),
        (
            {"pypto_planners": [Planner("fit", "first fit")]},
            {"pypto_planners": [Planner("fit", "best fit")]},
            "the planner fit ",
        ),
        (
            {"pypto_targets": [Target("text", "", lambda c: (), "a:b")]},
            {"pypto_targets": [Target("text", "", lambda c: (), "a:c")]},
            "the target text ",
        ),
    ],
)
def test_a_name_that_is_taken_names_both(
    first: dict[str, Any], second: dict[str, Any], named: str, installed: Make
) -> None:
    entries = [installed("alpha", **first), installed("beta", **second)]
    host = load(*entries)
    assert [record.status for record in host.health] == [Status.OK, Status.CLASH]
    reason = host.health[1].reason
    assert named in reason
    assert "pypto-plugin-alpha 1.2.3" in reason and "pypto-plugin-beta 1.2.3" in reason


def test_a_stranger_cannot_take_the_name_of_a_well_known_plugin(installed: Make) -> None:
    stranger = installed("aaa", pypto_passes=[a_pass("ConvertToSSA")], distribution="aaa")
    known = installed("structure", pypto_passes=[a_pass("ConvertToSSA")])
    host = load(stranger, known)
    assert host.passes.origin("ConvertToSSA").distribution == "pypto-plugin-structure"
    assert statuses(host) == {"aaa/aaa": "clash", "structure/pypto-plugin-structure": "ok"}


@pytest.mark.parametrize(
    ("selection", "loaded"),
    [
        (None, ["a", "b", "c-d"]),
        ("", []),
        (" , ", []),
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("-a", ["b", "c-d"]),
        ("-a,-b", ["c-d"]),
        ("a,b,-a", ["b"]),
        ("c_d", ["c-d"]),
        ("PYPTO_PLUGIN_B", ["b"]),
        ("-pypto-plugin-b", ["a", "c-d"]),
    ],
)
def test_the_variable_selects_and_blocks(selection: str | None, loaded: list[str], installed: Make) -> None:
    entries = [installed("a"), installed("b"), installed("c-d")]
    host = load(*entries, selection=selection)
    assert [record.name for record in host.health if record.status is Status.OK] == loaded
    assert all(record.status is Status.BLOCKED for record in host.health if record.name not in loaded)
    assert host.failed == ()


def test_a_blocked_plugin_is_not_imported(installed: Make) -> None:
    host = load(installed("bad", RuntimeError("imported")), selection="-bad")
    assert [record.status for record in host.health] == [Status.BLOCKED]


def test_blocking_one_distribution_ends_a_duplicate(installed: Make) -> None:
    one = installed("fit", distribution="one", pypto_passes=[a_pass("One")])
    two = installed("fit", distribution="two", pypto_passes=[a_pass("Two")])
    assert "PYPTO_PLUGINS=-one or PYPTO_PLUGINS=-two" in load(one, two).health[0].remedy
    host = load(one, two, selection="-one")
    assert list(host.passes) == ["Two"]
    assert statuses(host) == {"fit/one": "blocked", "fit/two": "ok"}


def test_selecting_what_is_not_installed_is_reported_with_the_nearest_name(installed: Make) -> None:
    host = load(installed("autotile"), selection="autotle")
    assert statuses(host) == {"autotile/pypto-plugin-autotile": "blocked", "autotle/": "missing"}
    assert host.failed[0].remedy == "did you mean autotile?"


@pytest.mark.parametrize(
    ("selection", "name", "remedy"),
    [
        ("-autotle", "autotle", "did you mean autotile?"),
        ("-PYPTO_plugin_autotle", "pypto-plugin-autotle", "did you mean pypto-plugin-autotile?"),
        ("-autotile,-zzz", "zzz", "take it out of the list"),
        ("autotile,-zzz", "zzz", "take it out of the list"),
        ("-", "-", "take it out of the list"),
    ],
)
def test_blocking_what_is_not_installed_is_reported(
    selection: str, name: str, remedy: str, installed: Make
) -> None:
    [record] = load(installed("autotile"), selection=selection).failed
    assert (record.name, record.status, record.remedy) == (name, Status.MISSING, remedy)
    assert record.reason == "PYPTO_PLUGINS blocks it, but no installed distribution has it"


def test_the_order_of_installation_means_nothing(installed: Make) -> None:
    entries = [
        installed("c", pypto_passes=[a_pass("Z"), a_pass("Y")]),
        installed("a", pypto_passes=[a_pass("X"), a_pass("P")]),
        installed("b", pypto_passes=[a_pass("P")]),
        installed("d", RuntimeError("no")),
    ]
    hosts = [load(*order) for order in itertools.permutations(entries)]
    assert {tuple(host.passes) for host in hosts} == {("P", "X", "Y", "Z")}
    assert len({tuple((r.name, r.status) for r in host.health) for host in hosts}) == 1
    assert {host.passes.origin("P").plugin for host in hosts} == {"a"}


def test_candidates_are_sorted_and_not_imported(installed: Make) -> None:
    entries = [
        installed("b", RuntimeError(), distribution="two"),
        installed("a", RuntimeError()),
        installed("b", RuntimeError(), distribution="one"),
        installed("a", RuntimeError()),
    ]
    found = [(c.name, c.distribution) for c in find_candidates(entries)]
    assert found == [("a", "pypto-plugin-a"), ("b", "one"), ("b", "two")]


def test_each_broken_plugin_is_warned_of_once(installed: Make, caplog: pytest.LogCaptureFixture) -> None:
    entry = installed("warned_once", RuntimeError("no luck today"))
    with caplog.at_level(logging.WARNING, logger="pypto_core.host"):
        load(entry)
        load(entry)
    said = [r.getMessage() for r in caplog.records if "warned_once" in r.getMessage()]
    assert len(said) == 1
    assert "no luck today" in said[0] and "pypto-plugin-warned_once 1.2.3" in said[0]


def test_a_property_of_a_stranger_without_prefix_is_only_warned_of(installed: Make) -> None:
    host = load(installed("acme", pypto_properties=[Property(name="Padded"), Property(name="acme.Even")]))
    [record] = host.health
    assert record.status is Status.OK
    assert len(record.notes) == 1
    assert "acme.Padded" in record.notes[0]
    assert {"Padded", "acme.Even"} <= set(host.properties)


def test_plugins_need_no_installation(plugin_module: Make) -> None:
    module = plugin_module("inside", pypto_passes=[a_pass("Inside")])
    host = load_host(env={"PYPTO_PLUGINS": ""}, entry_points=(), extra_plugins=[module])
    assert list(host.passes) == ["Inside"]
    assert host.passes.origin("Inside").plugin == "inside"
    broken = plugin_module("inside", pypto_passes=boom)
    assert load_host(env={}, entry_points=(), extra_plugins=[broken]).health[0].status is Status.BROKEN


def test_one_given_takes_the_place_of_one_installed(installed: Make, plugin_module: Make) -> None:
    entry = installed("inside", pypto_passes=[a_pass("Old")])
    module = plugin_module("inside", pypto_passes=[a_pass("New")])
    host = load_host(env={}, entry_points=[entry], extra_plugins=[module])
    assert list(host.passes) == ["New"]
    assert {(r.status, r.distribution) for r in host.health} == {
        (Status.BLOCKED, entry.distribution),
        (Status.OK, "in-process"),
    }
    [left] = [r for r in host.health if r.status is Status.BLOCKED]
    assert "given in its place" in left.reason and not host.failed


def test_every_kind_of_thing_is_taken_in(installed: Make) -> None:
    made: dict[str, list[Any]] = {
        "pypto_properties": [Property(name="acme.Even")],
        "pypto_ops": [OpDef(name="acme.twist", params=(), deduce=lambda args, options: UnknownType())],
        "pypto_passes": [a_pass("P")],
        "pypto_planners": [Planner("fit", "")],
        "pypto_targets": [Target("text", "", lambda caps: (), "a:b")],
        "pypto_emitters": [OpEmitter("text", "tile.sub", "a:b"), OpEmitter("text", "tile.add", "a:b")],
        "pypto_executors": [OpExecutor("acme.twist", "a:b")],
        "pypto_engines": [Engine("slow", "", "a:b")],
        "pypto_commands": [Command("twist", "a:b", "twist it")],
        "pypto_report_sections": [ReportSection("size", "Sizes", "a:b")],
        "pypto_codes": [CodePage("ACME1", "title", "text")],
    }
    host = load(installed("acme", **made))
    [record] = host.health
    assert record.status is Status.OK, record.reason
    assert dict(record.provides) == {
        "codes": 1, "commands": 1, "emitters": 2, "engines": 1, "executors": 1, "operators": 1, "passes": 1,
        "planners": 1, "properties": 1, "report_sections": 1, "targets": 1,
    }  # fmt: skip
    assert "acme.twist" in host.ops and "acme.twist" not in load().ops
    assert host.operators.origin("acme.twist").plugin == "acme"
    assert list(host.emitters_of("text")) == ["tile.add", "tile.sub"]
    assert host.emitters_of("other") == {}
    assert host.commands["twist"].help == "twist it"
    assert host.plugin("acme") is record and host.plugin("pypto-plugin-acme") is record
    assert host.plugin("nobody") is None


def test_an_unknown_name_says_what_there_is_and_what_failed(installed: Make) -> None:
    host = load(installed("good", pypto_passes=[a_pass("Polish")]), installed("bad", ImportError("no torch")))
    with pytest.raises(UserError) as caught:
        host.find_pass("Polsh")
    text = caught.value.render()
    assert "there is no pass 'Polsh'" in text
    assert "Polish" in text and "did you mean Polish?" in text
    assert "no torch" in text
    with pytest.raises(UserError, match="pip install pypto-plugin-pto"):
        host.target("pto")


def test_an_installed_but_broken_plugin_is_not_to_be_installed_again(installed: Make) -> None:
    host = load(installed("pto", ImportError("no torch")))
    with pytest.raises(UserError) as caught:
        host.target("pto")
    remedy = caught.value.diagnostics[0].remedy
    assert remedy.startswith("mend pypto-plugin-pto:") and "no torch" in remedy
    blocked = load(installed("pto"), selection="")
    with pytest.raises(UserError, match="unblock pypto-plugin-pto: PYPTO_PLUGINS leaves it out"):
        blocked.target("pto")

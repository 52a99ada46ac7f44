"""A toy world: functions carry marks, passes set them, properties say that every function has one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import pytest

from pypto_core.contract import (
    Artifact,
    Backend,
    CoreCounts,
    CostModel,
    MemoryPath,
    MemorySpec,
    Pass,
    PassContract,
    PassScope,
    Planner,
    Property,
    Role,
    Target,
    VectorRates,
)
from pypto_core.diagnostics import Diagnostic
from pypto_core.host import Host, PluginInfo, hookimpl, load_host
from pypto_core.ir import Function, MemorySpace, PipeType, Program, ReturnStmt, replace

COST = CostModel(
    bw_l0a=1.0,
    bw_l0b=1.0,
    bw_drain=1.0,
    drain_fixed_cycles=1.0,
    drain_row_cycles=1.0,
    drain_penalty_cycles=1.0,
    drain_c0_bytes=32,
    mad_head=1,
    mad_k_fractal_bytes=32,
    mad_fp32_passes=2,
    sources={"*": "made up"},
)
VECTOR = VectorRates(
    repeat_bytes=128, startup_cycles=1.0, completion_cycles=1.0, repeat_cycles=1.0, sources={"*": "made up"}
)


def make_backend(name: str, *features: str) -> Backend:
    """A machine with one memory."""
    return Backend(
        name=name,
        title=name.title(),
        aliases=(f"{name}board",),
        pto_arch=name,
        memories=(MemorySpec(space=MemorySpace.Vec, capacity=4096),),
        paths=(
            MemoryPath(
                src=MemorySpace.DDR,
                dst=MemorySpace.Vec,
                pipe=PipeType.MTE2,
                bytes_per_cycle=8.0,
                source="made up",
            ),
        ),
        cost_model=COST,
        vector=VECTOR,
        cores=CoreCounts(cube_per_die=1, vector_per_die=1),
        frequency_mhz=1.0,
        frequency_source="made up",
        features=features,
    )


def make_program(*names: str) -> Program:
    """A program of empty functions."""
    return Program("demo", tuple(Function(name, (), (), ReturnStmt()) for name in names or ("f", "g")))


def marks(program: Program) -> dict[str, str]:
    """Function name to its marks, in the order in which they were set."""
    return {f.name: f.attrs.get("marks", "") for f in program}


def set_mark(name: str) -> Callable[[Function, Any], Function]:
    """A pass body that adds a mark, and changes nothing where it is there already."""

    def body(function: Function, _: Any) -> Function:
        have = function.attrs.get("marks", "")
        return function if name in have else replace(function, attrs={"marks": have + name})

    return body


def marked(name: str) -> Callable[[Program], Iterable[Diagnostic]]:
    """A verifier: every function has the mark."""

    def verify(program: Program) -> Iterable[Diagnostic]:
        return [
            Diagnostic(code="TOY1", message=f"{f.name} has no mark {name}")
            for f in program
            if name not in f.attrs.get("marks", "")
        ]

    return verify


def make_property(name: str, **changes: Any) -> Property:
    """The property that every function has the mark of that name."""
    return Property(name=f"toy.{name}", **({"summary": "", "verifier": marked(name)} | changes))


def make_pass(name: str, run: Any = None, scope: PassScope = PassScope.FUNCTION, **contract: Any) -> Pass:
    """The pass ``MakeX`` that sets mark ``X``; ``contract`` replaces parts of its contract."""
    parts: dict[str, Any] = {"name": f"Make{name}", "produces": {f"toy.{name}"}} | contract
    options = parts.pop("options", None)
    return Pass(contract=PassContract(**parts), run=run or set_mark(name), scope=scope, options=options)


def write_marks(program: Program, ctx: Any) -> list[Artifact]:
    """A target's emitter: the marks as text."""
    lines = [f"{name}: {have}\n" for name, have in marks(program).items()]
    return [Artifact("out/marks.txt", "".join(lines))]


def toy_target(*goals: str, **changes: Any) -> Target:
    """The target ``text``."""
    return Target("text", "marks as text", lambda capabilities: goals, changes.get("emit", write_marks))


def make_plugin(plugin: str = "toy", **things: Iterable[Any]) -> ModuleType:
    """A plugin; keywords are hook names without their prefix."""
    module = ModuleType(f"{plugin}.plugin")

    def define(hook: str, result: Any) -> None:
        def body() -> Any:
            return result

        body.__name__, body.__module__ = hook, module.__name__
        setattr(module, hook, hookimpl(body))

    define("pypto_plugin", PluginInfo(plugin, "a toy"))
    for name, values in things.items():
        define(f"pypto_{name}", list(values))
    return module


def make_host(**things: Iterable[Any]) -> Host:
    """A host with the toy plugin alone; it has to load."""
    host = load_host(env={"PYPTO_PLUGINS": ""}, entry_points=(), extra_plugins=[make_plugin(**things)])
    assert not host.failed, host.failed
    return host


@pytest.fixture
def toy() -> Any:
    """The functions above, under one name."""
    from types import SimpleNamespace

    return SimpleNamespace(
        backend=make_backend,
        host=make_host,
        mark=set_mark,
        marks=marks,
        pass_=make_pass,
        plugin=make_plugin,
        program=make_program,
        property=make_property,
        target=toy_target,
        verify=marked,
    )


@pytest.fixture
def world(toy: Any) -> Host:
    """A -> B -> C by requirements, an optional D after B, a target that wants C, one backend, two planners."""
    return toy.host(
        properties=[toy.property(name) for name in "ABCD"],
        passes=[
            toy.pass_("C", requires={"toy.B"}),
            toy.pass_("B", requires={"toy.A"}),
            toy.pass_("A"),
            toy.pass_("D", requires={"toy.B"}, role=Role.OPTIMISE),
        ],
        backends=[toy.backend("box")],
        planners=[Planner("pypto", "first"), Planner("other", "second", {"toy.other"})],
        targets=[toy.target("toy.C")],
    )

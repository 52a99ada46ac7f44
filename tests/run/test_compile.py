"""The front door: from a program and a goal to artifacts, with errors that say what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import attrs
import pytest

from pypto_core.contract import Artifact, PassScope, Planner, PropertyKind, Role, Target
from pypto_core.diagnostics import (
    InternalError,
    OpTypeError,
    ParserError,
    Severity,
    UserError,
    VerificationError,
    render,
)
from pypto_core.host import Status, load_host
from pypto_core.run import (
    ANCHORS,
    MismatchError,
    PassContext,
    Pipeline,
    VerificationLevel,
    Wishes,
    compile,
    resolve,
)
from pypto_core.solver import Goal, Must, NoPlanError


def test_a_program_is_planned_run_and_emitted(world: Any, toy: Any) -> None:
    source = toy.program("f", "g")
    done = compile(source, goal="text", host=world)
    assert toy.marks(done.program) == {"f": "ABCD", "g": "ABCD"}
    assert [step.instance for step in done.plan.steps] == ["MakeA", "MakeB", "MakeC", "MakeD"]
    assert [(a.name, a.data) for a in done.artifacts] == [("out/marks.txt", "f: ABCD\ng: ABCD\n")]
    assert done.source is source
    assert done.context.backend is world.backends["box"]
    assert [name for name, _ in done.timings] == [
        "read", "plan", "verify input", "MakeA", "MakeB", "MakeC", "MakeD", "emit",
    ]  # fmt: skip
    assert all(seconds >= 0 for _, seconds in done.timings)
    assert PassContext.current() is None


def test_what_holds_already_is_not_made_again(world: Any, toy: Any) -> None:
    ready = compile(toy.program("f"), goal="toy.B", host=world).program
    assert toy.marks(ready)["f"].startswith("AB")
    again = compile(ready, goal="text", host=world)
    assert again.pipeline.initial == {"toy.A", "toy.B"}
    assert [step.instance for step in again.plan.steps] == ["MakeC", "MakeD"]


def test_a_property_is_a_goal_too(world: Any, toy: Any) -> None:
    done = compile(toy.program("f"), goal="toy.A", host=world)
    assert done.artifacts == () and done.target is None
    assert "toy.A" in done.plan.final
    assert {s.step.name for s in done.stages} >= {"MakeA"}


def test_artifacts_are_written_below_the_folder(world: Any, toy: Any, tmp_path: Path) -> None:
    done = compile(toy.program("f"), goal="text", host=world)
    assert done.write(tmp_path / "deep") == (tmp_path / "deep" / "out" / "marks.txt",)
    assert (tmp_path / "deep/out/marks.txt").read_bytes() == b"f: ABCD\n"


@pytest.mark.parametrize("name", ["", ".", "/etc/passwd", "../up.txt", "a/../../up", "a\\b", "a//b", "./a"])
def test_an_artifact_stays_in_its_folder(name: str) -> None:
    with pytest.raises(ValueError, match="relative path"):
        Artifact(name, "")


def test_the_output_folder_gets_dumps_and_reports(world: Any, toy: Any, tmp_path: Path) -> None:
    compile(toy.program("f"), goal="text", host=world, output_dir=tmp_path, dump_passes=True)
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()) == [
        "out/marks.txt",
        "passes_dump/00_frontend.py",
        "passes_dump/01_after_MakeA.py",
        "passes_dump/02_after_MakeB.py",
        "passes_dump/03_after_MakeC.py",
        "passes_dump/04_after_MakeD.py",
        "report/passes.json",
    ]
    rows = json.loads((tmp_path / "report/passes.json").read_text(encoding="utf-8"))
    assert [(row["number"], row["pass"], row["changed"]) for row in rows] == [
        (1, "MakeA", True), (2, "MakeB", True), (3, "MakeC", True), (4, "MakeD", True),
    ]  # fmt: skip


def test_the_choice_of_a_backend(toy: Any) -> None:
    parts = {"properties": [toy.property("A")], "passes": [toy.pass_("A")], "targets": [toy.target("toy.A")]}
    none = toy.host(**parts)
    with pytest.raises(UserError) as caught:
        compile(toy.program(), goal="text", host=none)
    text = str(caught.value)
    assert "no backend is installed" in text
    assert "pip install pypto-plugin-backend-" in text
    two = toy.host(**parts, backends=[toy.backend("crate"), toy.backend("box")])
    with pytest.raises(UserError) as caught:
        compile(toy.program(), goal="text", host=two)
    text = str(caught.value)
    assert "several backends" in text and "box, crate" in text and "backend='box'" in text
    with pytest.raises(UserError) as caught:
        compile(toy.program(), goal="text", backend="boxx", host=two)
    text = str(caught.value)
    assert "there is no backend 'boxx'" in text and "box, crate" in text and "did you mean box?" in text
    for name in ("crate", "CRATE", "crateboard"):
        assert compile(toy.program(), goal="text", backend=name, host=two).context.backend.name == "crate"
    own = toy.backend("own")
    assert compile(toy.program(), goal="text", backend=own, host=two).context.backend is own


def test_backends_clash_by_alias_in_any_case(toy: Any) -> None:
    box = toy.backend("box")
    rival = attrs.evolve(toy.backend("rival"), aliases=("BoxBoard",))
    plugins = [toy.plugin("one", backends=[box]), toy.plugin("two", backends=[rival])]
    host = load_host(env={}, entry_points=(), extra_plugins=plugins)
    assert [record.status for record in host.health] == [Status.OK, Status.CLASH]
    assert "the backend boxboard is registered by" in host.health[1].reason
    assert host.backend("BOXBOARD") is box


def test_an_unknown_goal_lists_the_targets(world: Any, toy: Any) -> None:
    with pytest.raises(UserError) as caught:
        compile(toy.program(), goal="txt", host=world)
    assert "there is no target 'txt'" in str(caught.value)
    assert "did you mean text?" in str(caught.value)
    with pytest.raises(UserError, match="pip install pypto-plugin-pto"):
        compile(toy.program(), host=world)


def test_an_unknown_planner_lists_the_planners(world: Any, toy: Any) -> None:
    with pytest.raises(UserError) as caught:
        compile(toy.program(), goal="text", planner="othr", host=world)
    assert "other, pypto" in str(caught.value) and "did you mean other?" in str(caught.value)


def test_planner_and_backend_follow_the_active_context(world: Any, toy: Any) -> None:
    with PassContext(planner="other", backend=toy.backend("own"), host=world) as outer:
        done = compile(toy.program(), goal="text")
        assert (done.context.planner, done.context.backend) == ("other", outer.backend)
        assert compile(toy.program(), goal="text", planner="other").pipeline.planner == "other"
        with pytest.raises(
            MismatchError, match="planner pypto is asked for inside a context with planner oth"
        ):
            compile(toy.program(), goal="text", planner="pypto")
        with pytest.raises(MismatchError, match="backend box .* backend own"):
            compile(toy.program(), goal="text", backend="box")


def test_a_pipeline_runs_only_where_it_was_resolved_for(world: Any, toy: Any) -> None:
    context = PassContext(planner="other", backend=world.backends["box"], host=world)
    pipeline = resolve(context, world, [Goal("toy.C")])
    assert toy.marks(pipeline.run(toy.program("f"), context).program)["f"] == "ABCD"
    alone = pipeline.run(toy.program("f"))
    assert toy.marks(alone.program)["f"] == "ABCD"
    assert (alone.context.planner, alone.context.host) == ("other", world)
    with pytest.raises(MismatchError, match="planner other .* planner pypto"):
        pipeline.run(toy.program("f"), context.derive(planner="pypto"))
    with pytest.raises(MismatchError, match="backend box .* backend crate"):
        pipeline.run(toy.program("f"), context.derive(backend=toy.backend("crate")))


def test_gates_follow_planner_backend_and_options(toy: Any) -> None:
    host = toy.host(
        properties=[toy.property(name) for name in "ABCD"],
        passes=[
            toy.pass_("A", needs={"planner:other"}, role=Role.OPTIMISE),
            toy.pass_("B", needs={"option:fast"}, role=Role.OPTIMISE),
            toy.pass_("C", needs={"isa.slots"}, role=Role.OPTIMISE),
            toy.pass_("D", excludes={"toy.other"}, role=Role.OPTIMISE),
        ],
        planners=[Planner("pypto", ""), Planner("other", "", {"toy.other"})],
        backends=[toy.backend("box"), toy.backend("slotbox", "isa.slots")],
        targets=[toy.target()],
    )

    def made(**choice: Any) -> str:
        return toy.marks(compile(toy.program("f"), goal="text", host=host, **choice).program)["f"]

    assert made(backend="box") == "D"
    assert made(backend="box", planner="other") == "A"
    assert made(backend="slotbox") == "CD"
    assert made(backend="box", fast=True) == "BD"
    assert made(backend="box", fast=False) == "D"


def test_goals_of_a_target_depend_on_capabilities(toy: Any) -> None:
    wanted = Target("text", "", lambda caps: ("toy.A",) if "planner:pypto" in caps else ("toy.B",), emit_none)
    host = toy.host(
        properties=[toy.property("A"), toy.property("B")],
        passes=[toy.pass_("A"), toy.pass_("B")],
        planners=[Planner("pypto", ""), Planner("other", "")],
        backends=[toy.backend("box")],
        targets=[wanted],
    )
    assert compile(toy.program(), goal="text", host=host).pipeline.names == ("MakeA",)
    assert compile(toy.program(), goal="text", planner="other", host=host).pipeline.names == ("MakeB",)


def emit_none(program: Any, ctx: Any) -> list[Artifact]:
    return []


def test_no_plan_says_why_and_whose_plugin_failed(toy: Any) -> None:
    host = toy.host(
        properties=[toy.property("A")],
        backends=[toy.backend("box")],
        targets=[toy.target("SSAForm", "toy.A")],
    )
    twice = toy.program("f")
    with pytest.raises(NoPlanError) as caught:
        compile(twice, goal="text", host=host)
    assert "toy.A" in str(caught.value)
    needs_memory = toy.host(
        properties=[toy.property("A")],
        passes=[toy.pass_("A", requires={"AllocatedMemoryAddr", "toy.B"})],
        backends=[toy.backend("box")],
        targets=[toy.target("toy.A")],
    )
    with pytest.raises(NoPlanError) as caught:
        compile(twice, goal="text", host=needs_memory)
    assert "toy.B" in str(caught.value)


def test_an_input_without_the_structural_properties_is_stopped(toy: Any) -> None:
    always = toy.property("A", kind=PropertyKind.STRUCTURAL)
    host = toy.host(properties=[always], backends=[toy.backend("box")], targets=[toy.target()])
    with pytest.raises(VerificationError) as caught:
        compile(toy.program("f"), goal="text", host=host)
    assert [d.code for d in caught.value.diagnostics] == ["PT800", "TOY1"]
    assert "toy.A" in caught.value.message


def test_a_pass_that_lies_is_named(toy: Any) -> None:
    host = toy.host(
        properties=[toy.property("A")],
        passes=[toy.pass_("A", lambda function, _: function)],
        backends=[toy.backend("box")],
        targets=[toy.target("toy.A")],
    )
    with pytest.raises(VerificationError, match="pass MakeA left a program without .*: toy.A") as caught:
        compile(toy.program("f"), goal="text", host=host)
    assert ("pass", "MakeA of in-process") in caught.value.diagnostics[0].facts
    done = compile(toy.program("f"), goal="text", host=host, verification="none")
    assert toy.marks(done.program) == {"f": ""}


def test_options_reach_passes_and_unread_ones_are_warned_of(toy: Any) -> None:
    def look(function: Any, ctx: PassContext) -> Any:
        if ctx.option("deep"):
            ctx.hint("PH001", "looked deep")
        return toy.mark("A")(function, ctx)

    host = toy.host(
        properties=[toy.property("A")],
        passes=[toy.pass_("A", look), toy.pass_("B", needs={"option:gate"})],
        backends=[toy.backend("box")],
        targets=[toy.target("toy.A")],
    )
    done = compile(toy.program("f"), goal="text", host=host, deep=3, dep=3, gate=False)
    assert [(d.code, d.severity) for d in done.diagnostics] == [
        ("PH001", Severity.PERF_HINT),
        ("PT816", Severity.WARNING),
    ]
    assert "'dep'" in done.warnings[0].message
    assert done.hints == done.diagnostics[:1]


@pytest.mark.parametrize(
    ("name", "nearest", "remedy"),
    [
        ("dep", "deep, MakeC{depth=…}", "did you mean deep?"),  # looked up and not given
        ("gat", "gate", "did you mean gate?"),  # a contract is gated by it
        ("widht", "MakeC{width=…}", "give it to the pass that it is of: MakeC{width=…}"),
        ("deeps", "deep, MakeC{depth=…}", "did you mean deep?"),
        ("zzz", None, "check its name; an option of one pass is given as Name{option=value}"),
    ],
)
def test_an_unread_option_is_told_the_nearest_names_and_no_others(
    toy: Any, name: str, nearest: str | None, remedy: str
) -> None:
    @attrs.frozen
    class Choices:
        width: int = 1
        depth: int = 2

    def look(function: Any, ctx: PassContext) -> Any:
        ctx.option("deep")
        return toy.mark("A")(function, ctx)

    host = toy.host(
        properties=[toy.property("A")],
        passes=[
            toy.pass_("A", look),
            toy.pass_("B", needs={"option:gate"}),
            toy.pass_("C", options=Choices()),
            *(toy.pass_(f"Unrelated{n}") for n in range(40)),
        ],
        backends=[toy.backend("box")],
        targets=[toy.target("toy.A")],
    )
    [found] = compile(toy.program("f"), goal="text", host=host, **{name: 3}).warnings
    assert (found.code, dict(found.facts).get("nearest"), found.remedy) == ("PT816", nearest, remedy)
    assert "Unrelated" not in render(found)


def test_a_pass_that_is_on_by_default_is_switched_off(toy: Any) -> None:
    host = toy.host(
        properties=[toy.property("A"), toy.property("D")],
        passes=[toy.pass_("A"), toy.pass_("D", role=Role.OPTIMISE, excludes={"option:extra=false"})],
        backends=[toy.backend("box")],
        targets=[toy.target("toy.A")],
    )
    for options, marks in (
        ({}, "AD"),
        ({"extra": True}, "AD"),
        ({"extra": False}, "A"),
        ({"extra": 0}, "A"),
        ({"extra": None}, "AD"),
    ):
        done = compile(toy.program("f"), goal="text", host=host, **options)
        assert sorted(toy.marks(done.program)["f"]) == list(marks), options
        assert done.diagnostics == ()


def test_a_pass_for_one_target_runs_on_the_way_to_it_alone(toy: Any) -> None:
    host = toy.host(
        properties=[toy.property(name) for name in "ADE"],
        passes=[
            toy.pass_("A"),
            toy.pass_("D", role=Role.OPTIMISE, needs={"target:text"}),
            toy.pass_("E", needs={"target:text"}, requires={"toy.D"}, produces={"toy.D", "toy.E"}),
        ],
        backends=[toy.backend("box")],
        targets=[toy.target("toy.A")],
    )
    marks = {
        goal: sorted(toy.marks(compile(toy.program("f"), goal=goal, host=host).program)["f"])
        for goal in ("text", "toy.A", "toy.D", "toy.E")
    }
    # What is only made on the way to a target brings that target's goals along.
    assert marks == {"text": ["A", "D"], "toy.A": ["A"], "toy.D": ["A", "D"], "toy.E": ["A", "D", "E"]}
    assert compile(toy.program("f"), goal="toy.D", host=host).artifacts == ()


def test_wishes_add_goals_passes_orders_and_options(toy: Any) -> None:
    @attrs.frozen
    class Depth:
        depth: int = 1

    def deepen(function: Any, ctx: PassContext) -> Any:
        return toy.mark("B" * ctx.pass_options.depth)(function, ctx)

    host = toy.host(
        properties=[toy.property("A"), toy.property("B"), toy.property("C")],
        passes=[toy.pass_("A"), toy.pass_("B", deepen, options=Depth()), toy.pass_("C")],
        backends=[toy.backend("box")],
        targets=[toy.target("toy.A")],
    )
    wishes = Wishes(specs=["MakeB{depth=3}"], goals=[Goal("toy.C", "me")])
    done = compile(toy.program("f"), goal="text", host=host, wishes=wishes)
    assert toy.marks(done.program) == {"f": "ABBBC"}
    assert done.pipeline.spec() == "MakeA,MakeB{depth=3},MakeC"
    must = compile(toy.program("f"), goal="text", host=host, wishes=Wishes(must=[Must("MakeC", "me")]))
    assert toy.marks(must.program) == {"f": "AC"}
    for wrong, said in [
        (Wishes(specs=["MakeB{dept=3}"]), "no option 'dept'"),
        (Wishes(specs=["MakeX"]), "there is no pass 'MakeX'"),
        (Wishes(specs=["MakeB", "MakeB"]), "given twice"),
        (Wishes(must=[Must("MakeX", "me")]), "there is no pass 'MakeX'"),
    ]:
        with pytest.raises(UserError, match=said):
            compile(toy.program("f"), goal="text", host=host, wishes=wrong)


def test_a_target_that_crashes_or_repeats_itself_is_named(toy: Any) -> None:
    def crash(program: Any, ctx: Any) -> list[Artifact]:
        raise KeyError("x")

    def repeat(program: Any, ctx: Any) -> list[Artifact]:
        return [Artifact("a", "1"), Artifact("a", "2")]

    for emit, said in ((crash, "target text failed on program demo: KeyError"), (repeat, "two artifacts")):
        host = toy.host(backends=[toy.backend("box")], targets=[toy.target(emit=emit)])
        with pytest.raises(InternalError, match=said):
            compile(toy.program("f"), goal="text", host=host)


def test_functions_and_wrapped_programs_are_accepted(world: Any, toy: Any) -> None:
    program = toy.program("f")
    assert compile(program["f"], goal="text", host=world).artifacts[0].data == "f: ABCD\n"

    @attrs.frozen
    class Decorated:
        program: Any

    assert compile(Decorated(program), goal="text", host=world).source is program
    with pytest.raises(OpTypeError, match="a dict can't be compiled"):
        compile({}, goal="text", host=world)


KERNEL = """
import pypto_core.language as pl

@pl.program
class Demo:
    @pl.function(type=pl.FunctionType.InCore)
    def copy(
        self, x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]
    ) -> pl.Tensor[[16, 64], pl.FP32]:
        t: pl.Tile[[16, 64], pl.FP32] = pl.load(x, [0, 0], [16, 64])
        return pl.store(t, [0, 0], out)
"""


@pytest.mark.parametrize("level", VerificationLevel)
def test_a_file_is_read_and_compiled(level: VerificationLevel, world: Any, toy: Any, tmp_path: Path) -> None:
    path = tmp_path / "copy.py"
    path.write_text(KERNEL, encoding="utf-8")
    done = compile(path, goal="text", host=world, verification=level)
    assert done.artifacts[0].data == "copy: ABCD\n"
    assert done.source.name == "Demo"


def test_a_file_is_never_executed(world: Any, tmp_path: Path) -> None:
    marker, path = tmp_path / "executed", tmp_path / "copy.py"
    path.write_text(f"open({str(marker)!r}, 'w').close()\n{KERNEL}", encoding="utf-8")
    with pytest.raises(ParserError, match="only constants and kernels"):
        compile(path, goal="text", host=world)
    assert not marker.exists()


def test_files_that_can_not_be_read(world: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing.py can't be read: No such file"):
        compile(tmp_path / "nothing.py", goal="text", host=world)
    (tmp_path / "latin.py").write_bytes("# pypto.program: ä\n".encode("latin-1"))
    with pytest.raises(UserError, match="UTF-8"):
        compile(str(tmp_path / "latin.py"), goal="text", host=world)


def test_threads_compile_side_by_side(world: Any, toy: Any) -> None:
    results: dict[int, str] = {}

    def work(number: int) -> None:
        planner = "other" if number % 2 else "pypto"
        done = compile(toy.program(f"f{number}"), goal="text", planner=planner, host=world)
        results[number] = f"{done.context.planner} {done.artifacts[0].data}"

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: f"{'other' if n % 2 else 'pypto'} f{n}: ABCD\n" for n in range(6)}


def test_a_program_scope_pass_may_add_functions(toy: Any) -> None:
    from pypto_core.ir import replace

    def add(program: Any, _: Any) -> Any:
        return replace(program, functions=(*program, replace(program["f"], name="added")))

    host = toy.host(
        passes=[toy.pass_("A", add, PassScope.PROGRAM, role=Role.MUST)],
        backends=[toy.backend("box")],
        targets=[toy.target()],
    )
    assert list(compile(toy.program("f"), goal="text", host=host).program.functions) == ["added", "f"]


def test_the_anchors_are_what_passes_may_stand_by() -> None:
    assert len(set(ANCHORS)) == len(ANCHORS)
    assert all(anchor.startswith("@") for anchor in ANCHORS)


def test_verification_levels_are_taken_by_name(world: Any, toy: Any) -> None:
    done = compile(toy.program("f"), goal="text", host=world, verification="none")
    assert done.context.verification is VerificationLevel.NONE
    with pytest.raises(UserError, match="there is no verification level 'lots'"):
        compile(toy.program("f"), goal="text", host=world, verification="lots")


def test_dumping_needs_a_place(world: Any, toy: Any) -> None:
    with pytest.raises(UserError, match="nowhere to dump"):
        compile(toy.program("f"), goal="text", host=world, dump_passes=True)


SEEDED = """
import sys
sys.path.insert(0, {tests!r})
import conftest as toy
from pypto_core.contract import Planner, Role
from pypto_core.host import load_host
from pypto_core.run import compile

names = [f"P{{n}}" for n in range(12)]
passes = [toy.make_pass(n, produces={{f"toy.{{n}}", "toy.Z"}}, role=Role.OPTIMISE) for n in names]
host = toy.make_host(
    properties=[toy.make_property(n) for n in names],
    passes=passes,
    backends=[toy.make_backend("box", *(f"isa.x{{n}}" for n in range(9)))],
    planners=[Planner("pypto", "", {{f"toy.c{{n}}" for n in range(9)}})],
    targets=[toy.toy_target(*[f"toy.{{n}}" for n in names])],
)
done = compile(toy.make_program("f", "g"), goal="text", host=host, b=1, a=2)
sys.stdout.write(repr((done.plan.to_json(), [a.data for a in done.artifacts], [d.to_json() for d in done.diagnostics])))
"""


def test_the_hash_seed_changes_nothing() -> None:
    code = textwrap.dedent(SEEDED).format(tests=str(Path(__file__).parent))
    outputs = set()
    for seed in ("0", "1", "2", "77"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        result = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False
        )
        assert result.returncode == 0, result.stderr
        outputs.add(result.stdout)
    assert len(outputs) == 1
    assert "PT816" in outputs.pop()


def test_a_hand_made_pipeline_has_no_plan(toy: Any) -> None:
    pipeline = Pipeline.of([toy.pass_("A")])
    assert pipeline.plan is None
    assert pipeline.run(toy.program("f")).pipeline is pipeline

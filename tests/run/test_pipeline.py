"""Pipelines run their passes in order, check what they claim, and keep nothing between runs."""

from __future__ import annotations

import threading
from typing import Any

import attrs
import pytest

from pypto_core.contract import Pass, PassContract, PassScope, PropertyKind, Role
from pypto_core.diagnostics import (
    Diagnostic,
    InternalError,
    OpError,
    UserError,
    VerificationError,
    warning,
)
from pypto_core.ir import Function, Program, replace
from pypto_core.run import (
    CallbackInstrument,
    MismatchError,
    PassContext,
    Pipeline,
    TimingInstrument,
    VerificationInstrument,
    VerificationLevel,
    VerificationMode,
    resolve,
)
from pypto_core.solver import Goal


def test_passes_run_in_order_over_every_function(toy: Any) -> None:
    pipeline = Pipeline.of([toy.pass_("B"), toy.pass_("A"), toy.pass_("C")])
    run = pipeline.run(toy.program("f", "g"))
    assert toy.marks(run.program) == {"f": "BAC", "g": "BAC"}
    assert [stage.step.instance for stage in run.stages] == ["MakeB", "MakeA", "MakeC"]
    assert [stage.step.number for stage in run.stages] == [1, 2, 3]
    assert [toy.marks(stage.program)["f"] for stage in run.stages] == ["B", "BA", "BAC"]


def test_nothing_changed_gives_the_same_objects(toy: Any) -> None:
    program = toy.program("f", "g")
    pipeline = Pipeline.of([toy.pass_("A")])
    once = pipeline.run(program).program
    run = pipeline.run(once)
    assert run.program is once
    assert not run.stages[0].changed
    half = Program("demo", (program["f"], once["g"]))
    after = pipeline.run(half).program
    assert after["g"] is once["g"] and after["f"] is not program["f"]


def test_a_program_pass_sees_the_whole_program(toy: Any) -> None:
    def add_function(program: Program, _: PassContext) -> Program:
        extra = replace(program["f"], name="h")
        return replace(program, functions=(*program, extra))

    pipeline = Pipeline.of([toy.pass_("A", add_function, PassScope.PROGRAM), toy.pass_("B")])
    assert toy.marks(pipeline.run(toy.program("f")).program) == {"f": "B", "h": "B"}


def test_a_pass_that_lies_is_caught_by_name(toy: Any) -> None:
    properties = {p.name: p for p in [toy.property("A"), toy.property("B")]}
    liar = toy.pass_("B", lambda function, _: function)
    with pytest.raises(VerificationError) as caught:
        Pipeline.of([toy.pass_("A"), liar], properties).run(toy.program("f", "g"))
    head, *rest = caught.value.diagnostics
    assert head.code == "PT801"
    assert "MakeB" in head.message and "toy.B" in head.message
    assert [d.message for d in rest] == ["f has no mark B", "g has no mark B"]
    silent = PassContext(verification=VerificationLevel.NONE)
    assert toy.marks(Pipeline.of([liar], properties).run(toy.program("f"), silent).program) == {"f": ""}


def test_what_held_already_is_not_verified_again(toy: Any) -> None:
    seen: list[str] = []

    def verifier(program: Program) -> list[Diagnostic]:
        seen.append("".join(toy.marks(program).values()))
        return []

    properties = {"toy.A": toy.property("A", verifier=verifier)}
    again = toy.pass_("B", produces={"toy.A"})
    renewed = toy.pass_("C", produces={"toy.A"}, invalidates={"toy.A"})
    Pipeline.of([toy.pass_("A"), again, renewed], properties).run(toy.program("f"))
    assert seen == ["A", "ABC"]


def test_a_disturbed_property_has_to_be_made_again(toy: Any) -> None:
    properties = {
        "toy.A": toy.property("A", disturbed_by={"names"}),
        "toy.B": toy.property("B"),
    }
    renaming = toy.pass_("B", touches={"names"})
    run = Pipeline.of([toy.pass_("A"), renaming], properties).run(toy.program("f"))
    assert [sorted(stage.held) for stage in run.stages] == [["toy.A"], ["toy.B"]]


def test_structural_properties_are_verified_around_every_change(toy: Any) -> None:
    clean = toy.property("X", kind=PropertyKind.STRUCTURAL, verifier=lambda p: refuse(p))

    def refuse(program: Program) -> list[Diagnostic]:
        return [
            Diagnostic(code="TOY2", message=f"{f.name} is dirty")
            for f in program
            if "D" in f.attrs.get("marks", "")
        ]

    properties = {clean.name: clean}
    with pytest.raises(VerificationError, match="MakeD left a program"):
        Pipeline.of([toy.pass_("A"), toy.pass_("D"), toy.pass_("C")], properties).run(toy.program("f"))
    dirty = Pipeline.of([toy.pass_("D")]).run(toy.program("f")).program
    with pytest.raises(VerificationError, match="pipeline_input"):
        Pipeline.of([toy.pass_("A")], properties).run(dirty)


def test_a_requirement_may_hold_of_the_input_but_not_be_missing(toy: Any) -> None:
    properties = {"toy.A": toy.property("A")}
    pipeline = Pipeline.of([toy.pass_("B", requires={"toy.A"})], properties)
    ready = Pipeline.of([toy.pass_("A")]).run(toy.program("f")).program
    run = pipeline.run(ready)
    assert toy.marks(run.program) == {"f": "AB"}
    assert run.held == {"toy.A", "toy.B"}
    with pytest.raises(
        VerificationError, match="MakeB can't run on a program without what it requires: toy.A"
    ):
        pipeline.run(toy.program("f"))


def test_a_forbidden_property_stops_the_pass(toy: Any) -> None:
    properties = {"toy.A": toy.property("A")}
    shy = toy.pass_("B", forbids={"toy.A"})
    with pytest.raises(UserError, match="MakeB must not run once toy.A holds"):
        Pipeline.of([toy.pass_("A"), shy], properties).run(toy.program("f"))
    assert toy.marks(Pipeline.of([shy], properties).run(toy.program("f")).program) == {"f": "B"}


def test_a_crash_names_pass_and_function(toy: Any) -> None:
    def crash(function: Function, _: PassContext) -> Function:
        return function if function.name == "f" else {}[function.name]  # type: ignore[return-value]

    with pytest.raises(InternalError) as caught:
        Pipeline.of([toy.pass_("A", crash)]).run(toy.program("f", "g"))
    assert "pass MakeA failed on function g: KeyError" in caught.value.message
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_user_error_keeps_its_class_and_learns_where(toy: Any) -> None:
    def complain(function: Function, _: PassContext) -> Function:
        raise OpError("the tile is too large")

    with pytest.raises(OpError, match="the tile is too large") as caught:
        Pipeline.of([toy.pass_("A", complain)]).run(toy.program("g"))
    assert caught.value.__notes__ == ["raised by pass MakeA on function g"]


@pytest.mark.parametrize("scope", PassScope)
def test_a_pass_that_returns_nothing_is_a_fault_of_the_pass(scope: PassScope, toy: Any) -> None:
    with pytest.raises(InternalError, match="pass MakeA returned NoneType instead of a"):
        Pipeline.of([toy.pass_("A", lambda *_: None, scope)]).run(toy.program("f"))


def test_a_body_that_can_not_be_imported_names_the_pass(toy: Any) -> None:
    with pytest.raises(InternalError, match="pass MakeA failed on loading it: ModuleNotFoundError"):
        Pipeline.of([toy.pass_("A", "no_such_module_here:run")]).run(toy.program("f"))


def test_a_verifier_that_crashes_names_the_property(toy: Any) -> None:
    properties = {"toy.A": toy.property("A", verifier=lambda program: program.no_such_thing)}
    with pytest.raises(InternalError, match="verifier of toy.A failed: AttributeError"):
        Pipeline.of([toy.pass_("A")], properties).run(toy.program("f"))


def test_the_planner_and_the_backend_have_to_agree(toy: Any) -> None:
    pipeline = Pipeline.of([toy.pass_("A")], planner="dsa_rp", backend="box")
    with pytest.raises(MismatchError, match="resolved for planner dsa_rp and can't run with planner ptoas"):
        pipeline.run(toy.program(), PassContext(planner="ptoas"))
    with pytest.raises(RuntimeError, match="backend box and can't run with backend crate"):
        pipeline.run(toy.program(), PassContext(planner="dsa_rp", backend=toy.backend("crate")))
    with pytest.raises(MismatchError, match="can't run with backend none"):
        pipeline.run(toy.program(), PassContext(planner="dsa_rp"))
    fitting = PassContext(planner="dsa_rp", backend=toy.backend("box"))
    assert pipeline.run(toy.program("f"), fitting).stages[0].changed


def test_an_option_that_switches_passes_keeps_its_value(toy: Any) -> None:
    host = toy.host(
        properties=[toy.property("A")],
        passes=[toy.pass_("A"), toy.pass_("B", excludes={"option:extra=false"}, role=Role.OPTIMISE)],
    )
    on, off = (PassContext(host=host, options={"extra": value, "other": value}) for value in (True, False))
    plain = PassContext(host=host, options={"other": 5})
    for made, others in ((on, (plain, on)), (plain, (on, plain)), (off, (off,))):
        pipeline = resolve(made, host, [Goal("toy.A", "me")])
        assert ("MakeB" in pipeline.names) == (made is not off)
        for other in others:
            pipeline.run(toy.program("f"), other)
    with pytest.raises(RuntimeError, match="option extra changed since the pipeline was resolved") as caught:
        resolve(on, host, [Goal("toy.A", "me")]).run(toy.program("f"), off)
    assert caught.value.diagnostics[0].facts == (("pipeline", "True"), ("context", "False"))
    with pytest.raises(MismatchError, match="extra changed"), plain:
        resolve(off, host, [Goal("toy.A", "me")]).run(toy.program("f"))


def test_a_pass_finds_context_and_its_options(toy: Any) -> None:
    @attrs.frozen
    class Choice:
        depth: int = 2

    seen: list[object] = []

    def look(function: Function, ctx: PassContext) -> Function:
        seen.append((ctx.pass_options, ctx.option("flag"), PassContext.current() is ctx))
        ctx.hint("PH001", f"look at {function.name}")
        return function

    passes = [toy.pass_("A", look, options=Choice(3)), toy.pass_("B", look)]
    context = PassContext(options={"flag": 7})
    run = Pipeline.of(passes).run(toy.program("f"), context)
    assert seen == [(Choice(3), 7, True), (None, 7, True)]
    assert [d.message for d in run.diagnostics] == ["look at f"]
    assert [len(stage.diagnostics) for stage in run.stages] == [1, 0]
    assert [d.message for d in context.log] == ["look at f"]


def test_each_run_has_a_log_of_its_own(toy: Any) -> None:
    def hint(function: Function, ctx: PassContext) -> Function:
        ctx.hint("PH001", f"look at {function.name}")
        return function

    context, pipeline = PassContext(), Pipeline.of([toy.pass_("A", hint)])
    runs = [pipeline.run(toy.program(name), context) for name in ("f", "g", "f")]
    assert [[d.message for d in run.diagnostics] for run in runs] == [
        ["look at f"], ["look at g"], ["look at f"],
    ]  # fmt: skip
    assert [d.message for d in context.log] == ["look at f", "look at g"]


def test_the_log_of_a_failed_run_reaches_the_caller(toy: Any) -> None:
    def warn_and_fail(function: Function, ctx: PassContext) -> Function:
        ctx.report(warning("PT998", "this will not end well"))
        raise OpError("no")

    context = PassContext()
    with pytest.raises(OpError):
        Pipeline.of([toy.pass_("A", warn_and_fail)]).run(toy.program("f"), context)
    assert [d.code for d in context.log] == ["PT998"]


def test_instruments_hear_everything_in_order(toy: Any) -> None:
    heard: list[str] = []

    class Listener:
        def before_pipeline(self, run: Any) -> None:
            heard.append(f"start {toy.marks(run.program)['f']}")

        def before_pass(self, run: Any, step: Any) -> None:
            heard.append(f"before {step.number} {step.name} {toy.marks(run.program)['f']}")

        def after_pass(self, run: Any, step: Any) -> None:
            before, after = toy.marks(run.previous)["f"], toy.marks(run.program)["f"]
            heard.append(f"after {step.name} {before}>{after}")

        def after_pipeline(self, run: Any) -> None:
            heard.append(f"end {len(run.stages)}")

    calls: list[str] = []
    partial = CallbackInstrument(on_after=lambda step, program: calls.append(step.name))
    context = PassContext(instruments=(Listener(), partial))
    Pipeline.of([toy.pass_("A"), toy.pass_("B")]).run(toy.program("f"), context)
    assert heard == [
        "start ", "before 1 MakeA ", "after MakeA >A", "before 2 MakeB A", "after MakeB A>AB", "end 2",
    ]  # fmt: skip
    assert calls == ["MakeA", "MakeB"]


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        (VerificationMode.BEFORE, "failed before pass MakeC: toy.A"),
        (VerificationMode.AFTER, "failed after pass MakeB: toy.A"),
        (VerificationMode.BEFORE_AND_AFTER, "failed after pass MakeB: toy.A"),
    ],
)
def test_the_instrument_verifies_what_the_pipeline_takes_as_kept(
    mode: VerificationMode, message: str, toy: Any
) -> None:
    def forget(function: Function, _: PassContext) -> Function:
        return replace(function, attrs={"marks": "B"})

    properties = {"toy.A": toy.property("A"), "toy.B": toy.property("B")}
    forgetful = toy.pass_("B", forget, requires={"toy.A"}, produces={"toy.A", "toy.B"})
    user = toy.pass_("C", requires={"toy.A"})
    pipeline = Pipeline.of([toy.pass_("A"), forgetful, user], properties)
    assert pipeline.run(toy.program("f")).program
    with pytest.raises(VerificationError, match=message):
        pipeline.run(toy.program("f"), PassContext(instruments=(VerificationInstrument(mode),)))


def test_times_add_up_over_runs(toy: Any) -> None:
    timing = TimingInstrument()
    context = PassContext(instruments=(timing,))
    pipeline = Pipeline.of([toy.pass_("B"), toy.pass_("A"), toy.pass_("A")])
    for _ in range(3):
        run = pipeline.run(toy.program("f"), context)
    assert {name: count for name, (count, _) in timing.totals.items()} == {"MakeA": 6, "MakeB": 3}
    assert all(seconds > 0 for _, seconds in timing.totals.values())
    assert [name for name, _ in run.timings] == ["MakeB", "MakeA", "MakeA#2"]


def test_instances_are_those_of_the_contract(toy: Any) -> None:
    twice = Pass(
        contract=PassContract(name="Tidy", runs=("Tidy", "Tidy@late")), run=lambda f, _: f
    )  # fmt: skip
    assert Pipeline.of([twice, toy.pass_("A"), twice, twice]).names == (
        "Tidy",
        "MakeA",
        "Tidy@late",
        "Tidy#3",
    )


def test_one_pipeline_serves_many_threads(toy: Any) -> None:
    barrier = threading.Barrier(4)

    def meet(function: Function, ctx: PassContext) -> Function:
        barrier.wait(timeout=20)
        ctx.hint("PH001", f"seen by {ctx.option('who')}")
        return toy.mark("A")(function, ctx)

    pipeline = Pipeline.of([toy.pass_("A", meet), toy.pass_("B")], {"toy.A": toy.property("A")})
    runs: dict[int, Any] = {}

    def work(number: int) -> None:
        runs[number] = pipeline.run(toy.program(f"f{number}"), PassContext(options={"who": number}))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        assert toy.marks(runs[number].program) == {f"f{number}": "AB"}
        assert [d.message for d in runs[number].diagnostics] == [f"seen by {number}"]


def test_a_prefix_is_a_pipeline(toy: Any) -> None:
    pipeline = Pipeline.of([toy.pass_("A"), toy.pass_("B"), toy.pass_("C")])
    assert toy.marks(pipeline.prefix(2).run(toy.program("f")).program) == {"f": "AB"}
    assert pipeline.spec() == "MakeA,MakeB,MakeC"

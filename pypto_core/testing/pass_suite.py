"""The conformance suite of a pass: its contract is true, and it changes no behaviour.

See :mod:`pypto_core.testing.pytest_plugin` for how to run it. A program reaches the pass as the solver's own plan
brings it there. Where no plan runs the pass on a program (a planner or backend that it excludes, a form that it
forbids) the test of that program is skipped, and one test fails when that is so of all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from pypto_core.contract import Pass, PropertyKind, Role, entry_function
from pypto_core.diagnostics import UserError, render
from pypto_core.host import Host, Registry
from pypto_core.ir import ParamDirection, Program, Stmt, Var, structural_equal
from pypto_core.run import (
    DEFAULT_PLANNER,
    PassContext,
    Pipeline,
    Run,
    Wishes,
    as_program,
    findings,
    goals_of,
    resolve,
)
from pypto_core.run import check_round_trip as _round_trip
from pypto_core.solver import Must, NoPlanError
from pypto_core.testing import build
from pypto_core.testing.behaviour import assert_same_behaviour
from pypto_core.testing.inputs import random_inputs
from pypto_core.text import print_program

__all__ = [
    "pypto_tried",
    "test_a_second_run_changes_nothing_more",
    "test_it_behaves_the_same_after",
    "test_it_gives_the_same_each_time",
    "test_it_keeps_what_it_does_not_invalidate",
    "test_it_makes_what_it_produces",
    "test_it_prints_and_parses_after",
    "test_its_work_grows_with_the_program",
    "test_some_program_reaches_it",
    "test_what_it_requires_is_enough",
]


@attrs.frozen(eq=False)
class Trial:
    """A pass run once: the program before and after it, and what held before."""

    before: Program
    after: Program
    held: frozenset[str]
    context: PassContext


_TARGET = "target:"
"""Begins the capability that a pass needs which runs on the way to one target only."""


class Unreached(Exception):
    """A program that no plan brings to the pass, and why."""


def _contexts(host: Host, wanted: frozenset[str], unwanted: frozenset[str]) -> Iterator[PassContext]:
    """Contexts in which a pass with these gates is on: each planner, and the options that it needs."""
    options = {name.removeprefix("option:"): True for name in wanted if name.startswith("option:")}
    planners = sorted(host.planners, key=lambda name: (name != DEFAULT_PLANNER, name))
    for backend in host.backends.values():
        for planner in planners:
            context = PassContext(host=host, backend=backend, planner=planner, options=options)
            known = context.capabilities | {f"{_TARGET}{name}" for name in host.targets}
            if wanted <= known and not unwanted & context.capabilities:
                yield context


def _context(host: Host, pass_: Pass) -> PassContext:
    contract = pass_.contract
    found = next(_contexts(host, contract.needs, contract.excludes), None)
    if found is None:
        raise Unreached(f"no installed backend and planner switch {pass_.name} on")
    return found


def _prefix(pipeline: Pipeline, name: str) -> Pipeline | None:
    at = next((i for i, step in enumerate(pipeline.steps) if step.name == name), None)
    return None if at is None else pipeline.prefix(at)


def _applied(pass_: Pass, before: Run, host: Host) -> Program:
    return Pipeline.of([pass_], host.properties).run(before.program, before.context).program


def _trial(pass_: Pass, program: Program, host: Host) -> Trial:
    """The pass where a plan puts it. Skips when no plan does."""
    context = _context(host, pass_)
    must = Must(pass_.name, "the conformance suite")
    target = next((n for n in pass_.contract.needs if n.startswith(_TARGET)), None)
    goals = () if target is None else goals_of(target.removeprefix(_TARGET), context, host)[1]
    try:
        pipeline = resolve(context, host, goals, as_program(program), Wishes(must=(must,)))
    except NoPlanError as error:
        raise Unreached(f"no plan runs {pass_.name} on this program: {error.message}") from None
    prefix = _prefix(pipeline, pass_.name)
    assert prefix is not None, f"the plan lacks {pass_.name}, which it had to run"
    try:
        run = prefix.run(as_program(program), context)
    except UserError as error:
        raise Unreached(f"the passes before {pass_.name} refuse this program: {error.message}") from None
    return Trial(run.program, _applied(pass_, run, host), run.held, run.context)


Tried = Callable[[Program], Trial]


@pytest.fixture(scope="module")
def pypto_tried(pypto_pass: Pass, pypto_host: Host) -> Tried:
    """The pass run on a program, once however many tests look at it; skips where it can't be."""
    known: dict[int, Trial | str] = {}

    def tried(program: Program) -> Trial:
        if id(program) not in known:
            try:
                known[id(program)] = _trial(pypto_pass, program, pypto_host)
            except Unreached as reason:
                known[id(program)] = str(reason)
        found = known[id(program)]
        if isinstance(found, Trial):
            return found
        pytest.skip(found)

    return tried


def test_some_program_reaches_it(
    pypto_pass: Pass, pypto_tried: Tried, pypto_programs: tuple[Program, ...]
) -> None:
    """There is a plan with the pass for at least one program of the suite."""
    reached = 0
    for program in pypto_programs:
        try:
            pypto_tried(program)
        except pytest.skip.Exception:  # pyright: ignore
            continue
        reached += 1
    assert reached, f"no program of the suite reaches {pypto_pass.name}: give some as PYPTO_PROGRAMS"


def test_what_it_requires_is_enough(pypto_pass: Pass, pypto_program: Program, pypto_host: Host) -> None:
    """It does its work where only the passes that its requirements take have run, and no optional ones."""
    bare = _without_optional(pypto_host, pypto_pass.name)
    try:
        trial = _trial(pypto_pass, pypto_program, bare)
    except Unreached as reason:
        pytest.skip(str(reason))
    assert _broken(trial.after, pypto_pass.contract.produces, bare, trial.context) == {}


def _without_optional(host: Host, kept: str) -> Host:
    rows: dict[str, Any] = {
        name: row
        for name, row in host.passes.rows.items()
        if name == kept or row.value.contract.role in (Role.MUST, Role.PROVIDE)
    }
    kept_passes: Registry[Pass] = Registry[Pass].of("pass", rows)
    return attrs.evolve(host, passes=kept_passes)


def _broken(program: Program, names: frozenset[str], host: Host, context: PassContext) -> dict[str, str]:
    """The properties that don't hold although they can be checked, each with the first finding."""
    with context:
        found = {
            name: findings(program, host.properties[name]) for name in sorted(names & {*host.properties})
        }
    return {name: render(rows[0]) for name, rows in found.items() if rows}


def test_it_makes_what_it_produces(
    pypto_tried: Tried, pypto_pass: Pass, pypto_program: Program, pypto_host: Host
) -> None:
    """The verifier of each property that it produces finds nothing."""
    trial = pypto_tried(pypto_program)
    assert _broken(trial.after, pypto_pass.contract.produces, pypto_host, trial.context) == {}


def test_it_keeps_what_it_does_not_invalidate(
    pypto_tried: Tried, pypto_pass: Pass, pypto_program: Program, pypto_host: Host
) -> None:
    """Every property that held before and is neither invalidated nor disturbed holds after."""
    trial = pypto_tried(pypto_program)
    contract, properties = pypto_pass.contract, pypto_host.properties
    kept = frozenset(
        name
        for name in {*properties} - contract.invalidates
        if properties[name].kind is not PropertyKind.ANALYSIS
        and not properties[name].disturbed(contract.touches)
    )
    held = kept - _broken(trial.before, kept, pypto_host, trial.context).keys()
    assert _broken(trial.after, held, pypto_host, trial.context) == {}


def test_a_second_run_changes_nothing_more(
    pypto_tried: Tried, pypto_pass: Pass, pypto_program: Program, pypto_host: Host
) -> None:
    """A pass that is declared idempotent gives back what it is given the second time."""
    if not pypto_pass.idempotent:
        pytest.skip(f"{pypto_pass.name} is not declared idempotent")
    trial = pypto_tried(pypto_program)
    contract = pypto_pass.contract
    lost = contract.requires & contract.invalidates - contract.produces
    made = contract.forbids & contract.produces
    if lost or made:
        pytest.skip(f"it can't run twice: {', '.join(sorted(lost | made))}")
    again = Pipeline.of([pypto_pass], pypto_host.properties).run(trial.after, trial.context).program
    assert structural_equal(again, trial.after), print_program(again)


def test_it_gives_the_same_each_time(
    pypto_tried: Tried, pypto_pass: Pass, pypto_program: Program, pypto_host: Host
) -> None:
    """Two runs on one program print the same text."""
    trial = pypto_tried(pypto_program)
    again = Pipeline.of([pypto_pass], pypto_host.properties).run(trial.before, trial.context).program
    assert print_program(again) == print_program(trial.after)


def test_it_prints_and_parses_after(
    pypto_tried: Tried, pypto_pass: Pass, pypto_program: Program, pypto_host: Host
) -> None:
    """What it leaves survives being printed and parsed."""
    trial = pypto_tried(pypto_program)
    with trial.context:
        _round_trip(trial.after, pypto_pass.name)


def test_it_behaves_the_same_after(
    pypto_tried: Tried,
    pypto_pass: Pass,
    pypto_program: Program,
    pypto_host: Host,
    pypto_engine: Callable[..., Any],
) -> None:
    """Run on the same inputs, the program computes what it computed before, to the bit."""
    trial = pypto_tried(pypto_program)
    inputs = random_inputs(entry_function(trial.before), seed=11)
    assert_same_behaviour(trial.before, trial.after, inputs, host=pypto_host)


def test_its_work_grows_with_the_program(pypto_pass: Pass, pypto_host: Host) -> None:
    """Twice and four times the statements take about twice and four times the function calls."""
    try:
        counts = [_calls(pypto_pass, length, pypto_host) for length in (40, 80, 160)]
    except Unreached as reason:
        pytest.skip(str(reason))
    first, second = counts[1] - counts[0], counts[2] - counts[1]
    # 2 when the work is linear, 4 when every statement looks at every other.
    assert second <= 3 * max(first, 200), f"function calls for 40, 80 and 160 statements: {counts}"


def _calls(pass_: Pass, length: int, host: Host) -> int:
    trial = _trial(pass_, chain(length), host)
    run, context = pass_.load(), trial.context
    count = 0

    def tick(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    with context:
        things = [trial.before] if pass_.scope.value == "program" else list(trial.before)
        previous = sys.getprofile()
        sys.setprofile(tick)
        try:
            for thing in things:
                run(thing, context)
        finally:
            sys.setprofile(previous)
    return count


def chain(length: int) -> Program:
    """A kernel of about ``length`` statements: windows of a tensor loaded, worked on and stored, in turn."""
    x, out = build.tensor("x", (64, 32)), build.tensor("out", (64, 32))
    stmts: list[Stmt] = []
    previous: Var | None = None
    for number in range(length // 4):
        row = number % 4 * 16
        load = build.let(f"a{number}", build.op("tile.load", x, build.dims(row, 0), build.dims(16, 32)))
        stmts.append(load)
        work = build.let(f"b{number}", build.op("tile.add", load.var, previous or load.var))
        half = build.let(f"c{number}", build.op("tile.muls", work.var, 0.5))
        store = build.do(build.op("tile.store", half.var, build.dims(row, 0), out))
        stmts += [work, half, store]
        previous = half.var
    parameters = [(x, ParamDirection.In), (out, ParamDirection.InOut)]
    return build.program(build.kernel("chain", parameters, stmts), name=f"chain_{length}")

"""From what is installed and what is wanted to a pipeline: ask the solver."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from pypto_core.contract import Pass, Target, parse_pass_spec
from pypto_core.diagnostics import DiagnosticError, InternalError, UserError, checked
from pypto_core.host import Host, PluginRecord, Status, catalogued, unknown_name
from pypto_core.ir import Program
from pypto_core.run.capabilities import capabilities
from pypto_core.run.context import PassContext
from pypto_core.run.log import DiagnosticLog
from pypto_core.run.pipeline import Pipeline
from pypto_core.run.run import PipelineStep
from pypto_core.run.verification import INPUT_LABEL, holding, require, structural
from pypto_core.solver import (
    DEFAULT_NODE_BUDGET,
    Capability,
    ExtraOrder,
    FailedPlugin,
    Goal,
    Must,
    Origin,
    PassEntry,
    Plan,
    Problem,
    solve,
)

ANCHORS = (
    "@frontend",
    "@outline",
    "@tensor",
    "@tile",
    "@split",
    "@schedule",
    "@memory",
    "@orchestration",
    "@final",
)
"""Points that every plan passes in this order, for passes that have to stand before or after a whole phase."""


@checked()
@attrs.frozen(kw_only=True)
class Wishes:
    """What is wanted beyond the target's goals, and who says so in each element.

    ``specs`` are pass texts (``Name{option=value}``) whose options replace the registered ones; a pass that is
    named there has to run. ``extra_runs`` allows a pass more runs than its contract lists.
    ``node_budget``: states that the solver may open.
    """

    goals: tuple[Goal, ...] = attrs.field(default=(), converter=tuple)
    must: tuple[Must, ...] = attrs.field(default=(), converter=tuple)
    order: tuple[ExtraOrder, ...] = attrs.field(default=(), converter=tuple)
    specs: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    extra_runs: tuple[tuple[str, int], ...] = attrs.field(default=(), converter=tuple)
    node_budget: int = DEFAULT_NODE_BUDGET


@checked("name")
def goals_of(name: str, context: PassContext, host: Host) -> tuple[Target | None, tuple[Goal, ...]]:
    """The target of that name and the goals it has here; or no target and the property of that name as goal.

    A property that is made on the way to some target only brings the goals of that target along.
    Raises UserError (PT703) when there is neither, InternalError (PT913) when the target does not say its goals.
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - what a caller may give
        raise unknown_name("target", name, host.targets, host.health, "PT703")
    if name in host.targets:
        target = host.targets[name]
        return target, tuple(Goal(goal, _by_target(name)) for goal in _wanted_by(target, context))
    if name in host.properties:
        wanted = [
            goal for target in _on_the_way_to(name, host) for goal in goals_of(target, context, host)[1]
        ]
        return None, (*wanted, Goal(name, "the goal of this compilation"))
    raise unknown_name("target", name, host.targets, host.health, "PT703")


def _on_the_way_to(name: str, host: Host) -> list[str]:
    """The targets that every pass which makes a property is for."""
    made_by = [p.contract for p in host.passes.values() if name in p.contract.produces - p.contract.requires]
    return [t for t in host.targets if made_by and all(f"target:{t}" in c.needs for c in made_by)]


def _by_target(name: str) -> str:
    return f"target {name}"


def _offered(context: PassContext, host: Host, goals: Iterable[Goal]) -> tuple[Capability, ...]:
    """What the context offers, and ``target:<name>`` of the target whose goals these are."""
    wanting = {goal.wanted_by for goal in goals}
    targets = [Capability(f"target:{n}", _by_target(n)) for n in host.targets if _by_target(n) in wanting]
    return tuple(sorted([*capabilities(context.backend, context.planner, context.options, host), *targets]))


def _wanted_by(target: Target, context: PassContext) -> tuple[str, ...]:
    try:
        wanted = tuple(target.goals(context.capabilities))
        for goal in wanted:
            if not isinstance(goal, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"they hold a {type(goal).__name__} where the name of a property belongs")
        return wanted
    except DiagnosticError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InternalError(
            f"target {target.name} can't say its goals: {type(error).__name__}: {error}",
            code="PT913",
            facts={"target": target.name},
            remedy="report it to whoever provides the target",
        ) from error


@checked()
def initial_state(program: Program, host: Host, goals: Iterable[Goal] = ()) -> frozenset[str]:
    """The properties that hold of an input, found by their verifiers.

    Only those that some pass requires or forbids or that are wanted are looked at: no others can matter.
    Structural ones have to hold; VerificationError (PT800) otherwise.
    """
    require(
        program,
        host.properties,
        structural(host.properties),
        code="PT800",
        message=f"{INPUT_LABEL}: the program does not have the properties that every program has to have",
        facts=[("program", program.name)],
        written=True,
    )
    asked = {goal.property for goal in goals}
    for pass_ in host.passes.values():
        asked |= pass_.contract.requires | pass_.contract.forbids
    return holding(program, host.properties, asked - structural(host.properties))


@checked()
def make_problem(
    context: PassContext,
    host: Host,
    goals: Iterable[Goal] = (),
    initial: frozenset[str] = frozenset(),
    wishes: Wishes | None = None,
    purpose: str = "",
) -> Problem:
    """The solver's problem for a context: everything installed, everything offered, everything wanted."""
    wishes, goals = wishes or Wishes(), tuple(goals)
    named = [parse_pass_spec(text).name for text in wishes.specs]
    for name in [*named, *(must.name for must in wishes.must)]:
        host.find_pass(name)
    origins = {name: host.passes.origin(name) for name in host.passes}
    return Problem(
        passes=[
            PassEntry(value.contract, Origin(origins[name].distribution, origins[name].version))
            for name, value in host.passes.items()
        ],
        properties=host.properties.values(),
        initial=initial,
        goals=(*goals, *wishes.goals),
        must=(*wishes.must, *(Must(name, f"the request for {name}") for name in named)),
        capabilities=_offered(context, host, goals),
        order=wishes.order,
        extra_runs=wishes.extra_runs,
        node_budget=wishes.node_budget,
        anchors=ANCHORS,
        catalogue=catalogued("property"),
        failed=[_failed(r) for r in host.health if r.status not in (Status.OK, Status.MISSING)],
        purpose=purpose or _purpose(context),
    )


@checked()
def resolve(
    context: PassContext,
    host: Host,
    goals: Iterable[Goal] = (),
    program: Program | None = None,
    wishes: Wishes | None = None,
    purpose: str = "",
) -> Pipeline:
    """The pipeline for a program, or for any program of which only the structural properties are known.

    Raises NoPlanError with the reasons when there is none, UserError for wishes that can't be read.
    """
    goals, wishes = tuple(goals), wishes or Wishes()
    with context:
        everything = (*goals, *wishes.goals)
        initial = initial_state(program, host, everything) if program is not None else frozenset[str]()
    plan = _plan(context, host, goals, initial, wishes, purpose)
    chosen = _with_options(host, wishes.specs)
    return Pipeline(
        steps=[
            PipelineStep(number=number, instance=step.instance, pass_=chosen[step.name], origin=step.origin)
            for number, step in enumerate(plan.steps, start=1)
        ],
        properties=host.properties,
        plan=plan,
        context=context.derive(log=DiagnosticLog(), instruments=()),
        planner=context.planner,
        backend=context.backend.name if context.backend else None,
        initial=initial,
    )


def _plan(
    context: PassContext,
    host: Host,
    goals: tuple[Goal, ...],
    initial: frozenset[str],
    wishes: Wishes,
    purpose: str,
) -> Plan:
    """The solver's answer, asked for once per problem: what a host offers does not change."""
    offered = capabilities(context.backend, context.planner, context.options, host)
    key = ("plan", offered, goals, initial, wishes, purpose or _purpose(context))
    known = host.derived.get(key)
    if known is None:
        known = solve(make_problem(context, host, goals, initial, wishes, purpose))
        host.derived.put(key, known)
    return known


def _with_options(host: Host, specs: Iterable[str]) -> dict[str, Pass]:
    chosen = dict(host.passes)
    seen: set[str] = set()
    for text in specs:
        spec = parse_pass_spec(text)
        if spec.name in seen:
            raise UserError(
                f"the options of pass {spec.name} are given twice",
                code="PT819",
                remedy="write them in one text: Name{a=1 b=2}",
            )
        seen.add(spec.name)
        chosen[spec.name] = spec.apply(host.find_pass(spec.name))
    return chosen


def _failed(record: PluginRecord) -> FailedPlugin:
    return FailedPlugin(
        record.distribution or record.name, record.reason, by_choice=record.status is Status.BLOCKED
    )


def _purpose(context: PassContext) -> str:
    backend = f"backend '{context.backend.name}'" if context.backend else "no particular backend"
    return f"{backend} with planner '{context.planner}'"

"""PassManager: the whole pipeline of what is installed, as the solver orders it."""

from __future__ import annotations

import enum
from collections.abc import Set
from pathlib import Path
from typing import Any

import attrs

from pypto.ir.text import python_print
from pypto.pypto_core.passes.checks import run_checked
from pypto.pypto_core.passes.context import BUFFER_IR, kernel_context
from pypto.pypto_core.passes.pass_objects import Pass
from pypto_core.contract import PassContract
from pypto_core.diagnostics import UserError, render_all
from pypto_core.host import Host, load_host
from pypto_core.ir import Program
from pypto_core.run import (
    MismatchError,
    PassContext,
    Pipeline,
    PipelineStep,
    Run,
    as_program,
    goals_of,
    make_problem,
)
from pypto_core.solver import Goal, Must, NoPlanError, PassEntry, solve

_TARGET = "pto"
_ENDS = ("AllocatedMemoryAddr", "HasMemRefs")
_PURPOSE = "the default strategy"
_FOR_PLANNER, _FOR_MACHINE = "planner:ptoas", "runtime.buffer_ir"
"""What passes need that leave programs alone without it: PyPTO has them in every pipeline, and leaves out only those
that place buffers where a planner does so itself."""


def _on_buffers(context: PassContext) -> bool:
    """Whether kernels are written on buffers where they can be; they are unless it is switched off."""
    return bool(context.option(BUFFER_IR, True))


class OptimizationStrategy(enum.Enum):
    """Which pipeline: there is one."""

    Default = "Default"


class PassDumpLevel(enum.Enum):
    """How programs are dumped between passes."""

    NONE = 0
    CONCISE = 1
    EXPLICIT = 2

    @classmethod
    def of(cls, value: PassDumpLevel | bool) -> PassDumpLevel:
        """A level; True is CONCISE and False is NONE."""
        return value if isinstance(value, cls) else cls.CONCISE if value else cls.NONE


class PassManager:
    """Runs the passes of a strategy; which planner they are for, and whether on buffers, is settled when it is made.

    ``passes`` are all installed ones that the planner and the machine have a use for, in the solver's order.
    """

    def __init__(
        self,
        strategy: OptimizationStrategy = OptimizationStrategy.Default,
        *,
        analyze_auto_scopes_for_deps: bool = False,
    ) -> None:
        if analyze_auto_scopes_for_deps:
            raise UserError(
                "no installed pass derives dependencies from automatic scopes",
                code="PT704",
                remedy="leave analyze_auto_scopes_for_deps out",
            )
        self.strategy = strategy
        context = kernel_context()
        self._planner, self._buffers = context.planner, _on_buffers(context)
        self.passes = [Pass(pass_) for pass_ in _passes(context, context.host or load_host())]

    @classmethod
    def get_strategy(
        cls,
        strategy: OptimizationStrategy = OptimizationStrategy.Default,
        *,
        analyze_auto_scopes_for_deps: bool = False,
    ) -> PassManager:
        """The manager of a strategy, for the planner of the active context."""
        return cls(strategy, analyze_auto_scopes_for_deps=analyze_auto_scopes_for_deps)

    @property
    def pass_names(self) -> list[str]:
        """The names of the passes, in order."""
        return [pass_.get_name() for pass_ in self.passes]

    def get_pass_names(self) -> list[str]:
        """The names of the passes, in order."""
        return self.pass_names

    def pipeline(self, context: PassContext | None = None) -> Pipeline:
        """The passes as a pipeline of the kernel.

        Raises MismatchError (a RuntimeError) when the active planner is not the one that the manager was made for, or
        ``enable_buffer_ir`` has changed.
        """
        active = context or kernel_context()
        if active.planner != self._planner:
            raise MismatchError(
                f"the pass manager was made for planner {self._planner} and can't run with planner {active.planner}",
                facts={"pass manager": self._planner, "context": active.planner},
                remedy="make it inside of the context in which it runs",
            )
        if _on_buffers(active) is not self._buffers:
            raise MismatchError(
                f"{BUFFER_IR} changed since the pass manager was made",
                facts={"pass manager": self._buffers, "context": _on_buffers(active)},
                remedy="make it inside of the context in which it runs",
            )
        host = active.host or load_host()
        return Pipeline.of(
            [pass_.kernel_pass for pass_ in self.passes], host.properties, planner=self._planner
        )

    def run_passes(
        self,
        input_ir: Any,
        dump_ir: bool | PassDumpLevel = False,
        output_dir: str | Path | None = None,
        prefix: str = "pl",
    ) -> Program:
        """The program after all passes.

        With ``dump_ir`` it is written to ``output_dir`` before the first pass and after each, as
        ``00_frontend.py`` and ``NN_after_<Pass>.py``.
        """
        context = kernel_context()
        level = PassDumpLevel.of(dump_ir)
        if level is not PassDumpLevel.NONE:
            if output_dir is None:
                raise UserError(
                    "there is nowhere to dump the passes to", code="PT821", remedy="give output_dir as well"
                )
            dump = Dump(Path(output_dir), prefix, explicit=level is PassDumpLevel.EXPLICIT)
            context = context.derive(instruments=(*context.instruments, dump))
        return run_checked(self.pipeline(context), as_program(input_ir), context)


@attrs.frozen
class Dump:
    """Writes the program before and after the passes of a run, and what each of them reported."""

    directory: Path
    prefix: str = "pl"
    explicit: bool = False

    def before_pipeline(self, run: Run) -> None:
        """Write the input."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._write("00_frontend.py", run.program)

    def after_pass(self, run: Run, step: PipelineStep) -> None:
        """Write what a pass returned."""
        stem = f"{step.number:02}_after_{step.name}"
        self._write(f"{stem}.py", run.program)
        if run.fresh:
            (self.directory / f"{stem}.log").write_text(render_all(run.fresh) + "\n", encoding="utf-8")

    def _write(self, name: str, program: Program) -> None:
        text = python_print(program, self.prefix, concise=not self.explicit, explicit_layout=self.explicit)
        (self.directory / name).write_text(text, encoding="utf-8")


def _goals(context: PassContext, host: Host) -> tuple[Goal, ...]:
    """What a pipeline is for: PTO text where something writes it, otherwise buffers in their places."""
    if _TARGET in host.targets:
        return goals_of(_TARGET, context, host)[1]
    contracts = [p.contract for p in host.passes.values()]
    for name in _ENDS:
        if any(name in c.produces and _enabled(c, context.capabilities) for c in contracts):
            return (Goal(name, _PURPOSE),)
    return ()


def _enabled(contract: PassContract, offered: Set[str]) -> bool:
    return contract.needs <= offered and not contract.excludes & offered


def _passes(context: PassContext, host: Host) -> list[Any]:
    """Every pass that the planner and the machine have a use for, for a program that has what none of them makes."""
    contracts = [p.contract for p in host.passes.values()]
    made = {name for c in contracts for name in c.produces - c.requires}
    goals = _goals(context, host)
    asked = {goal.property for goal in goals}.union(*(c.requires for c in contracts))
    problem = make_problem(context, host, goals, frozenset(asked - made), purpose=_PURPOSE)
    gates = {_FOR_PLANNER} if context.backend is None else {_FOR_PLANNER, _FOR_MACHINE}
    entries = tuple(_without(entry, gates) for entry in problem.passes)
    offered = {capability.name for capability in problem.capabilities}
    must = tuple(Must(e.name, _PURPOSE) for e in entries if _enabled(e.contract, offered))
    try:
        plan = solve(attrs.evolve(problem, passes=entries, must=must))
    except NoPlanError:  # some exclude each other: then those that the goals need
        plan = solve(attrs.evolve(problem, passes=entries))
    return [host.passes[step.name] for step in plan.steps]


def _without(entry: PassEntry, gates: Set[str]) -> PassEntry:
    """A pass without what it needs only to do something."""
    contract = entry.contract
    return attrs.evolve(entry, contract=attrs.evolve(contract, needs=contract.needs - gates))

"""The front door: a program in, artifacts out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import attrs

from pypto_core.contract import Artifact, Backend, Target
from pypto_core.diagnostics import (
    Diagnostic,
    DiagnosticError,
    InternalError,
    Severity,
    UserError,
    checked,
)
from pypto_core.host import Host, load_host, none_installed
from pypto_core.ir import Function, FunctionIRStage, Program, replace
from pypto_core.run.context import DEFAULT_PLANNER, PassContext
from pypto_core.run.dump import DumpInstrument
from pypto_core.run.files import write_file
from pypto_core.run.instruments import ReportInstrument
from pypto_core.run.level import VerificationLevel
from pypto_core.run.log import DiagnosticLog
from pypto_core.run.pipeline import MismatchError, Pipeline
from pypto_core.run.plan import Wishes, goals_of, resolve
from pypto_core.run.run import Run, Stage
from pypto_core.run.source import as_program
from pypto_core.run.unread import unread_options
from pypto_core.run.verification import structural
from pypto_core.solver import Plan
from pypto_core.text import dumps

BUFFER_IR_FILE = "buffer_ir.msgpack"
"""Where a program with kernels on buffers is kept beside what was written of it."""


@attrs.frozen(kw_only=True, eq=False)
class Compiled:
    """The result of a compilation.

    ``source`` is the program that went in and ``program`` the one after the last pass. ``target`` is None, and
    there are no artifacts, when the goal was a property. ``timings`` are seconds by part, in order: reading,
    planning, verifying the input, each step by its instance, emitting.
    """

    source: Program
    program: Program
    pipeline: Pipeline = attrs.field(repr=False)
    context: PassContext = attrs.field(repr=False)
    target: Target | None = attrs.field(repr=False)
    artifacts: tuple[Artifact, ...]
    diagnostics: tuple[Diagnostic, ...]
    stages: tuple[Stage, ...] = attrs.field(repr=False)
    timings: tuple[tuple[str, float], ...] = attrs.field(repr=False)

    @property
    def plan(self) -> Plan:
        """The order of the passes with the reason for each."""
        if self.pipeline.plan is None:
            raise InternalError("a compilation without a plan")
        return self.pipeline.plan

    @property
    def placed(self) -> Program:
        """The program with its kernels in tiles, placed: one on buffers as it was before it became that."""
        functions = [self._in_tiles(function) for function in self.program]
        return replace(self.program, functions=functions)

    def _in_tiles(self, function: Function) -> Function:
        if function.ir_stage is FunctionIRStage.Functional:
            return function
        earlier = [stage.program.get_function(function.name) for stage in reversed(self.stages)]
        tiles = [f for f in earlier if f is not None and f.ir_stage is FunctionIRStage.Functional]
        return tiles[0] if tiles else function

    @property
    def hints(self) -> tuple[Diagnostic, ...]:
        """The performance hints among the diagnostics."""
        return tuple(d for d in self.diagnostics if d.severity is Severity.PERF_HINT)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings among the diagnostics."""
        return tuple(d for d in self.diagnostics if d.severity is Severity.WARNING)

    @checked()
    def write(self, directory: str | PathLike[str]) -> tuple[Path, ...]:
        """Write the artifacts below a folder, making it when it is missing; returns their paths in order.

        Beside them, as text can't hold everything of it, lies a program with kernels on buffers: ``buffer_ir.msgpack``.
        Raises UserError (PT822) when the folder or a file can't be written.
        """
        paths: list[Path] = []
        for artifact in self.artifacts:
            path = Path(directory) / artifact.name
            write_file(path, artifact.content)
            paths.append(path)
        if paths and any(f.ir_stage is FunctionIRStage.Buffer for f in self.program):
            path = Path(directory) / BUFFER_IR_FILE
            write_file(path, dumps(self.program))
            paths.append(path)
        return tuple(paths)


# What the host looks up it refuses with the names that it has.
_LOOKED_UP = ("backend", "planner", "goal", "verification")


@checked(*_LOOKED_UP)
def compile_context(
    *,
    backend: str | Backend | None = None,
    planner: str | None = None,
    verification: VerificationLevel | str | None = None,
    instruments: Sequence[object] = (),
    disabled_diagnostics: Iterable[str] = (),
    host: Host | None = None,
    options: Mapping[str, Any] | None = None,
) -> PassContext:
    """The context that :func:`compile` works in for these arguments: they extend the active one, if there is one.

    Raises MismatchError (PT811) when backend or planner contradict the active context, and UserError when there is no
    such backend or planner, or no way to choose one.
    """
    outer = PassContext.current()
    if host is None:
        host = outer.host if outer is not None and outer.host is not None else load_host()
    base = outer or PassContext()
    return base.derive(
        host=host,
        backend=_choose_backend(backend, outer, host),
        planner=_choose_planner(planner, outer, host),
        options={**base.options, **(options or {})},
        instruments=[*base.instruments, *instruments],
        verification=base.verification if verification is None else VerificationLevel.of(verification),
        disabled_diagnostics=base.disabled_diagnostics | frozenset(disabled_diagnostics),
        log=DiagnosticLog(),
    )


@checked(*_LOOKED_UP)
def compile(
    program: Any,
    *,
    backend: str | Backend | None = None,
    planner: str | None = None,
    goal: str = "pto",
    emit: bool = True,
    output_dir: str | PathLike[str] | None = None,
    dump_passes: bool = False,
    verification: VerificationLevel | str | None = None,
    instruments: Sequence[object] = (),
    disabled_diagnostics: Iterable[str] = (),
    wishes: Wishes | None = None,
    host: Host | None = None,
    **options: Any,
) -> Compiled:
    """Compile a program.

    ``program``: a Program, a Function, something decorated as one, or the path of a ``.py`` file, which is
    parsed and never executed.
    ``backend``: name, alias or value; by default that of the active context, or the only one installed.
    ``planner``: by default that of the active context, or ``pypto``.
    ``goal``: a target, or a property to reach without emitting anything. ``emit=False``: stop at the program that the
    target would be given.
    ``output_dir``: where artifacts go, with ``report/`` and, with ``dump_passes``, ``passes_dump/``; nothing is
    written without it.
    ``verification``, ``instruments``, ``disabled_diagnostics``: as in :class:`PassContext`, added to the active
    one. ``wishes``: further goals, passes, orders and pass options. ``host``: by default what is installed.
    ``options``: whatever passes and targets ask for; one that nothing asks for is warned of (PT816).

    Raises UserError for what can't be done, NoPlanError with its reasons, ParserError, VerificationError and
    InternalError. MismatchError (PT811) when backend or planner contradict the active context.
    """
    outer = PassContext.current()
    context = compile_context(
        backend=backend,
        planner=planner,
        verification=verification,
        instruments=[*instruments, *_writers(output_dir, dump_passes)],
        disabled_diagnostics=disabled_diagnostics,
        host=host,
        options=options,
    )
    try:
        compiled = _compile(program, context, goal, wishes or Wishes(), emit)
        # A target that was not asked to write anything may still be the one that an option is for.
        for unread in unread_options(context, frozenset(options)) if emit else ():
            context.report(unread)
        compiled = attrs.evolve(compiled, diagnostics=tuple(context.log))
    finally:
        if outer is not None:
            outer.log.extend(context.log)
    if output_dir is not None:
        compiled.write(output_dir)
    return compiled


def _compile(thing: Any, context: PassContext, goal: str, wishes: Wishes, emit: bool) -> Compiled:
    clock = _Clock()
    host = context.host
    assert host is not None
    with context:
        source = as_program(thing)
        _warn(source, context)
        clock.lap("read")
        target, goals = goals_of(goal, context, host)
        pipeline = resolve(context, host, goals, source, wishes)
        clock.lap("plan")
        known = structural(host.properties) | (pipeline.initial or frozenset())
        run = pipeline.run(source, context, verified=known)
        clock.times += [("verify input", run.input_seconds), *run.timings]
        clock.restart()
        artifacts = _emit(target, run, context) if target is not None and emit else ()
        clock.lap("emit")
    return Compiled(
        source=source,
        program=run.program,
        pipeline=pipeline,
        context=context,
        target=target,
        artifacts=artifacts,
        diagnostics=tuple(context.log),
        stages=tuple(run.stages),
        timings=tuple(clock.times),
    )


def _warn(source: Program, context: PassContext) -> None:
    """Report what is likely to be a mistake in a program as it was written."""
    from pypto_core.verify.inputs import written_inputs  # loads the verifiers

    for finding in written_inputs(source):
        context.report(finding)


def _choose_backend(wanted: str | Backend | None, outer: PassContext | None, host: Host) -> Backend:
    given = wanted if isinstance(wanted, Backend | None) else host.backend(wanted)
    active = outer.backend if outer is not None else None
    if given is not None and active is not None and given != active:
        raise _mismatch("backend", given.name, active.name)
    chosen = given or active
    if chosen is not None:
        return chosen
    if not host.backends:
        raise none_installed("backend", host.health, "PT812")
    if len(host.backends) > 1:
        names = list(host.backends)
        raise UserError(
            "several backends are installed and none is chosen",
            code="PT813",
            facts={"installed": ", ".join(names)},
            remedy=f"say which one: --backend {names[0]}, or backend={names[0]!r} in Python",
        )
    [only] = host.backends.values()
    return only


def _choose_planner(wanted: str | None, outer: PassContext | None, host: Host) -> str:
    if wanted is not None and outer is not None and wanted != outer.planner:
        raise _mismatch("planner", wanted, outer.planner)
    active = outer.planner if outer is not None else DEFAULT_PLANNER
    chosen = active if wanted is None else wanted
    # The default may be absent: a compilation that places nothing needs no planner.
    return host.planner(chosen).name if chosen != DEFAULT_PLANNER or chosen in host.planners else chosen


def _mismatch(what: str, given: str, active: str) -> MismatchError:
    return MismatchError(
        f"{what} {given} is asked for inside a context with {what} {active}",
        code="PT811",
        facts={"asked for": given, "context": active},
        remedy=f"leave {what} out, or derive a context with {what}={given!r}",
    )


def _writers(output_dir: str | PathLike[str] | None, dump_passes: bool) -> list[object]:
    if output_dir is None:
        if dump_passes:
            raise UserError(
                "there is nowhere to dump the passes to", code="PT821", remedy="give output_dir as well"
            )
        return []
    dumps = [DumpInstrument(Path(output_dir) / "passes_dump")] if dump_passes else []
    return [*dumps, ReportInstrument(Path(output_dir) / "report")]


def _emit(target: Target, run: Run, context: PassContext) -> tuple[Artifact, ...]:
    try:
        artifacts = tuple(target.load()(run.program, context))
    except DiagnosticError as error:
        error.add_note(f"raised by target {target.name} on program {run.program.name}")
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InternalError(
            f"target {target.name} failed on program {run.program.name}: {type(error).__name__}: {error}",
            code="PT913",
            facts={"target": target.name},
            remedy="report it to whoever provides the target, with the program that it was given",
        ) from error
    names: set[str] = set()
    for artifact in artifacts:
        _check_artifact(target, artifact)
        if artifact.name in names:
            raise InternalError(
                f"target {target.name} made two artifacts named {artifact.name}", code="PT914"
            )
        names.add(artifact.name)
    if not artifacts:
        kinds = dict.fromkeys(f"{function.name}: {function.func_type.name}" for function in run.program)
        context.warn(
            "PT817",
            f"target {target.name} found nothing to write in program {run.program.name}",
            run.program.span,
            facts={"functions": ", ".join(kinds) or "none"},
            remedy="a kernel says what it is: @pl.function(type=pl.FunctionType.InCore)",
        )
    return artifacts


def _check_artifact(target: Target, artifact: Any) -> None:
    """Refuse what can't be written, before anything is."""
    said = f"returned a {type(artifact).__name__} where an Artifact belongs"
    if isinstance(artifact, Artifact):
        try:
            if isinstance(artifact.content, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
                return
            said = f"put a {type(artifact.data).__name__} into artifact {artifact.name}, not text or bytes"
        except UnicodeEncodeError as error:
            said = f"put text into artifact {artifact.name} that UTF-8 can't hold: {error.reason}"
    raise InternalError(
        f"target {target.name} {said}",
        code="PT913",
        facts={"target": target.name},
        remedy="report it to whoever provides the target",
    )


class _Clock:
    """Seconds by part."""

    def __init__(self) -> None:
        self.times: list[tuple[str, float]] = []
        self.restart()

    def restart(self) -> None:
        """Begin a part."""
        self._began = time.perf_counter()

    def lap(self, name: str) -> None:
        """End a part and begin the next."""
        self.times.append((name, time.perf_counter() - self._began))
        self.restart()

"""``ir.compile``: from a program to artifacts, with PyPTO's arguments."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs

from pypto.backend import BackendType, get_backend_type, installed, is_backend_configured, type_of_platform
from pypto.ir.pass_manager import OptimizationStrategy, PassDumpLevel
from pypto.pypto_core.passes.context import BUFFER_IR, DOUBLE_BUFFER, PassContext
from pypto.pypto_core.passes.properties import names_of
from pypto.pypto_core.passes.settings import DiagnosticPhase, MemoryPlanner
from pypto_core import run
from pypto_core.contract import entry_function
from pypto_core.diagnostics import UserError
from pypto_core.host import load_host
from pypto_core.ir import Program
from pypto_core.run import Compiled, VerificationLevel

_ENGINE, _TEXTS = "values", "ptoas"
_DEFAULT_MACHINE = BackendType.Ascend910B


@attrs.frozen
class CompiledProgram:
    """A compiled program: call it with arrays to run it on the simulator, where one is installed.

    ``compiled`` is the kernel's result, with the plan, the diagnostics and the artifacts.
    """

    compiled: Compiled
    output_dir: str | None = None

    @property
    def program(self) -> Program:
        """The program after the last pass."""
        return self.compiled.program

    @property
    def source(self) -> Program:
        """The program that went in."""
        return self.compiled.source

    def __call__(self, *arrays: Any, entry: str | None = None) -> tuple[Any, ...]:
        """Run with one array or number for each parameter; outputs are written into the arrays and returned.

        Raises UserError (PT705), saying what to install, when there is no simulator.
        """
        host = self.compiled.context.host or load_host()
        function = entry_function(self.source, entry)
        result = host.engine(_ENGINE).load()(self.source, arrays, entry=function.name)
        written = list(result.outputs.values())
        places = [i for i, d in enumerate(function.param_directions) if d.name != "In"]
        for place, value in zip(places, written, strict=True):
            if place < len(arrays):
                arrays[place][...] = value
        return tuple(written)


def compile(
    program: Any,
    output_dir: str | Path | None = None,
    strategy: OptimizationStrategy = OptimizationStrategy.Default,
    dump_passes: bool | PassDumpLevel = False,
    backend_type: BackendType | None = None,
    *,
    platform: str | None = None,
    memory_planner: MemoryPlanner | None = None,
    skip_ptoas: bool = True,
    verification_level: VerificationLevel | None = None,
    diagnostic_phase: DiagnosticPhase | None = None,
    disabled_diagnostics: Any = None,
    enable_pypto_l0c_double_buffer: bool | None = None,
    enable_buffer_ir: bool | None = None,
    goal: str = "pto",
    instruments: Iterable[Any] = (),
    **options: Any,
) -> CompiledProgram:
    """Compile a program; see :func:`pypto_core.compile` for what can go wrong.

    The machine is ``backend_type``, that of ``platform``, the configured one, that of the active context, or the 910B.
    Settings that are not given are those of the active context; a planner that contradicts it is a RuntimeError. The
    assembler is never run, so that ``skip_ptoas=False`` is an error. Texts for it go to ``ptoas`` in ``output_dir``.
    """
    if not skip_ptoas:
        raise UserError(
            "the assembler ptoas is not run from here",
            code="PT001",
            remedy="pass its input on: skip_ptoas=True",
        )
    active = PassContext.current()
    planner = memory_planner or (active.memory_planner if active is not None else MemoryPlanner.PYPTO)
    switches = {DOUBLE_BUFFER: enable_pypto_l0c_double_buffer, BUFFER_IR: enable_buffer_ir}
    chosen = _machine(backend_type, platform)
    del strategy, diagnostic_phase  # one strategy; passes report when they run
    compiled = run.compile(
        program,
        backend=None if chosen is None else installed(chosen),
        planner=planner.kernel_name,
        goal=goal,
        output_dir=output_dir,
        dump_passes=PassDumpLevel.of(dump_passes) is not PassDumpLevel.NONE,
        verification=verification_level,
        instruments=tuple(instruments),
        disabled_diagnostics=names_of(disabled_diagnostics),
        **{name: value for name, value in switches.items() if value is not None},
        **options,
    )
    if output_dir is not None:
        _sort_out(Path(output_dir))
    return CompiledProgram(compiled, None if output_dir is None else str(output_dir))


def _sort_out(folder: Path) -> None:
    """Put the texts for the assembler into a folder of their own."""
    texts = sorted(folder.glob("*.pto"))
    if texts:
        (folder / _TEXTS).mkdir(exist_ok=True)
    for text in texts:
        text.replace(folder / _TEXTS / text.name)


def _machine(backend_type: BackendType | None, platform: str | None) -> BackendType | None:
    """The machine that is asked for; None where the active context has one."""
    named = None if platform is None else type_of_platform(platform)
    given = {item for item in (backend_type, named) if item is not None}
    if len(given) > 1:
        raise UserError(
            f"platform {platform} is not {backend_type.name if backend_type else ''}",
            code="PT811",
            remedy="give one of backend_type and platform",
        )
    if given:
        return given.pop()
    if is_backend_configured():
        return get_backend_type()
    active = run.PassContext.current()
    return _DEFAULT_MACHINE if active is None or active.backend is None else None

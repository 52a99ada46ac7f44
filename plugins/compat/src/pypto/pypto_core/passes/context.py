"""PassContext: PyPTO's arguments for the kernel's context."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

import attrs

from pypto.backend import configured
from pypto.pypto_core.passes.properties import names_of
from pypto.pypto_core.passes.settings import (
    DiagnosticCheck,
    DiagnosticPhase,
    MemoryPlanner,
    RuntimeKind,
    VerificationLevel,
)
from pypto_core import run
from pypto_core.contract import Backend
from pypto_core.diagnostics import UserError
from pypto_core.host import load_host
from pypto_core.run import level_from_environment

DOUBLE_BUFFER, BUFFER_IR = "enable_pypto_l0c_double_buffer", "enable_buffer_ir"
PHASE, _RUNTIME = "diagnostic_phase", "runtime"

_entered: ContextVar[tuple[tuple[PassContext, run.PassContext], ...]] = ContextVar(
    "pypto_compat_contexts", default=()
)


def default_level() -> VerificationLevel:
    """The level that ``PYPTO_VERIFY_LEVEL`` names, BASIC otherwise."""
    return level_from_environment()


@attrs.frozen(eq=False)
class PassContext:
    """The settings that passes run with, in a ``with`` block; see the kernel's context for what they mean.

    The machine is the one that :func:`pypto.backend.set_backend_type` chose, none when it chose none.
    ``diagnostic_phase`` and ``runtime`` are kept for those who ask; no installed pass does.
    """

    instruments: tuple[Any, ...] = attrs.field(default=(), converter=tuple)
    verification_level: VerificationLevel = attrs.field(factory=default_level, converter=VerificationLevel.of)
    diagnostic_phase: DiagnosticPhase = DiagnosticPhase.PRE_PIPELINE
    disabled_diagnostics: Any = (DiagnosticCheck.UnusedControlFlowResult,)
    memory_planner: MemoryPlanner = MemoryPlanner.PYPTO
    enable_pypto_l0c_double_buffer: bool = False
    runtime: RuntimeKind = RuntimeKind.TENSORMAP_AND_RINGBUFFER
    enable_buffer_ir: bool = True

    @staticmethod
    def current() -> PassContext | None:
        """The active context, or None; within a pass it has all settings of the outer one."""
        active = run.PassContext.current()
        if active is None:
            return None
        for mine, entered in reversed(_entered.get()):
            if entered is active:
                return mine
        return of_kernel(active)

    def kernel_context(self, backend: Backend | None = None, **fields: Any) -> run.PassContext:
        """A new context of the kernel with these settings; ``backend`` defaults to the configured one."""
        outer = run.PassContext.current()
        host = outer.host if outer is not None and outer.host is not None else load_host()
        return run.PassContext(
            backend=backend or configured() or (outer.backend if outer is not None else None),
            planner=self.memory_planner.kernel_name,
            options={
                DOUBLE_BUFFER: self.enable_pypto_l0c_double_buffer,
                BUFFER_IR: self.enable_buffer_ir,
                PHASE: self.diagnostic_phase,
                _RUNTIME: self.runtime,
            },
            instruments=self.instruments,
            verification=self.verification_level,
            disabled_diagnostics=names_of(self.disabled_diagnostics),
            host=host,
            **fields,
        )

    def __enter__(self) -> PassContext:
        context = self.kernel_context()
        context.__enter__()
        _entered.set((*_entered.get(), (self, context)))
        return self

    def __exit__(self, *error: object) -> None:
        *below, (_, context) = _entered.get()
        _entered.set(tuple(below))
        context.__exit__(*error)

    def get_instruments(self) -> list[Any]:
        """The instruments, in order."""
        return list(self.instruments)

    def get_verification_level(self) -> VerificationLevel:
        """How much is verified."""
        return self.verification_level

    def get_diagnostic_phase(self) -> DiagnosticPhase:
        """When diagnostic checks run."""
        return self.diagnostic_phase

    def get_disabled_diagnostics(self) -> Any:
        """The checks that are not reported, as they were given."""
        return self.disabled_diagnostics

    def get_memory_planner(self) -> MemoryPlanner:
        """Who places buffers."""
        return self.memory_planner

    def get_enable_pypto_l0c_double_buffer(self) -> bool:
        """Whether the PYPTO planner may use two accumulators."""
        return self.enable_pypto_l0c_double_buffer

    def get_enable_buffer_ir(self) -> bool:
        """Whether functions may be lowered to buffers."""
        return self.enable_buffer_ir

    def get_runtime(self) -> RuntimeKind:
        """Which runtime the orchestration is written for."""
        return self.runtime


def of_kernel(context: run.PassContext) -> PassContext:
    """A context of the kernel under PyPTO's names."""
    options = dict(context.options)
    return PassContext(
        context.instruments,
        context.verification,
        options.get(PHASE, DiagnosticPhase.PRE_PIPELINE),
        tuple(sorted(context.disabled_diagnostics)),
        planner_named(context.planner),
        bool(options.get(DOUBLE_BUFFER, False)),
        options.get(_RUNTIME, RuntimeKind.TENSORMAP_AND_RINGBUFFER),
        bool(options.get(BUFFER_IR, True)),
    )


def planner_named(name: str) -> MemoryPlanner:
    """The planner that the kernel knows by this name; UserError when PyPTO has none of it."""
    found = MemoryPlanner.__members__.get(name.upper())
    if found is None:
        raise UserError(
            f"planner {name} has no name in PyPTO",
            code="PT702",
            facts={"named": ", ".join(p.kernel_name for p in MemoryPlanner)},
            remedy="use pypto_core.PassContext, which takes any planner",
        )
    return found


def kernel_context(instruments: Iterable[Any] | None = None) -> run.PassContext:
    """The context to run passes in: the active one, or a plain one for the configured machine."""
    active = run.PassContext.current()
    if active is None:
        active = PassContext(disabled_diagnostics=()).kernel_context()
    elif active.host is None:
        active = active.derive(host=load_host())
    return active if instruments is None else active.derive(instruments=tuple(instruments))

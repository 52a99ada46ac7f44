"""The context that passes run in: backend, planner, options, and where their findings go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any

import attrs

from pypto_core.contract import Backend
from pypto_core.diagnostics import (
    UNKNOWN_SPAN,
    ArgumentError,
    Diagnostic,
    Span,
    UserError,
    checked,
    perf_hint,
    shown,
    warning,
)
from pypto_core.host import Host
from pypto_core.ops import using_registry
from pypto_core.run.capabilities import capability_names
from pypto_core.run.level import VerificationLevel, level_from_environment
from pypto_core.run.log import DiagnosticLog
from pypto_core.run.options import Options, not_a_switch

Facts = Mapping[str, object] | Iterable[tuple[str, object]]

DEFAULT_PLANNER = "pypto"

# Each entry is an active context with what has to be left again when it ends.
_stack: ContextVar[tuple[tuple[PassContext, AbstractContextManager[Any]], ...]] = ContextVar(
    "pypto_pass_contexts", default=()
)


def _options(value: Mapping[str, Any]) -> Options:
    return value if isinstance(value, Options) else Options(value)


def _check_backend(_: PassContext, __: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, Backend | None):
        raise UserError(
            f"the backend of a context is a Backend, not {value!r}",
            code="PT701",
            remedy=f"look it up: load_host().backend({value!r}), or give compile its name: backend={value!r}",
        )


def _check_instruments(_: PassContext, __: attrs.Attribute[Any], value: tuple[object, ...]) -> None:
    for instrument in value:
        if isinstance(instrument, type | str):
            raise ArgumentError(
                f"instruments are objects, and {shown(instrument)} is none",
                remedy=f"make one: {instrument.__name__}()" if isinstance(instrument, type) else "",
            )


@checked("backend", "verification")
@attrs.frozen(kw_only=True, eq=False)
class PassContext:
    """What a pass may know beside the program.

    ``backend`` is None when no machine is chosen: limits are then unknown. ``planner`` is a planner's name.
    ``options`` are those of the compilation, ``pass_options`` those of the pass that is running (an instance
    of the options class that it registered). ``instruments`` watch runs, see :class:`Instrument`.
    ``disabled_diagnostics`` are codes or rule names that are not logged. ``host`` is where passes, operators
    and properties come from.

    A context becomes the active one in a ``with`` block, in the current thread or task alone; the operators of
    its host are then the known ones.
    """

    backend: Backend | None = attrs.field(default=None, validator=_check_backend)
    planner: str = DEFAULT_PLANNER
    options: Options = attrs.field(factory=Options, converter=_options)
    instruments: tuple[object, ...] = attrs.field(default=(), converter=tuple, validator=_check_instruments)
    verification: VerificationLevel = attrs.field(
        factory=level_from_environment, converter=VerificationLevel.of
    )
    disabled_diagnostics: frozenset[str] = attrs.field(default=frozenset(), converter=frozenset)
    log: DiagnosticLog = attrs.field(factory=DiagnosticLog)
    host: Host | None = None
    pass_options: Any = None

    @staticmethod
    def current() -> PassContext | None:
        """The active context, or None."""
        stack = _stack.get()
        return stack[-1][0] if stack else None

    def derive(self, **overrides: Any) -> PassContext:
        """A context with some fields exchanged and all the others, log included, taken over."""
        return attrs.evolve(self, **overrides)

    def __enter__(self) -> PassContext:
        scope = using_registry(self.host.ops) if self.host is not None else nullcontext()
        scope.__enter__()
        _stack.set((*_stack.get(), (self, scope)))
        return self

    def __exit__(self, *error: object) -> None:
        *below, (_, scope) = _stack.get()
        _stack.set(tuple(below))
        scope.__exit__(None, None, None)

    def option(self, name: str, default: Any = None) -> Any:
        """An option of the compilation, or ``default`` when it was not given.

        One whose default is a truth value is a switch: raises UserError (PT850) for text.
        """
        value = self.options.get(name, default)
        if isinstance(default, bool) and (error := not_a_switch(name, value)) is not None:
            raise error
        return value

    @property
    def capabilities(self) -> frozenset[str]:
        """What backend, planner and options offer, as contracts name it."""
        return capability_names(self.backend, self.planner, self.options, self.host)

    def report(self, diagnostic: Diagnostic) -> None:
        """Log a diagnostic unless its code or its rule is disabled."""
        if not self.disabled_diagnostics.intersection((diagnostic.code, diagnostic.rule)):
            self.log.add(diagnostic)

    def hint(
        self,
        code: str,
        message: str,
        span: Span = UNKNOWN_SPAN,
        *,
        facts: Facts = (),
        remedy: str = "",
        rule: str = "",
    ) -> None:
        """Log a performance hint."""
        self.report(perf_hint(code, message, span, facts=facts, remedy=remedy, rule=rule))

    def warn(
        self,
        code: str,
        message: str,
        span: Span = UNKNOWN_SPAN,
        *,
        facts: Facts = (),
        remedy: str = "",
        rule: str = "",
    ) -> None:
        """Log a warning."""
        self.report(warning(code, message, span, facts=facts, remedy=remedy, rule=rule))

"""The decorators ``@pl.jit``, ``@pl.jit.incore``, ``@pl.jit.inline``, ``@pl.jit.opaque`` and ``@pl.jit.host``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, overload

from attrs import evolve

from pypto_core.diagnostics import checked
from pypto_core.ir import AUTO_SCOPE
from pypto_core.jit.config import Defaults, HasJitConfig, JitConfig
from pypto_core.jit.function import JitFunction
from pypto_core.language.decorators import template
from pypto_core.language.functions import Options
from pypto_core.language.templates import JIT_KINDS


class _Decorator:
    """Makes kernels of one kind; used bare, or with options."""

    def __init__(self, kind: Options, defaults: Defaults) -> None:
        self._kind, self._defaults = kind, defaults

    @overload
    def __call__(self, func: Callable[..., Any], /) -> JitFunction: ...
    @overload
    def __call__(
        self,
        func: None = None,
        *,
        auto_scope: bool | None = ...,
        attrs: Mapping[str, Any] | None = ...,
        config: HasJitConfig | None = ...,
    ) -> Callable[[Callable[..., Any]], JitFunction]: ...
    @checked("func", name="pl.jit")
    def __call__(
        self,
        func: Callable[..., Any] | None = None,
        *,
        auto_scope: bool | None = None,
        attrs: Mapping[str, Any] | None = None,
        config: HasJitConfig | None = None,
    ) -> Any:
        """Make a kernel of a Python function.

        ``auto_scope`` and ``attrs`` are notes on it, as with ``@pl.function``; ``config``: settings of calls that give
        none. Raises ParserSyntaxError for what is no function, or none whose source is at hand.
        """
        notes = dict(attrs or {})
        if auto_scope is not None:
            notes[AUTO_SCOPE] = auto_scope
        options = evolve(self._kind, attrs=notes)
        defaults = self._defaults if config is None else config.jit_config
        if func is not None:
            return _made(func, options, defaults, 4)
        return partial(_made, options=options, defaults=defaults, depth=2)

    def __repr__(self) -> str:
        return f"<jit decorator for {self._kind.type.name} kernels>"


def _made(func: Callable[..., Any], options: Options, defaults: Defaults, depth: int) -> JitFunction:
    return JitFunction(func, template(func, options, depth), defaults)


class Jit(_Decorator):
    """``@pl.jit`` makes entries; its attributes make what entries call.

    ``incore``: runs on a core. ``inline``: its body takes the place of its calls. ``opaque``: left to later tools as it
    is. ``host``: an entry on the host, which launches others on devices. ``defaults`` gives the settings of
    calls that have none.
    """

    def __init__(self, defaults: Defaults = JitConfig) -> None:
        super().__init__(JIT_KINDS["jit"], defaults)
        self.incore = _Decorator(JIT_KINDS["jit.incore"], defaults)
        self.inline = _Decorator(JIT_KINDS["jit.inline"], defaults)
        self.opaque = _Decorator(JIT_KINDS["jit.opaque"], defaults)
        self.host = _Decorator(JIT_KINDS["jit.host"], defaults)


jit = Jit()

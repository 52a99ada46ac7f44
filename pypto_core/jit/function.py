"""Functions under ``@pl.jit``: read, compiled and run for the arguments of each call, once for each kind of these."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from typing import Any

from pypto_core.diagnostics import render
from pypto_core.ir import Program
from pypto_core.jit.binding import Bound, bind
from pypto_core.jit.compiled import Compilation, CompiledKernel
from pypto_core.jit.config import Defaults, HasJitConfig, JitConfig
from pypto_core.jit.result import Result
from pypto_core.jit.results import Results
from pypto_core.language.decorators import head_for, program_of
from pypto_core.language.templates import Template
from pypto_core.run import PassContext, compile_context

_log = logging.getLogger("pypto_core.jit")


class JitFunction:
    """A Python function that is a kernel: read for the arguments of a call, and called by other kernels.

    Arrays of any library become tensors of their extents and element type; everything else is a constant of the
    kernel. ``config=`` in a call, if it is a :class:`JitConfig` or has a ``jit_config`` method, holds settings and is
    no argument of the kernel.
    """

    def __init__(self, python: Callable[..., Any], template: Template, defaults: Defaults) -> None:
        functools.update_wrapper(self, python)
        self.pl_template = template
        self._defaults = defaults
        self._results = Results()
        self._told: set[str] = set()

    def __repr__(self) -> str:
        return f"<jit kernel {self.pl_template.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compile for these arguments, unless that happened before, and run on the simulator.

        Outputs are written into the arrays that were passed and may be left out at the end where the annotation says
        their shape; they are then returned. Returns what the kernel returns: the caller's own arrays where it returns
        parameters. Warnings are logged, each once. Raises ParserError at a parameter or statement, UserError PT83x for
        arguments and outputs, and all that compiling and running raise.
        """
        bound, config = self._bound(args, kwargs)
        if not config.execute:
            return self._kernel(bound, config, emit=True)
        kernel = self._kernel(bound, config, emit=False)
        self._tell(kernel)
        return kernel.run(bound.arrays)

    def specialise(self, *args: Any, **kwargs: Any) -> Program:
        """The program that these arguments make of the kernel and all it calls, before any pass."""
        return program_of(head_for(self.pl_template, self._bound(args, kwargs)[0].given))

    def lower(self, *args: Any, **kwargs: Any) -> Program:
        """The program after all passes; elements of the arrays are not looked at."""
        return self._kernel(*self._bound(args, kwargs), emit=False).program

    def compile(self, *args: Any, **kwargs: Any) -> CompiledKernel:
        """Compile to the target; arguments whose annotations say all may be left out, typed scalars too."""
        return self._kernel(*self._bound(args, kwargs), emit=True)

    @property
    def program(self) -> Program:
        """The program of a kernel whose annotations say all: what :func:`pypto_core.compile` takes it for."""
        return self.specialise()

    def forget(self) -> None:
        """Drop the results in memory."""
        self._results.forget()

    def _bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Bound, JitConfig]:
        rest = dict(kwargs)
        given = rest.get("config")
        known = isinstance(given, HasJitConfig) and not isinstance(given, type)
        if known or (given is None and not self._takes_config):
            rest.pop("config", None)
        config = (
            given.jit_config() if isinstance(given, HasJitConfig) and known else self._defaults().jit_config()
        )
        return bind(self.pl_template, args, rest), config

    def _tell(self, kernel: CompiledKernel) -> None:
        """Log the warnings, as a call has nothing to return them in."""
        for text in map(render, kernel.warnings):
            if text not in self._told:
                self._told.add(text)
                _log.warning(text)

    @functools.cached_property
    def _takes_config(self) -> bool:
        return any(arg.arg == "config" for arg in self.pl_template.parameters)

    def _kernel(self, bound: Bound, config: JitConfig, emit: bool) -> CompiledKernel:
        work = Compilation(
            template=self.pl_template,
            head=head_for(self.pl_template, bound.given),
            context=compile_context(options=config.options, **config.arguments()),
            config=config,
            emit=emit,
        )
        key = work.key()
        text = self.pl_template.source.text
        result, origin = self._results.find(work.host, key, text) if key else (None, "")
        if result is None:
            done = work.run()
            result = Result(program=done.program, artifacts=done.artifacts, diagnostics=done.diagnostics)
            if key:
                self._results.keep(work.host, key, result)
            return CompiledKernel(compilation=work, result=result, key=key)
        active = PassContext.current()
        if active is not None:
            active.log.extend(result.diagnostics)
        return CompiledKernel(compilation=work, result=result, key=key, origin=origin)

"""Functions under ``@pl.jit``: read, compiled and run for the arguments of each call, once for each kind of these."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from pypto_core.contract import Artifact
from pypto_core.diagnostics import Diagnostic, Severity, UserError
from pypto_core.host import Host, Store, installed_state
from pypto_core.ir import Program
from pypto_core.jit.binding import Bound, bind, named
from pypto_core.jit.config import Defaults, HasJitConfig, JitConfig
from pypto_core.jit.key import Unnameable, result_key
from pypto_core.jit.result import Result, from_bytes, to_bytes
from pypto_core.jit.running import execute
from pypto_core.language.decorators import head_for, program_of
from pypto_core.language.functions import Entry
from pypto_core.language.templates import Template
from pypto_core.run import Compiled, PassContext, compile, compile_context, write_file

_REMEMBERED = 128
"""Results that one function keeps in memory."""


@attrs.frozen(kw_only=True, eq=False)
class CompiledKernel:
    """A kernel compiled for one kind of arguments; call it with such arguments to run it.

    ``program``: after the last pass. ``artifacts``: what the target made, none after ``lower`` or a call. ``key``: the
    name of the result in the cache, empty when it has none. ``origin``: ``compiled``, ``memory`` or ``disk``.
    """

    function: JitFunction = attrs.field(repr=False)
    config: JitConfig = attrs.field(repr=False)
    host: Host = attrs.field(repr=False)
    result: Result = attrs.field(repr=False)
    constants: Mapping[str, Any] = attrs.field(repr=False)
    key: str = ""
    origin: str = "compiled"
    _source: Callable[[], Program] = attrs.field(repr=False, alias="source")
    _again: Callable[[], Compiled] = attrs.field(repr=False, alias="again")

    @property
    def program(self) -> Program:
        """The program after the last pass."""
        return self.result.program

    @property
    def source(self) -> Program:
        """The program that the passes were given."""
        return self._source()

    @property
    def compiled(self) -> Compiled:
        """The whole record with plan, stages and times; compiles again when the result came from the cache."""
        return self._again()

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """What the target wrote."""
        return self.result.artifacts

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was reported, in order."""
        return self.result.diagnostics

    @property
    def hints(self) -> tuple[Diagnostic, ...]:
        """The performance hints among the diagnostics."""
        return tuple(d for d in self.diagnostics if d.severity is Severity.PERF_HINT)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings among the diagnostics."""
        return tuple(d for d in self.diagnostics if d.severity is Severity.WARNING)

    def write(self, directory: str | Path) -> tuple[Path, ...]:
        """Write the artifacts below a folder; returns their paths in order. Raises UserError (PT822) if it can't."""
        paths = [Path(directory) / artifact.name for artifact in self.artifacts]
        for path, artifact in zip(paths, self.artifacts, strict=True):
            write_file(path, artifact.content)
        return tuple(paths)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it; see :meth:`JitFunction.__call__`. Raises UserError (PT834) for constants it was not read with."""
        bound = bind(self.function.pl_template, args, kwargs)
        for name, value in self.constants.items():
            if name in bound.given and bound.given[name] != value:
                raise UserError(
                    f"'{name}' is {value!r} in this kernel and {bound.given[name]!r} in the call",
                    code="PT834",
                    remedy="call the decorated function: it is read again for other values",
                )
        # A typed scalar that was left out when the kernel was read is one of its parameters.
        numbers = {name: value for name, value in bound.given.items() if name not in self.constants}
        given = {**numbers, **bound.arrays}
        return execute(self.program, self.function.pl_template.name, given, self.host, self.config.engine)


class JitFunction:
    """A Python function that is a kernel: read for the arguments of a call, and called by other kernels.

    Arrays of any library become tensors of their extents and element type; everything else is a constant of the
    kernel. ``config=`` in a call, if it is a :class:`JitConfig` or has a ``jit_config`` method, holds settings and is
    no argument of the kernel.
    """

    def __init__(self, template: Template, defaults: Defaults) -> None:
        functools.update_wrapper(self, template.python)
        self.pl_template = template
        self._defaults = defaults
        self._lock = threading.Lock()
        # A host is part of the name: plugins of one process alone have no version to tell them apart.
        self._results: OrderedDict[tuple[Host, str], Result] = OrderedDict()

    def __repr__(self) -> str:
        return f"<jit kernel {self.pl_template.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compile for these arguments, unless that happened before, and run on the simulator.

        Outputs are written into the arrays that were passed and may be left out at the end where the annotation says
        their shape; they are then returned. Returns what the kernel returns: the caller's own arrays where it returns
        parameters. Raises ParserError at a parameter or statement, UserError PT83x for arguments and outputs,
        and all that compiling and running raise.
        """
        config, kwargs = self._config(kwargs)
        bound = bind(self.pl_template, args, kwargs)
        kernel = self._kernel(bound, config, emit=not config.execute)
        return (
            kernel
            if not config.execute
            else execute(kernel.program, self.pl_template.name, bound.arrays, kernel.host, config.engine)
        )

    def specialise(self, *args: Any, **kwargs: Any) -> Program:
        """The program that these arguments make of the kernel and all it calls, before any pass."""
        _, kwargs = self._config(kwargs)
        return program_of(head_for(self.pl_template, bind(self.pl_template, args, kwargs).given))

    def lower(self, *args: Any, **kwargs: Any) -> Program:
        """The program after all passes; elements of the arrays are not looked at."""
        config, kwargs = self._config(kwargs)
        return self._kernel(bind(self.pl_template, args, kwargs), config, emit=False).program

    def compile(self, *args: Any, **kwargs: Any) -> CompiledKernel:
        """Compile to the target; arguments whose annotations say all may be left out, typed scalars too."""
        config, kwargs = self._config(kwargs)
        return self._kernel(bind(self.pl_template, args, kwargs), config, emit=True)

    @property
    def program(self) -> Program:
        """The program of a kernel whose annotations say all: what :func:`pypto_core.compile` takes it for."""
        return self.specialise()

    def forget(self) -> None:
        """Drop the results in memory."""
        with self._lock:
            self._results.clear()

    def _config(self, kwargs: Mapping[str, Any]) -> tuple[JitConfig, dict[str, Any]]:
        rest = dict(kwargs)
        given = rest.get("config")
        if isinstance(given, HasJitConfig) and not isinstance(given, type):
            del rest["config"]
            return given.jit_config(), rest
        if given is None and "config" in rest and "config" not in named(self.pl_template, (), {}):
            del rest["config"]
        return self._defaults().jit_config(), rest

    def _kernel(self, bound: Bound, config: JitConfig, emit: bool) -> CompiledKernel:
        head = head_for(self.pl_template, bound.given)
        context = compile_context(options=config.options, **config.arguments())
        host = context.host
        assert host is not None

        def source() -> Program:
            return program_of(head)

        def again() -> Compiled:
            return compile(
                source(),
                goal=config.goal,
                emit=emit,
                output_dir=config.output_dir,
                dump_passes=config.dump_passes,
                host=host,
                **config.arguments(),
                **config.options,
            )

        key = self._key(head, context, config, emit)
        result, origin = self._found(key, host) if key else (None, "")
        if result is None:
            done = again()
            result, origin = (
                Result(program=done.program, artifacts=done.artifacts, diagnostics=done.diagnostics),
                "compiled",
            )
            if key:
                self._keep(key, result, host)
        else:
            outer = PassContext.current()
            if outer is not None:
                outer.log.extend(result.diagnostics)
        assert head.specialised is not None
        constants = {name: head.env.get(name) for name in bound.given if name in head.specialised.constants}
        return CompiledKernel(
            function=self,
            config=config,
            host=host,
            result=result,
            constants=constants,
            key=key,
            origin=origin,
            source=source,
            again=again,
        )

    def _key(self, head: Entry, context: PassContext, config: JitConfig, emit: bool) -> str:
        """The name of the result; empty when it must be compiled, as somebody watches or it can't be named."""
        if not config.cache or config.output_dir is not None or context.instruments:
            return ""
        try:
            return result_key(self.pl_template, head, context, config.goal, emit)
        except Unnameable:
            return ""

    def _found(self, key: str, host: Host) -> tuple[Result | None, str]:
        with self._lock:
            known = self._results.get((host, key))
            if known is not None:
                self._results.move_to_end((host, key))
                return known, "memory"
        store = self._store(host)
        data = store.get(key) if store is not None else None
        if store is None or data is None:
            return None, ""
        try:
            result = from_bytes(data, self.pl_template.source.text)
        except Exception as error:  # whatever it holds, it is not what this version writes
            store.drop(key, f"{type(error).__name__}: {error}")
            return None, ""
        self._remember(host, key, result)
        return result, "disk"

    def _keep(self, key: str, result: Result, host: Host) -> None:
        self._remember(host, key, result)
        store = self._store(host)
        if store is None:
            return
        try:
            data = to_bytes(result)
        except UserError:  # a plugin's own nodes have no stored form
            return
        store.put(key, data)

    def _remember(self, host: Host, key: str, result: Result) -> None:
        with self._lock:
            self._results[host, key] = result
            while len(self._results) > _REMEMBERED:
                self._results.popitem(last=False)

    def _store(self, host: Host) -> Store | None:
        return Store.from_environment() if installed_state(host) is not None else None

"""A kernel for one kind of arguments: what it is compiled in, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import attrs

from pypto_core.contract import Artifact
from pypto_core.diagnostics import Diagnostic, Severity, UserError, checked
from pypto_core.host import Host
from pypto_core.ir import Program
from pypto_core.jit.binding import bind
from pypto_core.jit.config import JitConfig
from pypto_core.jit.key import Unnameable, result_key
from pypto_core.jit.result import Result
from pypto_core.jit.running import execute
from pypto_core.language.decorators import program_of
from pypto_core.language.functions import Entry
from pypto_core.language.templates import Template
from pypto_core.run import Compiled, DiagnosticLog, PassContext, compile, write_file


@attrs.frozen(kw_only=True, eq=False)
class Compilation:
    """Everything that one compilation depends on. ``head``: the kernel with its parameters read, its body perhaps not.

    ``emit``: whether the target is asked to write something.
    """

    template: Template
    head: Entry
    context: PassContext
    config: JitConfig
    emit: bool

    @property
    def host(self) -> Host:
        """Where passes and machines come from."""
        assert self.context.host is not None
        return self.context.host

    @property
    def constants(self) -> Mapping[str, Any]:
        """The parameters that became constants, by name."""
        assert self.head.specialised is not None
        return self.head.specialised.fixed

    def key(self) -> str:
        """The name of the result; empty when it must be compiled, as somebody watches or it can't be named."""
        if not self.config.cache or self.config.output_dir is not None or self.context.instruments:
            return ""
        try:
            return result_key(self.template, self.head, self.context, self.config.goal, self.emit)
        except Unnameable:
            return ""

    def run(self) -> Compiled:
        """Compile, in the context of the call that asked first; what is reported goes to the active one."""
        active = PassContext.current()
        with self.context.derive(log=DiagnosticLog()) as own:
            try:
                return compile(
                    program_of(self.head),
                    goal=self.config.goal,
                    emit=self.emit,
                    output_dir=self.config.output_dir,
                    dump_passes=self.config.dump_passes,
                    **self.config.options,
                )
            finally:
                if active is not None:
                    active.log.extend(own.log)


@attrs.frozen(kw_only=True, eq=False)
class CompiledKernel:
    """A kernel compiled for one kind of arguments; call it with such arguments to run it.

    ``key``: the name of the result in the cache, empty when it has none. ``origin``: ``compiled``, ``memory`` or
    ``disk``.
    """

    compilation: Compilation = attrs.field(repr=False)
    result: Result = attrs.field(repr=False)
    key: str = ""
    origin: str = "compiled"

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return self.compilation.template.name

    @property
    def program(self) -> Program:
        """The program after the last pass."""
        return self.result.program

    @property
    def source(self) -> Program:
        """The program that the passes were given."""
        return program_of(self.compilation.head)

    @property
    def compiled(self) -> Compiled:
        """The whole record with plan, stages and times; compiles again, as results don't hold these."""
        return self.compilation.run()

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """What the target wrote; nothing after a call that ran."""
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

    @checked()
    def write(self, directory: str | PathLike[str]) -> tuple[Path, ...]:
        """Write the artifacts below a folder; returns their paths in order. Raises UserError (PT822) if it can't."""
        paths = [Path(directory) / artifact.name for artifact in self.artifacts]
        for path, artifact in zip(paths, self.artifacts, strict=True):
            write_file(path, artifact.content)
        return tuple(paths)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it; see :meth:`JitFunction.__call__`. Raises UserError (PT834) for constants it was not read with."""
        bound = bind(self.compilation.template, args, kwargs)
        constants = self.compilation.constants
        for name, value in constants.items():
            if name in bound.given and bound.given[name] != value:
                raise UserError(
                    f"'{name}' is {value!r} in this kernel and {bound.given[name]!r} in the call",
                    code="PT834",
                    remedy="call the decorated function: it is read again for other values",
                )
        # A typed scalar that was left out when the kernel was read is one of its parameters.
        numbers = {name: value for name, value in bound.given.items() if name not in constants}
        return self.run({**numbers, **bound.arrays})

    @checked()
    def run(self, given: Mapping[str, Any]) -> Any:
        """Run it on arrays and numbers by the names of its parameters."""
        config = self.compilation.config
        return execute(
            self.program, self.name, given, self.compilation.host, config.engine, config.world_size
        )

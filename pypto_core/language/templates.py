"""Kernels that are read anew for each kind of arguments: what ``@pl.jit`` makes of a Python function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import attrs

from pypto_core.ir import DataType, FunctionType, Level, Role
from pypto_core.language.constants import Assignments, assignments_of
from pypto_core.language.environment import Environment
from pypto_core.language.functions import Options
from pypto_core.language.lifetimes import Lifetimes
from pypto_core.language.source import Source

JIT_KINDS: Mapping[str, Options] = MappingProxyType(
    {
        "jit": Options(type=FunctionType.Orchestration),
        "jit.incore": Options(type=FunctionType.InCore),
        "jit.inline": Options(type=FunctionType.Inline),
        "jit.opaque": Options(type=FunctionType.Opaque),
        "jit.host": Options(level=Level.HOST, role=Role.Orchestrator),
    }
)
"""What each decorator makes, by its name under ``pl``."""


@attrs.frozen
class ArrayLike:
    """What is known of an array that a kernel will be called with: extents and element type, no elements."""

    shape: tuple[int, ...]
    dtype: DataType


@attrs.define(eq=False, slots=False)
class Template:
    """A decorated function before its arguments are known; it can be called by kernels of any kind.

    ``environment`` gives what it sees of the code around it, as that is when asked. ``defaults`` are the values of
    parameters that have one.
    """

    is_kernel_entry: ClassVar[bool] = True

    options: Options
    source: Source
    node: ast.FunctionDef
    environment: Callable[[], Environment]
    defaults: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The function's name."""
        return self.node.name

    @cached_property
    def parameters(self) -> tuple[ast.arg, ...]:
        """The parameters in order; ``*args`` and ``**kwargs`` are none."""
        found = self.node.args
        return (*found.posonlyargs, *found.args, *found.kwonlyargs)

    @cached_property
    def text(self) -> str:
        """Its source, decorators included."""
        first = min([self.node.lineno, *(d.lineno for d in self.node.decorator_list)])
        return "\n".join(self.source.lines[first - 1 : self.node.end_lineno])

    @cached_property
    def lifetimes(self) -> Lifetimes:
        """Which of its names are read again where."""
        return Lifetimes.of(self.node)

    @cached_property
    def assignments(self) -> Assignments:
        """Where its names are set."""
        return assignments_of(self.node)

    @cached_property
    def mentioned(self) -> tuple[str, ...]:
        """Every name in it, sorted: those that it takes from around it are among them."""
        return tuple(sorted({part.id for part in ast.walk(self.node) if isinstance(part, ast.Name)}))


def defaults_by_name(arguments: ast.arguments, values: tuple[Any, ...]) -> dict[str, Any]:
    """The values of the last positional parameters, which are those that have defaults."""
    names = [arg.arg for arg in (*arguments.posonlyargs, *arguments.args)]
    return dict(zip(names[len(names) - len(values) :], values, strict=True))

"""Kernels that are read anew for each kind of arguments: what ``@pl.jit`` makes of a Python function."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import attrs

from pypto_core.ir import DataType
from pypto_core.language.constants import Assignments, assignments_of
from pypto_core.language.environment import Environment, cells_of
from pypto_core.language.functions import Options
from pypto_core.language.lifetimes import Lifetimes
from pypto_core.language.source import Source


@attrs.frozen
class ArrayLike:
    """What is known of an array that a kernel will be called with: extents and element type, no elements."""

    shape: tuple[int, ...]
    dtype: DataType


@attrs.define(eq=False, slots=False)
class Template:
    """A decorated function before its arguments are known; it can be called by kernels of any kind.

    ``outer`` are the local names of the code that decorated it, as they were then.
    """

    is_kernel_entry: ClassVar[bool] = True

    python: Any
    options: Options
    source: Source
    node: ast.FunctionDef
    outer: Mapping[str, Any]

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
    def defaults(self) -> Mapping[str, Any]:
        """The values of parameters that have one."""
        names = [arg.arg for arg in (*self.node.args.posonlyargs, *self.node.args.args)]
        values = self.python.__defaults__ or ()
        by_place = dict(zip(names[len(names) - len(values) :], values, strict=True))
        return {**by_place, **(self.python.__kwdefaults__ or {})}

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

    def environment(self) -> Environment:
        """What it sees of the code around it, as that is now."""
        return Environment(cells_of(self.python), self.outer, self.python.__globals__)

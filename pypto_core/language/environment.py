"""What a kernel sees of the Python around it: values, never code.

Numbers, strings, lists and tuples of these, element types, enum members, symbolic extents, declared allocations and
other kernels are taken over by value when the kernel is read. Everything else is an error at its use.
"""

from __future__ import annotations

import enum
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import attrs

from pypto_core.ir import Expr, Function, Program
from pypto_core.language import vocabulary
from pypto_core.language.annotations import Dim, Form, MemRef, Word


@attrs.frozen(eq=False)
class Name:
    """A word of the language as the parser sees it: ``path`` is what stands behind ``pl.``, empty for ``pl`` itself."""

    path: str


@attrs.frozen(eq=False)
class Opaque:
    """Something that exists around the kernel and has no meaning inside; ``what`` describes it."""

    what: str


PL = Name("")
MISSING = Opaque("")

_PLAIN = (bool, int, float, str, type(None), enum.Enum, Expr, Function, Program, MemRef, Name, Opaque)


def language_name(path: str) -> Name:
    """A module of the language, or a name in it."""
    return Name(path) if path else PL


def items_of(value: Any) -> list[Any] | None:
    """The elements of a list among the parser's values; None for anything else."""
    return cast(list[Any], value) if isinstance(value, list) else None


def captured(value: Any) -> Any:
    """A Python value as the parser takes it, or an Opaque that says what it is instead."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Dim):
        return value.expr
    if isinstance(value, list | tuple):
        items = [captured(item) for item in cast(Iterable[Any], value)]
        bad = next((item for item in items if isinstance(item, Opaque)), None)
        return bad if bad is not None else items
    if isinstance(value, types.ModuleType):
        path = vocabulary.MODULES.get(value.__name__)
        return Opaque(f"the module {value.__name__}") if path is None else language_name(path)
    if isinstance(value, Form):
        return Name(value.surface) if not value.args and not value.options else Opaque("a stored annotation")
    if isinstance(value, Word):
        return Name(value.surface)
    return _by_identity(value)


def _by_identity(value: Any) -> Any:
    if isinstance(value, type):
        if issubclass(value, enum.Enum):
            return value
        return Opaque(f"the class {value.__name__}")
    path = getattr(value, "pl_path", None)
    if isinstance(path, str):
        return Name(path)
    template = getattr(value, "pl_template", None)
    if getattr(template, "is_kernel_entry", False):
        return template
    if value is vocabulary.adir or getattr(value, "is_kernel_entry", False):
        return value
    if callable(value):
        return Opaque(f"the Python function {getattr(value, '__name__', value)!s}")
    return Opaque(f"a {type(value).__name__}")


class Environment:
    """Names around a kernel, looked up in layers; each name is converted once unless ``changing``."""

    __slots__ = ("_cache", "_layers", "changing")

    def __init__(self, *layers: Mapping[str, Any], changing: bool = False) -> None:
        self._layers = layers
        self._cache: dict[str, Any] = {}
        self.changing = changing

    def get(self, name: str) -> Any:
        """The value of a name as the parser takes it; MISSING when there is none."""
        known = self._cache.get(name, MISSING)
        if known is not MISSING:
            return known
        for layer in self._layers:
            if name in layer:
                value = captured(layer[name])
                if not self.changing:
                    self._cache[name] = value
                return value
        return MISSING

    def define(self, name: str, value: Any) -> None:
        """Let a name stand for a value of the parser from here on, whatever it stood for."""
        self._cache[name] = value

    def names(self) -> Iterator[str]:
        """All names, for proposals in messages."""
        for layer in self._layers:
            yield from layer

    def inner(self, layer: Mapping[str, Any], changing: bool = False) -> Environment:
        """This environment with more names in front."""
        return Environment(layer, *self._layers, changing=changing)


def environment_of(function: types.FunctionType, frame: types.FrameType | None) -> Environment:
    """What a decorated Python function sees: its cells, the locals of the frame that decorates it, its globals."""
    return Environment(cells_of(function), *frame_locals(frame), function.__globals__)


def environment_of_class(functions: Iterable[types.FunctionType], frame: types.FrameType) -> Environment:
    """What the functions of a class see that stands in ``frame``."""
    return Environment(*[cells_of(f) for f in functions], *frame_locals(frame), frame.f_globals)


def cells_of(function: types.FunctionType) -> dict[str, Any]:
    """The variables of enclosing functions that a function uses, as they are now."""
    cells: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            cells[name] = cell.cell_contents
        except ValueError:  # a cell that nothing was assigned to yet
            continue
    return cells


def frame_locals(frame: types.FrameType | None) -> list[Mapping[str, Any]]:
    """The local names of a frame that belongs to a function; nothing for one of a module."""
    if frame is None or frame.f_locals is frame.f_globals:
        return []
    return [dict(frame.f_locals)]


def caller(depth: int) -> types.FrameType:
    """The frame ``depth`` calls above the function that asks."""
    return sys._getframe(depth + 1)  # pyright: ignore[reportPrivateUsage]

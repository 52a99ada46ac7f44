"""Arguments of the Python API are checked where they are given: an error names the argument and what it takes.

What an argument takes is its annotation, so it is written once. Fields of attrs classes with a converter take what the
converter does.
"""

from __future__ import annotations

import enum
import functools
import inspect
import reprlib
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from os import PathLike
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import attrs

from pypto_core.diagnostics.errors import UserError

_T = TypeVar("_T", bound=Callable[..., Any])


class ArgumentError(UserError, TypeError):
    """An argument of the Python API has the wrong type."""

    default_code = "PT002"


@attrs.frozen
class _Kind:
    """One alternative of an annotation: instances of ``type``; with ``several``, each is of one of ``elements``."""

    type: type
    takes: str
    elements: tuple[_Kind, ...] | None = None
    several: bool = False

    def fits(self, value: object) -> bool:
        if not isinstance(value, self.type) or (isinstance(value, bool) and self.type in _NUMBERS):
            return False
        if not self.several:
            return True
        return not isinstance(value, str | bytes) and _misfit(value, self.elements) is None


_NUMBERS = (Integral, Real)
_FUNCTION: Any = Callable
_PLAIN: dict[Any, _Kind] = {
    str: _Kind(str, "text"),
    bool: _Kind(bool, "True or False"),
    int: _Kind(Integral, "a whole number"),
    float: _Kind(Real, "a number"),
    type(None): _Kind(type(None), "None"),
}


def checked(*apart: str, name: str = "") -> Callable[[_T], _T]:
    """Decorate a function, or an attrs class for its constructor, so that arguments are what the annotations say.

    A call with another argument raises ArgumentError (PT002). ``apart``: arguments that whoever they are handed to
    refuses in better words. Also left alone is what has no annotation, or one that isn't known when the module runs.
    An iterator becomes a tuple. ``name``: what users call it, where that is not its name.
    """

    def decorate(thing: _T) -> _T:
        called = name or thing.__qualname__
        if not isinstance(thing, type):
            return _checked(thing, called, apart)
        init: Any = thing.__init__
        thing.__init__ = _checked(init, called, apart, attrs.fields(thing))
        return cast("_T", thing)

    return decorate


def _checked(function: Any, name: str, apart: tuple[str, ...], fields: Iterable[Any] = ()) -> Any:
    @functools.cache
    def kinds() -> tuple[tuple[str, ...], dict[str, tuple[_Kind, ...]]]:
        known = dict(vars(sys.modules[function.__module__]))
        for field in fields:  # what a converter takes stands where it is defined
            known = {**getattr(field.converter, "__globals__", {}), **known}
        parameters = tuple(inspect.signature(function).parameters.values())
        written = {**{field.alias: field.type for field in fields}, **function.__annotations__}
        found = {
            p.name: _kinds(written.get(p.name), known)
            for p in parameters
            if p.name not in apart and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        }
        return tuple(p.name for p in parameters), {n: k for n, k in found.items() if k is not None}

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        names, table = kinds()
        for at, argument in enumerate(names[: len(args)]):
            if argument in table:
                args = (*args[:at], _taken(name, argument, args[at], table[argument]), *args[at + 1 :])
        for argument, value in kwargs.items():
            if argument in table:
                kwargs[argument] = _taken(name, argument, value, table[argument])
        return function(*args, **kwargs)

    return call


def _taken(function: str, argument: str, value: Any, kinds: tuple[_Kind, ...]) -> Any:
    """The value, if it fits; raises ArgumentError otherwise."""
    once = hasattr(value, "__next__") and any(kind.several for kind in kinds)
    taken: Any = tuple(value) if once else value  # looked at here, and again by the function
    if not any(kind.fits(taken) for kind in kinds):
        raise _refused(f"{argument} of {function}", taken, kinds)
    return taken


def _refused(argument: str, value: object, kinds: tuple[_Kind, ...]) -> ArgumentError:
    several = [kind for kind in kinds if kind.several and isinstance(value, kind.type)]
    if several and not isinstance(value, str | bytes):
        wrong: Any = _misfit(value, several[0].elements)
        part = "name" if several[0].type is Mapping else "element"
        return _refused(f"each {part} of {argument}", wrong[0], several[0].elements or ())
    members = [
        f"{k.type.__name__}.{m}" for k in kinds if issubclass(k.type, enum.Enum) for m in k.type.__members__
    ]
    return ArgumentError(
        f"{argument} takes {_either(kinds)}, not {shown(value)}",
        facts={"allowed": ", ".join(members)} if members else {},
    )


def _misfit(values: Any, kinds: tuple[_Kind, ...] | None) -> tuple[Any] | None:
    """The first of several values that is of none of the kinds."""
    if kinds is None:
        return None
    return next(((value,) for value in values if not any(kind.fits(value) for kind in kinds)), None)


def shown(value: object) -> str:
    """A value as a message shows it: short, with its type."""
    if value is None:
        return "None"
    try:
        text = reprlib.repr(value)
    except Exception:  # the repr of a stranger's object may fail
        text = "one"
    return f"{text} ({type(value).__name__})"


def _either(kinds: tuple[_Kind, ...]) -> str:
    names = list(dict.fromkeys(kind.takes for kind in kinds))
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _kinds(annotation: Any, known: Mapping[str, Any]) -> tuple[_Kind, ...] | None:
    """The alternatives of an annotation; None when it allows everything or can't be told."""
    if isinstance(annotation, str):
        holder = types.SimpleNamespace(__annotations__={"it": annotation})
        try:
            annotation = get_type_hints(holder, dict(known))["it"]
        except NameError:  # imported for type checkers alone
            return None
    if annotation is Any:
        return None
    if annotation in _PLAIN:
        return (_PLAIN[annotation],)
    origin: Any = get_origin(annotation)
    if origin in (Union, types.UnionType):
        parts = [_kinds(part, known) for part in get_args(annotation)]
        return None if None in parts else tuple(kind for part in parts for kind in part or ())
    kind = _generic(origin, annotation, known) if origin else _class(annotation)
    return None if kind is None else (kind,)


def _generic(origin: Any, annotation: Any, known: Mapping[str, Any]) -> _Kind | None:
    if not isinstance(origin, type):  # of typing, as Literal is
        return None
    if issubclass(origin, Mapping):
        return _Kind(Mapping, "a mapping", _kinds(get_args(annotation)[0], known), several=True)
    if origin is PathLike:
        return _Kind(PathLike, "a path")
    if origin is _FUNCTION:
        return _Kind(_FUNCTION, "a function")
    if origin is tuple and ... not in get_args(annotation):
        return _Kind(tuple, "a tuple")
    if issubclass(origin, Iterable):
        elements = _kinds(get_args(annotation)[0], known)
        named = f" of {_either(elements)}" if elements else ""
        return _Kind(Iterable, f"a list{named}", elements, several=True)
    return _class(cast("Any", origin))


def _class(annotation: Any) -> _Kind | None:
    if annotation is object or not isinstance(annotation, type):
        return None
    if getattr(annotation, "_is_protocol", False) and not getattr(annotation, "_is_runtime_protocol", False):
        return None
    return _Kind(annotation, "a path" if annotation.__name__ == "Path" else annotation.__name__)

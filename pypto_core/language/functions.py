"""Kernels before and after they are read, and how a program gathers what its functions call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

import attrs

from pypto_core.diagnostics import Note, ParserSyntaxError, ParserTypeError
from pypto_core.ir import (
    EMPTY_MAP,
    Function,
    FunctionIRStage,
    FunctionType,
    Level,
    ParamDirection,
    Role,
    TileType,
    Type,
    Var,
)
from pypto_core.language.environment import Environment
from pypto_core.language.source import Source

if TYPE_CHECKING:
    from pypto_core.language.context import Context, Session
    from pypto_core.language.specialised import Specialised


@attrs.frozen(kw_only=True)
class Options:
    """What stands in the decorator of a function."""

    type: FunctionType = FunctionType.Opaque
    level: Level | None = None
    role: Role | None = None
    attrs: Mapping[str, Any] = EMPTY_MAP
    strict_ssa: bool = False
    stage: FunctionIRStage = FunctionIRStage.Functional
    requires_runtime_binding: bool = False


class Entry:
    """A function of the text, read on demand: first its signature, then its body.

    ``return_types`` is None until it is known: from the annotation, else from the body. ``pulled`` are the functions
    from outside of its program that it calls, by name. A function that is read for known arguments has its state in
    ``specialised``, and ``read_params`` makes its parameters of these.
    """

    is_kernel_entry: ClassVar[bool] = True

    __slots__ = (
        "busy", "context", "directions", "env", "function", "in_class", "name", "node", "options", "params", "pulled",
        "read_params", "return_types", "session", "signed", "source", "specialised",
    )  # fmt: skip

    def __init__(
        self,
        node: ast.FunctionDef,
        source: Source,
        env: Environment,
        options: Options,
        session: Session,
        in_class: bool,
    ) -> None:
        self.node, self.source, self.env, self.options, self.session = node, source, env, options, session
        self.name = node.name
        self.in_class = in_class
        self.context: Context | None = None
        self.params: tuple[Var, ...] = ()
        self.directions: tuple[ParamDirection, ...] = ()
        self.return_types: tuple[Type, ...] | None = None
        self.pulled: dict[str, Function | Entry] = {}
        self.function: Function | None = None
        self.busy = False
        self.signed = False
        self.specialised: Specialised | None = None
        self.read_params: Callable[[Entry, Context], None] | None = None

    def read(self) -> Function:
        """The function, read now unless it was before."""
        if self.function is None:
            self.session.read_body(self)
        assert self.function is not None
        return self.function


@attrs.frozen(eq=False)
class Given:
    """An argument that was read already: where it stands and what it is."""

    node: ast.expr
    value: Any


@attrs.frozen(eq=False)
class Callee:
    """What a call needs to know of a function; both parts are None for a function that is not at hand.

    ``given`` are the arguments, one per parameter, where they had to be read to find the function.
    """

    name: str
    params: tuple[Var, ...] | None
    returns: Callable[[], tuple[Type, ...]] | None
    given: tuple[Given, ...] | None = None

    def return_types(self) -> tuple[Type, ...] | None:
        """The types of its results, or None."""
        return None if self.returns is None else self.returns()


class Module:
    """The functions of one program by name."""

    __slots__ = ("entries", "session")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.entries: dict[str, Entry] = {}

    def add(self, entry: Entry) -> None:
        """Take in a function; two of one name are an error."""
        other = self.entries.get(entry.name)
        if other is not None:
            raise ParserSyntaxError(
                f"two functions are called '{entry.name}'",
                span=entry.source.span(entry.node),
                notes=[Note(message="the other one", span=other.source.span(other.node))],
                remedy="rename one of them",
            )
        self.entries[entry.name] = entry

    def callee(self, entry: Entry, ctx: Context, node: ast.AST) -> Callee:
        """One of its functions as something to call."""
        return callee_of(entry, ctx, node)


def callee_of(entry: Entry, ctx: Context, node: ast.AST) -> Callee:
    """A function of the text as something to call.

    Its body is read only if nothing else says what it returns, or if that is a tile, whose memory and view follow from
    the body where they are not declared.
    """
    if not entry.signed:
        entry.session.read_signature(entry)

    def returns() -> tuple[Type, ...]:
        known = entry.return_types
        if known is None and entry.busy:
            raise ctx.fail(
                ParserTypeError,
                f"'{entry.name}' calls itself and does not say what it returns",
                node,
                "annotate its return type: def f(…) -> pl.Tensor[[64, 64], pl.FP32]:",
            )
        tiles = known is None or any(isinstance(kind, TileType) for kind in known)
        if tiles and entry.function is None and not entry.busy:
            entry.read()
        assert entry.return_types is not None
        return entry.return_types

    return Callee(entry.name, entry.params, returns)


# What a function called that was read on its own: the functions themselves are frozen and hold only names.
_called: WeakKeyDictionary[Function, tuple[Function, ...]] = WeakKeyDictionary()


def remember_called(function: Function, called: Iterable[Function]) -> None:
    """Keep which functions a lone function calls, for the program that takes it in."""
    found = tuple(called)
    if found:
        _called[function] = found


def called_by(function: Function) -> tuple[Function, ...]:
    """The functions that a lone function calls, directly or not, each once."""
    found: dict[str, Function] = {}
    stack = list(_called.get(function, ()))
    while stack:
        callee = stack.pop()
        if callee.name not in found:
            found[callee.name] = callee
            stack.extend(_called.get(callee, ()))
    return tuple(found.values())


def gathered(entries: Iterable[Entry]) -> list[Function]:
    """The functions of some entries and everything that they call from elsewhere, each once."""
    found: dict[str, Function] = {}
    stack: list[Entry | Function] = list(entries)
    while stack:
        item = stack.pop()
        function = item.read() if isinstance(item, Entry) else item
        known = found.get(function.name)
        if known is function:
            continue
        if known is not None:
            raise ParserTypeError(
                f"two functions are called '{function.name}'",
                span=function.span,
                notes=[Note(message="the other one", span=known.span)],
                remedy="rename one of them: a program knows its functions by name",
            )
        found[function.name] = function
        stack.extend(item.pulled.values() if isinstance(item, Entry) else _called.get(item, ()))
    return list(found.values())

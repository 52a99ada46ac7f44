"""The state of reading one function: its source, what its names stand for, and the tables that read its parts."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from pypto_core.diagnostics import (
    Note,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    ScopeIsolationError,
    Span,
    UndefinedVariableError,
)  # fmt: skip
from pypto_core.ir import PTR, ConstInt, Expr, Function, FunctionType, MemorySpace, Var
from pypto_core.language.annotations import dynamic_var
from pypto_core.language.comments import NO_COMMENTS, Comments
from pypto_core.language.environment import MISSING, Environment, Name, Opaque
from pypto_core.language.errors import did_you_mean, int_text
from pypto_core.language.functions import Callee, Entry, Module, callee_of
from pypto_core.language.source import Source
from pypto_core.ops.opdef import OpDef
from pypto_core.ops.registry import OpRegistry, active_registry, find_op, full_registry

ExprReader = Callable[["Context", Any], Any]
StmtReader = Callable[["Context", Any, list[Any]], None]
CallReader = Callable[["Context", ast.Call], Any]


class Session:
    """What the functions read together share: the reading tables, and what was looked up once."""

    __slots__ = (
        "calls",
        "expressions",
        "ints",
        "paths",
        "read_body",
        "read_signature",
        "registry",
        "specialisations",
        "statements",
    )

    def __init__(
        self,
        expressions: Mapping[type, ExprReader],
        statements: Mapping[type, StmtReader],
        words: Mapping[str, CallReader],
        read_signature: Callable[[Entry], None],
        read_body: Callable[[Entry], None],
    ) -> None:
        self.expressions, self.statements = expressions, statements
        self.read_signature, self.read_body = read_signature, read_body
        self.registry: OpRegistry = active_registry()
        self.calls: dict[str, CallReader] = dict(words)
        self.paths: dict[str, Any] = {}
        self.ints: dict[int, ConstInt] = {}
        self.specialisations: dict[Any, Entry] = {}

    def index(self, value: int) -> ConstInt:
        """An INDEX constant; one node per value, as a program repeats few of them very often."""
        node = self.ints.get(value)
        if node is None:
            if not -(1 << 63) <= value < 1 << 63:
                raise ParserTypeError(
                    f"{int_text(value)} does not fit index",
                    remedy="integers have 64 bits; use a float, or pl.const",
                )
            node = self.ints[value] = ConstInt(value)
        return node

    def find_op(self, name: str) -> OpDef | None:
        """The operator of that full name, or None; one of a plugin makes the plugins' operators known from here on."""
        op = self.registry.get(name)
        if op is None:
            op = find_op(name)
            self.registry = full_registry()
        return op


@attrs.frozen(eq=False)
class Dead:
    """What a name stands for outside of the loop that owns it."""

    what: str
    span: Span


@attrs.frozen(eq=False)
class Target:
    """A name that a yield binds, with its annotation if it has one."""

    name: str
    node: ast.AST
    annotation: ast.expr | None


@attrs.frozen(eq=False)
class Yielded:
    """The yield that ended a region: the names it binds (none for a bare one) and where it stands."""

    targets: tuple[Target, ...]
    node: ast.AST


class Context:
    """Reads one function.

    ``names`` maps the names in scope to variables; like Python's own it is one flat table, so that what a branch
    assigns is seen after it. ``declared`` are types that a bare annotation announced. ``annotations`` are those worth
    remembering by their text: the one name that they use, and what they say. ``bases`` are the allocations by name.
    ``constants`` are the variables of comprehensions, whose elements are read one by one.
    ``readers`` are those of expressions; ``span`` tells where a syntax node stands. ``fresh`` collects the names
    assigned on the current path when reassignment is forbidden.
    """

    __slots__ = (
        "annotations", "auto_dims", "bases", "comments", "constants", "declarations", "declared", "defined_bases",
        "depth", "entry", "env", "fresh", "func_type", "loop_kind", "loop_vars", "loops", "module", "names",
        "pending_comments", "places", "prefixes", "readers", "regions", "returns", "session", "slots", "source",
        "span", "specialised", "yielded",
    )  # fmt: skip

    def __init__(
        self, source: Source, env: Environment, session: Session, entry: Entry | None = None
    ) -> None:
        self.source, self.env, self.session, self.entry = source, env, session, entry
        self.span: Callable[[Any], Span] = source.span
        self.readers = session.expressions
        self.specialised = entry.specialised if entry is not None else None
        self.module: Module | None = None
        self.names: dict[str, Var | Dead] = {}
        self.constants: dict[str, Any] = {}
        self.declared: dict[str, ast.expr] = {}
        self.annotations: dict[str, tuple[str, Any]] = {}
        self.bases: dict[str, Var] = {}
        self.defined_bases: set[str] = set()
        self.slots: dict[str, tuple[int, MemorySpace, Span]] = {}
        self.places: dict[int, str] = {}
        self.prefixes: dict[str, Any] = {}
        self.declarations: dict[str, object] = {}
        self.comments: Comments = NO_COMMENTS
        self.fresh: set[str] | None = None
        self.auto_dims: set[str] | None = None
        self.func_type = FunctionType.Opaque
        self.loops = 0
        self.loop_kind: str | None = None
        self.loop_vars: set[Var] = set()
        self.pending_comments: tuple[str, ...] = ()
        self.depth = 0
        self.regions = 0
        self.yielded: Yielded | None = None
        self.returns: list[tuple[tuple[Expr, ...], Span]] = []

    def expr(self, node: ast.expr) -> Any:
        """The value of an expression: a Python value when only constants take part, otherwise a node of the IR."""
        return self.readers[type(node)](self, node)

    def fail(
        self,
        cls: type[ParserError],
        message: str,
        node: Any,
        remedy: str = "",
        facts: Mapping[str, object] | Iterable[tuple[str, object]] = (),
        notes: Iterable[Note] = (),
    ) -> ParserError:
        """An error at a syntax node, to be raised."""
        return cls(message, span=self.span(node), remedy=remedy, facts=facts, notes=tuple(notes))

    def path_of(self, node: Any) -> str | None:
        """``tile.load`` for ``pl.tile.load``; None for what is no name of the language."""
        kind: type = node.__class__
        if kind is ast.Attribute:
            base = node.value
            if type(base) is ast.Name:
                name = base.id
                if name in self.names:
                    return None
                prefix = self.prefixes.get(name, MISSING)
                if prefix is MISSING:
                    prefix = self._prefix(name)
            else:
                prefix = self.path_of(base)
            return None if prefix is None else f"{prefix}.{node.attr}" if prefix else node.attr
        if kind is ast.Name and node.id not in self.names:
            return self._prefix(node.id) or None
        return None

    def is_language(self, name: str) -> bool:
        """Whether a name stands for the language, or for a part of it."""
        return name not in self.names and self._prefix(name) is not None

    def _prefix(self, name: str) -> str | None:
        value = self.env.get(name)
        found = self.prefixes[name] = value.path if type(value) is Name else None
        return found

    def lookup(self, node: ast.Name) -> Any:
        """What a name stands for; raises UndefinedVariableError or ScopeIsolationError."""
        name = node.id
        if self.constants and name in self.constants:
            return self.constants[name]
        found = self.names.get(name)
        if found is not None:
            if type(found) is not Dead:
                return found
            raise self._dead(name, found, node)
        value = self.env.get(name)
        if type(value) is not Opaque:
            return value
        if value is MISSING:
            if self.auto_dims is not None and (name in self.auto_dims or self._is_extent(name)):
                return dynamic_var(name)
            raise self.undefined(node)
        raise self.fail(
            UndefinedVariableError,
            f"'{name}' is {value.what}: a kernel can't use it",
            node,
            "kernels see numbers, strings, lists of them, element types, enum members and other kernels",
        )

    def _is_extent(self, name: str) -> bool:
        """Whether some annotation of the function has an extent of that name."""
        if self.entry is None:
            return False
        for node in ast.walk(self.entry.node):
            note = node.annotation if isinstance(node, ast.arg | ast.AnnAssign) else None
            if note is not None and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(note)):
                return True
        return False

    def _dead(self, name: str, found: Dead, node: ast.AST) -> ParserError:
        return self.fail(
            ScopeIsolationError,
            f"'{name}' is {found.what} and means nothing after the loop",
            node,
            "use the name that pl.yield_ binds at the end of the loop's body"
            if "carried" in found.what
            else "compute what you need inside of the loop",
            notes=[Note(message=f"'{name}' belongs to this loop", span=found.span)],
        )

    def undefined(self, node: ast.Name) -> ParserError:
        """The error for a name that nothing defines."""
        known = [*self.names, *self.env.names()]
        return self.fail(
            UndefinedVariableError,
            f"'{node.id}' is not defined",
            node,
            did_you_mean(node.id, known, "assign it first, or define it as a constant above the kernel"),
        )

    def base(self, name: str) -> Var:
        """The pointer variable of the allocation ``name``; the same one for every mention in a function."""
        var = self.bases.get(name)
        if var is None:
            var = self.bases[name] = Var(name, PTR)
        return var

    def pull(self, function: Function, node: ast.AST) -> Callee:
        """A function from outside of the program as something to call; the program takes it in."""
        self._note(function.name, function, node)
        return Callee(function.name, function.params, lambda: function.return_types)

    def pull_entry(self, entry: Entry, node: ast.AST) -> Callee:
        """The same for a function of the text that is not read yet."""
        self._note(entry.name, entry, node)
        return callee_of(entry, self, node)

    def _note(self, name: str, found: Function | Entry, node: ast.AST) -> None:
        if self.entry is None:
            return
        known = self.entry.pulled.setdefault(name, found)
        sibling = self.module.entries.get(name) if self.module is not None else None
        if known is not found or (sibling is not None and sibling is not found):
            raise self.fail(
                ParserSyntaxError,
                f"two functions are called '{name}'",
                node,
                "rename one of them: a program knows its functions by name",
            )

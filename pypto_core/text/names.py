"""Printed names: every variable of a function gets one of its own, and keeps its hint where it can.

A variable prints under its hint; of several with one hint the first keeps it and the others become ``x_1``,
``x_2``, … passing over names that some other variable has as its hint. Hints that are no Python identifiers are made
into some.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Set
from functools import lru_cache
from typing import Any

from pypto_core.ir import (
    DEFINE,
    MAP,
    NODES,
    AssignStmt,
    ConstInt,
    Function,
    IterArg,
    MemRef,
    PtrType,
    ScalarType,
    SeqStmts,
    Stmt,
    Type,
    Var,
    child_fields,
    map_nodes,
)

FREE_SUFFIX = "__FREE_VAR"
_TAKEN = frozenset((*keyword.kwlist, "self", "abs", "float", "tuple"))
_NOTHING: frozenset[str] = frozenset()


@lru_cache(maxsize=4096)
def identifier(hint: str) -> str:
    """``hint`` as a Python identifier that is no keyword; unchanged when it already is one."""
    if hint.isidentifier() and hint.isascii():
        return hint + "_" if keyword.iskeyword(hint) else hint
    from unicodedata import normalize  # only for names outside ASCII, which Python reads in normal form

    text = re.sub(r"\W", "_", normalize("NFKC", hint)) or "_"
    if not text.isidentifier():
        text = "_" + text
    return text if text.isidentifier() else "_" + re.sub(r"[^0-9A-Za-z_]", "_", text)


class Scan:
    """What a function, or a part of one, defines and what its printed types refer to; each once, in print order."""

    def __init__(self) -> None:
        self.defined: dict[Var, None] = {}
        self.in_types: dict[Var, None] = {}
        self.bases: dict[Var, bool] = {}
        """Bases of the MemRefs in types → whether all of these only declare them."""
        self._seen: dict[int, Type] = {}

    def function(self, function: Function) -> None:
        """Take in parameters, returns and body."""
        for param in function.params:
            self.define(param)
        for kind in function.return_types:
            self.type(kind)
        self.body(function.body)

    def body(self, body: Stmt) -> None:
        """Take in the definitions of a region and of those below it."""
        stack: list[Any] = [body]
        while stack:
            stmt = stack.pop()
            cls = stmt.__class__
            if cls is AssignStmt:
                self.define(stmt.var)
            elif cls is SeqStmts:
                stack.extend(reversed(stmt.stmts))
            else:
                self._compound(stmt, stack)

    def _compound(self, stmt: Stmt, stack: list[Any]) -> None:
        below: list[Stmt] = []
        for field in child_fields(type(stmt)):
            value = field.get(stmt)
            if field.role == DEFINE:
                for var in value if field.kind == NODES else (value,) if value is not None else ():
                    self.define(var)
            elif isinstance(value, Stmt):
                below.append(value)
        stack.extend(reversed(below))

    def define(self, var: Var) -> None:
        """Take in one definition and its type."""
        self.defined[var] = None
        kind = var.type
        if type(kind) is not ScalarType:
            self.type(kind)

    def type(self, kind: Type) -> None:
        """Take in the variables and MemRef bases of a type."""
        if id(kind) in self._seen:
            return
        self._seen[id(kind)] = kind
        self._parts(kind)

    def _parts(self, node: Any) -> None:
        for field in child_fields(node.__class__):
            value = field.get(node)
            if value is None:
                continue
            items = value if field.kind == NODES else map_nodes(value) if field.kind == MAP else (value,)
            for item in items:
                if type(item) is not ConstInt:
                    self._item(item)

    def _item(self, item: Any) -> None:
        if isinstance(item, Var):
            self.in_types.setdefault(item)
        elif isinstance(item, MemRef):
            self.bases[item.base] = self.bases.get(item.base, True) and item.is_pinned
            for part in (item.byte_offset, item.slot_index):
                if part is not None and type(part) is not ConstInt:
                    self._item(part)
        elif isinstance(item, Type):
            self.type(item)
        else:
            self._parts(item)


class Names(dict[Var, str]):
    """Variable → printed name; a variable that nothing defined gets a name that says so when it is looked up.

    ``quoted`` are the variables that print as strings, since nothing in the text defines them.
    """

    def __init__(self, taken: Iterable[str], mark_free: bool) -> None:
        super().__init__()
        self.used = {*_TAKEN, *taken}
        self.strings: set[str] = set()
        self.hints: set[str] = set()
        self.quoted: set[Var] = set()
        self._next: dict[str, int] = {}
        self.mark_free = mark_free

    def __missing__(self, var: Var) -> str:
        if self.mark_free:
            return self._assign(var, identifier(var.name_hint) + FREE_SUFFIX)
        return self._assign(var, identifier(var.name_hint))

    def base(self, var: Var) -> str:
        """The name of a MemRef's base; quoted from now on if nothing defines it."""
        if var not in self:
            self._assign(var, identifier(var.name_hint))
            self.quoted.add(var)
        return self[var]

    def allocate(self, scan: Scan, dynamic: Iterable[Var] = ()) -> None:
        """Name the definitions of a function, the bases that it declares or takes from elsewhere, and ``dynamic``."""
        wanted = [*scan.defined, *scan.bases, *dynamic]
        self.hints |= {identifier(v.name_hint) for v in wanted}
        for var in dynamic:
            self._assign(var, identifier(var.name_hint))
        for var, declared in scan.bases.items():
            # Declared allocations have a namespace of their own, apart only from other allocations.
            if declared and var not in scan.defined:
                name = self._free_name(var.name_hint, self.strings, _NOTHING)
                self.strings.add(name)
                self[var] = name
                self.quoted.add(var)
        for var in scan.defined:
            self._assign(var, identifier(var.name_hint))
        for var in scan.bases:
            self.base(var)

    def _assign(self, var: Var, wish: str) -> str:
        strings = self.strings if isinstance(var.type, PtrType) else _NOTHING
        name = self._free_name(wish, self.used, strings)
        self.used.add(name)
        self[var] = name
        return name

    def _free_name(self, wish: str, taken: Set[str], also: Set[str]) -> str:
        if wish not in taken and wish not in also:
            return wish
        number = self._next.get(wish, 1)
        while (name := f"{wish}_{number}") in taken or name in also or name in self.hints:
            number += 1
        self._next[wish] = number + 1
        return name


def dynamic_vars(scan: Scan) -> list[Var]:
    """The variables that only types mention: extents left open."""
    return [v for v in scan.in_types if v not in scan.defined and not isinstance(v, IterArg)]

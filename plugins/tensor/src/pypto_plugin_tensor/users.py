"""Which statements of a function use each variable: the host, one scope, or several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto_core.ir import (
    DEFINE,
    MAP,
    NODES,
    Function,
    IterArg,
    ScopeStmt,
    Type,
    Var,
    Visitor,
    child_fields,
    map_nodes,
    type_vars,
)

HOST = -1
"""Stands for everything outside of the scopes that are looked at."""


class Users(Visitor):
    """By variable, who uses it: numbers of scopes, and :data:`HOST`. One walk, however many scopes there are.

    ``is_scope`` says which scopes count; scopes inside such a scope belong to it.
    """

    def __init__(self, function: Function, is_scope: Callable[[ScopeStmt], bool]) -> None:
        self.users: dict[Var, set[int]] = {}
        self.scopes: dict[ScopeStmt, int] = {}
        self.defined: set[Var] = set(function.params)
        self._is_scope = is_scope
        self._at = HOST
        self._types: dict[int, tuple[Var, ...]] = {}
        for param in function.params:
            self._type(param.type)
        self.visit(function.body)

    def used_outside(self, var: Var, scope: int) -> bool:
        """Whether anything but the scope uses the variable."""
        return bool(self.users.get(var, set()) - {scope})

    def visit_scope_stmt(self, scope: ScopeStmt) -> None:
        """What stands in a scope is used by the scope; its notes by the host."""
        if self._at != HOST or not self._is_scope(scope):
            self.visit_children(scope)
            return
        number = self.scopes[scope] = len(self.scopes)
        for node in map_nodes(scope.attrs):
            self.visit(node)
        for var in (scope.task_id, getattr(scope, "loop_var", None)):
            if var is not None:
                self.defined.add(var)
        count = getattr(scope, "core_num", None)
        if count is not None:
            self.visit(count)
        self._at = number
        self.visit(scope.body)
        self._at = HOST

    def visit_children(self, node: Any) -> None:
        """Uses and definitions, types included."""
        for field in child_fields(node.__class__):
            value = field.get(node)
            items = value if field.kind == NODES else map_nodes(value) if field.kind == MAP else (value,)
            for item in items:
                if item is None:
                    continue
                if isinstance(item, Type):
                    self._type(item)
                elif field.role == DEFINE:
                    self.defined.add(item)
                    self._type(item.type)
                    if isinstance(item, IterArg):
                        self.visit(item.init_value)
                else:
                    self.visit(item)

    def visit_var(self, var: Var) -> None:
        """One use."""
        self.users.setdefault(var, set()).add(self._at)

    def _type(self, kind: Type) -> None:
        known = self._types.get(id(kind))
        if known is None:
            known = self._types[id(kind)] = tuple(type_vars(kind))
        for var in known:
            self.visit_var(var)

"""Copying and searching programs, under PyPTO's names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pypto_core import ir as kernel
from pypto_core.ir import (
    UNKNOWN,
    VOID,
    AssignStmt,
    Expr,
    Function,
    FunctionType,
    Stmt,
    TensorType,
    TileType,
    TupleType,
    Type,
    Var,
    YieldStmt,
    defined_vars,
    flatten,
    last_yield,
    regions,
    replace,
    substitute,
)

Pairs = Mapping[Var, Expr] | Iterable[tuple[Var, Expr]]


def structural_hash(node: Any, enable_auto_mapping: bool = False) -> int:
    """A number that equal nodes share."""
    return kernel.structural_hash(node, enable_auto_mapping=enable_auto_mapping)


def deep_clone(body: Any, var_map: Pairs = ()) -> tuple[Any, list[tuple[Var, Expr]]]:
    """A copy with a fresh variable for each definition, and the pairs (old, new) of these.

    ``var_map`` also replaces variables that are free in ``body``.
    """
    given = dict(var_map)
    clone, mapping = kernel.deep_clone(body, given)
    return clone, [(old, new) for old, new in mapping.items() if old not in given]


def substitute_expr(expr: Expr, var_map: Pairs) -> Expr:
    """The expression with variables replaced; the same object when none occurs."""
    return substitute(expr, dict(var_map))


def substitute_stmt(stmt: Stmt, var_map: Pairs) -> Stmt:
    """The statement with variables replaced; the same object when none occurs."""
    return substitute(stmt, dict(var_map))


def collect_def_vars(body: Stmt) -> list[Var]:
    """The variables defined in a region and below, in program order."""
    return list(defined_vars(body))


def flatten_to_stmts(body: Stmt | None) -> list[Stmt]:
    """The statements of a region, in order."""
    return list(flatten(body))


def find_yield_stmt(body: Stmt | None) -> YieldStmt | None:
    """The first yield that belongs to the region itself, or None."""
    return next((stmt for stmt in flatten(body) if isinstance(stmt, YieldStmt)), None)


def get_last_yield_stmt(body: Stmt | None) -> YieldStmt | None:
    """The yield that ends the region, or None."""
    return last_yield(body)


def attach_leading_comments(stmt: Stmt, comments: Iterable[str]) -> Stmt:
    """The statement with these comments above it; statements don't change, so take the result."""
    return replace(stmt, leading_comments=tuple(comments))


def deduce_call_return_type(function: Function, args: Iterable[Expr] = ()) -> Type:
    """The type of a call of a function: its return types with parameters and open extents as passed."""
    mapping: dict[Var, Expr] = {}
    for param, arg in zip(function.params, args, strict=False):
        mapping[param] = arg
        kind, have = param.type, arg.type
        if isinstance(kind, TensorType | TileType) and isinstance(have, TensorType | TileType):
            dims = zip(kind.shape, have.shape, strict=True)
            mapping.update((a, b) for a, b in dims if isinstance(a, Var) and a is not b)
    types = [substitute(kind, mapping) for kind in function.return_types]
    if not types:
        return VOID if not function.requires_runtime_binding else UNKNOWN
    return types[0] if len(types) == 1 else TupleType(tuple(types))


def is_incore_type(func_type: FunctionType) -> bool:
    """Whether functions of this type run on a device core."""
    return kernel.is_incore_type(func_type)


class ParentStmtAnalysis:
    """Which statement each statement stands in."""

    def __init__(self) -> None:
        self._parents: dict[Stmt, Stmt] = {}

    def build_map(self, function: Function) -> None:
        """Look at a function; what was known of another one is dropped."""
        self.clear()
        stack: list[Stmt] = [function.body]
        while stack:
            parent = stack.pop()
            for child in _children(parent):
                self._parents[child] = parent
                stack.append(child)

    def get_parent(self, stmt: Stmt) -> Stmt | None:
        """The statement that holds ``stmt`` directly, a sequence too; None for the outermost one."""
        return self._parents.get(stmt)

    def has_parent(self, stmt: Stmt) -> bool:
        """Whether some statement holds ``stmt``."""
        return stmt in self._parents

    def clear(self) -> None:
        """Forget everything."""
        self._parents.clear()


def _children(stmt: Stmt) -> Iterator[Stmt]:
    if isinstance(stmt, kernel.SeqStmts):
        yield from stmt.stmts
    else:
        yield from regions(stmt)


def statements_defining(body: Stmt) -> dict[Var, Stmt]:
    """The top-level statement of a region that defines each variable, the ones in its regions included."""
    table: dict[Var, Stmt] = {}
    for stmt in flatten(body):
        names: tuple[Var, ...] = (stmt.var,) if isinstance(stmt, AssignStmt) else defined_vars(stmt)
        table.update((var, stmt) for var in names)
    return table

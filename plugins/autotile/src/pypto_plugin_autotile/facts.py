"""What one list of statements says about its values: who stores, casts and loads them, and what is written when."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

import attrs

from pypto_core.ir import (
    AssignStmt,
    Call,
    EvalStmt,
    ForStmt,
    Function,
    Stmt,
    TileType,
    Var,
    WhileStmt,
    walk_stmts,
)
from pypto_core.ops import alias_source, written_arguments
from pypto_plugin_autotile.match import Kind, is_call, kind_of, stores_matrix
from pypto_plugin_autotile.uses import Uses

Roots = Mapping[Var, Var]


@attrs.define(eq=False)
class ListFacts:
    """Facts about the statements of one list, nested ones left out.

    ``stores`` and ``casts``: the first statement that stores or casts a value. ``bias_loads``: for a bias that is
    read once, by a product with nothing but loads between, the statement that loads it. ``after_loads``: for each
    statement the next one that is no load.
    """

    stmts: tuple[Stmt, ...]
    stores: dict[Var, AssignStmt]
    casts: dict[Var, AssignStmt]
    bias_loads: dict[Var, AssignStmt]
    after_loads: dict[Stmt, Stmt | None]
    _places: dict[Stmt, int] = attrs.field(factory=dict)
    _writes: dict[Var, list[int]] | None = None

    def written_between(self, first: Stmt, last: Stmt, values: tuple[Var, ...], roots: Roots) -> Var | None:
        """One of the values whose storage is written between two statements, or None."""
        if self._writes is None:
            self._places = {stmt: place for place, stmt in enumerate(self.stmts)}
            self._writes = _writes(self.stmts, roots)
        start, stop = self._places[first], self._places[last]
        for value in values:
            places = self._writes.get(roots.get(value, value), [])
            following = bisect_right(places, start)
            if following < len(places) and places[following] < stop:
                return value
        return None


def list_facts(stmts: tuple[Stmt, ...], uses: Uses) -> ListFacts:
    """The facts of a list, in one pass."""
    stores: dict[Var, AssignStmt] = {}
    casts: dict[Var, AssignStmt] = {}
    bias_loads: dict[Var, AssignStmt] = {}
    run: dict[Var, AssignStmt] = {}
    for stmt in stmts:
        value = stmt.value if isinstance(stmt, AssignStmt) else None
        if isinstance(stmt, AssignStmt) and isinstance(value, Call):
            source = value.args[0] if value.args else None
            if is_call(value, "tile.load"):
                run[stmt.var] = stmt
                continue
            if stores_matrix(value) and isinstance(source, Var):
                stores.setdefault(source, stmt)
            elif is_call(value, "tile.cast") and isinstance(source, Var):
                casts.setdefault(source, stmt)
            elif kind_of(value) is Kind.BIAS and len(value.args) == 3:
                bias = value.args[2]
                if isinstance(bias, Var) and bias in run and uses.reads[bias] == 1:
                    bias_loads[bias] = run[bias]
        run = {}
    return ListFacts(stmts, stores, casts, bias_loads, _after_loads(stmts))


def _after_loads(stmts: tuple[Stmt, ...]) -> dict[Stmt, Stmt | None]:
    after: dict[Stmt, Stmt | None] = {}
    following: Stmt | None = None
    for stmt in reversed(stmts):
        after[stmt] = following
        if not (isinstance(stmt, AssignStmt) and is_call(stmt.value, "tile.load")):
            following = stmt
    return after


def storage_roots(function: Function) -> Roots:
    """For each tile that shares storage with an earlier one, the first tile with that storage."""
    roots: dict[Var, Var] = {}

    def share(var: Var, source: object) -> None:
        if isinstance(source, Var) and isinstance(source.type, TileType):
            roots[var] = roots.get(source, source)

    for stmt in walk_stmts(function.body):
        if isinstance(stmt, AssignStmt):
            value = stmt.value
            place = alias_source(value) if isinstance(value, Call) else None
            share(stmt.var, value.args[place] if isinstance(value, Call) and place is not None else value)
        elif isinstance(stmt, ForStmt | WhileStmt):
            for arg, result in zip(stmt.iter_args, stmt.return_vars, strict=True):
                share(arg, arg.init_value)
                share(result, arg.init_value)
    return roots


def _writes(stmts: tuple[Stmt, ...], roots: Roots) -> dict[Var, list[int]]:
    """Storage root → places in the list where it is written, in order."""
    found: dict[Var, list[int]] = {}
    for place, outer in enumerate(stmts):
        for stmt in walk_stmts(outer):
            value = (
                stmt.value
                if isinstance(stmt, AssignStmt)
                else stmt.expr
                if isinstance(stmt, EvalStmt)
                else None
            )
            if not isinstance(value, Call):
                continue
            for position in written_arguments(value):
                arg = value.args[position]
                if isinstance(arg, Var) and isinstance(arg.type, TileType):
                    found.setdefault(roots.get(arg, arg), []).append(place)
    return found

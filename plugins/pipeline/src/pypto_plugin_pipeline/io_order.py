"""CanonicalizeIOOrder: the bodies of pipelined loops get their loads first, and the loops become sequential.

Only bodies of pipelined loops, and what is nested in them, are sorted. Values keep their order of definition and use;
accesses to one storage keep theirs unless they provably touch different elements. Operands come to L0 early as far as
they fit there.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pypto_core.ir import (
    PIPELINE_DOUBLE_BUFFER_C,
    PIPELINE_OVERLAP_STORES,
    ForStmt,
    Function,
    Program,
    Stmt,
    map_functions,
    updated,
    walk_stmts,
)
from pypto_plugin_pipeline.l0_room import SPACES, Room
from pypto_plugin_pipeline.order import Mode, ordered
from pypto_plugin_pipeline.regions import demoted, is_pipelined, map_regions
from pypto_plugin_pipeline.storage import Storage


def canonicalize_io_order(program: Program, ctx: Any) -> Program:
    """The program without pipelined loops; the same object when it has none."""
    backend = getattr(ctx, "backend", None)
    room = {} if backend is None else {space: backend.capacity(space) for space in SPACES}
    return map_functions(program, partial(_function, room=room))


def _function(function: Function, room: Room) -> Function:
    if not any(is_pipelined(stmt) for stmt in walk_stmts(function.body)):
        return function
    return updated(function, body=_region(function.body, Storage(function), None, room))


def _region(stmt: Stmt, storage: Storage, mode: Mode | None, room: Room) -> Stmt:
    """A statement with what is nested in it sorted; ``mode`` is None outside of pipelined loops."""
    if is_pipelined(stmt):
        assert isinstance(stmt, ForStmt)
        inner = Mode(
            overlap_stores=stmt.attrs.get(PIPELINE_OVERLAP_STORES, True) is not False,
            double_buffer_c=stmt.attrs.get(PIPELINE_DOUBLE_BUFFER_C) is True,
        )
        return demoted(updated(stmt, body=_region(stmt.body, storage, inner, room)))
    new = map_regions(stmt, lambda s: _region(s, storage, mode, room))
    return new if mode is None else ordered(new, storage, mode, room)

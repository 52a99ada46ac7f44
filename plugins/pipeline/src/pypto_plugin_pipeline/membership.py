"""The note on a call that says to which stage of which pipelined loop its tile belongs.

It is written ``group:stage`` per loop, innermost first, joined by semicolons: ``0:1;2:0``. Groups are numbered per
function. Two tiles that share a group and differ in stage are meant to be alive at once.
"""

from __future__ import annotations

from typing import Any

from pypto_core.ir import PIPELINE_MEMBERSHIP, AssignStmt, Call, MemorySpace, Stmt, TileType, replace
from pypto_plugin_pipeline.regions import map_regions

Pairs = tuple[tuple[int, int], ...]

_PRODUCT = "tile.matmul"


def parse_membership(note: Any) -> Pairs:
    """(group, stage) per loop, innermost first; parts that don't read ``number:number`` are passed over."""
    if not isinstance(note, str):
        return ()
    pairs: list[tuple[int, int]] = []
    for part in note.split(";"):
        group, colon, stage = part.strip().partition(":")
        if colon and group.isdecimal() and stage.isdecimal():
            pairs.append((int(group), int(stage)))
    return tuple(pairs)


def format_membership(pairs: Pairs) -> str:
    """The inverse of :func:`parse_membership`."""
    return ";".join(f"{group}:{stage}" for group, stage in pairs)


def membership_of(stmt: Stmt) -> Pairs:
    """The note of the tile that a statement defines."""
    if isinstance(stmt, AssignStmt) and isinstance(stmt.value, Call):
        return parse_membership(stmt.value.attrs.get(PIPELINE_MEMBERSHIP))
    return ()


def with_membership(stmt: AssignStmt, pairs: Pairs) -> AssignStmt:
    """The statement with another note on its call."""
    call = stmt.value
    assert isinstance(call, Call)
    notes = {**call.attrs, PIPELINE_MEMBERSHIP: format_membership(pairs)}
    return replace(stmt, value=replace(call, attrs=notes))


def is_accumulator(stmt: Stmt) -> bool:
    """Whether a statement computes a matrix product into the accumulator."""
    if not (isinstance(stmt, AssignStmt) and isinstance(stmt.value, Call)):
        return False
    kind = stmt.var.type
    return (
        isinstance(kind, TileType)
        and kind.memory_space is MemorySpace.Acc
        and stmt.value.name.startswith(_PRODUCT)
    )


def tagged(stmt: Stmt, group: int, stage: int, *, accumulators: bool) -> Stmt:
    """The statement with the pair noted on every tile that a call in it, or in a region of it, defines.

    ``accumulators``: whether products are tagged as well. They are not where one accumulator collects all stages.
    """
    if isinstance(stmt, AssignStmt):
        wanted = isinstance(stmt.value, Call) and isinstance(stmt.var.type, TileType)
        if not wanted or (is_accumulator(stmt) and not accumulators):
            return stmt
        return with_membership(stmt, (*membership_of(stmt), (group, stage)))
    return map_regions(stmt, lambda s: tagged(s, group, stage, accumulators=accumulators))

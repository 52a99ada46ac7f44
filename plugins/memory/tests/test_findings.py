"""What the two properties say of programs that lack them, each under a code of its own."""

from __future__ import annotations

from typing import Any

from memory_machine import context
from memory_parts import prepared, tile, use

from pypto_core.ir import ConstInt, DataType, Function, TileType, defined_vars, replace
from pypto_core.testing import build as b
from pypto_plugin_memory.allocate import allocate_memory_addr
from pypto_plugin_memory.audit import verify_plan_kept, verify_storage_closed
from pypto_plugin_memory.init_memref import init_mem_ref
from pypto_plugin_memory.rewrite import place_tiles


def said(verifier: Any, function: Function) -> list[tuple[str, int | None, str]]:
    found = verifier(b.program(function))
    return [(d.code, d.number, d.message.removeprefix("Function 'k': ")) for d in found]


def two() -> list[Any]:
    x, y = tile("x", 8), tile("y", 8)
    return [x, y, *use(x.var, y.var)]


def test_storage_that_is_not_closed() -> None:
    """A loop takes turns with two tiles, so that its carries change places in each trip."""
    x, y = tile("x", 8), tile("y", 8)
    loop = b.loop(2, lambda i, p, q: [*use(p, q), b.give(q, p)], carries={"p": x.var, "q": y.var})
    function = init_mem_ref(b.kernel("k", [], [x, y, loop, b.ret()]), context())
    assert said(verify_storage_closed, function) == [
        ("PT641", 1, "'p' does not lie where its value does"),
        ("PT641", 1, "'q' does not lie where its value does"),
    ]
    assert said(verify_storage_closed, prepared([x, y, loop], context())) == []


def test_a_plan_that_is_not_kept() -> None:
    placed = allocate_memory_addr(prepared(two(), context()), context())
    assert said(verify_plan_kept, placed) == []
    [y] = [v for v in defined_vars(placed.body) if v.name_hint == "y"]
    assert isinstance(y.type, TileType) and y.type.memref is not None
    wrong = place_tiles(placed, {y: replace(y.type.memref, byte_offset=ConstInt(32, DataType.INT64))})
    assert said(verify_plan_kept, wrong) == [
        ("PT642", 1, "tile.move reads 'x' after its bytes were overwritten")
    ]


def test_tiles_without_a_place() -> None:
    function = b.kernel("k", [], [*two(), b.ret()])
    for verifier in (verify_storage_closed, verify_plan_kept):
        assert said(verifier, function) == [("PT643", 2, "its tiles have no place yet")]

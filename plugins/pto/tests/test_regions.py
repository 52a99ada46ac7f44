"""Rings of buffers: their text, and every reason why an allocation can't be one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    PTR,
    Add,
    AssignStmt,
    DataType,
    Expr,
    FloorMod,
    Function,
    FunctionType,
    MemorySpace,
    MemRef,
    Stmt,
    TileType,
    Var,
    const_index,
    eq,
    floordiv,
    floormod,
    implicit_tile_view,
    make_binary,
    replace,
    scalar_type,
    sub,
)
from pypto_core.run import PassContext
from pypto_core.testing import build as b
from pypto_plugin_pto.checker import check_text
from pypto_plugin_pto.regions import addressed_regions
from pypto_plugin_pto.type_text import TypeWriter
from pypto_plugin_pto.write import function_lines, recipes_of

T = (
    "!pto.tile_buf<loc=vec, dtype=f32, rows=64, cols=64, v_row=?, v_col=?, "
    "blayout=row_major, slayout=none_box, fractal=512, pad=0>"
)
PARAMS = "a: pl.Tensor[[512, 64], pl.FP32], out: pl.Out[pl.Tensor[[512, 64], pl.FP32]]"
LOOP = """
for i in pl.range({range}):
    t: pl.Tile[[64, 64], pl.FP32, pl.MemRef("ring", slots={slots})[{index}], pl.Mem.Vec] = pl.load(a, [0, 0], [64, 64])
    e = pl.exp(t)
    out = pl.store(e, [0, 0], out)
return out
"""


def body(range_: str = "4", index: str = "i % 2", slots: int = 2) -> str:
    return LOOP.format(range=range_, index=index, slots=slots)


def test_a_ring_is_declared_once_and_each_use_takes_a_slot(write: Any) -> None:
    text = write(PARAMS, body(), planner="ptoas")
    ring = f"!pto.multi_tile_buf<{T}, count=2>"
    declaration = (
        f"    %ring_mb = pto.alloc_multi_tile valid_row = %c64_index valid_col = %c64_index : {ring}"
    )
    slot = f"      %t = pto.multi_tile_get %ring_mb[%0] : {ring} -> {T}"
    lines = text.splitlines()
    assert lines.count(declaration) == 1 and lines.count(slot) == 1
    views = [n for n, line in enumerate(lines) if "make_tensor_view" in line]
    loop = next(n for n, line in enumerate(lines) if "scf.for" in line)
    assert max(views) < lines.index(declaration) < loop < lines.index(slot)
    assert lines[loop + 1] == "      %0 = arith.remsi %i, %c2_index : index"
    # The slot comes ahead of the address of what is loaded into it; it has no buffer beside it.
    assert lines.index(slot) < next(n for n, x in enumerate(lines) if "partition_view" in x)
    assert "%t = pto.alloc_tile" not in text


@pytest.mark.parametrize(
    ("range_", "index", "lines"),
    [
        ("4", "i % 2", ["%0 = arith.remsi %i, %c2_index : index"]),
        ("1, 5", "(i - 1) % 2",
         ["%0 = arith.subi %i, %c1_index : index", "%1 = arith.remsi %0, %c2_index : index"]),
        ("3, 512, 64", "(i - 3) // 64 % 2",
         ["%0 = arith.subi %i, %c3_index : index", "%1 = arith.divsi %0, %c64_index : index",
          "%2 = arith.remsi %1, %c2_index : index"]),
    ],
)  # fmt: skip
def test_slot_indices_stay_what_the_assembler_recognises(
    write: Any, body_of: Any, range_: str, index: str, lines: list[str]
) -> None:
    written = body_of(write(PARAMS, body(range_, index), planner="ptoas"))
    at = written.index(lines[0])
    assert written[at : at + len(lines)] == lines
    assert f"multi_tile_get %ring_mb[{lines[-1].split()[0]}]" in written[at + len(lines)]


def test_a_slot_is_a_constant_where_it_is_written_as_one(write: Any) -> None:
    assert "multi_tile_get %ring_mb[%c1_index]" in write(PARAMS, body(index="1"), planner="ptoas")


def test_with_addresses_a_slot_is_a_buffer_at_a_runtime_address(write: Any, body_of: Any) -> None:
    lines = body_of(write(PARAMS, body(), planner="pypto"))
    [buffer] = [x for x in lines if x.startswith("%t = pto.alloc_tile addr = ")]
    address = buffer.split()[5]
    assert f"{address} = arith.index_cast" in "\n".join(lines)
    # 64 * 64 * 4 bytes a slot.
    assert any("arith.muli" in x and "%c16384_index" in x for x in lines)


PIPELINED = """
for i in pl.pipeline({range}, stage=2):
    t = pl.load(a, [i, 0], [64, 64])
    e = pl.exp(t)
    out = pl.store(e, [i, 0], out)
return out
"""


@pytest.mark.parametrize(("range_", "count"), [("4", 1), ("1, 5", 2), ("3, 448, 64", 3)])
def test_pipelined_loops_end_in_plain_remainders(write: Any, body_of: Any, range_: str, count: int) -> None:
    """Whatever passes do to a slot's index on its way, it arrives in the form that the assembler recognises."""
    lines = body_of(write(PARAMS, PIPELINED.replace("{range}", range_), planner="ptoas", backend="a5"))
    loop = next(n for n, x in enumerate(lines) if x.startswith("scf.for"))
    operations = [x.split(" = ")[1].split()[0] for x in lines[loop + 1 : loop + 1 + count]]
    forms = {1: "remsi", 2: "subi remsi", 3: "subi divsi remsi"}
    assert operations == [f"arith.{name}" for name in forms[count].split()]
    assert "pto.multi_tile_get" in lines[loop + 1 + count]


# -- blockers, on programs that are built rather than compiled

VEC = MemorySpace.Vec
RING = Var("ring", PTR)


def slot(
    index: Expr | None, *, count: int = 2, base: Var = RING, size: int = 4096, offset: Expr | None = None
) -> MemRef:
    return MemRef(base, offset or const_index(0), size, False, count, index)


def loaded(
    name: str, source: Var, memref: MemRef, shape: tuple[int, int] = (16, 64), **view: Any
) -> AssignStmt:
    """``name = tile.load(...)`` at a place."""
    space = view.pop("space", VEC)
    call = b.op("tile.load", source, b.dims(0, 0), b.dims(*shape))
    kind = call.type
    assert isinstance(kind, TileType)
    stored = replace(implicit_tile_view(kind.shape, VEC), **view) if view else kind.tile_view
    kind = replace(kind, memref=memref, tile_view=stored, memory_space=space)
    return AssignStmt(Var(name, kind), call)


SOURCE = b.tensor("a", (64, 64))
N = b.scalar("n")


def kernel(stmts: Iterable[Stmt]) -> Function:
    return b.function("k", [SOURCE, N], stmts, kind=FunctionType.AIV)


def written(stmts: Iterable[Stmt]) -> str:
    ctx = PassContext(planner="ptoas")
    return "\n".join(["module {", *function_lines(kernel(stmts), ctx, recipes_of(ctx)), "}"]) + "\n"


def each(make: Any, stop: int = 4) -> list[Stmt]:
    return [b.loop(stop, make)]


def mod(i: Expr, n: int = 2) -> Expr:
    return floormod(i, n)


def _view_of(var: Var, name: str, shape: tuple[int, int]) -> AssignStmt:
    call = b.op("tile.reshape", var, b.dims(*shape))
    kind = call.type
    assert isinstance(kind, TileType) and isinstance(var.type, TileType)
    return AssignStmt(Var(name, replace(kind, memref=var.type.memref)), call)


def _phi() -> list[Stmt]:
    first = loaded("t", SOURCE, slot(const_index(0)))
    return [first, b.loop(4, lambda i, c: [b.give(c)], carries={"c": first.var})]


def _two_in_a_trip(i: Var) -> list[Stmt]:
    return [
        loaded("t", SOURCE, slot(mod(i))),
        loaded("u", SOURCE, slot(mod(make_binary(Add, i, const_index(1))))),
    ]


def _in_both_branches(i: Var) -> list[Stmt]:
    one, other = loaded("t", SOURCE, slot(mod(i))), loaded("u", SOURCE, slot(mod(i)))
    return [b.branch(eq(i, 0), [one], [other])]


def _reshaped(i: Var) -> list[Stmt]:
    t = loaded("t", SOURCE, slot(mod(i)))
    return [t, _view_of(t.var, "v", (32, 32))]


IN_LEFT = implicit_tile_view((), MemorySpace.Left)
FLOAT_INDEX = Var("f", scalar_type(DataType.FP32))

BLOCKERS: list[tuple[str, list[Stmt], str]] = [
    ("no slot selected", [loaded("t", SOURCE, slot(None))], "tile 't' binds it without selecting a slot"),
    ("no integer", [loaded("t", SOURCE, slot(FLOAT_INDEX))], "must be an integer or index"),
    ("counts differ", [loaded("t", SOURCE, slot(const_index(0))), loaded("u", SOURCE, slot(const_index(1), count=3))],
     "disagree on the number of slots, 2 and 3"),
    ("too many", [loaded("t", SOURCE, slot(const_index(0), count=17))], "a ring has 2 to 16 slots, not 17"),
    ("shapes differ", [loaded("t", SOURCE, slot(const_index(0))), loaded("u", SOURCE, slot(const_index(1)), (32, 32))],
     "differently shaped tiles"),
    ("runtime extent", [loaded("t", SOURCE, slot(const_index(0)), valid_shape=(N, const_index(64)))],
     "tile 't' has a runtime valid shape"),
    ("extents differ", [loaded("t", SOURCE, slot(const_index(0))),
                        loaded("u", SOURCE, slot(const_index(1)), valid_shape=(const_index(8), const_index(64)))],
     "different valid shapes (16x64 and 8x64)"),
    ("space", [loaded("t", SOURCE, slot(const_index(0)), space=MemorySpace.Left, blayout=IN_LEFT.blayout,
                      slayout=IN_LEFT.slayout)],
     "lies in vec, mat or acc, not in left"),
    ("phi", _phi(), "carried by a loop"),
    ("two in a trip", each(_two_in_a_trip), "two of its slots are live at once inside a loop"),
    ("one in each branch", each(_in_both_branches), "two of its slots are live at once inside a loop"),
    ("a view of another type", each(_reshaped), "differently shaped tiles"),
]  # fmt: skip


@pytest.mark.parametrize(("stmts", "message"), [x[1:] for x in BLOCKERS], ids=[x[0] for x in BLOCKERS])
def test_what_can_not_be_a_ring_is_refused(stmts: list[Stmt], message: str) -> None:
    with pytest.raises(UserError) as error:
        written(stmts)
    [diagnostic] = error.value.diagnostics
    assert diagnostic.code == "PTO-011"
    assert message in diagnostic.message
    assert 'pl.MemRef("ring", slots=' in diagnostic.message
    assert "planner pypto" in diagnostic.remedy


def test_the_first_reason_of_a_tile_wins() -> None:
    """Too many slots of different shapes: the count is asked first."""
    stmts = [
        loaded("t", SOURCE, slot(const_index(0), count=17)),
        loaded("u", SOURCE, slot(const_index(1), count=17), (32, 32)),
    ]
    with pytest.raises(UserError, match="2 to 16"):
        written(stmts)


def accepted(stmts: list[Stmt]) -> str:
    text = written(stmts)
    report = check_text(text)
    assert report.ok, (report.errors, text)
    return text


def test_two_slots_outside_of_loops_are_accepted() -> None:
    text = accepted([loaded(n, SOURCE, slot(const_index(k))) for n, k in (("t", 0), ("u", 1))])
    assert text.count("pto.alloc_multi_tile") == 1 and text.count("pto.multi_tile_get") == 2


def test_one_slot_per_level_of_nesting_is_accepted() -> None:
    def outer(i: Var) -> list[Stmt]:
        inner = b.loop(2, lambda j: [loaded("u", SOURCE, slot(mod(j)))], var="j")
        return [loaded("t", SOURCE, slot(mod(i))), inner]

    assert accepted(each(outer)).count("pto.multi_tile_get") == 2


def test_aliases_of_a_slot_are_not_counted_as_slots() -> None:
    def inside(i: Var) -> list[Stmt]:
        t = loaded("t", SOURCE, slot(mod(i)))
        return [t, AssignStmt(Var("v", t.var.type), t.var)]

    assert accepted(each(inside)).count("pto.multi_tile_get") == 1


def test_tiles_of_one_constant_slot_share_its_name() -> None:
    zero = const_index(0)
    text = accepted([loaded(n, SOURCE, slot(zero)) for n in ("t", "u")])
    assert text.count("pto.multi_tile_get") == 1
    assert text.count("outs(%t :") == 2


def test_rings_are_declared_in_the_order_in_which_they_appear() -> None:
    other = Var("another", PTR)
    stmts: list[Stmt] = [
        loaded("t", SOURCE, slot(const_index(0))),
        loaded("u", SOURCE, slot(const_index(0), base=other)),
    ]
    text = accepted(stmts)
    assert text.index("%ring_mb = ") < text.index("%another_mb = ")


def test_a_ring_whose_name_is_taken_gets_another() -> None:
    twin = Var("ring", PTR)
    text = accepted(
        [loaded("t", SOURCE, slot(const_index(0))), loaded("u", SOURCE, slot(const_index(0), base=twin))]
    )
    assert "%ring_mb = " in text and "%ring_mb_1 = " in text


@pytest.mark.parametrize("name", ["2 rings", "a-b"])
def test_names_become_names_of_the_text(name: str) -> None:
    text = accepted([loaded("t", SOURCE, slot(const_index(0), base=Var(name, PTR)))])
    made = {"2 rings": "%_2_rings_mb", "a-b": "%a_b_mb"}[name]
    assert f"{made} = pto.alloc_multi_tile" in text


def test_a_slot_index_of_another_integer_type_is_converted() -> None:
    number = Var("n32", scalar_type(DataType.INT32))
    index = FloorMod(number, const_index(2), scalar_type(DataType.INDEX))
    ctx = PassContext(planner="ptoas")
    function = b.function("k", [SOURCE, number], [loaded("t", SOURCE, slot(index))], kind=FunctionType.AIV)
    lines = [x.strip() for x in function_lines(function, ctx, recipes_of(ctx))]
    at = lines.index("%0 = arith.index_cast %arg1 : i32 to index")
    assert lines[at + 1] == "%1 = arith.remsi %0, %c2_index : index"
    assert any(line.startswith("%t = pto.multi_tile_get %ring_mb[%4]") for line in lines)


def test_stepped_slots_need_no_correction_but_others_do() -> None:
    def corrected(index: Any) -> bool:
        text = accepted([b.loop(512, lambda i: [loaded("t", SOURCE, slot(index(i)))], start=3, step=64)])
        return "arith.select" in text

    assert not corrected(lambda i: mod(floordiv(sub(i, 3), 64)))
    assert corrected(lambda i: mod(floordiv(sub(i, 2), 64)))


# -- rings at addresses


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp"])
@pytest.mark.parametrize("index", ["i % 2", "(i + 1) % 2", "1"])
def test_a_ring_is_declared_at_its_address_when_asked(write: Any, planner: str, index: str) -> None:
    text = write(PARAMS, body(index=index), planner=planner, enable_addressed_slots=True)
    [ring] = [line for line in text.splitlines() if "alloc_multi_tile" in line]
    [single] = [line for line in text.splitlines() if "alloc_tile" in line]
    at, other = (int(line.split("addr = %c")[1].split("_i64")[0]) for line in (ring, single))
    # Two slots of 64 * 64 * 4 bytes, and a tile of one of them.
    assert at + 2 * 16384 <= other or other + 16384 <= at
    assert text.count("pto.multi_tile_get %ring_mb[") == 1 and "arith.index_cast" not in text


@pytest.mark.parametrize("second", [0, 3])
def test_an_address_is_what_is_left_without_the_slot(write: Any, second: int) -> None:
    """Two rings lie one behind the other, whatever slots are taken of them."""
    lines = f"""
for i in pl.range(4):
    t: pl.Tile[[8, 64], pl.FP32, pl.MemRef("one", slots=3)[i % 3], pl.Mem.Vec] = pl.load(a, [0, 0], [8, 64])
    u: pl.Tile[[8, 64], pl.FP32, pl.MemRef("two", slots=4)[{second}], pl.Mem.Vec] = pl.load(a, [0, 0], [8, 64])
    e = pl.add(t, u)
    out = pl.store(e, [0, 0], out)
return out
"""
    text = write(PARAMS, lines, enable_addressed_slots=True)
    rings = [line for line in text.splitlines() if "alloc_multi_tile" in line]
    one, two = (int(line.split("addr = %c")[1].split("_i64")[0]) for line in rings)
    assert one + 3 * 2048 <= two or two + 4 * 2048 <= one


@pytest.mark.parametrize(("stmts", "message"), [x[1:] for x in BLOCKERS], ids=[x[0] for x in BLOCKERS])
def test_with_addresses_a_hint_takes_the_place_of_the_error(stmts: list[Stmt], message: str) -> None:
    ctx = PassContext(options={"enable_addressed_slots": True})
    function = b.function("k", [SOURCE, N], stmts, kind=FunctionType.AIV)
    types = TypeWriter(None)
    assert addressed_regions(function, types, ctx) == {}
    [hint] = ctx.log
    assert hint.code == "PTO-022" and message in hint.message


def test_a_ring_whose_address_is_no_number_keeps_its_buffers() -> None:
    """The offset of the tile does not follow its slot."""
    ctx = PassContext(options={"enable_addressed_slots": True})
    stmts = each(lambda i: [loaded("t", SOURCE, slot(mod(i), offset=const_index(512)))])
    assert addressed_regions(kernel(stmts), TypeWriter(None), ctx) == {}
    [hint] = ctx.log
    assert hint.code == "PTO-022" and "address of its first slot is not a constant" in hint.message

"""Writes into a tile that is read meanwhile go by a copy, and storage that lowering could not rely on is found."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from buffer_parts import PLANNERS, arrays, source
from selecting import behind, compiled, host, on_buffers

from pypto_core.diagnostics import VerificationError
from pypto_core.ir import (
    BUFFER_IR_SELECTED,
    AssignStmt,
    Call,
    ConstInt,
    DataType,
    ForStmt,
    Function,
    IfStmt,
    MemRef,
    Mutator,
    Program,
    TileType,
    Var,
    base_name,
    last_yield,
    replace,
    structural_equal,
    walk_stmts,
)
from pypto_plugin_buffer_ir.legalise.check import (
    storage_problems,
    verify_tile_storage,
    verify_tile_storage_allocated,
    verify_tile_storage_legalized,
)
from pypto_plugin_buffer_ir.legalise.snapshots import legalize_tile_storage

NOWHERE = SimpleNamespace()
W = "w = pl.load(a, [0, 0], [32, 64])\n"
END = "\npl.store(d, [0, 0], o)"
# name: (body, how many copies are made)
WRITES = {
    "over itself": (W + "s = pl.slice(w, [16, 64], [0, 0])\nd = pl.tile.assemble(w, s, [8, 0])" + END, 1),
    "apart": (W + "s = pl.slice(w, [16, 64], [0, 0])\nd = pl.tile.assemble(w, s, [16, 0])" + END, 0),
    "touching": (W + "s = pl.slice(w, [16, 64], [0, 0])\nd = pl.tile.assemble(w, s, [15, 0])" + END, 1),
    "side by side in common rows": (
        W + "s = pl.slice(w, [16, 32], [0, 0])\nd = pl.tile.assemble(w, s, [0, 32])" + END, 1,
    ),
    "exactly where it is": (W + "s = pl.slice(w, [16, 64], [n, 0])\nd = pl.tile.assemble(w, s, [n, 0])" + END, 0),
    "somewhere": (W + "s = pl.slice(w, [16, 64], [n, 0])\nd = pl.tile.assemble(w, s, [16, 0])" + END, 1),
    "to somewhere": (W + "s = pl.slice(w, [16, 64], [0, 0])\nd = pl.tile.assemble(w, s, [n * 4, 0])" + END, 1),
    "from another tile": (
        W + "v = pl.load(a, [32, 0], [32, 64])\ns = pl.slice(v, [16, 64], [0, 0])\nd = pl.tile.assemble(w, s, [8, 0])"
        + END, 0,
    ),
    "computed": (
        W + "s = pl.slice(w, [16, 64], [0, 0])\nt = pl.add(s, s)\nd = pl.tile.assemble(w, t, [8, 0])" + END, 0,
    ),
    "under another shape": (
        W + "s = pl.reshape(pl.slice(w, [8, 64], [8, 0]), [8, 64])\nd = pl.tile.assemble(w, s, [4, 0])" + END, 1,
    ),
    "after another write": (
        W + "v = pl.load(a, [32, 0], [8, 64])\nc = pl.tile.assemble(w, v, [0, 0])\ns = pl.slice(c, [16, 64], [0, 0])\n"
        "d = pl.tile.assemble(c, s, [8, 0])" + END, 1,
    ),
    "the tile as it was": (
        W + "v = pl.load(a, [32, 0], [8, 64])\ns = pl.slice(w, [16, 64], [0, 0])\nc = pl.tile.assemble(w, v, [0, 0])\n"
        "d = pl.tile.assemble(c, s, [8, 0])" + END, 0,
    ),
    "in a loop": (
        W + "d = w\nfor i in pl.range(n):\n    s = pl.slice(d, [16, 64], [0, 0])\n"
        "    d = pl.tile.assemble(d, s, [8, 0])" + END, 1,
    ),
}  # fmt: skip


def judged(body: str, planner: str = "pypto") -> Function:
    return behind("SelectBufferIRFunctions", source(body), planner)["k"]


def moves(function: Function) -> list[AssignStmt]:
    return [
        s for s in walk_stmts(function.body)
        if isinstance(s, AssignStmt) and isinstance(s.value, Call) and s.value.op.name == "tile.move"
    ]  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_what_is_copied(name):
    body, copies = WRITES[name]
    before = judged(body)
    after = legalize_tile_storage(before, NOWHERE)
    assert len(moves(after)) == copies
    assert (after is before) == (not copies)
    assert legalize_tile_storage(after, NOWHERE) is after


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("name", WRITES)
def test_kernels_compute_the_same(name, planner):
    program = source(WRITES[name][0])
    made = compiled(program, planner).program
    assert on_buffers(made)
    for n in (0, 1, 3):
        inputs = {**arrays(n), "n": n}
        want = host().engine("values").load()(program, inputs).outputs["o"]
        for engine in ("values", "bytes"):
            np.testing.assert_array_equal(host().engine(engine).load()(made, inputs).outputs["o"], want)


def test_the_copy_is_of_the_whole_tile_and_the_windows_are_cut_again():
    nested = W + "t = pl.slice(w, [16, 64], [4, 0])\ns = pl.reshape(t, [16, 64])\n"
    after = legalize_tile_storage(judged(nested + "d = pl.tile.assemble(w, s, [8, 0])" + END), NOWHERE)
    [copy] = moves(after)
    assert copy.value.args[0].name_hint == "w"
    place = copy.var.type.memref
    assert (place.size, place.byte_offset.value) == (32 * 64 * 4, 0)
    again = [
        s for s in walk_stmts(after.body)
        if isinstance(s, AssignStmt) and isinstance(s.value, Call) and s.value.op.name in ("tile.slice", "tile.reshape")
    ]  # fmt: skip
    assert [s.var.name_hint for s in again] == ["t", "s", "t_snapshot", "s_snapshot"]
    assert [s.var.type.memref.base is place.base for s in again] == [False, False, True, True]
    for first, second in zip(again[:2], again[2:], strict=True):
        assert structural_equal(first.var.type.memref.byte_offset, second.var.type.memref.byte_offset)
    assert all(s.span.is_valid for s in (copy, *again))


def test_who_is_left_alone():
    before = replace(judged(WRITES["over itself"][0]), attrs={BUFFER_IR_SELECTED: False})
    assert legalize_tile_storage(before, NOWHERE) is before
    asked = replace(before, attrs={})
    assert len(moves(legalize_tile_storage(asked, NOWHERE))) == 1


def test_names_stay_apart():
    twice = W + "s = pl.slice(w, [16, 64], [0, 0])\nc = pl.tile.assemble(w, s, [8, 0])\n"
    twice += "t = pl.slice(c, [16, 64], [0, 0])\nd = pl.tile.assemble(c, t, [8, 0])" + END
    after = legalize_tile_storage(judged(twice), NOWHERE)
    defined = [s.var.name_hint for s in walk_stmts(after.body) if isinstance(s, AssignStmt)]
    assert len(moves(after)) == 2 and len(defined) == len(set(defined))


# -- VerifyTileStorage

FLOW = """
x = pl.load(a, [0, 0], [16, 64])
y = pl.load(a, [16, 0], [16, 64])
for i in pl.range(n):
    t = x
    x = y
    y = t
if n > 1:
    z = pl.add(x, y)
    u = pl.sub(x, y)
else:
    z = x
    u = y
pl.store(z, [0, 0], o)
pl.store(u, [16, 0], o)
"""


def closed(planner: str = "dsa_rp") -> Function:
    return behind("MaterializeSemanticAliases", source(FLOW), planner)["k"]


class _Elsewhere(Mutator):
    """Puts some variables somewhere else."""

    def __init__(self, places: dict[Var, MemRef | None]) -> None:
        super().__init__()
        self.places = places

    def visit_def(self, var: Var) -> Var:
        if var not in self.places:
            return super().visit_def(var)
        moved = replace(var, type=replace(var.type, memref=self.places[var]))
        self.remap[var] = moved
        return moved


def elsewhere(function: Function, places: dict[Var, MemRef | None]) -> Function:
    return _Elsewhere(places).visit(function)


def found(function: Function, addressed: bool = False) -> list[tuple[int, str]]:
    return [(d.number, d.message.partition(": ")[2]) for d in storage_problems(function, addressed)]


def statement(function: Function, kind: type) -> ForStmt | IfStmt:
    return next(s for s in walk_stmts(function.body) if isinstance(s, kind))


@pytest.mark.parametrize("planner", PLANNERS)
def test_what_planners_leave_is_in_order(planner):
    for name in ("MaterializeSemanticAliases", *(() if planner == "ptoas" else ("AllocateMemoryAddr",))):
        function = behind(name, source(FLOW), planner)["k"]
        assert found(function, name == "AllocateMemoryAddr") == []


def test_a_carry_that_lies_elsewhere():
    function = closed()
    loop = statement(function, ForStmt)
    first, second = loop.return_vars[:2]
    wrong = elsewhere(function, {first: second.type.memref, second: first.type.memref})
    assert {number for number, _ in found(wrong)} == {2}
    assert "must share canonical storage" in found(wrong)[0][1]
    with pytest.raises(VerificationError, match="must share canonical storage"):
        verify_tile_storage(wrong, NOWHERE)
    assert verify_tile_storage(function, NOWHERE) is function
    assert verify_tile_storage(replace(wrong, attrs={BUFFER_IR_SELECTED: False}), NOWHERE) is not None


def test_carries_in_one_place():
    function = closed()
    loop = statement(function, ForStmt)
    one, two = loop.iter_args[:2]
    place = one.type.memref
    tail = last_yield(loop.body)
    same = dict.fromkeys([two, two.init_value, loop.return_vars[1], tail.values[1]], place)
    assert (3, "windows overlap: 'x' and 'y'") in found(elsewhere(function, same))
    half = dict.fromkeys(same, MemRef(place.base, ConstInt(2048, DataType.INT64), place.size))
    assert (3, "windows overlap: 'x' and 'y'") in found(elsewhere(function, half))


def test_an_arm_that_leaves_its_result_elsewhere():
    function = closed()
    first, second = statement(function, IfStmt).return_vars[:2]
    wrong = elsewhere(function, {first: second.type.memref})
    assert [text for number, text in found(wrong) if number == 2] == [
        f"Every tile branch arm must yield its declared storage: '{base_name(first.name_hint)}' does not"
    ] * 2


def test_tiles_without_a_place():
    function = closed()
    tile = next(
        s.var
        for s in walk_stmts(function.body)
        if isinstance(s, AssignStmt) and isinstance(s.var.type, TileType)
    )
    name = base_name(tile.name_hint)
    assert found(elsewhere(function, {tile: None}))[0] == (
        1,
        f"tile '{name}' must have a MemRef and memory space",
    )
    empty = MemRef(tile.type.memref.base, ConstInt(0), 0)
    assert found(elsewhere(function, {tile: empty}))[0][0] == 1
    open_end = MemRef(tile.type.memref.base, function.params[2], 4096)
    assert (1, f"tile '{name}' must have a constant address, from 0 on") in found(
        elsewhere(function, {tile: open_end}), addressed=True
    )


def test_a_copy_over_a_part_of_its_source():
    body = W + "y = pl.move(w, target_memory=pl.Mem.Vec)\nd = pl.add(w, y)" + END
    function = behind("AllocateMemoryAddr", source(body), "dsa_rp")["k"]
    assert found(function, addressed=True) == []
    [copy] = moves(function)
    place = copy.value.args[0].type.memref
    shifted = MemRef(place.base, ConstInt(place.byte_offset.value + 4096, DataType.INT64), place.size)
    assert (4, "a copy overlaps a part of what it reads") in found(
        elsewhere(function, {copy.var: shifted}), addressed=True
    )
    assert (4, "a copy overlaps a part of what it reads") not in found(
        elsewhere(function, {copy.var: place}), addressed=True
    )


def test_the_properties_look_at_kernels_for_buffers_alone():
    function = closed()
    loop = statement(function, ForStmt)
    wrong = elsewhere(function, {loop.return_vars[0]: loop.return_vars[1].type.memref})
    for attrs, errors in (
        ({}, True),
        ({BUFFER_IR_SELECTED: True}, True),
        ({BUFFER_IR_SELECTED: False}, False),
    ):
        program = Program("p", (replace(wrong, attrs=attrs),))
        for verify in (verify_tile_storage_legalized, verify_tile_storage_allocated):
            assert bool(list(verify(program))) == errors

"""Which functions share a module, and what passes between the halves of a mixed kernel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    PTR,
    AssignStmt,
    DataType,
    Function,
    FunctionType,
    MemorySpace,
    MemRef,
    SplitMode,
    Stmt,
    TileType,
    Var,
    const_index,
    replace,
)
from pypto_core.ops import create_call
from pypto_core.run import PassContext
from pypto_core.testing import build as b
from pypto_plugin_pto.checker import check_text
from pypto_plugin_pto.write import emit, modules_of

AIC, AIV = FunctionType.AIC, FunctionType.AIV
A = b.tensor("a", (32, 32))


def at(name: str, call: Any, memref: MemRef | None = None) -> AssignStmt:
    kind = call.type
    assert isinstance(kind, TileType)
    return AssignStmt(Var(name, replace(kind, memref=memref)), call)


def place(name: str) -> MemRef:
    return MemRef(Var(name, PTR), const_index(0), 4096)


def function(name: str, stmts: Iterable[Stmt], kind: FunctionType) -> Function:
    return b.function(name, [A], stmts, kind=kind)


def halves(base: int = 0) -> tuple[Function, Function]:
    """A cube function that reserves a ring in the vector core's peer, and the vector function that fills it."""
    none = SplitMode.NONE.value
    imported = b.let(
        "peer", create_call("system.import_peer_buffer", (), {"name": "ring", "peer_func": "vec"})
    )
    zero = b.let("z", create_call("system.import_peer_buffer", (), {"name": "ring", "peer_func": "vec"}))
    acc = at(
        "acc",
        b.op("tile.create", b.dims(32, 32), dtype=DataType.FP32, target_memory=MemorySpace.Acc),
        place("m"),
    )
    cube = function(
        "cube",
        [
            imported, zero,
            b.do(b.op("system.aic_initialize_pipe", imported.var, zero.var, dir_mask=1, slot_size=4096)),
            acc,
            b.do(b.op("tile.tpush_to_aiv", acc.var, split=none)),
        ],
        AIC,
    )  # fmt: skip
    ring = b.let(
        "buf", create_call("system.reserve_buffer", (), {"name": "ring", "size": 4096, "base": base})
    )
    popped = at("x", b.op("tile.tpop_from_aic", b.dims(32, 32), dtype=DataType.FP32, split=none))
    result = at("y", b.op("tile.exp", popped.var), place("v"))
    vector = function(
        "vec",
        [
            ring,
            b.do(b.op("system.aiv_initialize_pipe", ring.var, ring.var, dir_mask=1, slot_size=4096)),
            popped, result,
            b.do(b.op("system.tfree_to_aic", popped.var, split=none)),
            b.do(b.op("tile.store", result.var, b.dims(0, 0), A)),
        ],
        AIV,
    )  # fmt: skip
    return cube, vector


@pytest.mark.parametrize(("planner", "how"), [("pypto", "auto = false, base = 0"), ("ptoas", "auto = true")])
def test_the_halves_of_a_mixed_kernel_share_a_module(planner: str, how: str) -> None:
    [artifact] = emit(b.program(*halves()), PassContext(planner=planner))
    text = str(artifact.data)
    report = check_text(text)
    assert report.ok, (report.errors, text)
    assert artifact.name == "cube.pto"
    assert text.index("func.func @cube") < text.index("func.func @vec")
    assert "#pto.kernel_kind<cube>" in text and "#pto.kernel_kind<vector>" in text
    rings = "(c2v_consumer_buf = %peer : i32, v2c_consumer_buf = %z : i32)"
    for line in (
        '%peer = pto.import_reserved_buffer {name = "ring", peer_func = @vec} -> i32',
        f'%buf = pto.reserve_buffer {{name = "ring", size = 4096, location = #pto.address_space<vec>, {how}}} -> i32',
        f"pto.aic_initialize_pipe {{dir_mask = 1, slot_size = 4096}} {rings}",
        "pto.tfree_from_aic {split = 0}",
    ):
        assert line in [x.strip() for x in text.splitlines()]
    assert (
        "%x = pto.tpop_from_aic {split = 0} -> !pto.tile_buf<loc=vec, dtype=f32, rows=32, cols=32, v_row=32"
        in text
    )
    assert "pto.texp ins(%x :" in text and "pto.tpush_to_aiv(%acc :" in text


def test_a_ring_without_a_base_is_refused_where_addresses_are_given() -> None:
    with pytest.raises(UserError, match="has no base address"):
        list(emit(b.program(*halves(base=-1)), PassContext()))


def test_a_group_names_the_module_of_what_it_launches() -> None:
    one, two = function("one", [], AIC), function("two", [], AIV)
    lone = function("lone", [], FunctionType.InCore)
    calls = [b.do(b.call(f, A, kind=A.type)) for f in (one, two)]
    group = b.function("both", [A], calls, kind=FunctionType.Group)
    main = b.function("main", [A], [b.do(b.call(group, A, kind=A.type))], kind=FunctionType.Orchestration)
    found = modules_of(b.program(one, two, lone, group, main))
    assert {n: [f.name for f in fs] for n, fs in found.items()} == {"both": ["one", "two"], "lone": ["lone"]}


def test_kernels_call_no_functions() -> None:
    callee = function("callee", [], FunctionType.InCore)
    caller = function("caller", [b.do(b.call(callee, A, kind=A.type))], AIV)
    with pytest.raises(UserError) as error:
        list(emit(b.program(callee, caller), PassContext()))
    assert error.value.diagnostics[0].code == "PTO-013"

"""FoldNoOpReshape: only what is the same tile in the same place."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.ir import AssignStmt, Call, Var, walk_stmts
from pypto_core.testing import assert_same_behaviour
from pypto_plugin_tile.no_op_reshape import fold_no_op_reshape

X, Y = "x: pl.Tensor[[64, 64], pl.FP32]", "y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
BODY = """
t = pl.load(x, [0, 0], [64, 64])
# no change
s = pl.tile.reshape(t, [64, 64])
u = pl.tile.reshape(s, [32, 128])
w = pl.tile.reshape(u, [64, 64])
e = pl.exp(w)
pl.store(e, [0, 0], y)
"""


def placed(kit: Any, program: Any) -> Any:
    if "InitMemRef" not in kit.host.passes:
        pytest.skip("no plugin gives tiles a place")
    return kit.on_functions(kit.host.find_pass("InitMemRef").load(), "910b")(program)


def test_the_same_tile_in_the_same_place_is_another_name(kit: Any) -> None:
    program = kit.kernel(f"{X}, {Y}", BODY)
    transform = kit.on_functions(fold_no_op_reshape)
    assert transform(program) is program, "nothing has a place yet"
    folded = transform(placed(kit, program))
    assert transform(folded) is folded
    values = {s.var.name_hint: s.value for s in walk_stmts(folded["main"].body) if isinstance(s, AssignStmt)}
    assert isinstance(values["s"], Var) and values["s"].name_hint == "t"
    assert all(isinstance(values[name], Call) and values[name].name == "tile.reshape" for name in "uw")
    comments = [c.strip("# ") for s in walk_stmts(folded["main"].body) for c in s.leading_comments]
    assert comments == ["no change"]
    assert_same_behaviour(program, folded, host=kit.host)


def test_only_kernels_are_looked_at(kit: Any) -> None:
    after = placed(kit, kit.kernel(f"{X}, {Y}", BODY, kind="Opaque"))
    assert kit.on_functions(fold_no_op_reshape)(after) is after

"""Types of the matrix unit's operators: accumulator layout, compactness and the checks of K, M and N."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.diagnostics import OpError
from pypto_core.ir import ArgEffect, ConstBool, DataType
from pypto_core.ops import alias_source, may_write

D = DataType


def left(kit: Any, *shape: Any, **rules: Any) -> Any:
    return kit.tile(*shape, **{"dtype": D.BF16, "space": "Left", **rules})


def right(kit: Any, *shape: Any, **rules: Any) -> Any:
    return kit.tile(*shape, **{"dtype": D.BF16, "space": "Right", **rules})


@pytest.mark.parametrize(
    ("lhs", "rhs", "shown"),
    [
        ({}, {}, "[16, 32] fp32 Acc c/r/1024"),
        ({"dtype": D.INT8}, {"dtype": D.INT8}, "[16, 32] int32 Acc c/r/1024"),
        ({"valid": (16, 64)}, {"valid": (64, 20)}, "[16, 32] fp32 Acc c/r/1024 valid [16, 20]"),
        ({"valid": (5, 64)}, {}, "[16, 32] fp32 Acc c/r/1024 valid [5, 32] compact"),
        ({"valid": (5, 48)}, {"valid": (50, 32)}, "[16, 32] fp32 Acc c/r/1024 valid [5, 32] compact"),
        ({"space": None}, {"space": None}, "[16, 32] fp32 Acc c/r/1024"),
    ],
)
def test_matmul(kit: Any, lhs: Any, rhs: Any, shown: str) -> None:
    assert kit.show(kit.of("tile.matmul", left(kit, 16, 64, **lhs), right(kit, 64, 32, **rhs))) == shown


def test_rows_that_are_not_provably_full_are_compact(kit: Any) -> None:
    n = kit.scalar("n")
    kind = kit.of("tile.matmul", left(kit, 16, 64, valid=(n, 64)), right(kit, 64, 32))
    assert kit.show(kind) == "[16, 32] fp32 Acc c/r/1024 valid [n, 32] compact"


def test_unknown_k_is_accepted(kit: Any) -> None:
    n, m = kit.scalar("n"), kit.scalar("m")
    kit.of("tile.matmul", left(kit, 16, 64, valid=(16, n)), right(kit, 64, 32, valid=(m, 32)))
    kit.of("tile.matmul", left(kit, 16, 64, valid=(16, n)), right(kit, 64, 32, valid=(40, 32)))
    kit.of("tile.matmul", left(kit, 16, n), right(kit, m, 32))


@pytest.mark.parametrize(
    ("lhs", "rhs", "message"),
    [
        (((16, 64), {}), ((32, 32), {}), "K of lhs is 64, K of rhs is 32"),
        (((16, 64), {}), ((64, 32), {"dtype": D.FP16}), "'lhs' is bfloat16 and 'rhs' is fp16"),
        (((16, 64), {}), ((64, 32), {"valid": (40, 32)}), "valid K of rhs of 40 is smaller"),
        (((2, 16, 64), {}), ((64, 32), {}), "'lhs' must have 2 axes"),
        (((16, 64), {"dtype": D.BOOL}), ((64, 32), {"dtype": D.BOOL}), "doesn't multiply bool"),
    ],
)
def test_refused_products(kit: Any, lhs: Any, rhs: Any, message: str) -> None:
    with pytest.raises(OpError, match=message) as caught:
        kit.of("tile.matmul", left(kit, *lhs[0], **lhs[1]), right(kit, *rhs[0], **rhs[1]))
    found = caught.value.diagnostics[0]
    assert found.remedy and dict(found.facts)["operator"] == "tile.matmul"


def test_a_tensor_is_no_operand(kit: Any) -> None:
    with pytest.raises(OpError, match="'rhs' of tile.matmul must be a tile") as caught:
        kit.of("tile.matmul", left(kit, 16, 64), kit.tensor(64, 32))
    assert "pl.load" in caught.value.diagnostics[0].remedy


def test_accumulating_keeps_the_accumulators_type(kit: Any) -> None:
    acc = kit.tile(16, 32, space="Acc", valid=(5, 32), compact=True)
    call = kit.call("tile.matmul_acc", acc, left(kit, 16, 64, valid=(5, 64)), right(kit, 64, 32))
    assert call.type is acc.type
    plain = kit.tile(16, 32, space="Acc")
    kind = kit.of("tile.matmul_acc", plain, left(kit, 16, 64, valid=(5, 64)), right(kit, 64, 32))
    assert kind is plain.type  # wider than the product, and compactness is the accumulator's
    assert alias_source(call) == 0 and may_write(call, 0) and not may_write(call, 1)


def test_an_accumulator_of_no_space_yet_becomes_one(kit: Any) -> None:
    acc = kit.tile(16, 32, space=None)
    assert kit.show(kit.of("tile.matmul_acc", acc, left(kit, 16, 64), right(kit, 64, 32))) == (
        "[16, 32] fp32 Acc c/r/1024"
    )


@pytest.mark.parametrize(
    ("acc", "message"),
    [
        (((32, 32), {}), "M of acc is 32, M of the product is 16"),
        (((16, 64), {}), "N of acc is 64, N of the product is 32"),
        (((16, 32), {"valid": (8, 32)}), "valid M of acc of 8 is smaller"),
        (((16, 32), {"dtype": D.INT32}), "add up in fp32, the accumulator is int32"),
        (((2, 16, 32), {}), "'acc' must have 2 axes"),
    ],
)
def test_refused_accumulators(kit: Any, acc: Any, message: str) -> None:
    tile = kit.tile(*acc[0], **{"space": "Acc", **acc[1]})
    with pytest.raises(OpError, match=message):
        kit.of("tile.matmul_acc", tile, left(kit, 16, 64), right(kit, 64, 32))


def test_init_cond_is_a_truth_value(kit: Any) -> None:
    operands = kit.tile(16, 32, space="Acc"), left(kit, 16, 64), right(kit, 64, 32)
    assert len(kit.call("tile.matmul_acc", *operands, ConstBool(True)).args) == 4
    with pytest.raises(OpError, match="'init_cond' .* must be a scalar of type bool"):
        kit.call("tile.matmul_acc", *operands, kit.scalar("k"))


def test_bias(kit: Any) -> None:
    operands = left(kit, 16, 64), right(kit, 64, 32)
    assert kit.show(kit.of("tile.matmul_bias", *operands, kit.tile(1, 32, space="Bias"))) == (
        "[16, 32] fp32 Acc c/r/1024"
    )
    bad = [
        (kit.tile(16, 32, space="Bias"), "the bias has one row"),
        (kit.tile(1, 64, space="Bias"), "columns of bias is 64"),
        (kit.tile(1, 32, space="Bias", valid=(1, 20)), "valid columns of bias of 20"),
        (kit.tile(1, 32, space="Bias", dtype=D.BF16), "added in fp32, it is bfloat16"),
        (kit.tile(32, space="Bias"), "'bias' must have 2 axes"),
    ]
    for bias, message in bad:
        with pytest.raises(OpError, match=message):
            kit.of("tile.matmul_bias", *operands, bias)


def test_batches_broadcast(kit: Any) -> None:
    kind = kit.of("tile.batch_matmul", left(kit, 4, 16, 64), right(kit, 1, 64, 32))
    assert kit.show(kind) == "[4, 16, 32] fp32 Acc c/r/1024"
    acc = kit.tile(4, 16, 32, space="Acc")
    assert kit.of("tile.batch_matmul_acc", acc, left(kit, 4, 16, 64), right(kit, 64, 32)) is acc.type
    with pytest.raises(OpError, match="don't match"):
        kit.of("tile.batch_matmul", left(kit, 4, 16, 64), right(kit, 3, 64, 32))


def test_gemv(kit: Any) -> None:
    assert kit.show(kit.of("tile.gemv", left(kit, 1, 64), right(kit, 64, 32), acc_phase="partial")) == (
        "[1, 32] fp32 Acc c/r/1024"
    )
    with pytest.raises(OpError, match="has one row"):
        kit.of("tile.gemv", left(kit, 16, 64), right(kit, 64, 32))
    with pytest.raises(OpError, match="no acc_phase 'last'"):
        kit.of("tile.gemv", left(kit, 1, 64), right(kit, 64, 32), acc_phase="last")


def test_effects(kit: Any) -> None:
    from pypto_core.ops import builtin_registry

    row = builtin_registry()["tile.matmul_acc"]
    assert row.effect(0) is ArgEffect.ReadWrite and not row.pure

"""Types of the vector unit's operators: element by element, reductions, expansions, comparison, sorting."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.diagnostics import OpError
from pypto_core.ir import VOID, CastMode, ConstFloat, ConstInt, DataType, MemorySpace, PadValue

D, M = DataType, MemorySpace


@pytest.mark.parametrize("name", ["add", "sub", "mul", "maximum", "minimum", "div"])
def test_a_plain_result_is_the_operands_own_type(kit: Any, name: str) -> None:
    lhs, rhs = kit.tile(64, 64), kit.tile(64, 64)
    assert kit.of(f"tile.{name}", lhs, rhs) is lhs.type


@pytest.mark.parametrize(
    ("lhs", "rhs", "shown"),
    [
        (((64, 64), {}), ((1, 64), {}), "[64, 64] fp32 Vec r/n/512"),
        (((1, 64), {}), ((64, 64), {}), "[64, 64] fp32 Vec r/n/512 valid [1, 64]"),
        (((64, 64), {"valid": (40, 64)}), ((64, 64), {}), "[64, 64] fp32 Vec r/n/512 valid [40, 64]"),
        (((64, 64), {}), ((64, 64), {"valid": (40, 64)}), "[64, 64] fp32 Vec r/n/512"),
        (((64, 64), {"dtype": D.FP16}), ((64, 64), {}), "[64, 64] fp32 Vec r/n/512"),
        (((64, 64), {"dtype": D.FP16}), ((64, 64), {"dtype": D.BF16}), "[64, 64] fp16 Vec r/n/512"),
        (((64, 64), {"dtype": D.INT8}), ((64, 64), {"dtype": D.INT32}), "[64, 64] int32 Vec r/n/512"),
        (((64, 64), {"pad": PadValue.min}), ((64, 64), {}), "[64, 64] fp32 Vec r/n/512 min"),
        (((64, 64), {"space": "Acc"}), ((64, 64), {}), "[64, 64] fp32 Vec c/r/512"),
        (((64, 64), {"space": None}), ((64, 64), {}), "[64, 64] fp32 Vec r/n/512"),
        (((64,), {}), ((4, 64), {}), "[4, 64] fp32 Vec r/n/512 valid [1, 64]"),
        (((64, 1), {}), ((64, 1), {}), "[64, 1] fp32 Vec c/n/512"),
    ],
)
def test_binary(kit: Any, lhs: Any, rhs: Any, shown: str) -> None:
    assert kit.show(kit.of("tile.add", kit.tile(*lhs[0], **lhs[1]), kit.tile(*rhs[0], **rhs[1]))) == shown


@pytest.mark.parametrize(
    ("name", "lhs", "rhs", "message"),
    [
        ("add", ((64, 64), {}), ((32, 64), {}), "don't match"),
        ("add", ((64, 64), {}), ((64, 64), {"dtype": D.INT32}), "fp32 and int32 don't mix"),
        ("and", ((64, 64), {}), ((64, 64), {}), "must hold integers"),
        ("div", ((64, 64), {}), ((64, 64), {"dtype": D.FP16}), "'lhs' is fp32 and 'rhs' is fp16"),
        ("div", ((64, 64), {"dtype": D.BF16}), ((64, 64), {"dtype": D.BF16}), "can't be bfloat16"),
        ("div", ((64, 64), {}), ((1, 64), {}), "needs equal shapes"),
        ("div", ((64, 64), {"valid": (40, 64)}), ((64, 64), {}), "provably equal"),
    ],
)
def test_refused_binary(kit: Any, name: str, lhs: Any, rhs: Any, message: str) -> None:
    with pytest.raises(OpError, match=message) as caught:
        kit.of(f"tile.{name}", kit.tile(*lhs[0], **lhs[1]), kit.tile(*rhs[0], **rhs[1]))
    assert caught.value.diagnostics[0].remedy


def test_division_accepts_what_is_provably_equal(kit: Any) -> None:
    from pypto_core.ir import add

    n = kit.scalar("n")
    lhs = kit.tile(64, 64, valid=(add(n, 1), 64))
    kit.of("tile.div", lhs, kit.tile(64, 64, valid=(add(1, n), 64)), high_precision=True)
    with pytest.raises(OpError, match="provably equal"):
        kit.of("tile.div", lhs, kit.tile(64, 64, valid=(n, 64)))
    with pytest.raises(OpError, match="has no option 'high_precision'"):
        kit.of("tile.add", lhs, lhs, high_precision=True)


def test_scalar_forms_keep_the_elements(kit: Any) -> None:
    half = kit.tile(64, 64, dtype=D.FP16, valid=(3, 64))
    assert kit.of("tile.muls", half, ConstFloat(2.0)) is half.type
    whole = kit.tile(64, 64, dtype=D.INT32)
    assert kit.of("tile.shls", whole, ConstInt(2, D.INT32)) is whole.type
    with pytest.raises(OpError, match="the scalar 'rhs' is fp32, the elements are int32"):
        kit.of("tile.adds", whole, ConstFloat(2.0))
    with pytest.raises(OpError, match="the scalar 'rhs' is bool"):
        kit.of("tile.adds", whole, kit.scalar("b", D.BOOL))
    with pytest.raises(OpError, match="must be a scalar"):
        kit.of("tile.adds", whole, whole)


@pytest.mark.parametrize("name", ["exp", "sqrt", "neg", "abs", "relu", "log", "recip", "rsqrt", "sin", "cos"])
def test_unary(kit: Any, name: str) -> None:
    source = kit.tile(64, 64, valid=(3, kit.scalar("n")))
    assert kit.of(f"tile.{name}", source) is source.type


def test_unary_restrictions(kit: Any) -> None:
    assert kit.of("tile.neg", kit.tile(8, 8, dtype=D.INT8)).dtype is D.INT8
    for name, dtype in (("rsqrt", D.BF16), ("sin", D.FP16), ("cos", D.BF16)):
        with pytest.raises(OpError, match="can't be"):
            kit.of(f"tile.{name}", kit.tile(8, 8, dtype=dtype))
    with pytest.raises(OpError, match="must hold integers"):
        kit.of("tile.not", kit.tile(8, 8))


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ({}, "[64, 64] bfloat16 Vec r/n/512"),
        ({"valid": (3, 64)}, "[64, 64] bfloat16 Vec r/n/512 valid [3, 64]"),
        ({"space": "Acc"}, "[64, 64] bfloat16 Vec c/r/512"),
    ],
)
def test_cast(kit: Any, source: Any, shown: str) -> None:
    kind = kit.of("tile.cast", kit.tile(64, 64, **source), target_type=D.BF16, mode=CastMode.rint)
    assert kit.show(kind) == shown


def test_refused_casts(kit: Any) -> None:
    with pytest.raises(OpError, match="is fp32 already"):
        kit.of("tile.cast", kit.tile(8, 8), target_type=D.FP32, mode=CastMode.rint)
    with pytest.raises(OpError, match="has no option 'dtype'"):
        kit.of("tile.cast", kit.tile(8, 8), dtype=D.BF16, mode=CastMode.rint)
    with pytest.raises(OpError, match="needs the option 'target_type'"):
        kit.of("tile.cast", kit.tile(8, 8), mode=CastMode.rint)


@pytest.mark.parametrize(
    ("name", "shape", "valid", "shown"),
    [
        ("row_sum", (16, 64), None, "[16, 1] fp32 Vec c/n/512"),
        ("row_max", (16, 64), (5, 40), "[16, 1] fp32 Vec c/n/512 valid [5, 1]"),
        ("row_min", (1, 64), None, "[1, 1] fp32 Vec c/n/512"),
        ("row_prod", (2, 16, 64), None, "[2, 16, 1] fp32 Vec c/n/512"),
        ("row_argmax", (16, 64), None, "[16, 1] int32 Vec c/n/512"),
    ],
)
def test_row_reductions(kit: Any, name: str, shape: Any, valid: Any, shown: str) -> None:
    assert kit.show(kit.of(f"tile.{name}", kit.tile(*shape, valid=valid), kit.tile(*shape))) == shown


def test_column_reductions(kit: Any) -> None:
    tile = kit.tile(16, 64, valid=(5, 40))
    for name in ("col_sum", "col_max", "col_min", "col_prod"):
        assert kit.show(kit.of(f"tile.{name}", tile)) == "[1, 64] fp32 Vec r/n/512 valid [1, 40]"
    assert (
        kit.show(kit.of("tile.col_sum", tile, kit.tile(16, 64))) == "[1, 64] fp32 Vec r/n/512 valid [1, 40]"
    )
    assert (
        kit.show(kit.of("tile.col_argmin", tile, kit.tile(16, 64)))
        == "[1, 64] int32 Vec r/n/512 valid [1, 40]"
    )


@pytest.mark.parametrize(
    ("source", "scratch", "message"),
    [
        ({"valid": (0, 64)}, ((16, 64), {}), "nothing to reduce"),
        ({}, ((16, 64), {"dtype": D.FP16}), "'tmp_tile' is fp16"),
        ({}, ((16, 32), {}), "tmp_tile's extent of 32 is smaller"),
        ({}, ((1, 16, 64), {}), "'tmp_tile' must have 2 axes"),
    ],
)
def test_refused_reductions(kit: Any, source: Any, scratch: Any, message: str) -> None:
    with pytest.raises(OpError, match=message):
        kit.of("tile.row_sum", kit.tile(16, 64, **source), kit.tile(*scratch[0], **scratch[1]))


def test_reductions_trust_unknown_extents(kit: Any) -> None:
    n = kit.scalar("n")
    kind = kit.of("tile.row_sum", kit.tile(16, 64, valid=(n, n)), kit.tile(n, 64))
    assert kit.show(kind) == "[16, 1] fp32 Vec c/n/512 valid [n, 1]"


MIXES = ("", "_add", "_sub", "_mul", "_div", "_max", "_min", "_expdif")


@pytest.mark.parametrize("mix", MIXES)
def test_expansions_have_the_targets_type(kit: Any, mix: str) -> None:
    target = kit.tile(16, 64, valid=(5, 64))
    assert kit.of(f"tile.row_expand{mix}", target, kit.tile(16, 1)) is target.type
    assert kit.of(f"tile.col_expand{mix}", target, kit.tile(1, 64)) is target.type
    assert kit.of(f"tile.col_expand{mix}", target, kit.tile(64, 1)) is target.type  # its shape is not checked
    with pytest.raises(OpError, match="last extent is 1"):
        kit.of(f"tile.row_expand{mix}", target, kit.tile(1, 64))
    with pytest.raises(OpError, match="not as many rows"):
        kit.of(f"tile.row_expand{mix}", target, kit.tile(8, 1))
    with pytest.raises(OpError, match="is fp16"):
        kit.of(f"tile.col_expand{mix}", target, kit.tile(1, 64, dtype=D.FP16))


def test_expands(kit: Any) -> None:
    target = kit.tile(16, 64)
    assert kit.of("tile.expands", target, ConstFloat(1.0)) is target.type


@pytest.mark.parametrize(
    ("columns", "valid", "shown"),
    [
        (64, None, "[16, 32] uint8 Vec r/n/512 valid [16, 8]"),  # 64 bits in 8 bytes of a row of 32
        (256, None, "[16, 32] uint8 Vec r/n/512"),
        (264, None, "[16, 64] uint8 Vec r/n/512 valid [16, 33]"),
        (64, (5, 20), "[16, 32] uint8 Vec r/n/512 valid [5, 3]"),
    ],
)
def test_masks_hold_one_bit_per_element(kit: Any, columns: int, valid: Any, shown: str) -> None:
    lhs = kit.tile(16, columns, valid=valid)
    mask = kit.call("tile.cmp", lhs, kit.tile(16, columns), cmp_type=2)
    assert kit.show(mask.type) == shown
    assert kit.show(kit.of("tile.cmps", lhs, ConstFloat(0.0), cmp_type=5)) == shown
    tmp = kit.tile(1, 8, dtype=D.UINT32)
    assert kit.of("tile.sel", mask, lhs, kit.tile(16, columns), tmp) is lhs.type
    assert kit.of("tile.sels", mask, lhs, tmp, ConstFloat(0.0)) is lhs.type


def test_refused_comparisons(kit: Any) -> None:
    lhs, tmp = kit.tile(16, 512), kit.tile(1, 8, dtype=D.UINT32)
    with pytest.raises(OpError, match="no comparison 6"):
        kit.of("tile.cmp", lhs, lhs, cmp_type=6)
    with pytest.raises(OpError, match="must be an int, not 'lt'"):
        kit.of("tile.cmp", lhs, lhs, cmp_type="lt")
    narrow = kit.call("tile.cmp", kit.tile(16, 64), kit.tile(16, 64), cmp_type=0)
    with pytest.raises(OpError, match="256 bits a row"):
        kit.of("tile.sel", narrow, lhs, lhs, tmp)
    with pytest.raises(OpError, match="'mask' can't be fp32"):
        kit.of("tile.sel", lhs, lhs, lhs, tmp)


def test_transpose(kit: Any) -> None:
    tile = kit.tile(16, 64, valid=(5, 40))
    assert kit.show(kit.of("tile.transpose", tile, 0, 1)) == "[64, 16] fp32 Vec r/n/512 valid [40, 5]"
    assert (
        kit.show(kit.of("tile.transpose", kit.tile(1, 64), 0, -1, kit.tile(1, 64)))
        == "[64, 1] fp32 Vec c/n/512"
    )
    with pytest.raises(OpError, match="'axis2' must be a constant from -2 to 1"):
        kit.of("tile.transpose", tile, 0, 2)


def test_ramp(kit: Any) -> None:
    assert kit.show(kit.of("tile.ci", 0, [1, 64], dtype=D.INT32)) == "[1, 64] int32 Vec r/n/512"
    with pytest.raises(OpError, match="can't be fp32"):
        kit.of("tile.ci", 0, [1, 64], dtype=D.FP32)


@pytest.mark.parametrize("name", ["get_block_idx", "get_block_num", "get_subblock_idx"])
def test_block_queries(kit: Any, name: str) -> None:
    assert kit.of(f"tile.{name}").dtype is D.INDEX and kit.of(f"tensor.{name}").dtype is D.INDEX
    with pytest.raises(OpError, match="takes 0 arguments"):
        kit.of(f"tile.{name}", 1)


def test_gather_scatter_and_sort(kit: Any) -> None:
    source, where = kit.tile(16, 64), kit.tile(16, 8, dtype=D.INT32)
    assert kit.show(kit.of("tile.gather", source, where, where)) == "[16, 8] fp32 Vec r/n/512"
    for pattern, columns in ((1, 32), (2, 32), (3, 16), (6, 16), (7, 64)):
        kind = kit.of("tile.gather_mask", source, mask_pattern=pattern, output_dtype=D.INT32)
        assert kit.show(kind) == f"[16, {columns}] int32 Vec r/n/512"
    assert kit.of("tile.scatter", source, kit.tile(16, 8), where) is source.type
    pairs = kit.of("tile.sort32", source, kit.tile(1, 64, dtype=D.UINT32))
    assert kit.show(pairs) == "[16, 128] fp32 Vec r/n/512"
    half = kit.of("tile.sort32", kit.tile(16, 64, dtype=D.FP16), kit.tile(1, 64, dtype=D.UINT32))
    assert kit.show(half) == "[16, 256] fp16 Vec r/n/512"
    run = kit.tile(1, 128)
    assert kit.show(kit.of("tile.mrgsort_format1", run, block_len=32)) == "[1, 128] fp32 Vec r/n/512"
    assert kit.show(kit.of("tile.mrgsort_format2", run, run, run)) == "[1, 256] fp32 Vec r/n/512"
    assert kit.show(kit.of("tile.mrgsort_format2", run, run, run, run)) == "[1, 384] fp32 Vec r/n/512"
    for bad in (
        lambda: kit.of("tile.gather", source, source, where),
        lambda: kit.of("tile.gather_mask", source, mask_pattern=8),
        lambda: kit.of("tile.gather_mask", source, mask_pattern=1, output_dtype=D.INT16),
        lambda: kit.of("tile.mrgsort_format1", run, block_len=0),
        lambda: kit.of("tile.sort32", kit.tile(16, 64, dtype=D.BF16), where),
    ):
        with pytest.raises(OpError) as caught:
            bad()
        assert caught.value.diagnostics[0].remedy


def test_between_cores(kit: Any) -> None:
    acc = kit.tile(16, 64, space="Acc")
    assert kit.of("tile.tpush_to_aiv", acc, split=0) is VOID
    assert kit.show(kit.of("tile.tpop_from_aic", [16, 64], dtype=D.FP32)) == "[16, 64] fp32 Vec r/n/512"
    assert kit.show(kit.of("tile.tpop_from_aiv", [16, 64], dtype=D.BF16)) == "[16, 64] bfloat16 Mat c/r/512"
    assert kit.show(kit.of("tile.aiv_shard", acc, split=1)) == "[8, 64] fp32 Vec r/n/512"
    assert kit.show(kit.of("tile.aiv_shard", acc, split=2)) == "[16, 32] fp32 Vec r/n/512"
    assert kit.show(kit.of("tile.aiv_shard", kit.tile(5, 64), split=3)) == "[3, 64] fp32 Vec r/n/512"
    assert kit.show(kit.of("tile.aic_gather", kit.tile(8, 64), split=1)) == "[16, 64] fp32 Mat c/r/512"
    for tile, split, message in (
        (kit.tile(5, 64), 1, "odd extent"),
        (kit.tile(16, 64, valid=(5, 64)), 1, "only a fully valid tile"),
        (acc, 5, "no split 5"),
    ):
        with pytest.raises(OpError, match=message):
            kit.of("tile.aiv_shard", tile, split=split)

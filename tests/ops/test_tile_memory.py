"""Types of loads, stores, moves, creations and extracts; figures by hand from the rules of the machine."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    PTR,
    VOID,
    ArgEffect,
    AtomicType,
    CastMode,
    ConstFloat,
    ConstInt,
    DataType,
    MemorySpace,
    TensorType,
    TileLayout,
    structural_equal,
)
from pypto_core.ops import builtin_registry, create_call, rebuild_call

M, D = MemorySpace, DataType


@pytest.mark.parametrize(
    ("window", "layout", "space", "shown"),
    [
        ([64, 64], "ND", M.Vec, "[64, 64] fp32 Vec r/n/512"),
        ([64, 1], "ND", M.Vec, "[64, 1] fp32 Vec c/n/512"),
        ([1, 1], "ND", M.Vec, "[1, 1] fp32 Vec c/n/512"),
        ([64, 64], "ND", M.Mat, "[64, 64] fp32 Mat c/r/512"),
        ([1, 64], "ND", M.Mat, "[1, 64] fp32 Mat r/n/512"),
        ([64, 1], "ND", M.Mat, "[64, 1] fp32 Mat c/r/512"),
        ([64, 64], "DN", M.Mat, "[64, 64] fp32 Mat r/c/512"),
        ([64, 1], "DN", M.Mat, "[64, 1] fp32 Mat r/n/512"),
        ([1, 64], "DN", M.Mat, "[1, 64] fp32 Mat r/c/512"),
        ([64, 64], "ND", None, "[64, 64] fp32 ? r/n/512"),
        ([64, 1], "ND", None, "[64, 1] fp32 ? c/n/512"),
    ],
)
def test_load_layout(kit: Any, window: list[int], layout: str, space: M | None, shown: str) -> None:
    options = {} if space is None else {"target_memory": space}
    assert (
        kit.show(kit.of("tile.load", kit.tensor(128, 128, layout=layout), [0, 0], window, **options)) == shown
    )


def test_a_load_without_a_space_takes_the_boxes_of_the_one_it_gets(kit: Any) -> None:
    from pypto_core.ir import replace

    kind = kit.of("tile.load", kit.tensor(128, 64), [0, 0], [64, 64])
    assert kind.tile_view is None
    assert kit.show(replace(kind, memory_space=M.Mat)) == "[64, 64] fp32 Mat c/r/512"


def test_load_fills_in_the_valid_shape(kit: Any) -> None:
    call = kit.call("tile.load", kit.tensor(128, 64), [0, 0], [64, 64], target_memory=M.Vec)
    assert len(call.args) == 4 and call.args[3] is call.args[2]
    assert kit.show(rebuild_call(call, call.args).type) == kit.show(call.type)


@pytest.mark.parametrize(
    ("valid", "offsets", "request_", "clamp", "shown"),
    [
        (None, [0, 0], [40, 64], False, "[64, 64] fp32 Vec r/n/512 valid [40, 64]"),
        ((100, 64), [64, 0], None, False, "[64, 64] fp32 Vec r/n/512 valid [36, 64]"),
        ((100, 64), [64, 0], [10, 64], False, "[64, 64] fp32 Vec r/n/512 valid [10, 64]"),
        (None, [96, 0], [32, 64], False, "[64, 64] fp32 Vec r/n/512 valid [32, 64]"),
        (None, [96, 0], None, True, "[64, 64] fp32 Vec r/n/512 valid [32, 64]"),
    ],
)
def test_load_valid(kit: Any, valid: Any, offsets: Any, request_: Any, clamp: bool, shown: str) -> None:
    options = {"target_memory": M.Vec, **({"clamp": True} if clamp else {})}
    more = [] if request_ is None else [request_]
    got = kit.of("tile.load", kit.tensor(128, 64, valid=valid), offsets, [64, 64], *more, **options)
    assert kit.show(got) == shown


def test_load_through_another_rank_takes_the_request_as_it_is(kit: Any) -> None:
    n = kit.scalar("n")
    got = kit.of("tile.load", kit.tensor(4, 16, 64), [2, 0, 0], [16, 64], [n, 64], target_memory=M.Vec)
    assert kit.show(got) == "[16, 64] fp32 Vec r/n/512 valid [n, 64]"


def test_scales_load_into_mat_in_boxes_of_32(kit: Any) -> None:
    scales = kit.tensor(16, 2, dtype=D.FP8E8M0, layout="MX_A_ZZ")
    assert (
        kit.show(kit.of("tile.load", scales, [0, 0], [16, 2], target_memory=M.Mat))
        == "[16, 2] fp8e8m0 Mat r/r/32"
    )
    for bad, options in ((scales, {}), (kit.tensor(16, 2, layout="MX_A_ZZ"), {"target_memory": M.Mat})):
        with pytest.raises(OpError, match="block scales"):
            kit.of("tile.load", bad, [0, 0], [16, 2], **options)


@pytest.mark.parametrize(
    ("args", "options", "message"),
    [
        (([96, 0], [64, 64]), {}, "read ends at 160"),
        (([-1, 0], [64, 64]), {}, "negative"),
        (([0], [64, 64]), {}, "offsets has 1 entries"),
        (([0, 0], [64, 0]), {}, "must be positive"),
        (([0, 0], [64, 64], [65, 64]), {}, "larger than the window"),
        (([0, 0], [64, 64]), {"target_memory": M.Left}, "reaches Vec or Mat"),
        (([0, 0], [64, 64]), {"transpose": True}, "has no option 'transpose'"),
        (([0, 0], [64, 64]), {"target_memory": "Vec"}, "must be a memory space"),
    ],
)
def test_refused_loads(kit: Any, args: Any, options: Any, message: str) -> None:
    with pytest.raises(OpError, match=message) as caught:
        kit.of("tile.load", kit.tensor(128, 64), *args, **options)
    found = caught.value.diagnostics[0]
    assert found.remedy


def test_store_returns_the_tensors_own_type(kit: Any) -> None:
    out = kit.tensor(128, 64)
    assert kit.of("tile.store", kit.tile(64, 64), [kit.scalar("i"), 0], out) is out.type
    partly = kit.tensor(128, 64, valid=(100, 64))
    assert kit.of("tile.store", kit.tile(64, 64), [0, 0], partly) is partly.type


def test_store_grows_what_is_valid(kit: Any) -> None:
    partly = kit.tensor(128, 64, valid=(32, 64))
    got = kit.of("tile.store", kit.tile(64, 64), [32, 0], partly)
    assert kit.show(got) == "[128, 64] fp32 valid [96, 64]"
    full = kit.of("tile.store", kit.tile(64, 64), [64, 0], kit.tensor(128, 64, valid=(64, 64)))
    assert kit.show(full) == "[128, 64] fp32"
    with pytest.raises(OpError, match="leaves a gap"):
        kit.of("tile.store", kit.tile(16, 64), [40, 0], partly)


def test_store_needs_only_the_valid_source_to_fit(kit: Any) -> None:
    out = kit.tensor(40, 64)
    assert kit.of("tile.store", kit.tile(64, 64, valid=(40, 64)), [0, 0], out) is out.type
    with pytest.raises(OpError, match="write ends at 64"):
        kit.of("tile.store", kit.tile(64, 64), [0, 0], out)


def test_partitioned_and_lower_rank_stores_keep_the_type(kit: Any) -> None:
    out = kit.tensor(4, 16, 64, valid=(1, 16, 64))
    assert kit.of("tile.store", kit.tile(16, 64), [3, 0, 0], out) is out.type
    assert kit.of("tile.store", kit.tile(16, 64), [3, 0, 0], out, [1, 16, 64]) is out.type


@pytest.mark.parametrize("dtype", [D.FP32, D.BF16, D.FP16, D.INT32, D.INT16, D.INT8])
def test_atomic_stores(kit: Any, dtype: DataType) -> None:
    kit.of("tile.store", kit.tile(16, 64, dtype=dtype), [0, 0], kit.tensor(16, 64), atomic=AtomicType.Add)


def test_atomic_refuses_what_memory_cannot_add(kit: Any) -> None:
    with pytest.raises(OpError, match="can't add uint8"):
        kit.of(
            "tile.store", kit.tile(16, 64, dtype=D.UINT8), [0, 0], kit.tensor(16, 64), atomic=AtomicType.Add
        )
    kit.of("tile.store", kit.tile(16, 64, dtype=D.UINT8), [0, 0], kit.tensor(16, 64), atomic=AtomicType.None_)


@pytest.mark.parametrize(
    ("source", "options", "shown"),
    [
        ({}, {"target_memory": M.Mat}, "[64, 64] fp32 Mat c/r/512"),
        ({"space": "Mat"}, {"target_memory": M.Left}, "[64, 64] fp32 Left c/r/512"),
        ({"space": "Mat"}, {"target_memory": M.Right}, "[64, 64] fp32 Right r/c/512"),
        ({"space": "Mat"}, {"target_memory": M.Vec}, "[64, 64] fp32 Vec c/r/512"),
        ({"space": "Acc"}, {"target_memory": M.Vec}, "[64, 64] fp32 Vec c/r/512"),
        ({"space": "Acc", "valid": (8, 64), "compact": True}, {"target_memory": M.Mat},
         "[64, 64] fp32 Mat c/r/512 valid [8, 64]"),
        ({"space": "Mat", "layout": "rn"}, {"target_memory": M.Bias}, "[64, 64] fp32 Bias r/n/512"),
        ({"space": "Mat"}, {"target_memory": M.Vec, "blayout": TileLayout.row_major, "slayout": TileLayout.none_box},
         "[64, 64] fp32 Vec r/n/512"),
    ],
)  # fmt: skip
def test_move_layout(kit: Any, source: Any, options: Any, shown: str) -> None:
    assert kit.show(kit.of("tile.move", kit.tile(64, 64, **source), **options)) == shown


def test_move_of_a_column_into_right_is_row_major(kit: Any) -> None:
    assert (
        kit.show(kit.of("tile.move", kit.tile(64, 1), target_memory=M.Right)) == "[64, 1] fp32 Right r/c/512"
    )


def test_move_needs_its_target(kit: Any) -> None:
    with pytest.raises(OpError, match="needs the option 'target_memory'"):
        kit.of("tile.move", kit.tile(64, 64))
    with pytest.raises(OpError, match="can't be moved to DDR"):
        kit.of("tile.move", kit.tile(64, 64), target_memory=M.DDR)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, "[64, 1] fp32 ? c/n/512"),
        ({"target_memory": M.Vec}, "[64, 1] fp32 Vec c/n/512"),
        ({"target_memory": M.Mat}, "[64, 1] fp32 Mat c/r/512"),
        ({"target_memory": M.Mat, "transpose": True}, "[64, 1] fp32 Mat r/c/512"),
        ({"target_memory": M.Mat, "flat_layout": True}, "[64, 1] fp32 Mat r/n/512"),
        ({"target_memory": M.Acc}, "[64, 1] fp32 Acc c/r/1024"),
        ({"target_memory": M.Acc, "compact": True}, "[64, 1] fp32 Acc c/r/1024 compact"),
    ],
)
def test_create(kit: Any, options: Any, shown: str) -> None:
    assert kit.show(kit.of("tile.create", [64, 1], dtype=D.FP32, **options)) == shown


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ([64, 0], {}, "positive constants"),
        ([64, "n"], {}, "positive constants"),
        ([], {}, "shape is empty"),
        ([16, 16], {"target_memory": M.LeftScale}, "can't be created in LeftScale"),
        ([16, 16], {"target_memory": M.DDR}, "lives on chip"),
        ([16, 16], {"target_memory": M.Vec, "transpose": True}, "two-dimensional tiles in Mat"),
        ([16, 16], {"target_memory": M.Vec, "flat_layout": True}, "tiles in Mat"),
        ([16, 16], {"target_memory": M.Mat, "flat_layout": True, "transpose": True}, "exclude each other"),
        ([16, 16], {"target_memory": M.Vec, "compact": True}, "for accumulators"),
    ],
)
def test_refused_creations(kit: Any, shape: Any, options: Any, message: str) -> None:
    made = [kit.scalar("n") if d == "n" else d for d in shape]
    with pytest.raises(OpError, match=message) as caught:
        kit.of("tile.create", made, dtype=D.FP32, **options)
    assert caught.value.diagnostics[0].remedy


def test_full_is_row_major_even_as_a_column(kit: Any) -> None:
    kind = kit.of("tile.full", [32, 1], ConstFloat(0.0), dtype=D.FP32)
    assert kit.show(kind) == "[32, 1] fp32 Vec r/n/512" and kind.tile_view is not None
    assert kit.of("tile.full", [32, 64], ConstInt(1), dtype=D.BF16).tile_view is None


@pytest.mark.parametrize(
    ("source", "at", "options", "shown"),
    [
        ({}, (0, 0), {"target_memory": M.Left}, "[16, 32] fp32 Left r/r/512"),
        ({}, (16, 32), {"target_memory": M.Right}, "[16, 32] fp32 Right r/c/512"),
        (
            {"valid": (20, 64)},
            (16, 0),
            {"target_memory": M.Left},
            "[16, 32] fp32 Left r/r/512 valid [4, 32] compact",
        ),
        ({"valid": (20, 64)}, (16, 0), {"target_memory": M.Mat}, "[16, 32] fp32 Mat c/r/512 valid [4, 32]"),
        ({}, (0, 0), {}, "[16, 32] fp32 Vec r/n/512"),
        ({"space": "Acc"}, (0, 0), {"target_memory": M.Acc}, "[16, 32] fp32 Acc c/r/1024"),
    ],
)
def test_extract(kit: Any, source: Any, at: Any, options: Any, shown: str) -> None:
    tile = kit.tile(64, 64, **{"space": "Mat", **source})
    assert kit.show(kit.of("tile.extract", tile, *at, [16, 32], **options)) == shown


def test_extract_with_runtime_offset_guards_a_partial_source(kit: Any) -> None:
    k, n = kit.scalar("k"), kit.scalar("n")
    tile = kit.tile(64, 64, space="Mat", valid=(n, 64))
    kind = kit.of("tile.extract", tile, k, 0, [16, 32], target_memory=M.Left)
    assert kit.show(kind) == "[16, 32] fp32 Left r/r/512 valid [min(max(n - k, 0), 16), 32] compact"
    whole = kit.of("tile.extract", kit.tile(64, 64, space="Mat"), k, 0, [16, 32], target_memory=M.Left)
    assert kit.show(whole) == "[16, 32] fp32 Left r/r/512"


def test_extract_must_lie_inside(kit: Any) -> None:
    with pytest.raises(OpError, match="window ends at 72"):
        kit.of("tile.extract", kit.tile(64, 64, space="Mat"), 56, 0, [16, 32], target_memory=M.Left)
    with pytest.raises(OpError, match="must have 2 axes"):
        kit.of("tile.extract", kit.tile(2, 64, 64), 0, 0, [16, 32])


def test_alloc_and_elements(kit: Any) -> None:
    assert kit.of("tile.alloc", memory_space=M.Vec, size=16384) is PTR
    with pytest.raises(OpError, match="can't allocate 0 bytes"):
        kit.of("tile.alloc", memory_space=M.Vec, size=0)
    tile = kit.tile(16, 64)
    assert kit.of("tile.read", tile, [kit.scalar("i"), 0]).dtype is D.FP32
    assert kit.of("tile.write", tile, [0, 63], ConstFloat(1.0)) is VOID
    for bad in ([0], [16, 0], [0, -1]):
        with pytest.raises(OpError):
            kit.of("tile.read", tile, bad)


def test_cast_mode_is_kept_as_its_member(kit: Any) -> None:
    call = kit.call("tile.cast", kit.tile(16, 64), target_type=D.BF16, mode=CastMode.rint)
    assert call.kwargs["mode"] is CastMode.rint
    with pytest.raises(OpError, match="must be a CastMode"):
        kit.call("tile.cast", kit.tile(16, 64), target_type=D.BF16, mode=1)


def test_store_effects() -> None:
    row = builtin_registry()["tile.store"]
    assert row.effect(2) is ArgEffect.Write and row.effect(0) is ArgEffect.Read
    assert row.memory is not None and row.memory.reuses == 2


def test_the_deduced_type_is_the_same_when_deduced_again(kit: Any) -> None:
    call = kit.call("tile.extract", kit.tile(64, 64, space="Mat"), 0, 0, [16, 32], target_memory=M.Left)
    again = rebuild_call(call, call.args)
    assert again is not call and structural_equal(again, call) and again.span is call.span
    out = kit.tensor(128, 64)
    stored = create_call("tile.store", (kit.tile(64, 64), kit.tuple(0, 0), out))
    assert isinstance(stored.type, TensorType) and rebuild_call(stored, stored.args).type is out.type

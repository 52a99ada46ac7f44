"""Types of slices, assembles, reshapes and other looks at a tile."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.diagnostics import OpError
from pypto_core.ir import DataType, MemorySpace, PadValue

M, D = MemorySpace, DataType


@pytest.mark.parametrize(
    ("source", "args", "options", "shown"),
    [
        ({}, ([16, 32], [8, 0]), {}, "[16, 32] fp32 Vec r/n/512"),
        ({"space": "Mat"}, ([16, 32], [0, 32]), {}, "[16, 32] fp32 Mat c/r/512"),
        ({"space": None}, ([16, 32], [0, 32]), {}, "[16, 32] fp32 ? r/n/512"),
        ({}, ([16, 1], [0, 3]), {}, "[16, 1] fp32 Vec c/n/512"),  # implied by the new shape
        ({"pad": PadValue.zero}, ([16, 1], [0, 3]), {}, "[16, 1] fp32 Vec r/n/512 zero"),  # explicit: inherited
        ({"valid": (20, 64)}, ([16, 64], [16, 0]), {}, "[16, 64] fp32 Vec r/n/512 valid [4, 64]"),
        ({}, ([16, 64], [0, 0], [10, 64]), {}, "[16, 64] fp32 Vec r/n/512 valid [10, 64]"),
        ({}, ([1, 64], [5, 0], [], [0]), {}, "[1, 64] fp32 Vec r/n/512"),
        ({}, ([16, 1], [0, 5], [], [1]), {}, "[1, 16] fp32 Vec r/n/512"),
        ({}, ([16, 64], [0, 0]), {"pad_value": PadValue.min}, "[16, 64] fp32 Vec r/n/512 min"),
        ({"space": "Acc", "valid": (20, 64), "compact": True}, ([16, 64], [0, 0]), {},
         "[16, 64] fp32 Acc c/r/1024 compact"),
    ],
)  # fmt: skip
def test_slice(kit: Any, source: Any, args: Any, options: Any, shown: str) -> None:
    assert kit.show(kit.of("tile.slice", kit.tile(64, 64, **source), *args, **options)) == shown


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (([16, 64], [56, 0]), "window ends at 72"),
        (([16, 64], [-1, 0]), "negative"),
        (([0, 64], [0, 0]), "positive constants"),
        (([16, 64], [0, 0], [17, 64]), "larger than the window"),
        (([16, 64], [0, 0], [], [0]), "can't be dropped"),
        (([1, 64], [0, 0], [], [2]), "can't be dropped"),
        (([1, 1], [0, 0], [], [0, 0]), "can't be dropped"),
    ],
)
def test_refused_slices(kit: Any, args: Any, message: str) -> None:
    with pytest.raises(OpError, match=message) as caught:
        kit.of("tile.slice", kit.tile(64, 64), *args)
    assert caught.value.diagnostics[0].remedy


def test_assemble_keeps_the_targets_type(kit: Any) -> None:
    target = kit.tile(64, 64, space="Mat", dtype=D.BF16)
    narrow = kit.tile(16, 64, space="Acc")
    assert kit.of("tile.assemble", target, narrow, [kit.scalar("i"), 0]) is target.type


def test_assemble_grows_what_is_valid(kit: Any) -> None:
    got = kit.of("tile.assemble", kit.tile(64, 64, valid=(16, 64)), kit.tile(16, 64), [16, 0])
    assert kit.show(got) == "[64, 64] fp32 Vec r/n/512 valid [32, 64]"
    boxed = kit.tile(64, 64, space="Acc", valid=(16, 64), compact=True)
    got = kit.of("tile.assemble", boxed, kit.tile(16, 64), [16, 0])
    assert kit.show(got) == "[64, 64] fp32 Acc c/r/1024 valid [32, 64] compact"


@pytest.mark.parametrize(
    ("target", "source", "offset", "message"),
    [
        ({}, {"dtype": D.BF16}, [0, 0], "can't write bfloat16 elements into fp32"),
        ({"dtype": D.INT8}, {}, [0, 0], "can't write fp32 elements into int8"),
        ({}, {"valid": (4, 64)}, [56, 0], "write ends at 72"),  # the physical source must fit
        ({}, {}, [0], "offset has 1 entries"),
    ],
)
def test_refused_assembles(kit: Any, target: Any, source: Any, offset: Any, message: str) -> None:
    with pytest.raises(OpError, match=message):
        kit.of("tile.assemble", kit.tile(64, 64, **target), kit.tile(16, 64, **source), offset)


@pytest.mark.parametrize(
    ("source", "shape", "shown"),
    [
        ({}, [64, 16], "[64, 16] fp32 Vec r/n/512"),
        ({}, [1024, 1], "[1024, 1] fp32 Vec c/n/512"),
        ({"space": None}, [1024, 1], "[1024, 1] fp32 ? c/n/512"),
        ({"pad": PadValue.zero}, [8, 128], "[8, 128] fp32 Vec r/n/512 zero"),
        ({"space": "Mat"}, [32, 32], "[32, 32] fp32 Mat c/r/512"),
        ({"space": "Acc", "valid": (8, 64), "compact": True}, [1, 16, 64],
         "[1, 16, 64] fp32 Acc c/r/1024 valid [1, 8, 64] compact"),
    ],
)  # fmt: skip
def test_reshape(kit: Any, source: Any, shape: Any, shown: str) -> None:
    assert kit.show(kit.of("tile.reshape", kit.tile(16, 64, **source), shape)) == shown


def test_reshape_of_a_column_keeps_its_rows(kit: Any) -> None:
    column = kit.tile(16, 1, valid=(5, 1))
    assert kit.show(kit.of("tile.reshape", column, [1, 16])) == "[1, 16] fp32 Vec r/n/512 valid [1, 5]"


def test_set_validshape(kit: Any) -> None:
    acc = kit.tile(64, 64, space="Acc", compact=True)
    n = kit.scalar("n")
    assert (
        kit.show(kit.of("tile.set_validshape", acc, 5, n))
        == "[64, 64] fp32 Acc c/r/1024 valid [5, n] compact"
    )
    assert kit.of("tile.set_validshape", kit.tile(16, 64, valid=(5, 5)), 16, 64).tile_view is None
    for bad in ((65, 64), (64, -1)):
        with pytest.raises(OpError, match="is not within 0 and 64"):
            kit.of("tile.set_validshape", acc, *bad)
    with pytest.raises(OpError, match="must have 2 axes"):
        kit.of("tile.set_validshape", kit.tile(2, 8, 8), 1, 1)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ({"space": "Mat", "valid": (16, 40)}, "[64, 16] fp32 Mat r/c/512 valid [40, 16]"),
        ({}, "[64, 16] fp32 Vec c/n/512"),
        ({"space": "Mat", "layout": "rc"}, "[64, 16] fp32 Mat c/r/512"),
    ],
)
def test_transpose_view(kit: Any, source: Any, shown: str) -> None:
    assert kit.show(kit.of("tile.transpose_view", kit.tile(16, 64, **source))) == shown


def test_reinterpret_view(kit: Any) -> None:
    assert (
        kit.show(kit.of("tile.reinterpret_view", kit.tile(16, 64), dtype=D.INT8))
        == "[16, 256] int8 Vec r/n/512"
    )
    column = kit.tile(64, 1)
    assert kit.show(kit.of("tile.reinterpret_view", column, dtype=D.FP16)) == "[128, 1] fp16 Vec c/n/512"
    shaped = kit.of("tile.reinterpret_view", kit.tile(16, 64), [32, 64], dtype=D.BF16)
    assert kit.show(shaped) == "[32, 64] bfloat16 Vec r/n/512"
    part = kit.of("tile.reinterpret_view", kit.tile(16, 64, valid=(16, 20)), dtype=D.INT16)
    assert kit.show(part) == "[16, 128] int16 Vec r/n/512 valid [16, 40]"


@pytest.mark.parametrize(
    ("source", "args", "dtype", "message"),
    [
        ({"space": "Mat"}, (), D.INT8, "only a flat packed tile"),
        ({"dtype": D.INT8, "shape": (16, 2)}, (), D.FP32, "no whole number"),
        ({}, ([16, 64],), D.BF16, "takes 2048 bytes, the tile has 4096"),
        ({"valid": (8, 64)}, ([32, 64],), D.BF16, "partly valid"),
    ],
)
def test_refused_reinterpretations(kit: Any, source: Any, args: Any, dtype: DataType, message: str) -> None:
    rules = dict(source)
    shape = rules.pop("shape", (16, 64))
    with pytest.raises(OpError, match=message):
        kit.of("tile.reinterpret_view", kit.tile(*shape, **rules), *args, dtype=dtype)


def test_fillpad(kit: Any) -> None:
    tile = kit.tile(16, 64, valid=(5, kit.scalar("n")))
    assert kit.show(kit.of("tile.fillpad", tile)) == "[16, 64] fp32 Vec r/n/512 zero"
    assert (
        kit.show(kit.of("tile.fillpad_inplace", tile, pad_value=PadValue.min))
        == "[16, 64] fp32 Vec r/n/512 min"
    )
    grown = kit.of("tile.fillpad_expand", tile, [32, 128], pad_value=PadValue.max)
    assert kit.show(grown) == "[32, 128] fp32 Vec r/n/512 max"
    with pytest.raises(OpError, match="fills with nothing"):
        kit.of("tile.fillpad", tile, pad_value=PadValue.null)
    with pytest.raises(OpError, match="smaller than the tile's 64"):
        kit.of("tile.fillpad_expand", tile, [16, 32])


def test_concat_declares_everything_valid(kit: Any) -> None:
    left, right = kit.tile(16, 64, valid=(5, 5)), kit.tile(16, 32)
    assert kit.show(kit.of("tile.concat", left, right)) == "[16, 96] fp32 Vec r/n/512"
    for bad in (kit.tile(8, 32), kit.tile(16, 32, dtype=D.BF16), kit.tile(kit.scalar("n"), 32)):
        with pytest.raises(OpError):
            kit.of("tile.concat", left, bad)

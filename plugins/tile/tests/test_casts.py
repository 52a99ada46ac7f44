"""LegalizeTileCast: the way round keeps every bit, and what has no way is refused."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import AssignStmt, Call, DataType, replace, walk_stmts
from pypto_core.testing import build as b
from pypto_plugin_tile.casts import holds, legalize_tile_cast

FP32, FP16, BF16 = DataType.FP32, DataType.FP16, DataType.BF16
# What the vector unit of the 910B converts, by its ISA manual; a backend may list more.
ISA = (
    (FP32, FP16), (FP32, BF16), (FP32, DataType.INT16), (FP32, DataType.INT32), (FP32, DataType.INT64),
    (FP16, FP32), (FP16, DataType.INT32), (FP16, DataType.INT16), (FP16, DataType.INT8), (FP16, DataType.UINT8),
    (BF16, FP32), (BF16, DataType.INT32), (DataType.UINT8, FP16), (DataType.INT8, FP16), (DataType.INT16, FP16),
    (DataType.INT16, FP32), (DataType.INT32, FP32), (DataType.INT32, DataType.INT16),
    (DataType.INT32, DataType.INT64), (DataType.INT64, DataType.INT32), (DataType.INT64, FP32),
)  # fmt: skip


def machine(kit: Any, pairs: Any = ISA) -> Any:
    return attrs.evolve(kit.host.backend("910b"), casts=pairs)


def converting(kit: Any, source: str, target: str, mode: str = "rint") -> Any:
    params = f"a: pl.Tensor[[16, 64], pl.{source}], out: pl.Out[pl.Tensor[[16, 64], pl.{target}]]"
    body = f"""
    t = pl.load(a, [0, 0], [16, 64])
    # what it is about
    c = pl.cast(t, pl.{target}, mode='{mode}')
    pl.store(c, [0, 0], out)
    """
    return kit.kernel(params, body)


def steps(program: Any) -> list[str]:
    return [
        s.value.kwargs["target_type"].name
        for s in walk_stmts(program["main"].body)
        if isinstance(s, AssignStmt) and isinstance(s.value, Call) and s.value.name == "tile.cast"
    ]


@pytest.mark.parametrize(
    ("source", "target", "way"),
    [
        ("INT8", "FP32", ["FP16", "FP32"]),
        ("UINT8", "FP32", ["FP16", "FP32"]),
        ("INT8", "INT16", ["FP16", "INT16"]),
        ("BF16", "FP16", ["FP32", "FP16"]),
        ("FP16", "BF16", ["FP32", "BF16"]),
        ("INT16", "BF16", ["FP32", "BF16"]),
        ("FP32", "FP16", ["FP16"]),
    ],
)
@pytest.mark.parametrize("mode", ["rint", "round", "floor", "trunc"])
def test_the_way_round_gives_the_same_bits(
    kit: Any, source: str, target: str, way: list[str], mode: str
) -> None:
    program = converting(kit, source, target, mode)
    transform = kit.on_functions(legalize_tile_cast, machine(kit))
    after = kit.prove(transform, program, inputs=[None, None, None])
    assert steps(after) == way
    assert transform(after) is after
    assert (after is program) == (len(way) == 1)
    comments = [c.strip("# ") for s in walk_stmts(after["main"].body) for c in s.leading_comments]
    assert comments == ["what it is about"]


def test_what_the_machine_has_stays(kit: Any) -> None:
    program = converting(kit, "INT8", "FP32")
    for backend in (None, "910b", machine(kit, ())):
        assert kit.on_functions(legalize_tile_cast, backend)(program) is program


@pytest.mark.parametrize(("source", "target"), [("INT64", "BF16"), ("INT32", "FP16"), ("INT16", "INT8")])
def test_rounding_twice_is_refused(kit: Any, source: str, target: str) -> None:
    """INT64 leads to FP32, which does not hold it; INT16 to FP32, which does, but saturates where integers wrap."""
    backend = machine(kit, (*ISA, (FP32, DataType.INT8)))
    with pytest.raises(UserError, match=f"doesn't convert {source.lower()} to") as caught:
        kit.on_functions(legalize_tile_cast, backend)(converting(kit, source, target))
    [found] = caught.value.diagnostics
    assert found.code == "PT343" and "pl.cast" in found.span.line_text()


def test_a_conversion_to_the_same_type_is_a_name(kit: Any) -> None:
    a, out = b.tensor("a", [16, 64]), b.tensor("out", [16, 64])
    t = b.let("t", b.op("tile.load", a, b.dims(0, 0), b.dims(16, 64)))
    raw = b.raw_op("tile.cast", [t.var], t.var.type)
    c = b.let("c", replace(raw, kwargs={"target_type": FP32}))
    function = b.kernel("k", [a, out], [t, c, b.do(b.op("tile.store", c.var, b.dims(0, 0), out)), b.ret()])
    after = legalize_tile_cast(function, None)
    [_, alias, *_] = [s for s in walk_stmts(after.body) if isinstance(s, AssignStmt)]
    assert alias.value is t.var and alias.var is c.var


FLOATS = {FP32: np.float32, FP16: np.float16}
INTS = [DataType.INT8, DataType.UINT8, DataType.INT16, DataType.UINT16, DataType.INT32, DataType.UINT32]


def test_what_holds_what_by_trying_every_value() -> None:
    """Against numpy: all values of the narrow integer types and of FP16, through the wide type and back."""
    for narrow in (DataType.INT8, DataType.UINT8, DataType.INT16, DataType.UINT16):
        info = np.iinfo(narrow.name.lower())
        values = np.arange(info.min, info.max + 1, dtype=np.int64)
        for wide, kind in FLOATS.items():
            with np.errstate(over="ignore"):
                kept = bool((values.astype(kind).astype(np.float64) == values).all())
            assert holds(wide, narrow) == kept, (wide, narrow)
        for wide in INTS:
            kept = bool((values.astype(np.dtype(wide.name.lower())).astype(np.int64) == values).all())
            assert holds(wide, narrow) == kept, (wide, narrow)
    half = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    half = half[np.isfinite(half)].astype(np.float64)
    import ml_dtypes

    for wide, kind in ((FP32, np.float32), (BF16, ml_dtypes.bfloat16)):
        assert holds(wide, FP16) == bool((half.astype(kind).astype(np.float64) == half).all())
    for narrow, kind in (
        (DataType.FP8E4M3FN, ml_dtypes.float8_e4m3fn),
        (DataType.FP8E5M2, ml_dtypes.float8_e5m2),
    ):
        eighth = np.arange(256, dtype=np.uint8).view(kind).astype(np.float64)
        eighth = eighth[np.isfinite(eighth)]
        for wide, other in ((FP32, np.float32), (FP16, np.float16), (BF16, ml_dtypes.bfloat16)):
            assert holds(wide, narrow) == bool((eighth.astype(other).astype(np.float64) == eighth).all())
    assert not holds(FP32, DataType.INT32) and not holds(FP16, FP32) and not holds(FP32, DataType.HF8)

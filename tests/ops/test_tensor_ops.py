"""Types of the operators on whole tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    VOID,
    AtomicType,
    CastMode,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    PadValue,
    TensorLayout,
    TensorType,
    Var,
    static_shape,
)
from pypto_core.ops import create_call

D = DataType


def test_creation(kit: Any) -> None:
    assert kit.show(kit.of("tensor.create", [16, kit.scalar("n")], dtype=D.BF16)) == "[16, n] bfloat16"
    dn = kit.of("tensor.create", [16, 64], dtype=D.BF16, layout=TensorLayout.DN, init_value=0)
    assert kit.show(dn) == "[16, 64] bfloat16 DN"
    assert kit.show(kit.of("tensor.full", [16, 64], ConstFloat(0.0), dtype=D.FP32)) == "[16, 64] fp32"
    assert kit.show(kit.of("tensor.ci", 0, [1, 64])) == "[1, 64] int32"
    for bad in ([16, 0], []):
        with pytest.raises(OpError):
            kit.of("tensor.create", bad, dtype=D.FP32)
    with pytest.raises(OpError, match="'init_value' of tensor.create must be a number"):
        kit.of("tensor.create", [16], dtype=D.FP32, init_value=True)


@pytest.mark.parametrize(
    ("source", "args", "options", "shown"),
    [
        ({}, ([16, 64], [32, 0]), {}, "[16, 64] fp32"),
        ({}, ([16, 64], [32, 0], [10, 64]), {}, "[16, 64] fp32 valid [10, 64]"),
        ({"valid": (40, 64)}, ([16, 64], [32, 0]), {}, "[16, 64] fp32 valid [8, 64]"),
        ({}, ([16, 64], [120, 0]), {"clamp": True}, "[16, 64] fp32 valid [8, 64]"),
        ({}, ([16, 64], [120, 0], [8, 64]), {}, "[16, 64] fp32 valid [8, 64]"),
        ({}, ([1, 64], [7, 0], [], [0]), {}, "[64] fp32"),
        ({}, ([16, 64], [0, 0]), {"pad_value": PadValue.zero}, "[16, 64] fp32 zero"),
    ],
)
def test_slice(kit: Any, source: Any, args: Any, options: Any, shown: str) -> None:
    assert kit.show(kit.of("tensor.slice", kit.tensor(128, 64, **source), *args, **options)) == shown


def test_slice_refuses_to_read_behind_the_end(kit: Any) -> None:
    with pytest.raises(OpError, match="read ends at 136") as caught:
        kit.of("tensor.slice", kit.tensor(128, 64), [16, 64], [120, 0])
    assert "clamp=True" in caught.value.diagnostics[0].remedy


def test_assemble(kit: Any) -> None:
    target = kit.tensor(128, 64)
    assert kit.of("tensor.assemble", target, kit.tensor(16, 64), [kit.scalar("i"), 0]) is target.type
    assert kit.of("tensor.assemble", target, kit.tensor(16, 64), [0, 0], atomic=AtomicType.Add) is target.type
    partly = kit.tensor(128, 64, valid=(16, 64))
    assert (
        kit.show(kit.of("tensor.assemble", partly, kit.tensor(16, 64), [16, 0]))
        == "[128, 64] fp32 valid [32, 64]"
    )
    small = kit.tensor(16, 64, valid=(4, 64))
    assert kit.of("tensor.assemble", target, small, [124, 0]) is target.type  # only the valid part must fit
    for source, offset, message in (
        (kit.tensor(16, 64), [120, 0], "write ends at 136"),
        (kit.tensor(16, 64, dtype=D.INT8), [0, 0], "can't write int8 elements into fp32"),
        (kit.tile(16, 64), [0, 0], "must be a tensor"),
    ):
        with pytest.raises(OpError, match=message):
            kit.of("tensor.assemble", target, source, offset)


def test_shape_changes(kit: Any) -> None:
    x = kit.tensor(16, 64, valid=(5, 40))
    assert kit.show(kit.of("tensor.reshape", x, [1, 16, 64])) == "[1, 16, 64] fp32 valid [1, 5, 40]"
    assert kit.show(kit.of("tensor.transpose", x, 0, 1)) == "[64, 16] fp32 valid [40, 5]"
    assert kit.show(kit.of("tensor.view", x, layout=TensorLayout.DN)) == "[16, 64] fp32 DN valid [5, 40]"
    assert kit.show(kit.of("tensor.set_validshape", x, 16, 64)) == "[16, 64] fp32"
    assert kit.show(kit.of("tensor.fillpad", x)) == "[16, 64] fp32 zero"
    assert kit.show(kit.of("tensor.concat", x, kit.tensor(16, 8))) == "[16, 72] fp32"
    assert kit.show(kit.of("tensor.reinterpret_view", x, dtype=D.INT8)) == "[16, 256] int8"
    with pytest.raises(OpError, match="no whole number"):
        kit.of("tensor.reinterpret_view", kit.tensor(16, 3, dtype=D.INT8), dtype=D.FP32)


def test_elements(kit: Any) -> None:
    x = kit.tensor(16, kit.scalar("n"))
    assert kit.of("tensor.dim", x, -1).dtype is D.INDEX
    assert kit.of("tensor.read", x, [0, kit.scalar("i")]).dtype is D.FP32
    assert kit.of("tensor.write", x, [0, 0], ConstFloat(1.0)) is VOID
    for name, args in (
        ("dim", (2,)),
        ("read", ([16, 0],)),
        ("read", ([0],)),
        ("write", ([0, 0], ConstBool(True))),
    ):
        with pytest.raises(OpError) as caught:
            kit.of(f"tensor.{name}", x, *args)
        assert caught.value.diagnostics[0].remedy


def test_arithmetic(kit: Any) -> None:
    x, y = kit.tensor(16, 64), kit.tensor(1, 64)
    for name in ("add", "sub", "mul", "div", "maximum", "minimum"):
        assert kit.of(f"tensor.{name}", x, y) is x.type
    for name in ("adds", "subs", "muls", "divs"):
        assert kit.of(f"tensor.{name}", x, ConstFloat(1.0)) is x.type
    for name in ("exp", "log", "sqrt", "rsqrt", "recip", "neg", "abs"):
        assert kit.of(f"tensor.{name}", x) is x.type
    cast = kit.of("tensor.cast", kit.tensor(16, 64, valid=(5, 64)), target_type=D.BF16, mode=CastMode.rint)
    assert kit.show(cast) == "[16, 64] bfloat16 valid [5, 64]"
    assert kit.show(kit.of("tensor.cmp", x, y, cmp_type=2)) == "[16, 64] fp32"
    with pytest.raises(OpError, match="don't mix"):
        kit.of("tensor.add", x, kit.tensor(16, 64, dtype=D.INT32))


@pytest.mark.parametrize(
    ("name", "options", "shown"),
    [
        ("row_sum", {}, "[16, 1] fp32 valid [5, 1]"),
        ("row_max", {"axis": -1, "keep_dim": True}, "[16, 1] fp32 valid [5, 1]"),
        ("row_min", {"axis": 1, "keep_dim": False}, "[16] fp32 valid [5]"),
        ("col_sum", {}, "[1, 64] fp32 valid [1, 40]"),
        ("col_prod", {"keep_dim": False}, "[64] fp32 valid [40]"),
        ("row_argmax", {}, "[16, 1] int32 valid [5, 1]"),
    ],
)
def test_reductions(kit: Any, name: str, options: Any, shown: str) -> None:
    assert kit.show(kit.of(f"tensor.{name}", kit.tensor(16, 64, valid=(5, 40)), **options)) == shown


def test_refused_reductions(kit: Any) -> None:
    with pytest.raises(OpError, match="runs along axis -1, not 0"):
        kit.of("tensor.row_sum", kit.tensor(16, 64), axis=0)
    with pytest.raises(OpError, match="nothing to reduce"):
        kit.of("tensor.row_sum", kit.tensor(16, 64, valid=(16, 0)))


def test_expansions(kit: Any) -> None:
    x = kit.tensor(16, 64)
    assert kit.of("tensor.row_expand_mul", x, kit.tensor(16, 1)) is x.type
    assert kit.of("tensor.col_expand_mul", x, kit.tensor(1, 64)) is x.type
    assert kit.of("tensor.expands", x, ConstFloat(0.0)) is x.type
    assert kit.of("tensor.expand_clone", kit.tensor(1, 64), x) is x.type
    with pytest.raises(OpError, match="last extent is 1"):
        kit.of("tensor.row_expand_mul", x, kit.tensor(1, 64))
    for column in (kit.tensor(16, 1), kit.tensor(1, 32)):
        with pytest.raises(OpError, match="not as many columns as the target"):
            kit.of("tensor.col_expand_mul", x, column)
    with pytest.raises(OpError, match="more axes"):
        kit.of("tensor.expand_clone", kit.tensor(1, 1, 64), x)


@pytest.mark.parametrize(
    ("lhs", "rhs", "options", "shown"),
    [
        (((16, 64), {}), ((64, 32), {}), {}, "[16, 32] bfloat16"),
        (((16, 64), {}), ((64, 32), {}), {"out_dtype": D.FP32}, "[16, 32] fp32"),
        (((16, 64), {}), ((32, 64), {}), {"b_trans": True, "out_dtype": D.FP32}, "[16, 32] fp32"),
        (((64, 16), {}), ((64, 32), {}), {"a_trans": True}, "[16, 32] bfloat16"),
        (((4, 16, 64), {}), ((64, 32), {}), {}, "[4, 16, 32] bfloat16"),
        (((16, 64), {"valid": (5, 64)}), ((32, 64), {"valid": (20, 64)}), {"b_trans": True},
         "[16, 32] bfloat16 valid [5, 20]"),
        (((16, 64), {}), ((64, 32), {}), {"c_matrix_nz": True}, "[16, 32] bfloat16 NZ"),
    ],
)  # fmt: skip
def test_matmul(kit: Any, lhs: Any, rhs: Any, options: Any, shown: str) -> None:
    a, b = (kit.tensor(*shape, dtype=D.BF16, **rules) for shape, rules in (lhs, rhs))
    assert kit.show(kit.of("tensor.matmul", a, b, **options)) == shown


def test_matmul_checks(kit: Any) -> None:
    a = kit.tensor(16, 64, dtype=D.BF16)
    for b, options, message in (
        (kit.tensor(64, 32, dtype=D.BF16), {"b_trans": True}, "K of lhs is 64, K of rhs is 32"),
        (kit.tensor(64, 32), {}, "'lhs' is bfloat16 and 'rhs' is fp32"),
        (kit.tensor(64, 32, dtype=D.BF16, valid=(40, 32)), {}, "valid K of rhs"),
        (kit.tensor(64, dtype=D.BF16), {}, "at least 2 axes"),
    ):
        with pytest.raises(OpError, match=message):
            kit.of("tensor.matmul", a, b, **options)


def test_matmul_acc(kit: Any) -> None:
    a, b = kit.tensor(16, 64, dtype=D.BF16), kit.tensor(32, 64, dtype=D.BF16)
    acc = kit.tensor(16, 32)
    assert kit.of("tensor.matmul_acc", acc, a, b, ConstBool(False), b_trans=True) is acc.type
    for bad, message in (
        (kit.tensor(16, 64), "N of acc is 64"),
        (kit.tensor(16, 32, dtype=D.BF16), "add up in fp32"),
        (kit.tensor(1, 16, 32), "has 3 axes, the product has 2"),
    ):
        with pytest.raises(OpError, match=message):
            kit.of("tensor.matmul_acc", bad, a, b, b_trans=True)


def test_gather_takes_an_index_or_a_mask(kit: Any) -> None:
    x, where = kit.tensor(16, 64), kit.tensor(16, 8, dtype=D.INT32)
    assert kit.show(kit.of("tensor.gather", x, where, dim=-1)) == "[16, 8] fp32"
    assert kit.show(kit.of("tensor.gather", x, mask_pattern=1, output_dtype=D.UINT32)) == "[16, 32] uint32"
    for args, options in (((x,), {}), ((x, where), {"mask_pattern": 1})):
        with pytest.raises(OpError, match="either an index or a mask_pattern"):
            kit.of("tensor.gather", *args, **options)


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=3), st.lists(st.integers(1, 3), min_size=1, max_size=3)
)
def test_broadcast_agrees_with_numpy(a: list[int], b: list[int]) -> None:
    operands = [Var("x", TensorType(tuple(ConstInt(d) for d in shape), D.FP32)) for shape in (a, b)]
    try:
        expected = np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with pytest.raises(OpError, match="don't match"):
            create_call("tensor.add", operands)
        return
    kind = create_call("tensor.add", operands).type
    assert isinstance(kind, TensorType) and static_shape(kind.shape) == expected

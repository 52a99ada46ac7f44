"""Element types and enumerations: the numbers are part of stored programs and of the public API."""

from __future__ import annotations

import enum

import pytest

from pypto_core import ir
from pypto_core.ir import DataType, int_range

# code, bits
DTYPES = {
    "BOOL": (0x00, 1), "INT4": (0x10, 4), "INT8": (0x11, 8), "INT16": (0x12, 16), "INT32": (0x13, 32),
    "INT64": (0x14, 64), "INDEX": (0x15, 64), "UINT4": (0x20, 4), "UINT8": (0x21, 8), "UINT16": (0x22, 16),
    "UINT32": (0x23, 32), "UINT64": (0x24, 64), "FP4": (0x30, 4), "FP8E4M3FN": (0x31, 8), "FP8E5M2": (0x32, 8),
    "FP16": (0x33, 16), "FP32": (0x34, 32), "FP64": (0x35, 64), "FP8E8M0": (0x36, 8), "BF16": (0x40, 16),
    "HF4": (0x41, 4), "HF8": (0x42, 8), "TASK_ID": (0x50, 64),
}  # fmt: skip
FLOATS = {"FP4", "FP8E4M3FN", "FP8E5M2", "FP8E8M0", "FP16", "FP32", "FP64", "BF16", "HF4", "HF8"}
SIGNED = {"INT4", "INT8", "INT16", "INT32", "INT64", "INDEX"}

ENUMS: dict[type[enum.Enum], dict[str, int]] = {
    ir.MemorySpace: {
        "DDR": 0,
        "Vec": 1,
        "Mat": 2,
        "Left": 3,
        "Right": 4,
        "Acc": 5,
        "Bias": 6,
        "ScalarLocal": 7,
        "LeftScale": 8,
        "RightScale": 9,
    },
    ir.TensorLayout: {"ND": 0, "DN": 1, "NZ": 2, "MX_A_ZZ": 3, "MX_B_NN": 4},
    ir.TileLayout: {"none_box": 0, "row_major": 1, "col_major": 2},
    ir.PadValue: {"null": 0, "zero": 1, "max": 2, "min": 3},
    ir.CompactMode: {"null": 0, "normal": 1},
    ir.ForKind: {"Sequential": 0, "Parallel": 1, "Unroll": 2, "Pipeline": 3},
    ir.FunctionType: {
        "Opaque": 0,
        "Orchestration": 1,
        "InCore": 2,
        "AIC": 3,
        "AIV": 4,
        "Group": 5,
        "Spmd": 6,
        "Inline": 7,
        "Graph": 8,
    },
    ir.FunctionIRStage: {"Functional": 0, "Buffer": 1},
    ir.Level: {
        "AIV": 0,
        "AIC": 1,
        "CORE_GROUP": 2,
        "CHIP_DIE": 3,
        "CHIP": 4,
        "HOST": 5,
        "CLUSTER_0": 6,
        "CLUSTER_1": 7,
        "CLUSTER_2": 8,
        "GLOBAL": 9,
    },
    ir.Role: {"Orchestrator": 0, "SubWorker": 1},
    ir.ParamDirection: {"In": 0, "Out": 1, "InOut": 2},
    ir.ArgDirection: {"Input": 0, "Output": 1, "InOut": 2, "OutputExisting": 3, "NoDep": 4, "Scalar": 5},
    ir.ArgEffect: {"Read": 0, "Write": 1, "ReadWrite": 2},
    ir.SplitMode: {"NONE": 0, "UP_DOWN": 1, "LEFT_RIGHT": 2},
    ir.ScopeKind: {
        "InCore": 0,
        "Cluster": 2,
        "Hierarchy": 3,
        "Spmd": 4,
        "Runtime": 5,
        "CommDomain": 6,
        "SplitAiv": 7,
    },
    ir.ScopeMode: {"AUTO": 0, "MANUAL": 1},
    ir.CoreType: {"CUBE": 0, "VECTOR": 1},
    ir.PipeType: {"MTE1": 0, "MTE2": 1, "MTE3": 2, "M": 3, "V": 4, "S": 5, "FIX": 6, "ALL": 7},
    ir.AtomicType: {"None_": 0, "Add": 1},
    ir.CastMode: {"none": 0, "rint": 1, "round": 2, "floor": 3, "ceil": 4, "trunc": 5, "odd": 6},
    ir.CmpType: {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5},
    ir.NotifyOp: {"AtomicAdd": 0, "Set": 1},
    ir.WaitCmp: {"Eq": 0, "Ne": 1, "Gt": 2, "Ge": 3, "Lt": 4, "Le": 5},
}


def test_the_element_types_and_their_codes() -> None:
    assert {d.name: (d.value, d.bits) for d in DataType} == DTYPES


@pytest.mark.parametrize("dtype", list(DataType), ids=lambda d: d.name)
def test_classes_of_element_types(dtype: DataType) -> None:
    assert dtype.is_float == (dtype.name in FLOATS)
    assert dtype.is_signed == (dtype.name in SIGNED)
    assert dtype.is_int == (dtype.name in SIGNED or dtype.name.startswith("UINT"))


@pytest.mark.parametrize(
    ("dtype", "elements", "size"),
    [
        (DataType.FP4, 1, 1), (DataType.FP4, 2, 1), (DataType.FP4, 7, 4), (DataType.INT4, 64, 32),
        (DataType.BOOL, 3, 3), (DataType.FP16, 3, 6), (DataType.FP32, 256, 1024), (DataType.INDEX, 2, 16),
    ],
)  # fmt: skip
def test_four_bit_elements_share_bytes_and_the_rest_are_whole(
    dtype: DataType, elements: int, size: int
) -> None:
    assert dtype.storage_bytes(elements) == size


def test_names_in_messages() -> None:
    assert [str(d) for d in (DataType.FP32, DataType.BF16, DataType.INDEX)] == ["fp32", "bfloat16", "index"]


@pytest.mark.parametrize(
    ("dtype", "bounds"),
    [
        (DataType.INT4, (-8, 7)),
        (DataType.INT8, (-128, 127)),
        (DataType.UINT16, (0, 65535)),
        (DataType.INDEX, (-9223372036854775808, 9223372036854775807)),
        (DataType.UINT64, (0, 18446744073709551615)),
    ],
)
def test_integer_ranges(dtype: DataType, bounds: tuple[int, int]) -> None:
    assert int_range(dtype) == bounds


@pytest.mark.parametrize("cls", list(ENUMS), ids=lambda c: c.__name__)
def test_the_numbers_of_enumerations(cls: type[enum.Enum]) -> None:
    assert {m.name: m.value for m in cls} == ENUMS[cls]


def test_no_enumeration_was_left_out() -> None:
    found = {getattr(ir, n) for n in ir.__all__ if isinstance(getattr(ir, n), type)}
    enums = {c for c in found if issubclass(c, enum.Enum)} - {DataType}
    assert enums == set(ENUMS)


@pytest.mark.parametrize(
    ("alias", "level"),
    [
        ("L2CACHE", "CHIP_DIE"), ("PROCESSOR", "CHIP"), ("UMA", "CHIP"), ("NODE", "HOST"), ("POD", "CLUSTER_0"),
        ("CLOS1", "CLUSTER_1"), ("CLOS2", "CLUSTER_2"),
    ],
)  # fmt: skip
def test_levels_have_second_names(alias: str, level: str) -> None:
    assert ir.Level[alias] is ir.Level[level]


def test_groups_of_function_types() -> None:
    t = ir.FunctionType
    assert [f for f in t if ir.is_incore_type(f)] == [t.InCore, t.AIC, t.AIV]
    assert [f for f in t if ir.is_orchestration_like(f)] == [t.Orchestration, t.Graph]
    assert [f for f in t if ir.is_wrapper(f)] == [t.Group, t.Spmd]

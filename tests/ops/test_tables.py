"""What every row of the operator tables must satisfy, and facts about them from the machine's manual."""

from __future__ import annotations

import ast
import subprocess
import sys
from enum import Enum
from pathlib import Path

import pytest

import pypto_core.ops as ops
from pypto_core.ir import ArgEffect, CoreType, DataType, MemorySpace, PadValue
from pypto_core.ops import INHERIT, OMIT, REQUIRED, Access, FromOption, Kind, OpDef, builtin_registry

ROWS = tuple(builtin_registry())
TILE_ROWS = [r for r in ROWS if r.namespace == "tile"]
NO_TILE = {"get_block_idx", "get_block_num", "get_subblock_idx"}

OPTION_TYPES: dict[Kind, type | tuple[type, ...]] = {
    Kind.DTYPE: DataType, Kind.SPACE: MemorySpace, Kind.INT: int, Kind.FLOAT: float, Kind.FLAG: bool,
    Kind.TEXT: str, Kind.ENUM: Enum,
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_row(row: OpDef) -> None:
    check_params(row)
    check_memory(row)
    check_effects(row)
    check_scalar_form(row)


def check_params(row: OpDef) -> None:
    assert row.name.count(".") == 1 and row.summary and row.summary[-1] != "."
    names = [p.name for p in row.params]
    assert len(set(names)) == len(names)
    optional = [not p.required for p in row.operands]
    assert optional == sorted(optional), "an operand that may be left out stands before one that may not"
    assert row.least == optional.count(False) and row.most == len(row.operands)
    for param in row.options:
        assert (param.enum is not None) == (param.kind is Kind.ENUM)
        if param.default not in (REQUIRED, OMIT):
            assert isinstance(param.default, OPTION_TYPES[param.kind])
    for param in row.operands:
        assert param.default in (REQUIRED, OMIT)
        assert param.like is None or row.operands[param.like].kind in (Kind.TILE, Kind.TENSOR)


def check_memory(row: OpDef) -> None:
    memory = row.memory
    if row.namespace == "tile":
        assert memory is not None, "a tile operator says what it does to memory"
    if memory is None:
        return
    if memory.inputs:
        assert len(memory.inputs) == len(row.operands)
        for spaces, param in zip(memory.inputs, row.operands, strict=True):
            assert spaces is None or (param.kind is Kind.TILE and spaces)
    if isinstance(memory.output, FromOption):
        assert row.option_table[memory.output.option].kind is Kind.SPACE
    elif memory.output is not None:
        assert memory.output == INHERIT or isinstance(memory.output, MemorySpace)
    for index in (memory.reuses, memory.view_of, *memory.forbids_alias):
        assert index is None or 0 <= index < len(row.operands)
    if memory.view_of is not None and row.namespace == "tile":
        assert memory.output == INHERIT and memory.view_of == 0
    assert memory.reuses is None or memory.view_of is None


def check_effects(row: OpDef) -> None:
    in_place = row.memory is not None and row.memory.reuses is not None
    if in_place:
        assert row.memory is not None
        assert row.effect(row.memory.reuses or 0) is not ArgEffect.Read
    assert not (row.effects and row.pure)
    for index, effect in row.effects.items():
        assert effect is not ArgEffect.Read and 0 <= index < len(row.operands)


def check_scalar_form(row: OpDef) -> None:
    if row.scalar_form is None:
        return
    other = builtin_registry()[row.scalar_form]
    assert [p.name for p in other.params][:2] == [p.name for p in row.params][:2]
    assert other.operands[1].kind is Kind.SCALAR and other.operands[1].like == 0
    assert other.most == row.most


def names(condition: object) -> set[str]:
    return {r.name.removeprefix("tile.") for r in TILE_ROWS if condition(r)}  # type: ignore[operator]


def test_operators_that_may_not_overwrite_their_operands() -> None:
    expected = {
        "recip", "rsqrt", "fmod", "fmods", "ands", "ors", "xors", "row_sum", "row_max", "row_min", "row_prod",
        "row_argmax", "row_argmin", "col_argmax", "col_argmin", "transpose", "concat", "extract", "move",
        "fillpad_expand", "sort32", "mrgsort_format1", "mrgsort_format2", "gather", "gather_mask",
        "aiv_shard", "aic_gather",
    }  # fmt: skip
    assert names(lambda r: not r.memory.inplace_safe) == expected


def test_operators_that_forbid_sharing_with_some_operands() -> None:
    table = {
        r.name.removeprefix("tile."): r.memory.forbids_alias for r in TILE_ROWS if r.memory.forbids_alias
    }  # type: ignore[union-attr]
    mixes = ("add", "sub", "mul", "div", "max", "min", "expdif")
    expected: dict[str, tuple[int, ...]] = {
        "sel": (0, 3),
        "sels": (0,),
        "row_expand": (1,),
        "col_expand": (1,),
    }
    expected |= {f"{side}_expand_{m}": (1,) for side in ("row", "col") for m in mixes}
    # These compute a second time from their operands once their scratch is filled.
    scratch: dict[str, tuple[int, ...]] = {"xor": (2,), "rem": (2,), "rems": (2,)}
    assert table == expected | {"row_expand_add": (1, 2)} | scratch


def test_views_and_operators_in_place() -> None:
    views = {"slice", "reshape", "reinterpret_view", "transpose_view", "assemble", "set_validshape"}
    assert names(lambda r: r.memory.view_of is not None) == views
    in_place = {"matmul_acc": 0, "batch_matmul_acc": 0, "gemv_acc": 0, "fillpad_inplace": 0, "gather_row": 0,
                "scatter": 0, "scatter_mask": 0, "store": 2}  # fmt: skip
    table = {r.name.removeprefix("tile."): r.memory.reuses for r in TILE_ROWS if r.memory.reuses is not None}  # type: ignore[union-attr]
    assert table == in_place


def test_which_operators_touch_no_memory() -> None:
    still = {
        "create",
        "alloc",
        "slice",
        "reshape",
        "set_validshape",
        "transpose_view",
        "reinterpret_view",
        *NO_TILE,
    }
    assert names(lambda r: r.memory.access is Access.NONE) == still


def test_cube_operators() -> None:
    cube = names(lambda r: r.core is CoreType.CUBE)
    products = {f"{m}{t}" for m in ("matmul", "gemv") for t in ("", "_acc", "_bias")}
    assert cube == products | {"batch_matmul", "batch_matmul_acc", "tpush_to_aiv", "tpop_from_aiv"}


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("tile.load", "tensor offsets shapes valid_shape target_memory clamp"),
        ("tile.store", "tile offsets output_tensor shapes atomic"),
        ("tile.move", "tile target_memory blayout slayout"),
        ("tile.create", "shape dtype target_memory transpose flat_layout compact"),
        ("tile.full", "shape dtype value"),
        ("tile.alloc", "memory_space size pinned"),
        ("tile.extract", "src index_row index_col shape target_memory"),
        ("tile.slice", "tile shape offset valid_shape drop_dims pad_value"),
        ("tile.reinterpret_view", "data dtype shape"),
        ("tile.matmul_acc", "acc lhs rhs init_cond"),
        ("tile.cast", "tile target_type mode"),
        ("tensor.create", "shape dtype layout manual_dep init_value"),
        ("tensor.matmul", "lhs rhs out_dtype a_trans b_trans c_matrix_nz"),
    ],
)
def test_written_order(name: str, written: str) -> None:
    assert " ".join(p.name for p in builtin_registry()[name].params) == written


def test_defaults_that_are_written_into_calls() -> None:
    assert builtin_registry()["tile.cast"].option_table["mode"].default.name == "round"
    assert builtin_registry()["tile.cast"].option_table["mode"].as_text
    assert builtin_registry()["tile.fillpad"].option_table["pad_value"].default is PadValue.zero
    assert builtin_registry()["system.reserve_buffer"].option_table["base"].default == -1


SOURCES = sorted(Path(ops.__file__).parent.glob("*.py"))


def test_every_refusal_in_the_sources_has_a_remedy() -> None:
    missing = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            named = (
                isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "OpError"
            )
            if named and not any(k.arg == "remedy" for k in node.keywords):  # type: ignore[attr-defined]
                missing.append(f"{path.name}:{node.lineno}")  # type: ignore[attr-defined]
    assert not missing


def test_tables_are_read_only_when_a_call_is_made() -> None:
    code = "import sys, pypto_core.ops as o; print('pypto_core.ops.tile_memory' in sys.modules);"
    code += "o.builtin_registry(); print('pypto_core.ops.tile_memory' in sys.modules, 'numpy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "True", "False"]

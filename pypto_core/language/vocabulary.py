"""What the names under ``pl`` mean: constants, annotation forms, words of the statements.

One table serves the module's attributes, the parser's look-ups and the proposals in messages.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pypto_core.ir import (
    ArgDirection,
    AtomicType,
    CastMode,
    CmpType,
    CompactMode,
    CoreType,
    DataType,
    ForKind,
    FunctionIRStage,
    FunctionType,
    Level,
    MemorySpace,
    NotifyOp,
    PadValue,
    ParamDirection,
    PipeType,
    Role,
    ScopeMode,
    SplitMode,
    TensorLayout,
    TileLayout,
    WaitCmp,
)  # fmt: skip

ENUMS: Mapping[str, type[enum.Enum]] = MappingProxyType(
    {
        "Mem": MemorySpace,
        "MemorySpace": MemorySpace,
        "TensorLayout": TensorLayout,
        "TileLayout": TileLayout,
        "PadValue": PadValue,
        "CompactMode": CompactMode,
        "SplitMode": SplitMode,
        "FunctionType": FunctionType,
        "FunctionIRStage": FunctionIRStage,
        "Level": Level,
        "Role": Role,
        "ForKind": ForKind,
        "ScopeMode": ScopeMode,
        "PipeType": PipeType,
        "AtomicType": AtomicType,
        "CastMode": CastMode,
        "CmpType": CmpType,
        "CoreType": CoreType,
        "ParamDirection": ParamDirection,
        "ArgDirection": ArgDirection,
        "DataType": DataType,
    }
)
"""Enumerations by their name under ``pl``."""


DISTRIBUTED = "pld"
"""What the names of programs over several devices begin with: they stand in a module of their own."""

DISTRIBUTED_ENUMS: Mapping[str, type[enum.Enum]] = MappingProxyType(
    {"NotifyOp": NotifyOp, "WaitCmp": WaitCmp}
)
"""Enumerations by their name under ``pld``."""


class _Directions:
    """How a call passes an argument: the members of :class:`ArgDirection` in lower case."""

    input = ArgDirection.Input
    output = ArgDirection.Output
    inout = ArgDirection.InOut
    output_existing = ArgDirection.OutputExisting
    no_dep = ArgDirection.NoDep
    scalar = ArgDirection.Scalar


adir = _Directions()

DIRECTIONS: Mapping[str, ArgDirection] = MappingProxyType(
    {name: value for name, value in vars(_Directions).items() if isinstance(value, ArgDirection)}
)

CONSTANTS: Mapping[str, Any] = MappingProxyType(
    {
        **{dtype.name: dtype for dtype in DataType},
        **{layout.name: layout for layout in TensorLayout},
        **ENUMS,
        "adir": adir,
        "AUTO": ScopeMode.AUTO,
        "RUNTIME": None,
        **{f"{DISTRIBUTED}.{name}": owner for name, owner in DISTRIBUTED_ENUMS.items()},
    }
)
"""Names whose value is usable as it is."""

FORMS = frozenset(
    {
        "Tensor", "Tile", "Scalar", "Array", "Tuple", "Ptr", "PtrType", "MemRefType", "UnknownType", "VoidType",
        "TensorView", "TileView", "Out", "InOut", "TaskId", "IntLike", "BufferType", "MultiBufferType",
        "pld.DistributedTensor", "pld.WindowBuffer", "pld.CommCtx",
    }
)  # fmt: skip
"""Words of annotations."""

LOOPS = frozenset({"range", "parallel", "unroll", "pipeline", "while_", "spmd", "split_aiv"})
SCOPES = frozenset({"at", "cluster", "scope", "manual_scope", "spmd", "split_aiv", "comm_domain"})
STATEMENTS = frozenset(
    {"yield_", "cond", "static_print", "static_assert", "func_attr", "dump_tag", "inline_stmt"}
)
EXPRESSIONS = frozenset({"submit", "spmd_submit", "no_dep", "const", "min", "max", "cast", "xor"})
CLAUSES = frozenset({"split", "cross_core_slot", "auto_chunk", "arg_direction", "optimizations"})
DECORATORS = frozenset({"function", "program", "inline"})
OUTSIDE = frozenset({"dynamic", "MemRef", "parse", "loads", "parse_program", "loads_program"})

NAMES = (
    frozenset(CONSTANTS) | FORMS | LOOPS | SCOPES | STATEMENTS | EXPRESSIONS | CLAUSES | DECORATORS | OUTSIDE
)
"""Every name under ``pl`` that is no operator."""

WORDS = LOOPS | SCOPES | STATEMENTS | CLAUSES | frozenset({"submit", "spmd_submit", "no_dep", "xor"})
"""Names that Python sees as :class:`~pypto_core.language.annotations.Word`."""

OP_NAMESPACES = ("tile", "tensor", "system", "array", "prefetch")
"""Groups of operators, in the order in which an unqualified name is looked up."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "create_tile": "tile.create",
        "create_tensor": "tensor.create",
        "get_block_idx": "tensor.get_block_idx",
        "get_block_num": "tensor.get_block_num",
        "get_subblock_idx": "tensor.get_subblock_idx",
        "dim": "tensor.dim",
    }
)
"""Unqualified spellings that always mean one operator."""

RENAMED: Mapping[str, str] = MappingProxyType({"arange": "ci"})
"""Unqualified spellings whose operator has another name in every group."""

BY_OPTION: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "mrgsort": ("block_len", "mrgsort_format1", "mrgsort_format2"),
        "scatter": ("mask_pattern", "scatter_mask", "scatter"),
    }
)
"""Spellings that mean one operator with an option and another one without it: (option, with, without)."""

ONTO = "dst"
"""The argument that such a spelling may name while the source is the first by position."""

MODULES: Mapping[str, str] = MappingProxyType(
    {
        "pypto_core.language": "",
        "pypto.language": "",
        "pypto_core.language.distributed": DISTRIBUTED,
        "pypto.language.distributed": DISTRIBUTED,
    }
)
"""Import names under which the language is known, and what the names in each begin with."""


def spelling(path: str) -> str:
    """A name of the language as it is written: ``pl.tile.load``, ``pld.system.wait``."""
    return path if path.partition(".")[0] == DISTRIBUTED else f"pl.{path}"


def member_spelling(member: enum.Enum) -> str:
    """A member of an enumeration as it is written: ``pl.FP32``, ``pl.MemorySpace.Vec``, ``pld.NotifyOp.Set``."""
    owner = type(member).__name__
    if isinstance(member, DataType):
        return f"pl.{member.name}"
    return f"{DISTRIBUTED if owner in DISTRIBUTED_ENUMS else 'pl'}.{owner}.{member.name}"

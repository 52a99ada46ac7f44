"""The names under ``pl`` that Python sees: forms of annotations, words of statements, groups of operators."""

from __future__ import annotations

from typing import Any

import attrs

from pypto_core.ir import DataType, ScopeMode, TensorLayout
from pypto_core.language.annotations import Form, Word
from pypto_core.language.vocabulary import ALIASES, BY_OPTION, OP_NAMESPACES, RENAMED, spelling


@attrs.frozen(eq=False)
class OpNamespace:
    """A group of operators, such as ``pl.tile``: its attributes are the operators' names."""

    pl_path: str

    def __getattr__(self, name: str) -> Word:
        if name.startswith("__"):
            raise AttributeError(name)
        return operator_at(f"{self.pl_path}.{name}")

    def __dir__(self) -> list[str]:
        prefix = self.pl_path + "."
        return sorted(
            op.name.removeprefix(prefix) for op in _registry(full=True) if op.name.startswith(prefix)
        )

    def __repr__(self) -> str:
        return f"<{spelling(self.pl_path)}>"


def operator_at(path: str) -> Word:
    """The word for an operator written with its group; raises AttributeError when there is none."""
    if _is_operator(path):
        return Word(path)
    raise AttributeError(_unknown(path))


def _registry(full: bool = False) -> Any:
    from pypto_core.ops.registry import (
        active_registry,
        full_registry,
    )  # loaded when the first operator is needed

    return full_registry() if full else active_registry()


def _full_name(path: str) -> str:
    space, _, name = path.rpartition(".")
    name = BY_OPTION[name][1] if name in BY_OPTION else RENAMED.get(name, name).rstrip("_")
    return f"{space}.{name}"


def _is_operator(path: str) -> bool:
    """Whether the kernel has the operator, or a plugin that is looked for then."""
    from pypto_core.ops.registry import find_op

    return find_op(_full_name(path)) is not None


def _unknown(path: str) -> str:
    from pypto_core.language.errors import did_you_mean
    from pypto_core.ops.registry import how_to_get

    near = how_to_get(path) or did_you_mean(path, [op.name for op in _registry(full=True)])
    module, _, name = spelling(path).partition(".")
    return f"{module} has no '{name}'" + (f": {near}" if near else "")


def operator_named(name: str) -> Word:
    """The word for an operator written without its group; raises AttributeError when there is none."""
    known = ALIASES.get(name)
    paths = [known] if known is not None else [f"{group}.{name}" for group in OP_NAMESPACES]
    if any(_full_name(path) in _registry() for path in paths) or any(map(_is_operator, paths)):
        return Word(name)
    raise AttributeError(_unknown(name))


Tensor, Tile, Scalar, Array, Tuple = (
    Form("Tensor"),
    Form("Tile"),
    Form("Scalar"),
    Form("Array"),
    Form("Tuple"),
)
TensorView, TileView, Out, InOut = Form("TensorView"), Form("TileView"), Form("Out"), Form("InOut")
Ptr, PtrType, MemRefType, UnknownType = Form("Ptr"), Form("PtrType"), Form("MemRefType"), Form("UnknownType")
VoidType, TaskId, IntLike = Form("VoidType"), Form("TaskId"), Form("IntLike")
BufferType, MultiBufferType = Form("BufferType"), Form("MultiBufferType")

range_, parallel, unroll, pipeline = Word("range"), Word("parallel"), Word("unroll"), Word("pipeline")
while_, spmd, split_aiv = Word("while_"), Word("spmd"), Word("split_aiv")
at, cluster, scope, manual_scope = Word("at"), Word("cluster"), Word("scope"), Word("manual_scope")
comm_domain, submit, spmd_submit = Word("comm_domain"), Word("submit"), Word("spmd_submit")
split, cross_core_slot, optimizations = Word("split"), Word("cross_core_slot"), Word("optimizations")
auto_chunk = Word("auto_chunk")
yield_, cond, static_print, static_assert = (
    Word("yield_"),
    Word("cond"),
    Word("static_print"),
    Word("static_assert"),
)
func_attr, dump_tag, inline_stmt = Word("func_attr"), Word("dump_tag"), Word("inline_stmt")
no_dep, arg_direction, xor = Word("no_dep"), Word("arg_direction"), Word("xor")

tile, tensor, system, array, prefetch = (
    OpNamespace("tile"),
    OpNamespace("tensor"),
    OpNamespace("system"),
    OpNamespace("array"),
    OpNamespace("prefetch"),
)

BOOL, INDEX, TASK_ID = DataType.BOOL, DataType.INDEX, DataType.TASK_ID
INT4, INT8, INT16, INT32, INT64 = DataType.INT4, DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64
UINT4, UINT8, UINT16, UINT32, UINT64 = (
    DataType.UINT4, DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.UINT64,
)  # fmt: skip
FP4, FP8E4M3FN, FP8E5M2, FP8E8M0 = DataType.FP4, DataType.FP8E4M3FN, DataType.FP8E5M2, DataType.FP8E8M0
FP16, FP32, FP64, BF16, HF4, HF8 = (
    DataType.FP16, DataType.FP32, DataType.FP64, DataType.BF16, DataType.HF4, DataType.HF8,
)  # fmt: skip
ND, DN, NZ, MX_A_ZZ, MX_B_NN = (
    TensorLayout.ND, TensorLayout.DN, TensorLayout.NZ, TensorLayout.MX_A_ZZ, TensorLayout.MX_B_NN,
)  # fmt: skip
AUTO = ScopeMode.AUTO
RUNTIME = None

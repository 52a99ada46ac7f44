"""Which operators have a recipe, and in which module: names only, so that nothing is imported before it is used."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import attrs

from pypto_core.contract import OpEmitter
from pypto_plugin_pto.target import TARGET_NAME

if TYPE_CHECKING:
    from pypto_core.contract import EmitContext
    from pypto_core.ir import Call, Var

_PACKAGE = "pypto_plugin_pto.recipes"

# (module, namespace of the operators) → operators
_FAMILIES: dict[tuple[str, str], str] = {
    (
        "crossing",
        "system",
    ): """aic_initialize_pipe aiv_initialize_pipe import_peer_buffer reserve_buffer tfree_to_aic
    tfree_to_aiv""",
    ("crossing", "tile"): "tpop_from_aic tpop_from_aiv tpush_to_aic tpush_to_aiv",
    (
        "elementwise",
        "tile",
    ): """abs add adds and ands cast ci cmp cmps div divs exp expands fmod fmods full log lrelu
    maximum maximums minimum minimums mul muls neg not or ors recip relu rem rems rsqrt sel sels
    shl shls shr shrs sqrt sub subs xor xors""",
    ("matmul", "tile"): "batch_matmul batch_matmul_acc gemv gemv_acc gemv_bias matmul matmul_acc matmul_bias",
    ("memory", "tensor"): "dim read write",
    ("memory", "tile"): "alloc assemble create extract load move read store write",
    ("queries", "array"): "create get_element update_element",
    ("queries", "system"): "bar_all bar_m bar_v cacheinvalid fence sync_dst sync_src",
    ("queries", "tensor"): "get_block_idx get_block_num get_subblock_idx",
    ("queries", "tile"): "get_block_idx get_block_num get_subblock_idx",
    (
        "reductions",
        "tile",
    ): """col_argmax col_argmin col_expand col_expand_add col_expand_div col_expand_expdif
    col_expand_max col_expand_min col_expand_mul col_expand_sub col_max col_min col_prod col_sum
    row_argmax row_argmin row_expand row_expand_add row_expand_div row_expand_expdif
    row_expand_max row_expand_min row_expand_mul row_expand_sub row_max row_min row_prod row_sum""",
    (
        "sorting",
        "tile",
    ): "gather gather_mask gather_row mrgsort_format1 mrgsort_format2 scatter scatter_mask sort32",
    ("views", "tensor"): "reshape set_validshape slice view",
    (
        "views",
        "tile",
    ): """concat fillpad fillpad_expand fillpad_inplace reinterpret_view reshape set_validshape slice
    transpose transpose_view""",
}


@attrs.frozen
class Deferred:
    """A recipe of this plugin, whose module is imported by its first use."""

    family: str
    op: str

    def __call__(self, ctx: EmitContext, call: Call, result: Var | None) -> None:
        """Write the call."""
        _table(self.family)[self.op](ctx, call, result)


@cache
def _table(family: str) -> dict[str, Any]:
    return import_module(f"{_PACKAGE}.{family}").RECIPES


def recipes() -> dict[str, Deferred]:
    """Operator → recipe, sorted."""
    found = {
        f"{space}.{name}": Deferred(family, f"{space}.{name}")
        for (family, space), names in _FAMILIES.items()
        for name in names.split()
    }
    return dict(sorted(found.items()))


def emitters() -> tuple[OpEmitter, ...]:
    """One row per operator."""
    return tuple(OpEmitter(TARGET_NAME, name, recipe) for name, recipe in recipes().items())

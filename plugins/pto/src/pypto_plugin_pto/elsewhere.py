"""Operators without a recipe, each with the reason: what is done with it before, or why PTO text has nothing for it.

Together with the catalogue of recipes this names every operator of the kernel. An operator that is in neither comes
from another plugin, which brings its recipe itself.
"""

from __future__ import annotations

from functools import cache

import attrs

from pypto_core.diagnostics import UserError
from pypto_core.host import distribution_for
from pypto_core.ir import Call, base_name


@attrs.frozen
class Reason:
    """Why there is no recipe. ``by`` is the pass that replaces the operator, empty where none does."""

    text: str
    remedy: str
    by: str = ""


_TENSORS = Reason(
    "it works on a whole tensor, and kernels compute with tiles",
    "load the operands with pl.load and use the operator of tiles",
    "ConvertTensorToTileOps",
)
_HOST = Reason(
    "it belongs to the functions of the host, which launch kernels",
    "move it into the function that launches this kernel, and pass what it gives as a parameter",
)
_MEMORY = Reason(
    "a kernel allocates no global memory",
    "create a tile with pl.create_tile, or the tensor in the function that launches this kernel",
    "ConvertTensorToTileOps",
)
_COMPOSITE = Reason(
    "it has no instruction of its own and is computed from others",
    "compute the values with the instructions that there are",
    "LowerCompositeOps",
)
_HALVES = Reason(
    "it stands where a kernel of both cores is divided, and each core has a kernel of its own here",
    "write two kernels that hand the tile over with tpush_to_aiv and tpop_from_aic, or tpush_to_aic and tpop_from_aiv",
)
_FLAGS = Reason(
    "the assembler itself sets the flags between cores, around each tpush and tpop",
    "hand data over with tpush_to_* and tpop_from_*, or divide the work into kernels that are launched one by one",
)
_ALL_CORES = Reason(
    "the assembler has pto.syncall, but how it spells the mode and the cores is not known here",
    "divide the work into two kernels: the second is launched when all cores are done with the first",
)

_PREFETCHES = Reason(
    "how the assembler spells a prefetch is not known here",
    "leave it out: it is a hint, and the kernel computes the same without it",
)

# reason → namespace → operators
_TABLE: tuple[tuple[Reason, dict[str, str]], ...] = (
    (
        _TENSORS,
        {
            "tensor": """abs add adds and ands assemble cast ci cmp cmps col_argmax col_argmin col_expand
            col_expand_add col_expand_div col_expand_expdif col_expand_max col_expand_min col_expand_mul
            col_expand_sub col_max col_min col_prod col_sum concat cos div divs exp expand_clone expands fillpad
            fmod fmods full gather gather_row log matmul matmul_acc maximum minimum mrgsort_format1
            mrgsort_format2 mul muls neg not or ors recip reinterpret_view relu rem rems row_argmax row_argmin
            row_expand row_expand_add row_expand_div row_expand_expdif row_expand_max row_expand_min
            row_expand_mul row_expand_sub row_max row_min row_prod row_sum rsqrt scatter scatter_mask shl shls
            shr shrs sin sort32 sqrt sub subs transpose xor xors""",
        },
    ),
    (_MEMORY, {"tensor": "create create_l1"}),
    (
        _HOST,
        {
            "system": """available_aiv_count available_cluster_count dump_tag task_dummy task_invalid
            task_is_valid""",
        },
    ),
    (_FLAGS, {"system": "set_ffts sync_set sync_wait"}),
    (_ALL_CORES, {"system": "syncall"}),
    (_PREFETCHES, {"prefetch": "async_prefetch make_context"}),
    (_HALVES, {"tile": "aic_gather aiv_shard"}),
    (_COMPOSITE, {"tile": "cos sin"}),
)


@cache
def reasons() -> dict[str, Reason]:
    """Operator → why it has no recipe, sorted."""
    found = {
        f"{space}.{name}": reason
        for reason, spaces in _TABLE
        for space, names in spaces.items()
        for name in names.split()
    }
    return dict(sorted(found.items()))


def refusal(call: Call, function: str) -> UserError | None:
    """The error for a call of an operator in this table that is still there; None for any other."""
    name = call.op.name
    reason = reasons().get(name)
    if reason is None:
        return None
    facts = [("operator", name), ("function", base_name(function))]
    remedy = reason.remedy
    if reason.by:
        brought = distribution_for("pass", reason.by)
        facts.append(("replaced by", f"{reason.by}, of {brought}" if brought else reason.by))
        remedy = f"run the pass {reason.by} before, or {remedy}"
    return UserError(
        f"'{name}' can't be written as PTO text: {reason.text}",
        code="PTO-001",
        span=call.span,
        facts=facts,
        remedy=remedy,
    )

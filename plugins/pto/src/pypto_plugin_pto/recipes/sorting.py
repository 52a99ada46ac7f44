"""Gather, scatter and sort."""

from __future__ import annotations

from pypto_core.contract import Operand
from pypto_core.ir import INDEX_ZERO, Call, DataType, MemorySpace, TensorType, Var
from pypto_plugin_pto.emission import Emission, OwnRecipe
from pypto_plugin_pto.recipes.elementwise import tiles
from pypto_plugin_pto.recipes.memory import elements
from pypto_plugin_pto.recipes.writing import given, instruction, need_gapless, tile_type

_MASKS = {1: "P0101", 2: "P1010", 3: "P0001", 4: "P0010", 5: "P0100", 6: "P1000", 7: "P1111"}


def gather(ctx: Emission, call: Call, result: Var | None) -> None:
    """Elements picked by indices, which count through the source."""
    need_gapless(ctx, tile_type(call, 0))
    tiles("tgather")(ctx, call, result)


def sort(ctx: Emission, call: Call, result: Var | None) -> None:
    """Blocks of 32 elements sorted, with their indices."""
    need_gapless(ctx, tile_type(call, 0), tile_type(call, 1))
    tiles("tsort32")(ctx, call, result)


def _masked(ctx: Emission, name: str, call: Call, source: Operand, out: Operand) -> None:
    pattern = _MASKS[call.kwargs["mask_pattern"]]
    ctx.line(
        f"pto.{name} ins({source.name}, {{maskPattern = #pto.mask_pattern<{pattern}>}} : {source.type}, "
        f'"row") outs({out.name} : {out.type})'
    )


def gather_mask(ctx: Emission, call: Call, result: Var | None) -> None:
    """Elements picked by a repeating mask."""
    _masked(ctx, "tgather", call, ctx.storage.handle(call.args[0]), ctx.output(result))


def scatter(ctx: Emission, call: Call, result: Var | None) -> None:
    """Elements put where indices say, over what the destination holds."""
    need_gapless(ctx, tile_type(call, 0))
    out = ctx.output_onto(result, call.args[0])
    instruction(ctx, "tscatter", [ctx.storage.handle(a) for a in call.args[1:]], out)


def scatter_mask(ctx: Emission, call: Call, result: Var | None) -> None:
    """Elements put where a repeating mask is set."""
    out = ctx.output_onto(result, call.args[0])
    _masked(ctx, "tscatter", call, ctx.storage.handle(call.args[1]), out)


def merge_runs(ctx: Emission, call: Call, result: Var | None) -> None:
    """Sorted runs of one list merged by four."""
    need_gapless(ctx, tile_type(call, 0))
    length = ctx.constant(call.kwargs["block_len"], DataType.INT32)
    instruction(ctx, "tmrgsort", [ctx.storage.handle(call.args[0]), length], ctx.output(result))


def merge_lists(ctx: Emission, call: Call, result: Var | None) -> None:
    """Two to four sorted lists merged; the last operand is scratch. How far each list got is not read."""
    if len(call.args) < 3:
        raise ctx.error(
            "the instruction that merges lists needs a scratch tile",
            remedy="create one as large as the result and pass it last: tmp=scratch",
        )
    need_gapless(ctx, *(tile_type(call, at) for at in range(len(call.args))))
    counts = "vector<4xi16>"
    progress = ctx.text.literal("dense<0>", counts, "no_progress")
    ins, out = [ctx.storage.handle(a) for a in call.args], ctx.output(result)
    flag = "true" if call.kwargs.get("exhausted") else "false"
    names, types = ", ".join([i.name for i in ins]), ", ".join([i.type for i in ins])
    ctx.line(
        f"pto.tmrgsort ins({names} {{exhausted = {flag}}} : {types}) "
        f"outs({out.name}, {progress.name} : {out.type}, {counts})"
    )


def gather_row(ctx: Emission, call: Call, result: Var | None) -> None:
    """Whole rows of a tensor picked by index."""
    kind = call.args[1].type
    assert isinstance(kind, TensorType)
    if tile_type(call, 0).memory_space is MemorySpace.Mat:
        raise ctx.error(
            "no instruction picks rows for Mat: those of the vector core write Vec",
            remedy="pick the rows in a kernel of their own, into a tile in Vec that it stores to a tensor, and load "
            "that tensor here",
            needed="Mat",
            available="Vec",
        )
    out = ctx.output_onto(result, call.args[0])
    valid = given(call, 3)
    sizes = kind.shape if valid is None else elements(ctx, valid)
    window = ctx.partition(call.args[1], [INDEX_ZERO] * len(kind.shape), sizes)
    indices = ctx.storage.handle(call.args[2])
    instruction(ctx, "mgather", [window, indices], out, after=" {coalesce = #pto<coalesce row>}")


RECIPES: dict[str, OwnRecipe] = {
    "tile.gather": gather,
    "tile.gather_mask": gather_mask,
    "tile.gather_row": gather_row,
    "tile.scatter": scatter,
    "tile.scatter_mask": scatter_mask,
    "tile.sort32": sort,
    "tile.mrgsort_format1": merge_runs,
    "tile.mrgsort_format2": merge_lists,
}
"""Operator → recipe."""

"""The matrix unit. An accumulating product names its accumulator twice: read and written, one buffer."""

from __future__ import annotations

from pypto_core.contract import Operand
from pypto_core.ir import Call, ConstBool, ConstInt, Expr, TileType, Var
from pypto_plugin_pto.emission import Emission, OwnRecipe
from pypto_plugin_pto.recipes.writing import given, instruction, tile_type
from pypto_plugin_pto.storage import same_place


def _check_pair(ctx: Emission, call: Call, first: int) -> None:
    backend = ctx.backend
    if backend is None or not backend.matmul_dtypes:
        return
    dtype = tile_type(call, first).dtype
    if dtype not in [pair[0] for pair in backend.matmul_dtypes]:
        raise ctx.error(
            f"the matrix unit of {backend.title} multiplies no {dtype} elements",
            remedy="convert both operands with pl.cast before they are moved to Left and Right",
            accepted=", ".join(pair[0].text for pair in backend.matmul_dtypes),
        )


def _phase(call: Call) -> str:
    phase = call.kwargs.get("acc_phase")
    return f" {{accPhase = #pto<acc_phase {phase}>}}" if phase is not None else ""


def _check_rank(ctx: Emission, call: Call, first: int) -> None:
    """A batch of products is a product where there is one matrix on either side."""
    if any(len(tile_type(call, at).shape) > 2 for at in (first, first + 1)):
        raise ctx.error(
            "the matrix unit multiplies one matrix by another, not batches of them",
            remedy="run the pass FlattenTileNdTo2D before, or loop over the batch and multiply its matrices",
        )


def product(mnemonic: str) -> OwnRecipe:
    """Left, right and perhaps a bias."""

    def write(ctx: Emission, call: Call, result: Var | None) -> None:
        _check_rank(ctx, call, 0)
        _check_pair(ctx, call, 0)
        ins = [ctx.storage.handle(a) for a in call.args]
        instruction(ctx, mnemonic, ins, ctx.output(result), after=_phase(call))

    return write


def accumulated(mnemonic: str) -> OwnRecipe:
    """Accumulator, left, right and perhaps the condition under which the accumulator is started anew."""

    def write(ctx: Emission, call: Call, result: Var | None) -> None:
        _check_rank(ctx, call, 1)
        _check_pair(ctx, call, 1)
        condition = given(call, 3)
        known = _known(condition)
        left, right = ctx.storage.handle(call.args[1]), ctx.storage.handle(call.args[2])
        if known is True:
            instruction(ctx, mnemonic, [left, right], _fresh(ctx, call, result), after=_phase(call))
            return
        acc = ctx.output_onto(result, call.args[0])
        if condition is None or known is False:
            _add(ctx, mnemonic, acc, left, right, _phase(call))
            return
        text = ctx.text
        truth = ctx.scalars.truth(condition)
        text.bare(f"scf.if {truth.name} {{")
        with text.block():
            instruction(ctx, mnemonic, [left, right], acc, after=_phase(call))
        text.bare("} else {")
        with text.block():
            _add(ctx, mnemonic, acc, left, right, _phase(call))
        text.bare("}")

    return write


def _add(ctx: Emission, mnemonic: str, acc: Operand, left: Operand, right: Operand, phase: str) -> None:
    instruction(ctx, f"{mnemonic}.acc", [acc, left, right], acc, after=phase)


def _fresh(ctx: Emission, call: Call, result: Var | None) -> Operand:
    """The accumulator when what it held does not matter: no copy is needed where it lies elsewhere."""
    kind = result.type if result is not None else call.type
    assert isinstance(kind, TileType)
    if same_place(kind.memref, ctx.storage.handle(call.args[0]).kind.memref):
        return ctx.output_onto(result, call.args[0])
    return ctx.output(result)


def _known(condition: Expr | None) -> bool | None:
    if isinstance(condition, ConstBool | ConstInt):
        return bool(condition.value)
    return None


RECIPES: dict[str, OwnRecipe] = {
    "tile.matmul": product("tmatmul"),
    "tile.matmul_bias": product("tmatmul.bias"),
    "tile.matmul_acc": accumulated("tmatmul"),
    "tile.batch_matmul": product("tmatmul"),
    "tile.batch_matmul_acc": accumulated("tmatmul"),
    "tile.gemv": product("tgemv"),
    "tile.gemv_bias": product("tgemv.bias"),
    "tile.gemv_acc": accumulated("tgemv"),
}
"""Operator → recipe."""

"""Reductions of rows and columns, and values spread over them."""

from __future__ import annotations

from pypto_core.ir import Call, Var
from pypto_plugin_pto.emission import Emission, OwnRecipe
from pypto_plugin_pto.recipes.writing import check_element, instruction
from pypto_plugin_pto.storage import TileHandle


def reduction(mnemonic: str) -> OwnRecipe:
    """A tile and perhaps a scratch tile."""

    def write(ctx: Emission, call: Call, result: Var | None) -> None:
        check_element(ctx, call)
        ins = [ctx.storage.handle(a) for a in call.args]
        binary = " {isBinary = true}" if mnemonic == "tcolsum" and len(ins) > 1 else ""
        instruction(ctx, mnemonic, ins, ctx.output(result), inside=binary)

    return write


def spread(mnemonic: str) -> OwnRecipe:
    """The vector alone: the target gives nothing but its type."""

    def write(ctx: Emission, call: Call, result: Var | None) -> None:
        vector = ctx.storage.handle(call.args[1])
        _refuse_window(ctx, mnemonic, call, vector)
        instruction(ctx, mnemonic, [vector], ctx.output(result))

    return write


def combined(mnemonic: str) -> OwnRecipe:
    """The target and the vector, and perhaps a scratch tile."""

    def write(ctx: Emission, call: Call, result: Var | None) -> None:
        check_element(ctx, call)
        target, vector, *scratch = [ctx.storage.handle(a) for a in call.args]
        _refuse_window(ctx, mnemonic, call, vector)
        out = ctx.output(result)
        if _reads_physical(mnemonic) and target.window is not None:
            ctx.storage.copy_out(target, out)
            target = out
        instruction(ctx, mnemonic, [target, vector, *scratch], out)

    return write


def _reads_physical(mnemonic: str) -> bool:
    """Column expansions go by physical extents, which of a window are its parent's."""
    return mnemonic.startswith("tcol")


def _refuse_window(ctx: Emission, mnemonic: str, call: Call, vector: TileHandle) -> None:
    if _reads_physical(mnemonic) and vector.window is not None:
        raise ctx.error(
            f"'{call.op.name}' can't read its row from a window of another tile",
            remedy="copy the window into a tile of its own with pl.tile.extract",
        )


_MIXES = ("add", "sub", "mul", "div", "max", "min", "expdif")

RECIPES: dict[str, OwnRecipe] = {
    **{
        f"tile.{line}_{what}": reduction(f"t{line}{what}")
        for line in ("row", "col")
        for what in ("sum", "max", "min", "prod", "argmax", "argmin")
    },
    **{f"tile.{line}_expand": spread(f"t{line}expand") for line in ("row", "col")},
    **{
        f"tile.{line}_expand_{mix}": combined(f"t{line}expand{mix}")
        for line in ("row", "col")
        for mix in _MIXES
    },
}
"""Operator → recipe."""

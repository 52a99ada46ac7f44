"""Element by element: tiles with tiles, tiles with a scalar, comparison and selection, casts."""

from __future__ import annotations

from pypto_core.ir import Call, CastMode, DataType, TileType, Var
from pypto_plugin_pto.emission import Emission, OwnRecipe
from pypto_plugin_pto.recipes.writing import (
    as_row,
    as_rows,
    check_alike,
    check_element,
    instruction,
    need_gapless,
    tile_type,
)

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_BITS = ("tands", "tors", "txors", "tshls", "tshrs")


def _precision(call: Call, name: str) -> str:
    if not call.kwargs.get("high_precision"):
        return ""
    return f" {{precisionType = #pto<{name}_precision high_precision>}}"


def tiles(mnemonic: str, precision: str = "", alike: tuple[int, ...] = ()) -> OwnRecipe:
    """All operands are tiles, those at ``alike`` of one element type and shape."""

    def write(ctx: Emission, call: Call, result: Var | None) -> None:
        check_element(ctx, call)
        check_alike(ctx, call, *alike)
        ins, out = as_rows(ctx, call), as_row(ctx, ctx.output(result))
        instruction(ctx, mnemonic, ins, out, after=_precision(call, precision) if precision else "")

    return write


def with_scalar(mnemonic: str) -> OwnRecipe:
    """A tile, a scalar, and perhaps a scratch tile. Bit operators take plain 32-bit numbers, slopes are FP32."""

    def write(ctx: Emission, call: Call, result: Var | None) -> None:
        check_element(ctx, call)
        dtype = tile_type(call, 0).dtype
        if mnemonic in _BITS:
            dtype = DataType.INT32
        elif mnemonic == "tlrelu":
            dtype = DataType.FP32
        source = as_row(ctx, ctx.storage.handle(call.args[0]))
        number = ctx.scalar(call.args[1], dtype)
        rest = [as_row(ctx, ctx.storage.handle(a)) for a in call.args[2:]]
        instruction(ctx, mnemonic, [source, number, *rest], as_row(ctx, ctx.output(result)))

    return write


def _comparison(ctx: Emission, call: Call) -> str:
    return f" {{cmpMode = #pto<cmp {_COMPARISONS[call.kwargs.get('cmp_type', 0)]}>}}"


def cmp(ctx: Emission, call: Call, result: Var | None) -> None:
    """A mask of two tiles."""
    check_alike(ctx, call, 0, 1)
    ins = [ctx.storage.handle(a) for a in call.args]
    instruction(ctx, "tcmp", ins, ctx.output(result), inside=_comparison(ctx, call))


def cmps(ctx: Emission, call: Call, result: Var | None) -> None:
    """A mask of a tile and a scalar."""
    source = ctx.storage.handle(call.args[0])
    number = ctx.scalar(call.args[1], tile_type(call, 0).dtype)
    instruction(ctx, "tcmps", [source, number], ctx.output(result), inside=_comparison(ctx, call))


def sels(ctx: Emission, call: Call, result: Var | None) -> None:
    """Mask, tile, scratch and scalar."""
    ins = [ctx.storage.handle(a) for a in call.args[:3]]
    number = ctx.scalar(call.args[3], tile_type(call, 1).dtype)
    instruction(ctx, "tsels", [*ins, number], ctx.output(result))


def cast(ctx: Emission, call: Call, result: Var | None) -> None:
    """Another element type."""
    source = tile_type(call, 0).dtype
    target: DataType = call.kwargs["target_type"]
    backend = ctx.backend
    if backend is not None and backend.casts and (source, target) not in backend.casts:
        raise ctx.error(
            f"{backend.title} has no cast from {source} to {target}",
            remedy="go through pl.FP32 or another type in between",
            **{"from": source, "to": target},
        )
    mode: CastMode = call.kwargs.get("mode", CastMode.round)
    handle = as_row(ctx, ctx.storage.handle(call.args[0]))
    out = as_row(ctx, ctx.output(result))
    inside = f" {{rmode = #pto<round_mode {mode.name.upper()}>}}"
    instruction(ctx, "tcvt", [handle], out, inside=inside)


def fill(ctx: Emission, call: Call, result: Var | None) -> None:
    """``tile.full`` and ``tile.expands``: one scalar everywhere."""
    kind = call.type
    assert isinstance(kind, TileType)
    number = ctx.scalar(call.args[1], kind.dtype)
    instruction(ctx, "texpands", [number], as_row(ctx, ctx.output(result)))


def ramp(ctx: Emission, call: Call, result: Var | None) -> None:
    """Consecutive integers."""
    kind = call.type
    assert isinstance(kind, TileType)
    need_gapless(ctx, kind)
    start = ctx.scalar(call.args[0], kind.dtype)
    order = "true" if call.kwargs.get("descending") else "false"
    instruction(ctx, "tci", [start], ctx.output(result), after=f" {{descending = {order}}}")


_PAIRS = {
    "add": "tadd", "sub": "tsub", "mul": "tmul", "maximum": "tmax", "minimum": "tmin", "rem": "trem",
    "fmod": "tfmod", "and": "tand", "or": "tor", "xor": "txor", "shl": "tshl", "shr": "tshr",
}  # fmt: skip
_SINGLE = {
    "not": "tnot", "exp": "texp", "sqrt": "tsqrt", "neg": "tneg", "abs": "tabs", "relu": "trelu",
}  # fmt: skip
_PRECISE = ("log", "recip", "rsqrt")
_SCALAR = {
    "adds": "tadds", "subs": "tsubs", "muls": "tmuls", "divs": "tdivs", "maximums": "tmaxs", "minimums": "tmins",
    "fmods": "tfmods", "rems": "trems", "ands": "tands", "ors": "tors", "xors": "txors", "shls": "tshls",
    "shrs": "tshrs", "lrelu": "tlrelu",
}  # fmt: skip

RECIPES: dict[str, OwnRecipe] = {
    **{f"tile.{name}": tiles(mnemonic, alike=(0, 1)) for name, mnemonic in _PAIRS.items()},
    **{f"tile.{name}": tiles(mnemonic) for name, mnemonic in _SINGLE.items()},
    **{f"tile.{name}": tiles(f"t{name}", name) for name in _PRECISE},
    "tile.div": tiles("tdiv", "div", alike=(0, 1)),
    **{f"tile.{name}": with_scalar(mnemonic) for name, mnemonic in _SCALAR.items()},
    "tile.cmp": cmp,
    "tile.cmps": cmps,
    "tile.sel": tiles("tsel", alike=(1, 2)),
    "tile.sels": sels,
    "tile.cast": cast,
    "tile.full": fill,
    "tile.expands": fill,
    "tile.ci": ramp,
}
"""Operator → recipe."""

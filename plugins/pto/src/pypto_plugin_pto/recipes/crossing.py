"""Data between the cube and the vector core of one mixed kernel: reserved rings, pushes and pops."""

from __future__ import annotations

from pypto_core.ir import Call, CoreType, DataType, TileType, Var, static_dim
from pypto_plugin_pto.emission import Emission, OwnRecipe
from pypto_plugin_pto.sides import core_of
from pypto_plugin_pto.text import quoted, symbol
from pypto_plugin_pto.type_text import extents_of

_OTHER = {"aic": "aiv", "aiv": "aic"}


def _attributes(call: Call, *names: str) -> str:
    pairs = [f"{name} = {call.kwargs[name]}" for name in names if call.kwargs.get(name) is not None]
    return f" {{{', '.join(pairs)}}}" if pairs else ""


def push(peer: str) -> OwnRecipe:
    """Hand a tile over."""

    def write(ctx: Emission, call: Call, result: Var | None) -> None:
        tile = ctx.storage.handle(call.args[0])
        attributes = _split(call)
        ctx.line(f"pto.tpush_to_{peer}({tile.name} : {tile.type}){attributes}")

    return write


def pop(peer: str) -> OwnRecipe:
    """Take a tile: a name for the slot of the ring that it lies in."""

    def write(ctx: Emission, call: Call, result: Var | None) -> None:
        kind = call.type if result is None else result.type
        assert isinstance(kind, TileType)
        rows, cols = (static_dim(v) for v in extents_of(kind).valid)
        known = rows is not None and cols is not None
        type_ = ctx.types.tile(kind, (rows, cols) if known else (None, None))
        valid = "" if known else f"({', '.join([ctx.index(v).name for v in extents_of(kind).valid])})"
        name = result.name_hint if result is not None else ""
        ctx.bind(result, ctx.value(f"pto.tpop_from_{peer}{valid}{_split(call)} -> {type_}", type_, name))

    return write


def free(peer: str) -> OwnRecipe:
    """Give the slot of a popped tile back."""

    def write(ctx: Emission, call: Call, result: Var | None) -> None:
        ctx.line(f"pto.tfree_from_{peer}{_split(call)}")

    return write


def _split(call: Call) -> str:
    pairs = [f"split = {call.kwargs.get('split', 0)}"]
    if call.kwargs.get("id") is not None:
        pairs.append(f"id = {call.kwargs['id']}")
    return f" {{{', '.join(pairs)}}}"


def initialize(core: str) -> OwnRecipe:
    """Set up the rings of one core."""

    def write(ctx: Emission, call: Call, result: Var | None) -> None:
        c2v, v2c = (ctx.scalar(a, DataType.INT32) for a in call.args)
        attributes = _attributes(call, "dir_mask", "slot_size", "slot_num", "local_slot_num", "id")
        ctx.line(
            f"pto.{core}_initialize_pipe{attributes} "
            f"(c2v_consumer_buf = {c2v.name} : i32, v2c_consumer_buf = {v2c.name} : i32)"
        )

    return write


def reserve(ctx: Emission, call: Call, result: Var | None) -> None:
    """Bytes of the consumer's memory that stay free for a ring: at a base when addresses are given."""
    where = "mat" if core_of(ctx.function) is CoreType.CUBE else "vec"
    base: int = call.kwargs.get("base", -1)
    if ctx.addresses and base < 0:
        raise ctx.error(
            f"the reserved buffer '{call.kwargs['name']}' has no base address",
            remedy="give base=..., or let the planner place it",
        )
    place = f"auto = false, base = {base}" if ctx.addresses else "auto = true"
    name = result.name_hint if result is not None else ""
    text = (
        f"pto.reserve_buffer {{name = {quoted(call.kwargs['name'])}, size = {call.kwargs['size']}, "
        f"location = #pto.address_space<{where}>, {place}}} -> i32"
    )
    ctx.bind(result, ctx.value(text, "i32", name))


def imported(ctx: Emission, call: Call, result: Var | None) -> None:
    """The buffer that the peer reserves."""
    name = result.name_hint if result is not None else ""
    text = (
        f"pto.import_reserved_buffer {{name = {quoted(call.kwargs['name'])}, "
        f"peer_func = {symbol(call.kwargs['peer_func'])}}} -> i32"
    )
    ctx.bind(result, ctx.value(text, "i32", name))


RECIPES: dict[str, OwnRecipe] = {
    **{f"tile.tpush_to_{peer}": push(peer) for peer in _OTHER},
    **{f"tile.tpop_from_{peer}": pop(peer) for peer in _OTHER},
    **{f"system.tfree_to_{peer}": free(peer) for peer in _OTHER},
    **{f"system.{core}_initialize_pipe": initialize(core) for core in _OTHER},
    "system.reserve_buffer": reserve,
    "system.import_peer_buffer": imported,
}
"""Operator → recipe."""

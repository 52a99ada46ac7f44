"""The operators of programs over several devices, by their names under ``pld``."""

from __future__ import annotations

from typing import Any

from pypto_core.ir import ArgEffect, AtomicType, MemorySpace, NotifyOp, WaitCmp
from pypto_core.ops import OMIT, Kind, OpDef, OpMemory, Param
from pypto_plugin_distributed import checks

PUT, GET, BARRIER = "pld.tensor.put", "pld.tensor.get", "pld.tensor.barrier"
TENSOR_STORE = "pld.tensor.remote_store"
REMOTE_LOAD, REMOTE_STORE = "pld.tile.remote_load", "pld.tile.remote_store"
NOTIFY, WAIT = "pld.system.notify", "pld.system.wait"
GET_CTX, RANK, NRANKS = "pld.get_comm_ctx", "pld.rank", "pld.nranks"
ALLOC, WINDOW, WORLD_SIZE = "pld.alloc_window_buffer", "pld.window", "pld.world_size"


def _tensor(name: str) -> Param:
    return Param(name, Kind.TENSOR)


def _index(name: str) -> Param:
    return Param(name, Kind.INDEX)


def _dims(name: str, **rules: Any) -> Param:
    return Param(name, Kind.DIMS, **rules)


_ATOMIC = Param("atomic", Kind.ENUM, OMIT, AtomicType, keyword_only=True)
_REGION = (
    _dims("dst_offsets", default=OMIT),
    _dims("src_offsets", default=OMIT),
    _dims("shape", default=OMIT),
)
_CHUNKS = (
    Param("chunk_rows", Kind.INT, OMIT, keyword_only=True),
    Param("chunk_cols", Kind.INT, OMIT, keyword_only=True),
    Param("pipeline", Kind.FLAG, OMIT, keyword_only=True),
)

# Signals have no effects in the table: nothing may move across an operator that is neither pure nor says what it
# changes, and what a signal orders is all that was done before it and all that is done behind it.
OPS = (
    OpDef(
        name=WORLD_SIZE,
        summary="how many devices take part in the run",
        params=(),
        deduce=checks.deduce_index,
    ),
    OpDef(
        name=ALLOC,
        summary="memory of so many bytes on every device, zeros at first",
        params=(_index("size"), Param("name", Kind.TEXT, OMIT, keyword_only=True)),
        deduce=checks.deduce_buffer,
        pure=False,
    ),
    OpDef(
        name=WINDOW,
        summary="a window buffer as a distributed tensor",
        params=(Param("buffer", Kind.ANY), _dims("shape"), Param("dtype", Kind.DTYPE)),
        deduce=checks.deduce_window,
    ),
    OpDef(
        name=GET_CTX,
        summary="the devices that share a distributed tensor",
        params=(_tensor("target"),),
        deduce=checks.deduce_ctx,
    ),
    OpDef(
        name=RANK,
        summary="the number of this device",
        params=(Param("ctx", Kind.ANY),),
        deduce=checks.deduce_of_ctx,
    ),
    OpDef(
        name=NRANKS,
        summary="how many devices there are",
        params=(Param("ctx", Kind.ANY),),
        deduce=checks.deduce_of_ctx,
    ),
    OpDef(
        name=NOTIFY,
        summary="change a signal of another device, behind all that was written before",
        params=(
            _tensor("target"), _index("peer"), _dims("offsets"), _index("value"),
            Param("op", Kind.ENUM, enum=NotifyOp),
        ),
        deduce=checks.deduce_notify,
        pure=False,
    ),
    OpDef(
        name=WAIT,
        summary="wait until a signal of this device is as expected",
        params=(
            _tensor("signal"), _dims("offsets"), _index("expected"), Param("cmp", Kind.ENUM, enum=WaitCmp),
        ),
        deduce=checks.deduce_wait,
        pure=False,
    ),
    OpDef(
        name=PUT,
        summary="copy a tensor of this device to another device",
        params=(_tensor("dst"), _index("peer"), _tensor("src"), *_REGION, _ATOMIC, *_CHUNKS),
        deduce=checks.deduce_put,
        effects={0: ArgEffect.ReadWrite},
        pure=False,
    ),
    OpDef(
        name=GET,
        summary="copy a tensor of another device to this one",
        params=(_tensor("dst"), _index("peer"), _tensor("src"), *_REGION, *_CHUNKS),
        deduce=checks.deduce_get,
        effects={0: ArgEffect.Write},
        pure=False,
    ),
    OpDef(
        name=TENSOR_STORE,
        summary="write a tensor into a part of one of another device",
        params=(_tensor("source"), _tensor("target"), _index("peer"), _dims("offsets"), _ATOMIC),
        deduce=checks.deduce_remote_store,
        effects={1: ArgEffect.ReadWrite},
        pure=False,
        tile_form=REMOTE_STORE,
    ),
    OpDef(
        name=BARRIER,
        summary="wait until every device has come here",
        params=(_tensor("signal"),),
        deduce=checks.deduce_barrier,
        pure=False,
    ),
    OpDef(
        name=REMOTE_LOAD,
        summary="copy a window of a tensor of another device into a tile",
        params=(
            _tensor("target"), _index("peer"), _dims("offsets"), _dims("shape"), _dims("valid_shape", default=OMIT),
        ),
        deduce=checks.deduce_remote_load,
        memory=OpMemory(inputs=(None,) * 5, output=MemorySpace.Vec),
        pure=False,
    ),
    OpDef(
        name=REMOTE_STORE,
        summary="write a tile into a tensor of another device",
        params=(
            Param("tile", Kind.TILE), _tensor("target"), _index("peer"), _dims("offsets"),
            _dims("shape", default=OMIT), _ATOMIC,
        ),
        deduce=checks.deduce_remote_store,
        complete=checks.fill_shape,
        memory=OpMemory(inputs=((MemorySpace.Vec,), None, None, None, None)),
        effects={1: ArgEffect.ReadWrite},
        pure=False,
    ),
)  # fmt: skip
"""The operators of this plugin."""

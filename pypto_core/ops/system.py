"""Operators of the machine around the tiles: reserved buffers, pipes between cores, barriers, task ids."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    CoreType,
    DataType,
    Expr,
    MakeTuple,
    PipeType,
    ScalarType,
    is_dependency,
    scalar_type,
)
from pypto_core.ops.deduce import Args, Options
from pypto_core.ops.kinds import Kind
from pypto_core.ops.opdef import OMIT, OpDef, OpMemory, Param
from pypto_core.ops.params import number, scalar, tensor, tile
from pypto_core.ops.tile_misc import deduce_index, deduce_void
from pypto_core.ops.wording import type_text

_INT32 = scalar_type(DataType.INT32)
_TASK = scalar_type(DataType.TASK_ID)
_BOOL = scalar_type(DataType.BOOL)

AUTO_BASE = -1
"""Base of a reserved buffer that the planner places."""


def deduce_reserve(args: Args, options: Options) -> ScalarType:
    """A handle of the reserved bytes."""
    size, base = options["size"], options.get("base", AUTO_BASE)
    if size <= 0 or base < AUTO_BASE:
        raise OpError(
            f"can't reserve {size} bytes at {base}",
            remedy="give a positive size, and a base of 0 or more, or -1 to have it placed",
        )
    return _INT32


def deduce_handle(args: Args, options: Options) -> ScalarType:
    """An INT32 handle."""
    return _INT32


def _no_task(expr: Expr) -> OpError:
    return OpError(
        f"a dependency must be a task id, not this {type_text(expr.type)}",
        remedy="pass what submit, spmd_submit or a scope bound with 'as tid' gave, or an array of them",
    )


def deduce_task(args: Args, options: Options) -> ScalarType:
    """A task id; arguments are the tasks to wait for."""
    for arg in args:
        for part in arg.elements if isinstance(arg, MakeTuple) else (arg,):
            if not is_dependency(part.type):
                raise _no_task(part)
    return _TASK


def deduce_task_test(args: Args, options: Options) -> ScalarType:
    """Whether a task id names a task."""
    if not isinstance(args[0].type, ScalarType) or not is_dependency(args[0].type):
        raise _no_task(args[0])
    return _BOOL


def _effect(name: str, what: str, params: tuple[Param, ...] = (), core: CoreType | None = None) -> OpDef:
    memory = OpMemory(inputs=(None,)) if params and params[0].kind is Kind.TILE else None
    return OpDef(
        name=f"system.{name}",
        summary=what,
        params=params,
        deduce=deduce_void,
        core=core,
        pure=False,
        memory=memory,
    )


_SPLIT, _ID = number("split", default=0), number("id", default=OMIT)
_PIPE = (
    number("dir_mask"), number("slot_size"), number("slot_num", default=OMIT), number("local_slot_num", default=OMIT),
    _ID,
)  # fmt: skip
_EVENT = (
    Param("set_pipe", Kind.ENUM, enum=PipeType), Param("wait_pipe", Kind.ENUM, enum=PipeType),
    number("event_id"),
)  # fmt: skip


def _between_cores() -> Iterator[OpDef]:
    yield OpDef(
        name="system.reserve_buffer", summary="keep bytes of the local buffer free for a ring",
        params=(Param("name", Kind.TEXT), number("size"), number("base", default=AUTO_BASE)),
        deduce=deduce_reserve, pure=False,
    )  # fmt: skip
    yield OpDef(
        name="system.import_peer_buffer", summary="the buffer that the peer function has reserved",
        params=(Param("name", Kind.TEXT), Param("peer_func", Kind.TEXT)), deduce=deduce_handle, pure=False,
    )  # fmt: skip
    buffers = (scalar("c2v_consumer_buf", like=None), scalar("v2c_consumer_buf", like=None))
    for here, peer, core in (("aic", "aiv", CoreType.CUBE), ("aiv", "aic", CoreType.VECTOR)):
        yield _effect(
            f"{here}_initialize_pipe", f"set up the rings of the {here} core", (*buffers, *_PIPE), core
        )
        yield _effect(
            f"tfree_to_{peer}", f"give a slot back to the {peer} core", (tile("tile"), _SPLIT, _ID), core
        )


def _synchronisation() -> Iterator[OpDef]:
    yield _effect("sync_src", "set a flag when a pipe gets here", _EVENT)
    yield _effect("sync_dst", "make a pipe wait for a flag", _EVENT)
    ring = (Param("pipe", Kind.ENUM, enum=PipeType), number("event_id"))
    yield _effect("sync_set", "set a flag that other cores wait for", ring)
    yield _effect("sync_wait", "wait for a flag of other cores", ring)
    for name, what in (("bar_v", "vector pipe"), ("bar_m", "cube pipe"), ("bar_all", "pipes of this core")):
        yield _effect(name, f"wait until all work of the {what} is done")
    yield _effect("fence", "order memory accesses")
    yield _effect("cacheinvalid", "drop what the cache holds of a tensor", (tensor("tensor"),))
    yield _effect("dump_tag", "mark a tensor to be written out for debugging", (tensor("tensor"),))
    kinds = (Param("core_type", Kind.TEXT, OMIT), Param("mode", Kind.TEXT, OMIT))
    yield _effect("syncall", "wait for all cores", kinds)
    yield _effect("set_ffts", "set the address of the cross-core flags", (tensor("workspace"),))


def _tasks() -> Iterator[OpDef]:
    deps = Param("deps", Kind.ANY, OMIT, keyword_only=True)
    yield OpDef(
        name="system.task_dummy", summary="a task that does nothing but wait", params=(deps,), deduce=deduce_task,
        pure=False,
    )  # fmt: skip
    yield OpDef(name="system.task_invalid", summary="no task", params=(), deduce=deduce_task)
    yield OpDef(
        name="system.task_is_valid", summary="whether a task id names a task",
        params=(scalar("task", like=None),), deduce=deduce_task_test,
    )  # fmt: skip
    for name, what in (("available_cluster_count", "clusters"), ("available_aiv_count", "vector cores")):
        yield OpDef(
            name=f"system.{name}", summary=f"how many {what} there are", params=(), deduce=deduce_index
        )


OPS = (*_between_cores(), *_synchronisation(), *_tasks())
"""The operators of this module."""

__all__ = ["AUTO_BASE", "OPS"]

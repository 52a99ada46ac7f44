"""Operators of the machine around the tiles, and local arrays."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.diagnostics import OpError
from pypto_core.ir import VOID, ArrayType, ConstInt, DataType, MakeTuple, PipeType, Var
from pypto_core.ops import alias_source, may_write

D = DataType


def test_reserved_buffers(kit: Any) -> None:
    assert kit.of("system.reserve_buffer", name="ring", size=4096, base=-1).dtype is D.INT32
    assert kit.of("system.import_peer_buffer", name="ring", peer_func="f").dtype is D.INT32
    for options in ({"name": "b", "size": 0}, {"name": "b", "size": 32, "base": -2}):
        with pytest.raises(OpError, match="can't reserve"):
            kit.of("system.reserve_buffer", **options)
    with pytest.raises(OpError, match="needs the option 'size'"):
        kit.of("system.reserve_buffer", name="b")


def test_effects_without_a_result(kit: Any) -> None:
    handle = kit.scalar("h", D.INT32)
    assert kit.of("system.aic_initialize_pipe", handle, handle, dir_mask=1, slot_size=1024) is VOID
    assert kit.of("system.tfree_to_aic", kit.tile(16, 64), split=0) is VOID
    assert kit.of("system.sync_src", set_pipe=PipeType.MTE2, wait_pipe=PipeType.V, event_id=0) is VOID
    for name in ("bar_v", "bar_m", "bar_all", "fence", "syncall"):
        assert kit.of(f"system.{name}") is VOID


def test_tasks(kit: Any) -> None:
    task = kit.scalar("tid", D.TASK_ID)
    assert kit.of("system.task_dummy").dtype is D.TASK_ID
    assert kit.of("system.task_dummy", MakeTuple((task, task))).dtype is D.TASK_ID
    assert kit.of("system.task_is_valid", task).dtype is D.BOOL
    several = Var("several", kit.of("array.create", 4, dtype=D.TASK_ID))
    assert kit.of("system.task_dummy", MakeTuple((several, task))).dtype is D.TASK_ID
    counts = Var("counts", kit.of("array.create", 4, dtype=D.INT32))
    for bad in (kit.scalar("i"), MakeTuple((task, kit.scalar("i"))), MakeTuple((counts,))):
        with pytest.raises(OpError, match="must be a task id"):
            kit.of("system.task_dummy", bad)
    with pytest.raises(
        OpError, match=r"'task' of system.task_is_valid must be a scalar, not Array\[4, task_id\]"
    ):
        kit.of("system.task_is_valid", several)


def test_arrays(kit: Any) -> None:
    made = kit.of("array.create", 4, dtype=D.TASK_ID)
    assert isinstance(made, ArrayType) and made.extent == 4
    array, task = Var("a", made), kit.scalar("tid", D.TASK_ID)
    assert kit.of("array.get_element", array, kit.scalar("i")).dtype is D.TASK_ID
    update = kit.call("array.update_element", array, 3, task)
    assert update.type is made and alias_source(update) == 0 and may_write(update, 0)
    for call, message in (
        (lambda: kit.of("array.create", kit.scalar("n"), dtype=D.INT32), "constant extent"),
        (lambda: kit.of("array.get_element", array, 4), "outside the array of 4"),
        (lambda: kit.of("array.get_element", array, -1), "outside the array of 4"),
        (lambda: kit.of("array.update_element", array, 0, ConstInt(0)), "can't hold a value of type index"),
        (lambda: kit.of("array.get_element", kit.tile(4, 4), 0), "must be a local array"),
    ):
        with pytest.raises(OpError, match=message) as caught:
            call()
        assert caught.value.diagnostics[0].remedy


def test_prefetches(kit: Any) -> None:
    handle = kit.of("prefetch.make_context")
    assert handle.dtype is D.INT64 and kit.of("prefetch.make_context", kit.tensor(1, 64)) is handle
    x, context = kit.tensor(16, 64), kit.scalar("context", D.INT64)
    assert kit.of("prefetch.async_prefetch", x, context) is VOID
    assert kit.of("prefetch.async_prefetch", x, context, kit.tuple(0, 8), kit.tuple(16, 8)) is VOID
    with pytest.raises(OpError, match="'shapes' has 1 entries, the tensor 2 axes"):
        kit.of("prefetch.async_prefetch", x, context, kit.tuple(0, 8), kit.tuple(16))
    assert not may_write(kit.call("prefetch.async_prefetch", x, context), 0)


def test_rows_are_picked_by_the_core_that_reads_them(kit: Any) -> None:
    source = kit.tensor(40, 64)
    vec, mat, open_ = (kit.tile(16, 64, space=space) for space in ("Vec", "Mat", None))
    names, tile = kit.tensor(3, 16, dtype=D.INT32), kit.tile(1, 16, dtype=D.INT32)
    assert kit.of("tile.gather_row", vec, source, tile) is vec.type
    assert kit.of("tile.gather_row", mat, source, names, kit.tuple(8, 64), kit.tuple(1, 0)) is mat.type
    for indices in (names, tile):
        assert kit.of("tile.gather_row", open_, source, indices) is open_.type
    with pytest.raises(OpError, match="rows for Mat are picked by a tensor of indices"):
        kit.of("tile.gather_row", mat, source, tile)
    with pytest.raises(OpError, match="rows for Vec are picked by a tile of indices"):
        kit.of("tile.gather_row", vec, source, names)
    with pytest.raises(OpError, match="must be a tile or a tensor"):
        kit.of("tile.gather_row", vec, source, kit.scalar("i"))
    assert kit.of("tensor.gather_row", source, source, names, kit.tuple(8, 64)) is source.type

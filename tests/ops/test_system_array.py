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
    for bad in (kit.scalar("i"), MakeTuple((task, kit.scalar("i")))):
        with pytest.raises(OpError, match="must be a task id"):
            kit.of("system.task_dummy", bad)


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

"""Figures of nimbus1 that a reader of its manual would look up."""

from __future__ import annotations

from pypto_plugin_nimbus1.backend import BACKEND, KIB

from pypto_core.host import load_host
from pypto_core.ir import MemorySpace, PipeType


def test_it_is_installed() -> None:
    assert load_host().backend("nimbus1") == BACKEND


def test_capacities() -> None:
    assert BACKEND.capacity(MemorySpace.Vec) == 96 * KIB
    assert BACKEND.capacity(MemorySpace.Acc) == 64 * KIB


def test_the_way_to_the_cube() -> None:
    route = BACKEND.route(MemorySpace.DDR, MemorySpace.Left)
    assert [path.pipe for path in route] == [PipeType.MTE2, PipeType.MTE1]

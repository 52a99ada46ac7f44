"""Host functions: launches don't wait, what they return may be handed on, and the host waits where it looks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto_core.language import parse_program
from pypto_core.run import compile

PROGRAM = """
import pypto_core.language as pl
import pypto_core.language.distributed as pld

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def plus(
        self, x: pl.Tensor[[16, 16], pl.FP32], y: pl.Out[pl.Tensor[[16, 16], pl.FP32]], by: pl.Scalar[pl.INDEX]
    ) -> pl.Tensor[[16, 16], pl.FP32]:
        t = pl.load(x, [0, 0], [16, 16])
        for i in pl.range(by):
            t = pl.add(t, 1.0)
        return pl.store(t, [0, 0], y)

    @pl.function(type=pl.FunctionType.Orchestration)
    def both(
        self,
        x: pl.Tensor[[16, 16], pl.FP32],
        y: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
        z: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
    ) -> tuple[pl.Tensor[[16, 16], pl.FP32], pl.Tensor[[16, 16], pl.FP32]]:
        y = self.plus(x, y, 1)
        z = self.plus(x, z, 2)
        return y, z

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[3, 16, 16], pl.FP32],
        y: pl.InOut[pl.Tensor[[3, 16, 16], pl.FP32]],
        z: pl.InOut[pl.Tensor[[3, 16, 16], pl.FP32]],
    ){returns}:
{body}
"""


def program(body: str, returns: str = "") -> Any:
    lines = "\n".join(f"        {line}" for line in body.strip("\n").splitlines())
    return parse_program(PROGRAM.replace("{body}", lines).replace("{returns}", returns))


def check(kit: Any, written: Any, y: Any, z: Any, devices: int = 3) -> None:
    """As written and as compiled, starting from zeros."""
    x = np.arange(3 * 256, dtype=np.float32).reshape(3, 16, 16)
    compiled = compile(written, backend="910b", goal="AllocatedMemoryAddr", host=kit.host).program
    kit.round_trips(written)
    kit.round_trips(compiled)
    for each in (written, compiled):
        arrays = {"x": x, "y": np.zeros_like(x), "z": np.zeros_like(x)}
        found = kit.result(each, devices, arrays=arrays).outputs
        assert np.array_equal(found["y"], y(x)) and np.array_equal(found["z"], z(x))


def test_results_are_handed_on(kit: Any) -> None:
    written = program("""
for r in pl.range(pld.world_size()):
    once = self.plus(x[r], y[r], 1, device=r)
    self.plus(once, z[r], 2, device=r)
""")
    check(kit, written, lambda x: x + 1, lambda x: x + 3)


def test_several_results(kit: Any) -> None:
    written = program("""
for r in pl.range(pld.world_size()):
    a, b = self.both(x[r], y[r], z[(r + 1) % pld.world_size()], device=r)
""")
    check(kit, written, lambda x: x + 1, lambda x: np.roll(x, 1, axis=0) + 2)


def test_a_result_goes_to_another_device(kit: Any) -> None:
    """Device 0 waits for device 2, which is launched before it."""
    written = program("""
late = self.plus(x[2], y[2], 4, device=2)
self.plus(late, z[0], 3, device=0)
""")
    check(
        kit,
        written,
        lambda x: np.stack([0 * x[0], 0 * x[1], x[2] + 4]),
        lambda x: np.stack([x[2] + 7, 0 * x[1], 0 * x[2]]),
    )


def test_the_host_waits_where_it_looks(kit: Any) -> None:
    """What it reads decides how often the second kernel adds."""
    written = program("""
for r in pl.range(pld.world_size()):
    self.plus(x[r], y[r], 2, device=r)
many = pl.cast(pl.read(y, [0, 0, 3]), pl.INDEX)
for r in pl.range(pld.world_size()):
    self.plus(y[r], z[r], many, device=r)
""")
    check(kit, written, lambda x: x + 2, lambda x: x + 2 + 5)


def test_a_kernel_without_a_device_is_run_where_the_host_is(kit: Any) -> None:
    written = program("""
for r in pl.range(pld.world_size()):
    self.plus(x[r], y[r], 1, device=r)
self.plus(y[1], z[1], 1)
""")
    check(kit, written, lambda x: x + 1, lambda x: np.stack([0 * x[0], x[1] + 2, 0 * x[2]]))


def test_launches_that_write_one_tensor_are_in_order(kit: Any) -> None:
    """Each device overwrites what the one before it has written."""
    written = program("""
for r in pl.range(pld.world_size()):
    self.plus(x[r], y[0], r + 1, device=r)
    self.plus(y[0], z[r], 0, device=r)
""")
    check(
        kit,
        written,
        lambda x: np.stack([x[2] + 3, 0 * x[1], 0 * x[2]]),
        lambda x: x + np.arange(1, 4).reshape(3, 1, 1),
    )


def test_fewer_devices_than_shards(kit: Any) -> None:
    written = program("""
for r in pl.range(3):
    self.plus(x[r], y[r], 1, device=r % pld.world_size())
""")
    check(kit, written, lambda x: x + 1, lambda x: 0 * x, devices=2)


@pytest.mark.parametrize("loop", ["pl.range(3)", "pl.parallel(3)", "pl.unroll(3)"])
def test_kinds_of_loops(kit: Any, loop: str) -> None:
    written = program(f"for r in {loop}:\n    self.plus(x[r], y[r], 1, device=r)")
    check(kit, written, lambda x: x + 1, lambda x: 0 * x)


def test_a_returned_tensor_is_the_last_ones(kit: Any) -> None:
    kind = " -> pl.Tensor[[16, 16], pl.FP32]"
    written = program("last = self.plus(x[0], y[0], 5, device=0)\nreturn last", kind)
    x = np.ones((3, 16, 16), np.float32)
    result = kit.result(written, 1, arrays={"x": x, "y": 0 * x, "z": 0 * x})
    assert np.array_equal(result.returns[0], x[0] + 5)

"""Kernels of several devices compute what numpy says, as written and as compiled, whoever waits for whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto_core.diagnostics import UserError

NOTIFY_ALL = """
for peer in pl.range(n):
    if peer != me:
        pld.system.notify(signal, peer=peer, offsets=[me, 0], value=1, op=pld.NotifyOp.AtomicAdd)
for src in pl.range(n):
    if src != me:
        pld.system.wait(signal, offsets=[src, 0], expected=1, cmp=pld.WaitCmp.Ge)
"""
LOAD, STORE = "t = pl.load(x, [0, 0], [16, 64])", "pl.store(t, [0, 0], y)"


@pytest.mark.parametrize("devices", [1, 2, 3, 8])
def test_all_reduce_in_one_shot(kit: Any, devices: int) -> None:
    program = kit.program(f"""
{LOAD}
pl.store(t, [0, 0], data)
{NOTIFY_ALL}
acc = pl.load(x, [0, 0], [16, 64])
for peer in pl.range(n):
    if peer != me:
        acc = pl.add(acc, pld.tile.remote_load(data, peer=peer, offsets=[0, 0], shape=[16, 64]))
pl.store(acc, [0, 0], y)
""")
    kit.round_trips(program)
    x = kit.inputs(program, devices)["x"]
    wanted = np.broadcast_to(x.sum(0), x.shape)
    if devices == 3:
        kit.everywhere(program, devices, wanted)
    else:
        assert np.array_equal(kit.run(program, devices), wanted)


@pytest.mark.parametrize("devices", [2, 5])
def test_a_ring_shifts(kit: Any, devices: int) -> None:
    program = kit.program(f"""
{LOAD}
right = (me + 1) % n
pld.tile.remote_store(t, target=data, peer=right, offsets=[0, 0])
pld.system.notify(signal, peer=right, offsets=[0, 0], value=7, op=pld.NotifyOp.Set)
pld.system.wait(signal, offsets=[0, 0], expected=7, cmp=pld.WaitCmp.Eq)
t = pl.load(data, [0, 0], [16, 64])
{STORE}
""")
    x = kit.inputs(program, devices)["x"]
    kit.everywhere(program, devices, np.roll(x, 1, axis=0))


def test_ping_pong(kit: Any) -> None:
    """Two devices double what the other sends, in turn; each waits for the count of its round."""
    program = kit.program("""
other = 1 - me
t = pl.load(x, [0, 0], [16, 64])
for i in pl.range(3):
    if me == 0:
        pld.tile.remote_store(t, target=data, peer=other, offsets=[0, 0])
        pld.system.notify(signal, peer=other, offsets=[0, 0], value=1, op=pld.NotifyOp.AtomicAdd)
        pld.system.wait(signal, offsets=[0, 0], expected=i, cmp=pld.WaitCmp.Gt)
        t = pl.load(data, [0, 0], [16, 64])
    else:
        pld.system.wait(signal, offsets=[0, 0], expected=i + 1, cmp=pld.WaitCmp.Eq)
        t = pl.load(data, [0, 0], [16, 64])
        t = pl.mul(t, 2.0)
        pld.tile.remote_store(t, target=data, peer=other, offsets=[0, 0])
        pld.system.notify(signal, peer=other, offsets=[0, 0], value=1, op=pld.NotifyOp.AtomicAdd)
pl.store(t, [0, 0], y)
""")
    x = kit.inputs(program, 2)["x"]
    kit.everywhere(program, 2, np.stack([8 * x[0], 8 * x[0]]))


def test_all_gather_by_put_into_windows(kit: Any) -> None:
    """Each device puts its first rows into everybody's window, at its own rows."""
    program = kit.program("""
for peer in pl.range(n):
    pld.tensor.put(data, peer=peer, src=x, dst_offsets=[me * 4, 0], src_offsets=[0, 0], shape=[4, 64])
pld.tensor.barrier(signal)
t = pl.load(data, [0, 0], [16, 64])
pl.store(t, [0, 0], y)
""")
    x = kit.inputs(program, 4)["x"]
    kit.everywhere(program, 4, np.broadcast_to(x[:, :4].reshape(16, 64), x.shape))


def test_get_from_the_left(kit: Any) -> None:
    program = kit.program("""
pld.tensor.put(data, peer=me, src=x)
pld.tensor.barrier(signal)
pld.tensor.get(y, peer=(me + n - 1) % n, src=data)
""")
    x = kit.inputs(program, 4)["x"]
    kit.everywhere(program, 4, np.roll(x, 1, axis=0))


def test_atomic_puts_add_up_in_any_order(kit: Any) -> None:
    program = kit.program("""
pld.tensor.put(data, peer=0, src=x, atomic=pl.AtomicType.Add)
pld.tensor.barrier(signal)
if me == 0:
    t = pl.load(data, [0, 0], [16, 64])
    pl.store(t, [0, 0], y)
""")
    arrays = kit.inputs(program, 4)
    wanted = arrays["y"].copy()
    wanted[0] = arrays["x"].sum(0)
    kit.everywhere(program, 4, wanted)


def test_a_barrier_may_be_used_again_and_again(kit: Any) -> None:
    """Four rounds of a ring on one window: one barrier before the window is overwritten, one after."""
    program = kit.program("""
t = pl.load(x, [0, 0], [16, 64])
for i in pl.range(4):
    pld.tile.remote_store(t, target=data, peer=(me + 1) % n, offsets=[0, 0])
    pld.tensor.barrier(signal)
    t = pl.load(data, [0, 0], [16, 64])
    t = pl.add(t, 1.0)
    pld.tensor.barrier(signal)
pl.store(t, [0, 0], y)
""")
    x = kit.inputs(program, 3)["x"]
    kit.everywhere(program, 3, np.roll(x, 4, axis=0) + 4)


def test_ring_all_reduce(kit: Any) -> None:
    """Reduce-scatter and all-gather around a ring: 2 (n - 1) steps on a quarter of the rows each."""
    program = kit.program("""
t = pl.load(x, [0, 0], [16, 64])
pl.store(t, [0, 0], data)
pld.tensor.barrier(signal)
right = (me + 1) % n
for step in pl.range(3):
    c = (me + n - step) % n
    part = pl.load(data, [c * 4, 0], [4, 64])
    pld.tile.remote_store(part, target=data, peer=right, offsets=[c * 4, 0], atomic=pl.AtomicType.Add)
    pld.tensor.barrier(signal)
for step in pl.range(3):
    c = (me + 1 + n - step) % n
    part = pl.load(data, [c * 4, 0], [4, 64])
    pld.tile.remote_store(part, target=data, peer=right, offsets=[c * 4, 0])
    pld.tensor.barrier(signal)
t = pl.load(data, [0, 0], [16, 64])
pl.store(t, [0, 0], y)
""")
    x = kit.inputs(program, 4)["x"]
    kit.everywhere(program, 4, np.broadcast_to(x.sum(0), x.shape))


IN_SCOPES = {
    "a context from outside": (
        """
        with pl.at(level=pl.Level.CORE_GROUP):
            k = pld.nranks(ctx)
            pld.tensor.put(data, peer=(pld.rank(ctx) + 1) % k, src=x)
            pld.tensor.barrier(signal)
            y[:, :] = pl.mul(data[:, :], 1.0)
        """,
        lambda x: np.roll(x, 1, axis=0),
    ),
    "blocks": (
        """
        right = (me + 1) % n
        for b in pl.spmd(4):
            part = x[b * 4 : b * 4 + 4, :]
            pld.tensor.put(data, peer=right, src=part, dst_offsets=[b * 4, 0], shape=[4, 64])
            pld.system.notify(signal, peer=right, offsets=[b, 0], value=1, op=pld.NotifyOp.Set)
            pld.system.wait(signal, offsets=[b, 0], expected=1, cmp=pld.WaitCmp.Eq)
            y[b * 4 : b * 4 + 4, :] = pl.mul(data[b * 4 : b * 4 + 4, :], 1.0)
        """,
        lambda x: np.roll(x, 1, axis=0),
    ),
    "tasks": (
        """
        right = (me + 1) % n
        with pl.manual_scope():
            with pl.at(level=pl.Level.CORE_GROUP) as sent:
                pld.tensor.put(data, peer=right, src=x)
                pld.system.notify(signal, peer=right, offsets=[0, 0], value=1, op=pld.NotifyOp.Set)
            with pl.at(level=pl.Level.CORE_GROUP, deps=[sent]):
                pld.system.wait(signal, offsets=[0, 0], expected=1, cmp=pld.WaitCmp.Eq)
                y[:, :] = pl.add(data[:, :], 1.0)
        """,
        lambda x: np.roll(x, 1, axis=0) + 1,
    ),
    "a window that is used before and after": (
        """
        with pl.at(level=pl.Level.CORE_GROUP):
            pld.tensor.put(data, peer=me, src=x)
            a = pl.mul(data, 2.0)
            pld.tensor.barrier(signal)
            pld.tensor.put(data, peer=(me + 1) % n, src=x)
            pld.tensor.barrier(signal)
            b = pl.mul(data, 4.0)
            y[:, :] = pl.add(a, b)
        """,
        lambda x: 2 * x + 4 * np.roll(x, 1, axis=0),
    ),
    "only the peers write": (
        """
        with pl.at(level=pl.Level.CORE_GROUP):
            window = data[:, :]
            pld.tensor.remote_store(x[:, :], target=data, peer=(me + 1) % n, offsets=[0, 0])
            a = pl.mul(x[:, :], 2.0)
            pld.tensor.barrier(signal)
            y[:, :] = pl.add(a, window)
        """,
        lambda x: 2 * x + np.roll(x, 1, axis=0),
    ),
}


SQUARES = {
    "cube and vector core in one": (
        """
        with pl.at(level=pl.Level.CORE_GROUP):
            pld.tensor.put(data, peer=(me + 1) % n, src=x)
            pld.tensor.barrier(signal)
            y[:, :] = pl.matmul(data[:, :], x[:, :], out_dtype=pl.FP32)
        """,
        lambda x: np.roll(x, 1, axis=0) @ x,
    ),
    "a product is sent": (
        """
        with pl.at(level=pl.Level.CORE_GROUP):
            p = pl.matmul(x[:, :], x[:, :], out_dtype=pl.FP32)
            pld.tensor.remote_store(p, target=data, peer=(me + 1) % n, offsets=[0, 0])
            pld.tensor.barrier(signal)
            y[:, :] = pl.add(data[:, :], 1.0)
        """,
        lambda x: np.roll(x @ x, 1, axis=0) + 1,
    ),
    "a signal for each part, in pipelined loops": (
        """
        with pl.at(level=pl.Level.CORE_GROUP):
            for i in pl.pipeline(0, 4, stage=2):
                part = pl.mul(x[i * 16 : i * 16 + 16, :], 2.0)
                pld.tensor.remote_store(part, target=data, peer=(me + 1) % n, offsets=[i * 16, 0])
                pld.system.notify(signal, peer=(me + 1) % n, offsets=[i, 0], value=1, op=pld.NotifyOp.Set)
            for i in pl.pipeline(0, 4, stage=2):
                pld.system.wait(signal, offsets=[i, 0], expected=1, cmp=pld.WaitCmp.Eq)
                y[i * 16 : i * 16 + 16, :] = pl.add(data[i * 16 : i * 16 + 16, :], 1.0)
        """,
        lambda x: 2 * np.roll(x, 1, axis=0) + 1,
    ),
}


@pytest.mark.parametrize("name", SQUARES)
def test_scopes_of_squares(kit: Any, name: str) -> None:
    body, wanted = SQUARES[name]
    program = kit.program(body, shape=(64, 64), kind="Orchestration")
    kit.everywhere(program, 3, wanted(kit.inputs(program, 3)["x"]))


@pytest.mark.parametrize("name", IN_SCOPES)
def test_scopes(kit: Any, name: str) -> None:
    body, wanted = IN_SCOPES[name]
    program = kit.program(body, kind="Orchestration")
    kit.round_trips(program)
    kit.everywhere(program, 3, wanted(kit.inputs(program, 3)["x"]))


@pytest.mark.parametrize(("shape", "offsets"), [((200,), "[0]"), ((2, 8, 64), "[0, 0, 0]")])
def test_tiles_of_one_and_of_three_axes(kit: Any, shape: tuple[int, ...], offsets: str) -> None:
    program = kit.program(
        f"""
pld.tensor.put(data, peer=me, src=x)
pld.tensor.barrier(signal)
t = pld.tile.remote_load(data, peer=(me + 1) % n, offsets={offsets}, shape={list(shape)})
u = pl.add(t, 1.0)
pld.tensor.barrier(signal)
pld.tile.remote_store(u, target=data, peer=me, offsets={offsets})
pld.tensor.get(y, peer=me, src=data)
""",
        shape=shape,
    )
    kit.round_trips(program)
    kit.everywhere(program, 3, np.roll(kit.inputs(program, 3)["x"], -1, axis=0) + 1)


def test_kernels_on_tensors(kit: Any) -> None:
    """A window is read anew after a barrier, and what is computed on chip goes out without a detour."""
    program = kit.program(
        """
        with pl.at(level=pl.Level.CORE_GROUP):
            before = pl.mul(data[:, :], 2.0)
            pld.tensor.barrier(signal)
            pld.tensor.put(data, peer=(me + 1) % n, src=pl.add(x[:, :], 3.0))
            pld.tensor.barrier(signal)
            after = pl.mul(data[:, :], 10.0)
            y[:, :] = pl.add(before, after)
        """,
        kind="Orchestration",
    )
    kit.round_trips(program)
    x = kit.inputs(program, 3)["x"]
    kit.everywhere(program, 3, 10 * (np.roll(x, 1, axis=0) + 3))


def test_launches_of_one_device_run_in_order_and_share_host_tensors(kit: Any) -> None:
    """The second kernel of each device reads what the first kernels of both wrote into the host's tensors."""
    from pypto_core.language import parse_program

    program = parse_program(
        kit.text("t = pl.load(x, [0, 0], [16, 64])\npl.store(pl.add(t, 1.0), [0, 0], y)").replace(
            "self.kernel(x[r], y[r], data, signal, device=r)",
            "self.kernel(x[r], y[r], data, signal, device=r)\n"
            "        for r in pl.range(pld.world_size()):\n"
            "            left = pld.window(data_buf, [16, 64], dtype=pl.FP32)\n"
            "            told = pld.window(signal_buf, [16, 1], dtype=pl.INT32)\n"
            "            self.kernel(y[(r + 1) % pld.world_size()], y[r], left, told, device=r)",
        )
    )
    x = kit.inputs(program, 3)["x"]
    # Device 0 reads what device 1 wrote first, device 1 that of 2, and device 2 what device 0 has written twice.
    assert np.array_equal(kit.run(program, 3), np.stack([x[1] + 2, x[2] + 2, x[1] + 3]))


@pytest.mark.parametrize("dtype", ["FP32", "INT32"])
def test_runs_are_the_same_every_time(kit: Any, dtype: str) -> None:
    program = kit.program(
        """
pld.tensor.put(data, peer=(me + 1) % n, src=x)
pld.tensor.barrier(signal)
pld.tensor.get(y, peer=(me + 1) % n, src=data)
""",
        dtype=dtype,
    )
    first = kit.run(program, 4).tobytes()
    assert all(kit.run(program, 4).tobytes() == first for _ in range(5))


def test_blocks_of_a_device_wait_beside_each_other(kit: Any) -> None:
    """The first block of each device waits for what the last block of its neighbour sends."""
    program = kit.program(
        """
        right = (me + 1) % n
        for b in pl.spmd(4):
            if b == 0:
                pld.system.wait(signal, offsets=[0, 0], expected=3, cmp=pld.WaitCmp.Ge)
                y[:, :] = pl.add(data[:, :], 1.0)
            else:
                pld.tensor.put(
                    data, peer=right, src=x, dst_offsets=[b * 4, 0], src_offsets=[b * 4, 0], shape=[4, 64]
                )
                pld.system.notify(signal, peer=right, offsets=[0, 0], value=1, op=pld.NotifyOp.AtomicAdd)
        """,
        kind="Orchestration",
    )
    x = kit.inputs(program, 3)["x"]
    came = np.roll(x, 1, axis=0).copy()
    came[:, :4] = 0
    kit.everywhere(program, 3, came + 1)


def test_blocks_that_wait_for_what_never_comes(kit: Any) -> None:
    program = kit.program(
        """
        for b in pl.spmd(3):
            pld.system.wait(signal, offsets=[b, 0], expected=1, cmp=pld.WaitCmp.Ge)
        """,
        kind="Orchestration",
    )
    with pytest.raises(UserError) as caught:
        kit.run(program, 2)
    [diagnostic] = caught.value.diagnostics
    assert diagnostic.code == "SIM-020"
    assert [fact for fact, _ in diagnostic.facts] == ["device 0", "device 1"]
    assert all(f"signal[{b}, 0] >=" in str(diagnostic.facts[0][1]) for b in range(3))

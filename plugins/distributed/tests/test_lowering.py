"""Transfers written out do what they did before, whatever is copied and by which chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import Call, assert_structural_equal, walk
from pypto_core.language import parse_program
from pypto_core.run import compile
from pypto_core.text import print_program


def tiles(program: Any) -> list[tuple[int, ...]]:
    """The shapes of what is loaded, here or remotely."""
    found = [n for n in walk(program["kernel"].body) if isinstance(n, Call) and n.name.endswith("load")]
    return [tuple(d.value for d in n.type.shape) for n in found]


def proved(kit: Any, body: str, devices: int = 3, **options: Any) -> Any:
    """The kernel written out, once it is found to do the same."""
    program = kit.program(body, **options)
    after = kit.lowered(program)
    assert after is not program
    before, now = kit.run(program, devices), kit.run(after, devices)
    assert np.array_equal(before, now) and not np.array_equal(now, kit.inputs(program, devices)["y"])
    assert print_program(kit.lowered(program)) == print_program(after)
    assert kit.lowered(after) is after
    kit.round_trips(after)
    assert_structural_equal(parse_program(print_program(after)), after)
    return after


COPY = """
pld.tensor.put(data, peer=(me + 1) % n, src=x{options})
pld.tensor.barrier(signal)
pld.tensor.get(y, peer=(me + 1) % n, src=data{options})
"""


@pytest.mark.parametrize(
    ("shape", "options", "wanted"),
    [
        ((16, 64), "", [(16, 64)]),
        ((100, 64), "", [(64, 64), (36, 64)]),
        ((7, 24), ", chunk_rows=2", [(2, 24), (1, 24)]),
        ((10, 40), ", chunk_rows=4, chunk_cols=16", [(4, 16), (4, 8), (2, 16), (2, 8)]),
        ((2, 5000), "", [(1, 4096), (1, 904)]),
        ((3, 4, 16), "", [(4, 16)]),
        ((2, 3, 4, 16), ", chunk_rows=3", [(3, 16), (1, 16)]),
        ((200,), "", [(200,)]),
        ((9000,), "", [(4096,), (808,)]),
    ],
)
def test_chunks(kit: Any, shape: tuple[int, ...], options: str, wanted: list[tuple[int, ...]]) -> None:
    after = proved(kit, COPY.format(options=options), shape=shape)
    assert tiles(after) == wanted * 2


@pytest.mark.parametrize("dtype", ["FP32", "INT32"])
@pytest.mark.parametrize("shape", [(100, 64), (3, 4, 16), (200,), (16, 1)])
def test_chunks_as_compiled(kit: Any, shape: tuple[int, ...], dtype: str) -> None:
    program = kit.program(COPY.format(options=""), shape=shape, dtype=dtype)
    # Sent to the right and fetched back from there.
    kit.everywhere(program, 3, kit.inputs(program, 3)["x"])


def test_a_part_to_another_place(kit: Any) -> None:
    proved(
        kit,
        """
pld.tensor.put(data, peer=(me + 1) % n, src=x, dst_offsets=[8, 16], src_offsets=[me, 8], shape=[5, 40])
pld.tensor.barrier(signal)
pld.tensor.get(y, peer=(me + 2) % n, src=data, dst_offsets=[me * 2, 0], src_offsets=[8, 16], shape=[5, 32])
""",
    )


def test_extents_known_at_run_time(kit: Any) -> None:
    after = proved(
        kit,
        """
rows = me * 3 + 2
pld.tensor.put(data, peer=(me + 1) % n, src=x, shape=[rows, 64], chunk_rows=4)
pld.tensor.barrier(signal)
pld.tensor.get(y, peer=me, src=data, shape=[((me + n - 1) % n) * 3 + 2, 64], chunk_rows=4)
""",
    )
    assert tiles(after) == [(4, 64), (4, 64)]


def test_pipeline_is_a_wish_that_changes_no_copy(kit: Any) -> None:
    plain, wished = (
        proved(kit, COPY.format(options=f", chunk_rows=2{more}")) for more in ("", ", pipeline=True")
    )
    assert_structural_equal(plain, wished, enable_auto_mapping=True)


def test_a_put_in_a_pipelined_loop(kit: Any) -> None:
    program = kit.program("""
for i in pl.pipeline(0, 4, stage=2):
    pld.tensor.put(data, peer=(me + 1) % n, src=x, dst_offsets=[i * 4, 0], src_offsets=[i * 4, 0], shape=[4, 64])
pld.tensor.barrier(signal)
t = pl.load(data, [0, 0], [16, 64])
pl.store(t, [0, 0], y)
""")
    kit.everywhere(program, 3, np.roll(kit.inputs(program, 3)["x"], 1, axis=0))


def test_an_atomic_put_stays_atomic(kit: Any) -> None:
    after = proved(
        kit,
        """
pld.tensor.put(data, peer=0, src=x, atomic=pl.AtomicType.Add, chunk_rows=5)
pld.tensor.barrier(signal)
pld.tensor.get(y, peer=0, src=data)
""",
    )
    assert "atomic=pl.AtomicType.Add" in print_program(after)


def test_a_tensor_in_memory_is_stored_remotely(kit: Any) -> None:
    body = """
pld.tensor.remote_store(x, target=data, peer=(me + 1) % n, offsets=[0, 0])
pld.tensor.barrier(signal)
pld.tensor.get(y, peer=me, src=data)
"""
    assert "pld.tensor" not in print_program(proved(kit, body), concise=True)
    program = kit.program(body)
    kit.everywhere(program, 3, np.roll(kit.inputs(program, 3)["x"], 1, axis=0))


def test_what_is_computed_on_chip_goes_out_as_it_is(kit: Any) -> None:
    program = kit.program(
        """
        with pl.at(level=pl.Level.CORE_GROUP):
            z = pl.mul(x[:, :], 3.0)
            pld.tensor.put(data, peer=(me + 1) % n, src=z, dst_offsets=[8, 0], src_offsets=[0, 0], shape=[8, 64])
            pld.tensor.barrier(signal)
            y[:, :] = pl.add(data[:, :], 1.0)
        """,
        kind="Orchestration",
    )
    x = kit.inputs(program, 3)["x"]
    wanted = np.ones_like(x)
    wanted[:, 8:] += 3 * np.roll(x, 1, axis=0)[:, :8]
    kit.everywhere(program, 3, wanted)
    compiled = compile(program, backend="910b", goal="AllocatedMemoryAddr", host=kit.host).program
    [kernel] = [f for f in compiled if f.is_incore]
    assert sum(n.name == "tile.load" for n in walk(kernel.body) if isinstance(n, Call)) == 2


def test_only_what_is_valid_is_copied(kit: Any) -> None:
    """Windows that say how much of them holds data, and a put of a window that was narrowed."""
    program = kit.program(
        """
        with pl.at(level=pl.Level.CORE_GROUP):
            part = pl.slice(x, [16, 64], [0, 0], valid_shape=[me * 4 + 3, 64])
            pld.tensor.put(data, peer=(me + 1) % n, src=part)
            pld.tensor.barrier(signal)
            y[:, :] = pl.add(data[:, :], 1.0)
        """,
        kind="Orchestration",
    )
    x = kit.inputs(program, 3)["x"]
    wanted = np.ones_like(x)
    for device in range(3):
        rows = device * 4 + 3
        wanted[(device + 1) % 3, :rows] += x[device, :rows]
    kit.everywhere(program, 3, wanted)


def test_a_window_of_the_source(kit: Any) -> None:
    """A slice of a parameter lies in memory: it is loaded from there."""
    program = kit.program(
        """
        with pl.at(level=pl.Level.CORE_GROUP):
            part = x[4:12, :]
            pld.tensor.put(data, peer=(me + 1) % n, src=part, dst_offsets=[0, 0], shape=[8, 64])
            pld.tensor.barrier(signal)
            y[:, :] = pl.add(data[:, :], 1.0)
        """,
        kind="Orchestration",
    )
    x = kit.inputs(program, 3)["x"]
    wanted = np.ones_like(x)
    wanted[:, :8] += np.roll(x, 1, axis=0)[:, 4:12]
    kit.everywhere(program, 3, wanted)


WINDOWS = {
    "rows of both": (
        """
pld.tensor.put(data[4:12, :], peer=(me + 1) % n, src=x[0:8, :])
pld.tensor.barrier(signal[0:8, :])
t = pl.load(data, [0, 0], [16, 64])
pl.store(t, [0, 0], y)
""",
        (16, 64),
        lambda x: np.pad(np.roll(x, 1, axis=0)[:, :8], ((0, 0), (4, 4), (0, 0))),
    ),
    "a window of a window, fetched": (
        """
pld.tensor.put(data, peer=me, src=x)
pld.tensor.barrier(signal[n:16, :])
rows = data[2:14, :]
pld.tensor.get(y[0:4, :], peer=(me + 1) % n, src=rows[3:7, :])
pld.tensor.get(y[4:16, 0:64], peer=me, src=rows)
""",
        (16, 64),
        lambda x: np.concatenate([np.roll(x, -1, axis=0)[:, 5:9], x[:, 2:14]], axis=1),
    ),
    "tiles, and an element of signals": (
        """
t = pl.load(x, [0, 0], [16, 64])
lower = data[8:16, :]
cell = signal[3:4, :]
u = pl.load(x, [0, 0], [8, 64])
pld.tile.remote_store(t, target=data, peer=(me + 1) % n, offsets=[0, 0])
pld.tile.remote_store(u, target=lower, peer=(me + 1) % n, offsets=[0, 0])
pld.system.notify(cell, peer=(me + 1) % n, offsets=[0, 0], value=4, op=pld.NotifyOp.Set)
pld.system.wait(signal, offsets=[3, 0], expected=4, cmp=pld.WaitCmp.Eq)
v = pld.tile.remote_load(lower, peer=me, offsets=[4, 0], shape=[4, 64])
pl.store(v, [0, 0], y)
w = pl.load(data, [0, 0], [12, 64])
pl.store(w, [4, 0], y)
""",
        (16, 64),
        lambda x: np.concatenate(
            [np.roll(x, 1, axis=0)[:, 4:8], np.roll(x, 1, axis=0)[:, :8], np.roll(x, 1, axis=0)[:, :4]],
            axis=1,
        ),
    ),
    "an axis left out": (
        """
for i in pl.range(3):
    pld.tensor.put(data[i], peer=(me + 1) % n, src=x[2 - i])
pld.tensor.barrier(signal)
pld.tensor.get(y, peer=me, src=data)
""",
        (3, 8, 32),
        lambda x: np.roll(x, 1, axis=0)[:, ::-1],
    ),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(kit: Any, name: str) -> None:
    body, shape, wanted = WINDOWS[name]
    program = kit.program(body, shape=shape)
    kit.round_trips(program)
    expected = wanted(kit.inputs(program, 3)["x"])
    kit.everywhere(program, 3, expected)
    after = kit.lowered(program)
    assert np.array_equal(kit.run(after, 3), expected)
    remote = [n for n in walk(after["kernel"].body) if isinstance(n, Call) and n.name.startswith("pld.")]
    params = set(after["kernel"].params)
    tensors = [a for n in remote for a in n.args if "Tensor" in type(a.type).__name__]
    assert tensors and all(a in params for a in tensors)


def test_a_window_of_what_was_computed(kit: Any) -> None:
    program = kit.program(
        """
        with pl.at(level=pl.Level.CORE_GROUP):
            pld.tensor.put(data[8:16, :], peer=(me + 1) % n, src=pl.mul(x[0:8, :], 2.0))
            pld.tensor.remote_store(pl.add(x[0:8, :], 1.0), target=data[0:8, :], peer=me, offsets=[0, 0])
            pld.tensor.barrier(signal)
            data[0:4, :] = pl.mul(data[0:4, :], 3.0)
            y[:, :] = pl.add(data[:, :], 1.0)
        """,
        kind="Orchestration",
    )
    x = kit.inputs(program, 3)["x"]
    upper = x[:, :8] + 1
    upper[:, :4] *= 3
    kit.everywhere(program, 3, np.concatenate([upper, 2 * np.roll(x, 1, axis=0)[:, :8]], axis=1) + 1)


def test_a_window_is_launched_as_it_is(kit: Any) -> None:
    """The host gives each device the lower half of its window."""
    text = kit.text(COPY.format(options=""), shape=(8, 64))
    text = text.replace("alloc_window_buffer(2048)", "alloc_window_buffer(4096)")
    text = text.replace(
        "pld.window(data_buf, [8, 64], dtype=pl.FP32)",
        "pld.window(data_buf, [16, 64], dtype=pl.FP32)[8:16, :]",
    )
    assert "[8:16, :]" in text
    program = parse_program(text)
    kit.everywhere(program, 3, kit.inputs(program, 3)["x"])


def test_columns_alone_are_refused(kit: Any) -> None:
    program = kit.program("pld.tensor.put(data[:, 3], peer=0, src=x[:, 3])")
    with pytest.raises(UserError, match="a window without one of the last axes") as caught:
        kit.lowered(program)
    assert caught.value.diagnostics[0].code == "PT391" and caught.value.diagnostics[0].span.is_valid

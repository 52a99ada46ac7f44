"""What goes wrong when devices run together: waits that never end, races, devices that are not there."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from pypto_core.diagnostics import DiagnosticError, UserError, render
from pypto_core.language import parse_program

RING = """
t = pl.load(x, [0, 0], [16, 64])
pld.tile.remote_store(t, target=data, peer=(me + 1) % n, offsets=[0, 0])
{}
t = pl.load(data, [0, 0], [16, 64])
pl.store(t, [0, 0], y)
"""


def refused(kit: Any, program: Any, devices: int, engine: str = "values") -> UserError:
    with pytest.raises(UserError) as caught:
        kit.run(program, devices, engine)
    return caught.value


def test_all_wait_for_each_other(kit: Any) -> None:
    """Each device waits before it notifies: one error that names all, where they wait, what for and what is there."""
    body = """
if me == 1:
    pld.system.notify(signal, peer=1, offsets=[2, 0], value=3, op=pld.NotifyOp.Set)
pld.system.wait(signal, offsets=[2, 0], expected=me + 5, cmp=pld.WaitCmp.Ge)
pld.system.notify(signal, peer=(me + 1) % n, offsets=[2, 0], value=9, op=pld.NotifyOp.Set)
"""
    text = kit.text(body)
    error = refused(kit, parse_program(text), 3)
    [diagnostic] = error.diagnostics
    line = 1 + next(i for i, part in enumerate(text.splitlines()) if "pld.system.wait" in part)
    assert diagnostic.code == "SIM-020" and diagnostic.span.begin_line == line
    assert diagnostic.message == "every device waits, and none can end another's wait"
    assert dict(diagnostic.facts) == {
        f"device {rank}": f"<string>:{line}: signal[2, 0] >= {5 + rank} is waited for, it is {value}"
        for rank, value in enumerate((0, 3, 0))
    }
    assert "pld.system.wait(signal" in render(diagnostic)


def test_one_waits_for_those_that_are_done(kit: Any) -> None:
    program = kit.program("""
if me == 2:
    pld.system.wait(signal, offsets=[0, 0], expected=1, cmp=pld.WaitCmp.Eq)
""")
    [diagnostic] = refused(kit, program, 4).diagnostics
    assert diagnostic.message == "1 of 4 devices wait, and the others are done"
    assert [fact for fact, _ in diagnostic.facts] == ["device 2"]


def test_a_lone_device_waits_for_ever(kit: Any) -> None:
    program = kit.program("pld.system.wait(signal, offsets=[0, 0], expected=1, cmp=pld.WaitCmp.Eq)")
    assert refused(kit, program, 1).diagnostics[0].code == "SIM-020"


def test_no_thread_outlives_a_run(kit: Any) -> None:
    before = threading.active_count()
    refused(kit, kit.program("pld.system.wait(signal, offsets=[0, 0], expected=1, cmp=pld.WaitCmp.Eq)"), 8)
    kit.run(kit.program(RING.format("pld.tensor.barrier(signal)")), 8)
    assert threading.active_count() == before


@pytest.mark.parametrize("engine", ["values", "bytes"])
def test_a_read_without_a_signal_is_a_race(kit: Any, engine: str) -> None:
    error = refused(kit, kit.program(RING.format("pass")), 3, engine)
    [diagnostic] = error.diagnostics
    assert diagnostic.code == "SIM-021"
    assert diagnostic.message.startswith(
        "device 1 reads elements of a window that device 0 wrote, in no order"
    )
    assert [note.message for note in diagnostic.notes] == ["device 0 wrote them here"]


def test_the_signal_has_to_come_from_the_writer(kit: Any) -> None:
    """The left neighbour writes, and the right one notifies."""
    wrong = """
pld.system.notify(signal, peer=(me + n - 1) % n, offsets=[0, 0], value=1, op=pld.NotifyOp.Set)
pld.system.wait(signal, offsets=[0, 0], expected=1, cmp=pld.WaitCmp.Eq)
"""
    assert refused(kit, kit.program(RING.format(wrong)), 4).diagnostics[0].code == "SIM-021"
    right = wrong.replace("(me + n - 1)", "(me + 1)")
    kit.run(kit.program(RING.format(right)), 4)


def test_a_signal_before_the_write_orders_nothing(kit: Any) -> None:
    program = kit.program("""
t = pl.load(x, [0, 0], [16, 64])
pld.system.notify(signal, peer=(me + 1) % n, offsets=[0, 0], value=1, op=pld.NotifyOp.Set)
pld.tile.remote_store(t, target=data, peer=(me + 1) % n, offsets=[0, 0])
pld.system.wait(signal, offsets=[0, 0], expected=1, cmp=pld.WaitCmp.Eq)
t = pl.load(data, [0, 0], [16, 64])
pl.store(t, [0, 0], y)
""")
    assert refused(kit, program, 3).diagnostics[0].code == "SIM-021"


def test_overwriting_what_another_still_reads_is_a_race(kit: Any) -> None:
    """Two rounds with a barrier after each write, and none after the reads."""
    body = """
for i in pl.range(2):
    t = pl.load(x, [0, 0], [16, 64])
    pld.tile.remote_store(t, target=data, peer=(me + 1) % n, offsets=[0, 0])
    pld.tensor.barrier(signal)
    t = pl.load(data, [0, 0], [16, 64])
    pl.store(t, [0, 0], y)
"""
    error = refused(kit, kit.program(body), 2)
    # Device 1 is a round ahead; what it has signalled since says nothing of the round that device 0 waited for.
    assert error.diagnostics[0].message == (
        "device 0 reads elements of a window that device 1 wrote, in no order"
    )
    kit.run(kit.program(body + "    pld.tensor.barrier(signal)\n"), 2)


def test_atomic_additions_are_no_race_and_plain_stores_are(kit: Any) -> None:
    body = """
t = pl.load(x, [0, 0], [16, 64])
pld.tile.remote_store(t, target=data, peer=0, offsets=[0, 0]{})
"""
    kit.run(kit.program(body.format(", atomic=pl.AtomicType.Add")), 3)
    assert refused(kit, kit.program(body.format("")), 3).diagnostics[0].code == "SIM-021"


def test_other_rows_are_no_race(kit: Any) -> None:
    kit.run(kit.program("pld.tensor.put(data, peer=0, src=x, dst_offsets=[me * 4, 0], shape=[4, 64])"), 4)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("pld.tensor.put(data, peer=n, src=x)", "there is no device 3: the run has 3"),
        ("pld.tensor.put(data, peer=me - 1, src=x)", "there is no device -1: the run has 3"),
        (
            "pld.system.notify(signal, peer=0, offsets=[me + 15, 0], value=1, op=pld.NotifyOp.Set)",
            "index 16 on axis 0 is outside of the extent 16 of the signal",
        ),
        (
            "pld.tensor.put(data, peer=0, src=x, dst_offsets=[me * 8, 0])",
            "[8, 24) on axis 0 is outside of the extent 16 of 'dst'",
        ),
    ],
)
def test_errors_of_a_kernel_name_the_device(kit: Any, body: str, message: str) -> None:
    [diagnostic] = refused(kit, kit.program(body), 3).diagnostics
    assert diagnostic.message == message and "device" in dict(diagnostic.facts)
    assert diagnostic.span.is_valid


def test_a_launch_on_no_device(kit: Any) -> None:
    text = kit.text("pld.tensor.barrier(signal)").replace("device=r", "device=r + 1")
    [diagnostic] = refused(kit, parse_program(text), 2).diagnostics
    assert diagnostic.code == "SIM-022" and "launched on device 2, and there are 2" in diagnostic.message


def test_a_window_larger_than_its_buffer(kit: Any) -> None:
    """Found when the program is read where the size is constant, else when it runs."""
    text = kit.text("pld.tensor.barrier(signal)").replace("buffer(4096)", "buffer(2000 * pld.world_size())")
    [diagnostic] = refused(kit, parse_program(text), 2).diagnostics
    assert diagnostic.message == "a window of [16, 64] fp32 takes 4096 bytes, its buffer has 4000"
    assert "--ranks" not in diagnostic.remedy
    [alone] = refused(kit, parse_program(text), 1).diagnostics
    assert (
        alone.message.endswith("its buffer has 2000") and "more devices: world_size, --ranks" in alone.remedy
    )


def test_a_barrier_needs_a_signal_for_each(kit: Any) -> None:
    program = kit.program("pld.tensor.barrier(signal)")
    with pytest.raises(DiagnosticError, match="a barrier of 17 devices needs one signal for each"):
        kit.run(program, 17)


def test_many_devices_need_a_host_function(kit: Any) -> None:
    program = kit.program("t = pl.load(x, [0, 0], [16, 64])\npl.store(t, [0, 0], y)")
    arrays = kit.inputs(program, 1)
    with pytest.raises(UserError, match="'kernel' can't be run on 2 devices"):
        kit.host.engine("values").load()(
            program, {name: value[0] for name, value in arrays.items()}, "kernel", world_size=2
        )


def test_text_for_the_assembler_is_refused(kit: Any) -> None:
    from pypto_core.run import compile

    program = kit.program("pld.tensor.barrier(signal)")
    with pytest.raises(DiagnosticError) as caught:
        compile(program, backend="910b", host=kit.host)
    assert len(caught.value.diagnostics) == 1 and caught.value.diagnostics[0].code == "PT390"


ELSEWHERE = {
    "a window in a kernel": (
        lambda text: text.replace(
            "me = pld.rank(ctx)", "me = pld.rank(ctx)\n        pld.alloc_window_buffer(64)"
        ),
        "'pld.alloc_window_buffer' is used in a kernel, which knows only of its own device",
    ),
    "a rank on the host": (
        lambda text: text.replace("device=r)", "device=r)\n            pld.rank(pld.get_comm_ctx(data))"),
        "'pld.get_comm_ctx' is used in host code, which is no device",
    ),
    "a window for each trip": (
        lambda text: text.replace("pld.window(signal_buf,", "pld.window(pld.alloc_window_buffer(64),"),
        "a window is allocated in a loop: each trip has another one",
    ),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_operators_that_belong_elsewhere(kit: Any, name: str) -> None:
    from pypto_core.run import compile

    change, message = ELSEWHERE[name]
    program = parse_program(change(kit.text("pld.tensor.barrier(signal)")))
    with pytest.raises(UserError) as caught:
        compile(program, backend="910b", goal="AllocatedMemoryAddr", host=kit.host)
    [diagnostic] = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("PT393", message) and diagnostic.span.is_valid


def test_another_look_that_would_be_a_copy(kit: Any) -> None:
    """Columns under another shape lie nowhere that a peer could write to."""
    body = "flat = pl.reshape(data{}, [8, {}])\npld.tensor.put(flat, peer=0, src=pl.reshape(x{}, [8, {}]))"
    program = kit.program(body.format("[:, 0:32]", 64, "[:, 0:32]", 64), kind="Orchestration")
    with pytest.raises(UserError, match="this look at a distributed tensor is a copy"):
        kit.run(program, 1)
    kit.run(kit.program(body.format("[0:8, :]", 64, "[0:8, :]", 64), kind="Orchestration"), 1)

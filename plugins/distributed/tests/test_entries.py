"""Where a run on several devices begins: a host entry under jit, the command line, PyPTO's own settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto_core.language as pl
import pypto_core.language.distributed as pld
from pypto_core.cli import main
from pypto_core.diagnostics import DiagnosticError, UserError
from pypto_core.ir import FunctionType, Level, Role
from pypto_core.jit import JitConfig
from pypto_core.language import parse_program

CASES = Path(__file__).resolve().parents[3] / "tests" / "examples" / "cases"


@pl.jit.incore
def shift(  # type: ignore[no-untyped-def]
    x: pl.Tensor,
    y: pl.Out[pl.Tensor],
    data: pl.InOut[pld.DistributedTensor],
    signal: pl.InOut[pld.DistributedTensor[[16, 1], pl.INT32]],
    by: pl.Scalar[pl.INDEX],
):
    ctx = pld.get_comm_ctx(data)
    n = pld.nranks(ctx)
    pld.tensor.put(data, peer=(pld.rank(ctx) + by) % n, src=x)
    pld.tensor.barrier(signal)
    t = pl.load(data, [0, 0], x.shape)
    pl.store(t, [0, 0], y)


@pl.jit.host
def rotate(x: pl.Tensor, y: pl.Out[pl.Tensor], by: int):  # type: ignore[no-untyped-def]
    data_buf = pld.alloc_window_buffer(x.shape[1] * x.shape[2] * 4)
    signal_buf = pld.alloc_window_buffer(64)
    for r in pl.range(pld.world_size()):
        data = pld.window(data_buf, [x.shape[1], x.shape[2]], dtype=x.dtype)
        signal = pld.window(signal_buf, [16, 1], dtype=pl.INT32)
        shift(x[r], y[r], data, signal, by, device=r)


@pl.jit.incore
def pass_on(  # type: ignore[no-untyped-def]
    x: pl.Tensor,
    y: pl.Out[pl.Tensor],
    data: pl.InOut[pld.DistributedTensor],
    signal: pl.InOut[pld.DistributedTensor],
):
    ctx = pld.get_comm_ctx(data)
    pld.tensor.put(data, peer=(pld.rank(ctx) + 1) % pld.nranks(ctx), src=x)
    pld.tensor.barrier(signal)
    t = pl.load(data, [0, 0], x.shape)
    pl.store(t, [0, 0], y)


@pl.jit.host
def rotate_any(x: pl.Tensor, y: pl.Out[pl.Tensor]):  # type: ignore[no-untyped-def]
    n = pld.world_size()
    data_buf = pld.alloc_window_buffer(x.shape[1] * x.shape[2] * 4)
    signal_buf = pld.alloc_window_buffer(n * 4)
    for r in pl.range(n):
        data = pld.window(data_buf, [x.shape[1], x.shape[2]], dtype=x.dtype)
        signal = pld.window(signal_buf, [n, 1], dtype=pl.INT32)
        pass_on(x[r], y[r], data, signal, device=r)


def arrays(devices: int) -> tuple[Any, Any]:
    x = np.random.default_rng(1).standard_normal((devices, 16, 32), dtype=np.float32)
    return x, np.zeros_like(x)


@pytest.mark.parametrize("engine", ["values", "bytes"])
@pytest.mark.parametrize("devices", [2, 5])
def test_a_host_entry_runs_on_all_devices(devices: int, engine: str) -> None:
    x, y = arrays(devices)
    config = JitConfig(backend="910b", world_size=devices, engine=engine)
    rotate(x, y, 1, config=config)
    assert np.array_equal(y, np.roll(x, 1, axis=0))
    rotate(x, y, 2, config=config)
    assert np.array_equal(y, np.roll(x, 2, axis=0))


@pytest.mark.parametrize("devices", [1, 2, 8])
def test_windows_may_have_an_extent_per_device(devices: int) -> None:
    """The kernel is read for an extent that only the host knows."""
    x, y = arrays(devices)
    rotate_any(x, y, config=JitConfig(backend="910b", world_size=devices, engine="bytes"))
    assert np.array_equal(y, np.roll(x, 1, axis=0))


def test_a_host_entry_is_a_function_of_the_host() -> None:
    x, y = arrays(2)
    host = rotate.specialise(x, y, 1)["rotate"]
    assert (host.func_type, host.level, host.role) == (FunctionType.Opaque, Level.HOST, Role.Orchestrator)


def test_one_device_is_what_is_run_by_default() -> None:
    x, y = arrays(1)
    rotate(x, y, 1, config=JitConfig(backend="910b"))
    assert np.array_equal(x, y)


def test_a_text_with_a_host_entry_begins_there(tmp_path: Path) -> None:
    program = parse_program("""
import pypto_core.language as pl
import pypto_core.language.distributed as pld

@pl.jit.incore
def twice(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    t = pl.load(x, [0, 0], x.shape)
    pl.store(pl.add(t, t), [0, 0], y)

@pl.jit
def chip(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    twice(x, y)

@pl.jit.host
def main(x: pl.Tensor[[2, 16, 16], pl.FP32], y: pl.Out[pl.Tensor[[2, 16, 16], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        chip(x[r], y[r], device=r)
""")
    assert program.name == "main" and set(program.functions) == {"main", "chip", "twice"}


def test_an_array_is_no_distributed_tensor() -> None:
    x, y = arrays(2)
    with pytest.raises(DiagnosticError, match="'data' is a pld.DistributedTensor, and an array is given"):
        shift.specialise(x[0], y[0], x[0], np.zeros((16, 1), np.int32), 1)


def test_a_local_tensor_is_no_distributed_one() -> None:
    @pl.jit.host
    def wrong(x: pl.Tensor, y: pl.Out[pl.Tensor]):  # type: ignore[no-untyped-def]
        for r in pl.range(pld.world_size()):
            signal = pld.window(pld.alloc_window_buffer(64), [16, 1], dtype=pl.INT32)
            shift(x[r], y[r], x[r], signal, 1, device=r)

    with pytest.raises(DiagnosticError, match="is a pld.DistributedTensor, and a Tensor"):
        wrong.specialise(*arrays(2))


def test_the_command_line_takes_the_number_of_devices(capsys: Any) -> None:
    path = str(CASES / "exchange.py")
    assert main(["run", path, "--ranks", "3", "--backend", "910b", "--engine", "bytes"]) == 0
    assert "equal" in capsys.readouterr().out
    assert main(["run", path, "--ranks", "0", "--backend", "910b"]) == 2


def test_settings_of_pypto_say_it_too() -> None:
    runtime = pytest.importorskip("pypto.runtime")
    x, y = arrays(3)
    rotate(x, y, 1, config=runtime.RunConfig(world_size=3))
    assert np.array_equal(y, np.roll(x, 1, axis=0))


def test_host_code_is_not_timed(kit: Any) -> None:
    program = kit.program("pld.tensor.barrier(signal)")
    with pytest.raises(UserError, match="'host' runs on the host") as caught:
        kit.host.engine("time").load()(program, kit.inputs(program, 1), "host", backend="910b")
    assert caught.value.diagnostics[0].code == "SIM-044"


def test_a_kernel_by_itself_is_on_the_only_device(kit: Any) -> None:
    """Given an array for a distributed tensor, it has the window to itself."""
    program = kit.program("""
pld.tensor.put(data, peer=me, src=x)
pld.system.notify(signal, peer=me, offsets=[n, 0], value=1, op=pld.NotifyOp.Set)
pld.system.wait(signal, offsets=[1, 0], expected=1, cmp=pld.WaitCmp.Eq)
t = pl.load(data, [0, 0], [16, 64])
pl.store(t, [0, 0], y)
""")
    given = {name: value[0] for name, value in kit.inputs(program, 1).items()}
    given |= {"data": np.zeros((16, 64), np.float32), "signal": np.zeros((16, 1), np.int32)}
    found = kit.host.engine("values").load()(program, given, "kernel").outputs
    assert np.array_equal(found["y"], given["x"]) and found["signal"].sum() == 1


def test_more_devices_than_one_are_not_timed(kit: Any) -> None:
    """What ``pypto run --engine time --ranks 4`` asks for."""
    program = kit.program("pld.tensor.barrier(signal)")
    run = kit.host.engine("time").load()
    for entry, code in (("host", "SIM-044"), ("kernel", "SIM-022")):
        with pytest.raises(UserError) as caught:
            run(program, kit.inputs(program, 4), entry, backend="910b", world_size=4)
        assert caught.value.diagnostics[0].code == code


def test_arrays_without_an_entry_for_each_device(kit: Any) -> None:
    program = kit.program("pld.tensor.put(data, peer=me, src=x)")
    for engine in ("values", "bytes"):
        with pytest.raises(UserError) as caught:
            kit.run(program, 3, engine, arrays=kit.inputs(program, 2))
        [diagnostic] = caught.value.diagnostics
        assert diagnostic.code == "SIM-006" and diagnostic.span.is_valid and diagnostic.remedy
        assert diagnostic.message == "index 2 on axis 0 is outside of the extent 2"


def test_transfers_are_not_timed(kit: Any) -> None:
    program = kit.lowered(kit.program("pld.tensor.put(data, peer=me, src=x)"))
    given = {name: value[0] for name, value in kit.inputs(program, 1).items()}
    given |= {"data": np.zeros((16, 64), np.float32), "signal": np.zeros((16, 1), np.int32)}
    with pytest.raises(UserError, match="how long pld.tile.remote_store takes is not known") as caught:
        kit.host.engine("time").load()(program, given, "kernel", backend="910b")
    assert caught.value.diagnostics[0].code == "PT392" and caught.value.diagnostics[0].span.is_valid

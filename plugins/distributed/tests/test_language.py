"""What is written comes back from text and bytes, and what does not fit is refused where it stands."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import pypto_core.language.distributed as pld
from pypto_core.diagnostics import DiagnosticError, UserError
from pypto_core.ir import (
    DEVICE,
    Call,
    DataType,
    DistributedTensorType,
    GlobalVar,
    NotifyOp,
    WaitCmp,
    WindowBufferType,
    walk,
)
from pypto_core.language import parse, parse_program
from pypto_core.text import print_program
from pypto_plugin_distributed.ops import OPS

EVERYTHING = """
pld.system.notify(signal, peer=0, offsets=[me, 0], value=1, op=pld.NotifyOp.AtomicAdd)
pld.system.notify(signal, 0, [me, 0], 2, op=pld.NotifyOp.Set)
pld.system.wait(signal, offsets=[0, 0], expected=n, cmp=pld.WaitCmp.Ge)
pld.tensor.put(data, peer=0, src=x)
pld.tensor.put(data, peer=0, src=x, dst_offsets=[0, 0], src_offsets=[8, 0], shape=[8, 64], atomic=pl.AtomicType.Add)
pld.tensor.put(data, peer=0, src=x, chunk_rows=4, chunk_cols=32, pipeline=True)
pld.tensor.get(y, peer=0, src=data, shape=[8, 64])
pld.tensor.remote_store(x, target=data, peer=0, offsets=[0, 0])
pld.tensor.barrier(signal)
t = pld.tile.remote_load(data, peer=0, offsets=[0, 0], shape=[16, 64], valid_shape=[n, 64])
pld.tile.remote_store(t, target=data, peer=0, offsets=[0, 0], atomic=pl.AtomicType.Add)
"""


def test_all_of_it_round_trips(kit: Any) -> None:
    program = kit.program(EVERYTHING)
    kit.round_trips(program)
    text = print_program(program)
    assert "import pypto_core.language.distributed as pld\n" in text
    used = {node.name for f in program for node in walk(f.body) if isinstance(node, Call)}
    assert {op.name for op in OPS} <= used


def test_types_and_notes(kit: Any) -> None:
    program = kit.program("pld.tensor.barrier(signal)")
    kernel, host = program["kernel"], program["host"]
    data = kernel.params[2].type
    assert isinstance(data, DistributedTensorType) and data.dtype is DataType.FP32
    made = [node.type for node in walk(host.body) if isinstance(node, Call)]
    assert any(isinstance(kind, WindowBufferType) for kind in made)
    [call] = [n for n in walk(host.body) if isinstance(n, Call) and isinstance(n.op, GlobalVar)]
    assert DEVICE in call.attrs
    assert "self.kernel(" in print_program(program) and ", device=r)\n" in print_program(program)


def test_what_is_computed_from_a_window_is_a_tensor_of_its_own(kit: Any) -> None:
    program = kit.program(
        "z = pl.mul(data, 2.0)\ndata = pl.store(pl.load(x, [0, 0], [16, 64]), [0, 0], data)"
    )
    kinds = {
        node.name: type(node.type).__name__ for node in walk(program["kernel"].body) if isinstance(node, Call)
    }
    assert kinds["tensor.muls"] == "TensorType" and kinds["tile.store"] == "DistributedTensorType"


def test_a_program_without_devices_does_not_import_the_names() -> None:
    text = print_program(
        parse_program("""
import pypto_core.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def f(self, x: pl.Tensor[[16, 16], pl.FP32]):
        t = pl.load(x, [0, 0], [16, 16])
""")
    )
    assert "pld" not in text


def test_an_author_may_call_a_variable_pld_in_a_program_without_devices() -> None:
    program = parse("""
import pypto_core.language as pl
@pl.function(type=pl.FunctionType.InCore)
def f(pld: pl.Tensor[[16, 16], pl.FP32]):
    t = pl.load(pld, [0, 0], [16, 16])
""")
    assert "pld.tile" not in print_program(program)


@pytest.mark.parametrize(
    "head",
    [
        "import pypto.language as pl\nimport pypto.language.distributed as pld",
        "from pypto_core import language as pl\nfrom pypto_core.language import distributed as pld",
        "import pypto.language as pl\nimport pypto.language.distributed as dist",
    ],
)
def test_ways_to_import(kit: Any, head: str) -> None:
    text = kit.text("pld.tensor.barrier(signal)")
    name = head.rsplit(" ", 1)[1]
    body = text.split("\n", 2)[2].replace("pld.", f"{name}.")
    program = parse_program(f"{head}\n{body}")
    assert print_program(program) == print_program(kit.program("pld.tensor.barrier(signal)"))


def test_names_that_python_sees() -> None:
    assert pld.NotifyOp is NotifyOp and pld.WaitCmp is WaitCmp
    assert repr(pld.DistributedTensor) == "pld.DistributedTensor"
    assert repr(pld.system.notify) == "<pld.system.notify>"
    assert {"window", "alloc_window_buffer", "world_size", "rank", "nranks"} <= set(dir(pld))
    assert dir(pld.tile) == ["remote_load", "remote_store"]
    with pytest.raises(AttributeError, match="pld has no 'windoww'"):
        _ = pld.windoww
    with pytest.raises(UserError, match="pld.window was called outside of a kernel"):
        pld.window(None, [1], dtype=None)
    compat = importlib.import_module("pypto.language.distributed")
    assert compat.DistributedTensor is pld.DistributedTensor and repr(compat.window) == "<pld.window>"


REFUSED = {
    "a shape of another number of axes": (
        "pld.tensor.put(data, peer=0, src=x, shape=[16])",
        "1 extents for the 2 axes of 'dst'",
    ),
    "peer": ("pld.tensor.put(data, peer=1.5, src=x)", "argument 'peer' of pld.tensor.put must be an integer"),
    "negative peer": ("pld.tensor.put(data, peer=-1, src=x)", "there is no device -1"),
    "local target": ("pld.tensor.put(y, peer=0, src=x)", "'dst' lies on this device alone"),
    "what is computed from one": (
        "z = pl.mul(data, 2.0)\npld.tensor.put(z, peer=0, src=x)",
        "'dst' lies on this device alone",
    ),
    "local source of get": ("pld.tensor.get(y, peer=0, src=x)", "'src' lies on this device alone"),
    "rank of offsets": (
        "pld.system.notify(signal, peer=0, offsets=[me], value=1, op=pld.NotifyOp.Set)",
        "1 offsets for the 2 axes of 'target'",
    ),
    "outside": (
        "pld.system.wait(signal, offsets=[16, 0], expected=1, cmp=pld.WaitCmp.Eq)",
        "[16, 17) on axis 0 is outside of the extent 16 of 'signal'",
    ),
    "no signal": (
        "pld.system.notify(data, peer=0, offsets=[0, 0], value=1, op=pld.NotifyOp.Set)",
        "a signal holds int32, not fp32",
    ),
    "no signal to wait for": (
        "pld.system.wait(data, offsets=[0, 0], expected=1, cmp=pld.WaitCmp.Eq)",
        "a signal holds int32, not fp32",
    ),
    "a number that no signal holds": (
        "pld.system.wait(signal, offsets=[0, 0], expected=1 << 31, cmp=pld.WaitCmp.Eq)",
        "expected 2147483648 does not fit a signal, which holds int32",
    ),
    "no barrier": ("pld.tensor.barrier(data)", "a signal holds int32, not fp32"),
    "element type": ("pld.tensor.put(signal, peer=0, src=x)", "a transfer does not convert elements"),
    "shapes of windows": (
        "part = data[0:8, :]\npld.tensor.put(part, peer=0, src=x)",
        "dst and src have different shapes",
    ),
    "shapes": (
        "part = x[0:8, :]\npld.tensor.put(data, peer=0, src=part)",
        "dst and src have different shapes",
    ),
    "region": (
        "pld.tensor.put(data, peer=0, src=x, dst_offsets=[12, 0], shape=[8, 64])",
        "[12, 20) on axis 0 is outside of the extent 16 of 'dst'",
    ),
    "chunk": ("pld.tensor.put(data, peer=0, src=x, chunk_rows=0)", "chunk_rows must be positive, not 0"),
    "kind of comparison": (
        "pld.system.wait(signal, offsets=[0, 0], expected=1, cmp=pld.WaitCmp.Equal)",
        "WaitCmp has no member 'Equal'",
    ),
    "missing option": (
        "pld.system.notify(signal, peer=0, offsets=[0, 0], value=1)",
        "pld.system.notify needs the option 'op'",
    ),
    "unknown operator": ("pld.system.notfy(signal)", "pld has no 'system.notfy'"),
    "no context": ("k = pld.rank(data)", "a context is needed here, not a DistributedTensor"),
    "remote window": (
        "t = pld.tile.remote_load(data, peer=0, offsets=[8, 0], shape=[16, 64])",
        "[8, 24) on axis 0 is outside of the extent 16 of 'target'",
    ),
    "stored type": (
        "t = pl.load(signal, [0, 0], [16, 1])\npld.tile.remote_store(t, target=data, peer=0, offsets=[0, 0])",
        "a transfer does not convert elements",
    ),
    "no window": ("w = pld.window(data, [4], dtype=pl.FP32)", "a window is made of a window buffer"),
    "empty buffer": ("b = pld.alloc_window_buffer(0)", "a window of 0 bytes holds nothing"),
    "window and buffer": (
        "b = pld.alloc_window_buffer(100)\nw = pld.window(b, [5, 6], dtype=pl.FP32)",
        "a window of [5, 6] fp32 takes 120 bytes, its buffer has 100",
    ),
    "device in a kernel": ("self.kernel(x, y, data, signal, device=0)", "has no parameter 'device'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_where_it_stands(kit: Any, name: str) -> None:
    body, message = REFUSED[name]
    text = kit.text(body)
    with pytest.raises(DiagnosticError) as caught:
        parse_program(text)
    diagnostic = caught.value.diagnostics[0]
    assert message in str(caught.value)
    line = text.splitlines()[diagnostic.span.begin_line - 1]
    assert line.strip() in [part.strip() for part in body.splitlines()]
    assert diagnostic.remedy


def test_a_launch_names_an_integer(kit: Any) -> None:
    text = kit.text("pld.tensor.barrier(signal)").replace("device=r", "device=0.5")
    with pytest.raises(DiagnosticError, match="device must be an integer"):
        parse_program(text)


def test_annotations_say_what_is_missing(kit: Any) -> None:
    for annotation, message in {
        "pld.DistributedTensor": "pld.DistributedTensor needs its shape and element type",
        "pld.DistributedTensor[[16, 64]]": "pld.DistributedTensor needs a shape and an element type",
        "pld.Windows": "pld.Windows is not a type",
        "pld.WindowBuffer[0]": "pld.WindowBuffer has one constant, its bytes",
    }.items():
        text = kit.text("pld.tensor.barrier(signal)")
        text = text.replace("pld.DistributedTensor[[16, 64], pl.FP32]", annotation)
        with pytest.raises(DiagnosticError) as caught:
            parse_program(text)
        assert message in str(caught.value)

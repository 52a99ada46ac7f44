"""Windows of tensors and tiles: what is read and written, what stays undefined, whose storage it is."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    AtomicType,
    ConstFloat,
    ConstInt,
    DataType,
    MemorySpace,
    PadValue,
    ParamDirection,
)
from pypto_core.testing import build as b
from pypto_core.testing import random_array, same_elements
from pypto_plugin_simulator.values import run

INOUT, OUT = ParamDirection.InOut, ParamDirection.Out


def index(name: str) -> Any:
    return b.scalar(name)


@settings(max_examples=60)
@given(data=st.data())
def test_load_and_store_move_only_what_is_valid(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(2, 9)), data.draw(st.integers(2, 9))
    h, w = data.draw(st.integers(1, rows)), data.draw(st.integers(1, columns))
    r, c = data.draw(st.integers(0, rows - h)), data.draw(st.integers(0, columns - w))
    p, q = data.draw(st.integers(0, rows - h)), data.draw(st.integers(0, columns - w))
    vr, vc = data.draw(st.integers(0, h)), data.draw(st.integers(0, w))
    x, out = b.tensor("x", (rows, columns)), b.tensor("out", (rows, columns))
    names = [index(n) for n in ("r", "c", "p", "q", "vr", "vc")]
    load = b.let(
        "t", b.op("tile.load", x, b.dims(names[0], names[1]), b.dims(h, w), b.dims(names[4], names[5]))
    )
    store = b.let("o", b.op("tile.store", load.var, b.dims(names[2], names[3]), out))
    kernel = b.kernel("k", [x, *names, (out, INOUT)], [load, store, b.ret(store.var)], returns=[out.type])
    source = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    target = -source - 1
    result = run(kernel, [source, r, c, p, q, vr, vc, target])
    want = target.copy()
    want[p : p + vr, q : q + vc] = source[r : r + vr, c : c + vc]
    assert np.array_equal(result.outputs["out"], want)
    assert (
        result.returns[0] is result.outputs["out"]
    )  # the tensor that a store gives is the parameter's storage
    assert (target == -source - 1).all()  # inputs are not touched


def kernel_reading(offset: Any, clamp: bool, *scalars: Any) -> Any:
    x = b.tensor("x", (8, 4))
    options = {"clamp": True} if clamp else {}
    load = b.let("t", b.op("tile.load", x, b.dims(offset, 0), b.dims(4, 4), **options))
    return b.kernel("k", [x, *scalars], [load, b.ret(load.var)], returns=[load.var.type])


def test_reads_past_the_end() -> None:
    data = np.arange(32, dtype=np.float32).reshape(8, 4)
    at = index("at")
    strict, clamped = kernel_reading(at, False, at), kernel_reading(at, True, at)
    assert np.array_equal(run(strict, [data, 4]).returns[0], data[4:])
    with pytest.raises(UserError, match=r"\[6, 10\) on axis 0 is outside of the extent 8") as caught:
        run(strict, [data, 6])
    assert "clamp" in caught.value.diagnostics[0].remedy
    result = run(clamped, [data, 6]).returns[0]
    assert np.array_equal(result[:2], data[6:]) and np.isnan(result[2:]).all()
    assert np.isnan(run(clamped, [data, 9]).returns[0]).all()
    for kernel in (strict, clamped):
        with pytest.raises(UserError, match="outside"):
            run(kernel, [data, -1])


def test_writes_past_the_end() -> None:
    at, n = index("at"), index("n")
    x, out = b.tensor("x", (4, 4)), b.tensor("out", (6, 4))
    load = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(4, 4), b.dims(n, 4)))
    store = b.do(b.op("tile.store", load.var, b.dims(at, 0), out))
    kernel = b.kernel("k", [x, at, n, (out, INOUT)], [load, store])
    block, target = np.ones((4, 4), np.float32), np.zeros((6, 4), np.float32)
    assert run(kernel, [block, 4, 2, target]).outputs["out"][:, 0].tolist() == [0, 0, 0, 0, 1, 1]
    with pytest.raises(UserError, match="the write"):
        run(kernel, [block, 4, 3, target])


@pytest.mark.parametrize("dtype", [DataType.FP32, DataType.BF16, DataType.INT32], ids=str)
def test_atomic_add(dtype: DataType) -> None:
    x, out = b.tensor("x", (2, 4), dtype), b.tensor("out", (2, 4), dtype)
    load = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(2, 4)))

    def body(i: Any) -> Any:
        return [b.do(b.op("tile.store", load.var, b.dims(0, 0), out, atomic=AtomicType.Add))]

    kernel = b.kernel("k", [x, (out, INOUT)], [load, b.loop(3, body)])
    rng = np.random.default_rng(0)
    source, target = random_array(rng, dtype, (2, 4)), random_array(rng, dtype, (2, 4))
    want = target
    for _ in range(3):  # rounded after each
        wide = (want.astype(np.float32) + source.astype(np.float32)) if dtype.is_float else want + source
        want = wide.astype(target.dtype)
    assert same_elements(run(kernel, [source, target]).outputs["out"], want).all()


def test_accumulators_are_narrowed_on_their_way_out() -> None:
    x, out = b.tensor("x", (1, 2)), b.tensor("out", (1, 2), DataType.BF16)
    load = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(1, 2)))
    kernel = b.kernel("k", [x, (out, OUT)], [load, b.do(b.op("tile.store", load.var, b.dims(0, 0), out))])
    source = np.array([[1 + 2**-8, 1 + 3 * 2**-8]], np.float32)  # two ties
    assert run(kernel, [source]).outputs["out"].astype(float).tolist() == [[1.0, 1 + 2**-6]]


def test_a_partition_of_more_axes() -> None:
    x, out = b.tensor("x", (6, 4)), b.tensor("out", (2, 3, 4))
    load = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(6, 4)))
    whole = b.do(b.op("tile.store", load.var, b.dims(0, 0, 0), out, b.dims(2, 3, 4)))
    data = np.arange(24, dtype=np.float32).reshape(6, 4)
    result = run(b.kernel("k", [x, (out, OUT)], [load, whole]), [data]).outputs["out"]
    assert np.array_equal(result, data.reshape(2, 3, 4))


def test_partly_written_outputs_are_undefined_elsewhere() -> None:
    x, out = b.tensor("x", (1, 2)), b.tensor("out", (2, 2))
    load = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(1, 2)))
    kernel = b.kernel("k", [x, (out, OUT)], [load, b.do(b.op("tile.store", load.var, b.dims(1, 0), out))])
    result = run(kernel, [np.ones((1, 2), np.float32)]).outputs["out"]
    assert np.isnan(result[0]).all() and (result[1] == 1).all()


@settings(max_examples=40)
@given(data=st.data())
def test_windows_of_tiles(run_op: Any, given_array: Any, data: st.DataObject) -> None:
    array = np.arange(48, dtype=np.float32).reshape(6, 8)
    valid = data.draw(st.tuples(st.integers(1, 6), st.integers(1, 8)))
    h, w = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 8))
    r, c = data.draw(st.integers(0, 6 - h)), data.draw(st.integers(0, 8 - w))
    x = given_array(array, DataType.FP32, valid)
    want = np.full((6, 8), np.nan, np.float32)
    want[: valid[0], : valid[1]] = x.part
    want = want[r : r + h, c : c + w]
    assert same_elements(run_op("tile.slice", x, (h, w), (r, c)), want).all()
    assert same_elements(run_op("tile.extract", x, r, c, (h, w)), want).all()


def test_runtime_windows_are_checked() -> None:
    at = index("at")
    x = b.tensor("x", (4, 4))
    load = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(4, 4)))
    cut = b.let("s", b.op("tile.slice", load.var, b.dims(2, 4), b.dims(at, 0)))
    kernel = b.kernel("k", [x, at], [load, cut, b.ret(cut.var)], returns=[cut.var.type])
    data = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert np.array_equal(run(kernel, [data, 2]).returns[0], data[2:])
    with pytest.raises(UserError, match=r"\[3, 5\) on axis 0"):
        run(kernel, [data, 3])


def test_assemble_gives_a_new_tile() -> None:
    x = b.tensor("x", (4, 4))
    load = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(4, 4)))
    piece = b.let("p", b.op("tile.full", b.dims(2, 2), ConstFloat(9.0), dtype=DataType.FP32))
    done = b.let("u", b.op("tile.assemble", load.var, piece.var, b.dims(1, 2)))
    kernel = b.kernel("k", [x], [load, piece, done, b.ret(load.var, done.var)], returns=[load.var.type] * 2)
    data = np.arange(16, dtype=np.float32).reshape(4, 4)
    before, after = run(kernel, [data]).returns
    want = data.copy()
    want[1:3, 2:4] = 9
    assert np.array_equal(before, data) and np.array_equal(after, want)


def test_a_written_element_shows_in_every_view_of_the_tile() -> None:
    x = b.tensor("x", (2, 4))
    load = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(2, 4)))
    view = b.let("v", b.op("tile.reshape", load.var, b.dims(4, 2)))
    write = b.do(b.op("tile.write", load.var, b.dims(1, 2), ConstFloat(7.0)))
    kernel = b.kernel("k", [x], [load, view, write, b.ret(view.var)], returns=[view.var.type])
    data = np.zeros((2, 4), np.float32)
    assert run(kernel, [data]).returns[0][3, 0] == 7
    assert not data.any()  # the tile is a copy of the tensor


def test_elements() -> None:
    x, at = b.tensor("x", (2, 3), DataType.INT8), index("at")
    element = b.let("e", b.op("tensor.read", x, b.dims(1, at)))
    kernel = b.kernel("k", [x, at], [element, b.ret(element.var)], returns=[element.var.type])
    data = np.arange(6, dtype=np.int8).reshape(2, 3)
    assert run(kernel, [data, 2]).returns == (5,)
    with pytest.raises(UserError, match="index 3 on axis 1 is outside of the extent 3"):
        run(kernel, [data, 3])
    load = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(2, 3), b.dims(1, at)))
    element = b.let("e", b.op("tile.read", load.var, b.dims(0, 1)))
    kernel = b.kernel("k", [x, at], [load, element, b.ret(element.var)], returns=[element.var.type])
    assert run(kernel, [data, 2]).returns == (1,)
    with pytest.raises(UserError, match="holds no data"):
        run(kernel, [data, 1])


@pytest.mark.parametrize(
    ("dtype", "pad", "number"),
    [
        (DataType.FP32, PadValue.min, -np.inf),
        (DataType.BF16, PadValue.max, np.inf),
        (DataType.INT8, PadValue.min, -128),
        (DataType.UINT16, PadValue.max, 65535),
        (DataType.INT32, PadValue.zero, 0),
    ],
)
def test_padding(run_op: Any, given_array: Any, dtype: DataType, pad: PadValue, number: float) -> None:
    array = random_array(np.random.default_rng(0), dtype, (3, 5))
    x = given_array(array, dtype, (2, 3))
    for name, shape, extra in (("fillpad", (3, 5), ()), ("fillpad_expand", (4, 8), ((4, 8),))):
        result = run_op(f"tile.{name}", x, *extra, pad_value=pad)
        want = np.full(shape, number).astype(array.dtype)
        want[:2, :3] = array[:2, :3]
        assert same_elements(result, want).all()


def test_sources() -> None:
    def made(call: Any) -> Any:
        stmt = b.let("t", call)
        return run(b.kernel("k", [], [stmt, b.ret(stmt.var)], returns=[stmt.var.type])).returns[0]

    half = made(b.op("tile.full", b.dims(2, 3), ConstFloat(0.1), dtype=DataType.FP16))
    assert half.dtype == np.float16 and (half == np.float16(0.1)).all()
    assert np.isnan(made(b.op("tile.create", b.dims(2, 2), dtype=DataType.FP32))).all()
    garbage = made(b.op("tile.create", b.dims(1, 1), dtype=DataType.INT32))
    assert garbage.view(np.uint32).item() == 0xA5A5A5A5
    ramp = made(
        b.op("tile.ci", ConstInt(5, DataType.INT32), b.dims(1, 4), dtype=DataType.INT32, descending=True)
    )
    assert ramp.tolist() == [[5, 4, 3, 2]]
    zeros = made(b.op("tensor.create", b.dims(2, 2), dtype=DataType.FP32, init_value=0.0))
    assert not zeros.any()


def test_views(run_op: Any, given_array: Any) -> None:
    array = np.arange(96, dtype=np.float32).reshape(4, 24)
    x = given_array(array, DataType.FP32)
    assert np.array_equal(run_op("tile.reshape", x, (6, 16)), array.reshape(6, 16))
    assert np.array_equal(run_op("tile.transpose_view", x), array.T)
    assert np.array_equal(run_op("tile.transpose", x, 0, 1), array.T)
    assert np.array_equal(run_op("tile.move", x, target_memory=MemorySpace.Mat), array)
    assert np.array_equal(run_op("tile.concat", x, x), np.hstack([array, array]))
    part = given_array(array, DataType.FP32, (2, 24))
    flat = run_op("tile.reshape", part, (1, 96))  # two whole rows are the first half of the elements
    assert np.array_equal(flat[0, :48], array[:2].ravel()) and np.isnan(flat[0, 48:]).all()
    narrow = run_op("tile.set_validshape", x, 2, 3)
    assert np.array_equal(narrow, array)  # looked at, not changed


def test_reinterpreted_bytes(run_op: Any, given_array: Any) -> None:
    array = np.arange(32, dtype=np.float32).reshape(2, 16) - 7.5
    result = run_op("tile.reinterpret_view", given_array(array, DataType.FP32), dtype=DataType.INT16)
    assert np.array_equal(result, array.view(np.int16))
    small = (np.arange(64).reshape(2, 32) % 16 - 8).astype(np.int8).astype(ml_dtypes.int4)
    result = run_op("tile.reinterpret_view", given_array(small, DataType.INT4), dtype=DataType.UINT8)
    nibbles = small.astype(np.int8).view(np.uint8) & 15
    assert np.array_equal(result, nibbles[:, 0::2] | nibbles[:, 1::2] << 4)


def test_tensor_windows_share_storage() -> None:
    x, at = b.tensor("x", (4, 4)), index("at")
    window = b.let("w", b.op("tensor.slice", x, b.dims(2, 4), b.dims(at, 0)))
    tile = b.let("t", b.op("tile.full", b.dims(2, 4), ConstFloat(5.0), dtype=DataType.FP32))
    store = b.do(b.op("tile.store", tile.var, b.dims(0, 0), window.var))
    kernel = b.kernel("k", [(x, INOUT), at], [window, tile, store])
    data = np.zeros((4, 4), np.float32)
    assert run(kernel, [data, 1]).outputs["x"][:, 0].tolist() == [0, 5, 5, 0]
    with pytest.raises(UserError, match="past the end of the tensor"):
        run(kernel, [data, 3])


def test_tensor_assemble_writes_in_place() -> None:
    x, y = b.tensor("x", (4, 4)), b.tensor("y", (2, 2))
    done = b.let("z", b.op("tensor.assemble", x, y, b.dims(1, 1), atomic=AtomicType.Add))
    kernel = b.function("f", [(x, INOUT), y], [done, b.ret(done.var)], returns=[x.type])
    result = run(kernel, [np.ones((4, 4), np.float32), np.ones((2, 2), np.float32)])
    want = np.ones((4, 4), np.float32)
    want[1:3, 1:3] = 2
    assert np.array_equal(result.outputs["x"], want) and result.returns[0] is result.outputs["x"]


def test_dropped_axes_and_extents(run_op: Any, given_array: Any) -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = given_array(array, DataType.FP32)
    assert np.array_equal(run_op("tensor.slice", x, (1, 3, 4), (1, 0, 0), (), (0,)), array[1])
    assert np.array_equal(run_op("tensor.reshape", x, (6, 4)), array.reshape(6, 4))
    assert run_op("tensor.dim", x, 2) == 4


def test_an_element_that_is_not_there() -> None:
    x, at = b.tensor("x", (2, 3, 4)), index("at")
    part = b.let("part", b.op("tensor.slice", x, b.dims(1, 3, 4), b.dims(at, 0, 0), b.dims(), b.dims(0)))
    kernel = b.function("f", [x, at], [part, b.ret(part.var)], returns=[part.var.type])
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    assert np.array_equal(run(kernel, [array, 1]).returns[0], array[1])
    for wrong in (2, 7):
        with pytest.raises(UserError, match=f"index {wrong} on axis 0 is outside of the extent 2") as caught:
            run(kernel, [array, wrong])
        assert caught.value.diagnostics[0].code == "SIM-006"


def test_symbolic_windows_in_a_loop() -> None:
    m = index("M")
    x, out = b.tensor("x", (m, 8)), b.tensor("out", (m, 8))

    def body(i: Any) -> Any:
        load = b.let("t", b.op("tile.load", x, b.dims(i, 0), b.dims(4, 8), clamp=True))
        double = b.let("d", b.op("tile.add", load.var, load.var))
        return [load, double, b.do(b.op("tile.store", double.var, b.dims(i, 0), out))]

    kernel = b.kernel("k", [x, (out, OUT)], [b.loop(m, body, step=4)])
    for rows in (1, 4, 7, 8):
        data = np.arange(rows * 8, dtype=np.float32).reshape(rows, 8)
        assert np.array_equal(run(kernel, [data]).outputs["out"], data * 2)

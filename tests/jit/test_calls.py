# ruff: noqa: I002 - kernels assign without use, and Python evaluates their annotations here
"""Kernels called with arrays of several libraries compute what numpy does, in the caller's memory."""

import logging
import runpy
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pypto_core.language as pl
from pypto_core.diagnostics import UserError
from pypto_core.host import load_host
from pypto_core.jit import JitConfig
from pypto_core.jit.arrays import as_numpy, described, is_array
from pypto_core.run import MismatchError, PassContext, compile


def numbers(*shape: int, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


@pl.jit.incore
def add_scaled(x: pl.Tensor, y: pl.Tensor, out: pl.Out[pl.Tensor], s: pl.Scalar[pl.FP32], tile: int = 16):
    for i in pl.range(x.shape[0] // tile):
        a = pl.load(x, [i * tile, 0], [tile, x.shape[1]])
        b = pl.load(y, [i * tile, 0], [tile, y.shape[1]])
        out = pl.store(pl.add(pl.mul(a, s), b), [i * tile, 0], out)
    return out


@pl.jit
def chain(
    x: pl.Tensor, y: pl.Tensor, first: pl.Out[pl.Tensor], second: pl.InOut[pl.Tensor], s: pl.Scalar[pl.FP32]
):
    first = add_scaled(x, y, first, s)
    second = add_scaled(first, second, second, 2.0, tile=8)
    return first, second


def test_outputs_are_written_in_place_and_returned() -> None:
    x, y, out = numbers(64, 32), numbers(64, 32, seed=6), np.zeros((64, 32), np.float32)
    assert add_scaled(x, y, out, 3) is out
    np.testing.assert_array_equal(out, x * np.float32(3) + y)
    assert add_scaled(x=x, y=y, out=out, s=0.5, tile=32) is out
    np.testing.assert_array_equal(out, x * np.float32(0.5) + y)


def test_a_kernel_that_writes_an_input_warns_once_and_leaves_it(caplog: pytest.LogCaptureFixture) -> None:
    @pl.jit
    def negated(x: pl.Tensor, out: pl.Tensor):
        with pl.at(level=pl.Level.CORE_GROUP):
            out[:] = pl.neg(x)

    x, out = numbers(16, 16), np.zeros((16, 16), np.float32)
    with caplog.at_level(logging.WARNING, "pypto_core.jit"):
        for _ in range(2):
            assert negated(x, out) is None
    [said] = [record.getMessage() for record in caplog.records]
    assert said.startswith("warning[PT414]: 'out' is an input of function 'negated'")
    assert "out[:] = pl.neg(x)" in said
    assert not out.any()


def test_kernels_that_call_kernels() -> None:
    x, y = numbers(32, 16), numbers(32, 16, seed=6)
    first, second = np.zeros_like(x), numbers(32, 16, seed=7)
    before = second.copy()
    returned = chain(x, y, first, second, 1.5)
    assert returned[0] is first and returned[1] is second
    np.testing.assert_array_equal(first, x * np.float32(1.5) + y)
    np.testing.assert_array_equal(second, first * np.float32(2) + before)


@settings(max_examples=15)
@given(
    st.integers(1, 5), st.integers(1, 4), st.floats(-4, 4, width=32), st.sampled_from(["float16", "float32"])
)
def test_any_extents_and_numbers(rows: int, cols: int, factor: float, dtype: str) -> None:
    shape = (rows * 8, cols * 16)
    x, y = (numbers(*shape, seed=seed).astype(dtype) for seed in (1, 2))
    out = np.zeros(shape, dtype)
    with PassContext(backend=next(iter(load_host().backends.values())), verification="basic"):
        add_scaled(x, y, out, factor, tile=8)
    wide = x.astype(np.float64) * factor + y
    np.testing.assert_allclose(
        out, wide, rtol=2e-3 if dtype == "float16" else 1e-6, atol=1e-2 if dtype == "float16" else 1e-5
    )


def test_an_open_extent_takes_any_number_of_rows_with_one_program() -> None:
    M = pl.dynamic("M")

    @pl.jit.incore
    def double(x: pl.Tensor[[M, 16], pl.FP32], out: pl.Out[pl.Tensor[[M, 16], pl.FP32]]):
        for i in pl.range(x.shape[0] // 8):
            t = pl.load(x, [i * 8, 0], [8, 16])
            out = pl.store(pl.add(t, t), [i * 8, 0], out)
        return out

    programs = set()
    for rows in (8, 24, 64):
        x, out = numbers(rows, 16), np.zeros((rows, 16), np.float32)
        double(x, out)
        np.testing.assert_array_equal(out, x + x)
        programs.add(double.lower(x, out))
    assert len(programs) == 1


def test_outputs_that_are_left_out_are_made_and_returned() -> None:
    @pl.jit.incore
    def exp_of(x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
        t = pl.load(x, [0, 0], [16, 16])
        pl.store(pl.exp(t), [0, 0], out)

    x = numbers(16, 16)
    made = exp_of(x)
    np.testing.assert_allclose(made, np.exp(x), rtol=1e-6)
    given_out = np.zeros_like(x)
    assert exp_of(x, given_out) is None
    np.testing.assert_array_equal(given_out, made)


# -------------------------------------------------------------------------------------------- arrays of others


class Interface:
    """Memory handed out by ``__array_interface__``."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


class DLPack:
    """Memory handed out by DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class Copying:
    """Something that only gives copies of its elements."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return self.array.copy()


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A library with tensors as torch has them: numpy sees their memory, except for types it has no name for."""
    module = types.ModuleType("a_tensor_library")

    class Name(str):
        def __str__(self) -> str:
            return f"a_tensor_library.{str.__str__(self)}"

    class Tensor:
        def __init__(self, array: np.ndarray) -> None:
            self.array, self.shape = array, array.shape
            self.dtype = Name(array.dtype.name)

        def detach(self) -> "Tensor":
            return self

        def view(self, dtype: str) -> "Tensor":
            return Tensor(self.array.view(str.__str__(dtype)))

        def numpy(self) -> np.ndarray:
            if str.__str__(self.dtype) == "bfloat16":
                raise TypeError("unsupported ScalarType BFloat16")
            return self.array

        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            return self.numpy()

        def __dlpack__(self, **options: object) -> object:
            raise TypeError("this path must not be taken")

    Tensor.__module__ = "a_tensor_library"
    module.Tensor, module.int16, module.int8 = Tensor, Name("int16"), Name("int8")
    monkeypatch.setitem(sys.modules, "a_tensor_library", module)
    return module


@pytest.mark.parametrize("wrap", [Interface, DLPack])
def test_memory_of_other_libraries_is_written_in_place(wrap) -> None:
    x, y, out = numbers(32, 16), numbers(32, 16, seed=6), np.zeros((32, 16), np.float32)
    wrapped = wrap(out)
    assert add_scaled(wrap(x), wrap(y), wrapped, 2.0) is wrapped
    np.testing.assert_array_equal(out, x * np.float32(2) + y)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_tensors_are_written_in_place_whatever_numpy_calls_their_elements(torch, dtype) -> None:
    x, y = (numbers(32, 16, seed=seed).astype(dtype) for seed in (1, 2))
    out = np.zeros((32, 16), dtype)
    wrapped = torch.Tensor(out)
    assert add_scaled(torch.Tensor(x), torch.Tensor(y), wrapped, 1.0) is wrapped
    np.testing.assert_allclose(
        out.astype(np.float64), x.astype(np.float64) + y.astype(np.float64), rtol=8e-3, atol=8e-3
    )
    assert out.any()


def test_a_view_with_strides_is_written_where_it_lies() -> None:
    x, y, whole = numbers(32, 16), numbers(32, 16, seed=6), np.zeros((64, 48), np.float32)
    part = whole[::2, 8:24]
    add_scaled(x, y, part, 1.0)
    np.testing.assert_array_equal(whole[::2, 8:24], x + y)
    assert not whole[1::2].any() and not whole[:, :8].any() and not whole[:, 24:].any()


def test_copies_and_read_only_arrays_are_read_and_never_written() -> None:
    x, y, out = numbers(32, 16), numbers(32, 16, seed=6), np.zeros((32, 16), np.float32)
    add_scaled(Copying(x), Copying(y), out, 1.0)
    np.testing.assert_array_equal(out, x + y)
    frozen = np.zeros_like(out)
    frozen.flags.writeable = False
    for bad, reason in ((Copying(out), "its memory is out of reach"), (frozen, "its memory is read-only")):
        with pytest.raises(UserError, match="'out' is written by the kernel") as caught:
            add_scaled(x, y, bad, 1.0)
        assert caught.value.diagnostics[0].code == "PT832"
        assert dict(caught.value.diagnostics[0].facts)["reason"] == reason


@pytest.mark.parametrize(
    ("value", "fragment"),
    [
        (np.zeros((4, 4), complex), "elements of type complex128"),
        (np.zeros((4, 4), object), "elements of type object"),
        (np.zeros((0, 4), np.float32), r"has the shape \[0, 4\]"),
        (object(), "is a object"),
        ({"a": 1}, "is a dict"),
        (len, "is the Python function len"),
    ],
)
def test_arguments_that_no_kernel_can_take(value, fragment) -> None:
    with pytest.raises(UserError, match=fragment) as caught:
        add_scaled.specialise(value)
    assert caught.value.diagnostics[0].code == "PT830"


def test_element_types_by_the_names_of_each_library(torch) -> None:
    known = {
        "bool": pl.BOOL, "int8": pl.INT8, "uint16": pl.UINT16, "int64": pl.INT64, "float64": pl.FP64,
        "bfloat16": pl.BF16, "float8_e4m3fn": pl.FP8E4M3FN,
    }  # fmt: skip
    for name, dtype in known.items():
        array = np.zeros((2, 3), getattr(ml_dtypes, name, name))
        assert described(array, "x").dtype is dtype
        assert described(torch.Tensor(array), "x").dtype is dtype
        assert described(array, "x").shape == (2, 3)
    for dtype in ("float32", np.float32, np.dtype("float32")):
        assert described(types.SimpleNamespace(shape=(2, 3), dtype=dtype), "x").dtype is pl.FP32
    assert not is_array(3) and not is_array("a") and is_array(np.float32(1))


def test_nothing_is_copied_from_arrays_that_share_their_memory() -> None:
    array = numbers(4, 4)
    for wrap in (lambda a: a, Interface, DLPack):
        assert np.shares_memory(as_numpy(wrap(array), "x"), array)


# ------------------------------------------------------------------------------------------------- how it is compiled


def test_lower_gives_the_program_after_the_passes() -> None:
    x = numbers(16, 16)
    lowered = add_scaled.lower(x, x, x, 2.0)
    wanted = compile(add_scaled.specialise(x, x, x, 2.0), emit=False).program
    from pypto_core.ir import assert_structural_equal

    assert_structural_equal(lowered, wanted, compare_memref=True, enable_auto_mapping=True)


def test_compile_gives_artifacts_and_can_be_called(tmp_path) -> None:
    x, y, out = numbers(16, 16), numbers(16, 16, seed=6), np.zeros((16, 16), np.float32)
    kernel = add_scaled.compile(x, y, out, 2.0)
    [artifact] = kernel.artifacts
    assert artifact.name == "add_scaled.pto" and "pto.tadd" in artifact.data
    assert [path.read_bytes() for path in kernel.write(tmp_path)] == [artifact.content]
    assert kernel(x, y, out, 2.0) is out
    np.testing.assert_array_equal(out, x * np.float32(2) + y)
    assert kernel(x, y, out) is out
    with pytest.raises(UserError, match="'s' is 2.0 in this kernel and 3") as caught:
        kernel(x, y, out, 3.0)
    assert caught.value.diagnostics[0].code == "PT834"
    assert kernel.compiled.plan.steps and kernel.source.functions["add_scaled"]
    assert kernel.hints == tuple(d for d in kernel.compiled.diagnostics if d.code.startswith("PH"))


def test_a_typed_scalar_that_is_left_out_stays_a_parameter() -> None:
    @pl.jit.incore
    def rows(x: pl.Tensor, out: pl.Out[pl.Tensor], n: pl.Scalar[pl.INDEX]):
        for i in pl.range(n):
            t = pl.load(x, [i * 8, 0], [8, 16])
            out = pl.store(pl.add(t, t), [i * 8, 0], out)
        return out

    x = numbers(32, 16)
    kernel = rows.compile(x, x)
    for n in (1, 3):
        out = np.zeros_like(x)
        assert kernel(x, out, n) is out
        np.testing.assert_array_equal(out[: 8 * n], 2 * x[: 8 * n])
        assert not out[8 * n :].any()


def test_a_constant_that_the_kernel_changes_is_compared_with_what_was_passed() -> None:
    @pl.jit.incore
    def doubled(x: pl.Tensor, out: pl.Out[pl.Tensor], n: int):
        n = n * 2
        return pl.store(pl.load(x, [0, 0], [n, 16]), [0, 0], out)

    x, out = numbers(16, 16), np.zeros((16, 16), np.float32)
    kernel = doubled.compile(x, out, 4)
    assert kernel(x, out, 4) is out
    np.testing.assert_array_equal(out[:8], x[:8])
    with pytest.raises(UserError, match="'n' is 4 in this kernel and 8 in the call"):
        kernel(x, out, 8)


def test_the_record_of_a_compilation_is_that_of_the_call_wherever_it_is_asked_for() -> None:
    machines = list(load_host().backends.values())
    x = numbers(16, 16)
    with PassContext(backend=machines[-1], host=load_host(), planner="dsa_rp"):
        kernel = add_scaled.compile(x, x, x, 2.0)
    context = kernel.compiled.context
    assert (context.backend, context.planner) == (machines[-1], "dsa_rp")


def test_a_call_may_stop_at_the_compiled_kernel() -> None:
    x = numbers(16, 16)
    kernel = add_scaled(x, x, np.zeros_like(x), 2.0, config=JitConfig(execute=False))
    assert [artifact.name for artifact in kernel.artifacts] == ["add_scaled.pto"]


def test_settings_of_a_call_of_a_kernel_and_of_the_context() -> None:
    machines = sorted(load_host().backends)
    x = numbers(16, 16)

    @pl.jit.incore(config=JitConfig(backend=machines[-1], planner="dsa_rp"))
    def kern(x: pl.Tensor, config: pl.Out[pl.Tensor]):
        return pl.store(pl.load(x, [0, 0], [16, 16]), [0, 0], config)

    with PassContext(backend=None, host=load_host(), planner="dsa_rp"):
        assert kern.compile(x, x).compiled.context.backend.name == machines[-1]
        other = JitConfig(backend=machines[0], planner="dsa_rp")
        compiled = kern.compile(x, x, config=other).compiled
        assert (compiled.context.backend.name, compiled.context.planner) == (machines[0], "dsa_rp")
        # an array of that name is the kernel's own parameter
        out = np.zeros_like(x)
        assert kern(x, config=out) is out
    with pytest.raises(MismatchError):
        kern.compile(x, x)


def test_diagnostics_reach_the_context_of_the_caller_each_time() -> None:
    @pl.jit.incore
    def narrow(x: pl.Tensor, out: pl.Out[pl.Tensor]):
        return pl.store(pl.load(x, [0, 0], [16, 8]), [0, 0], out)

    x = numbers(16, 8)
    active = PassContext.current()
    assert active is not None
    kernel = narrow.compile(x, x)
    logged = [d.code for d in active.log]
    assert logged == [d.code for d in kernel.diagnostics]
    with active.derive(log=type(active.log)()) as again:
        assert narrow.compile(x, x).origin == "memory"
        assert [d.code for d in again.log] == logged


def test_options_that_nothing_asks_for_are_warned_of() -> None:
    x = numbers(16, 16)
    kernel = add_scaled.compile(x, x, x, 2.0, config=JitConfig(options={"no_such_option": 3}))
    assert [d.code for d in kernel.warnings] == ["PT816"]


def test_dumps_and_reports_are_written_each_time(tmp_path) -> None:
    x = numbers(16, 16)
    config = JitConfig(output_dir=tmp_path, dump_passes=True)
    for _ in range(2):
        kernel = add_scaled.compile(x, x, x, 2.0, config=config)
        assert kernel.origin == "compiled" and kernel.key == ""
        assert (tmp_path / "add_scaled.pto").is_file() and (tmp_path / "passes_dump").is_dir()
        (tmp_path / "add_scaled.pto").unlink()


@pytest.mark.parametrize(
    ("args", "kwargs", "fragment"),
    [
        ((1, 2, 3, 4, 5, 6), {}, "takes 5 arguments, and 6 are given"),
        ((), {"z": 1}, "has no parameter 'z'"),
        ((1,), {"x": 1}, "is given 'x' twice"),
    ],
)
def test_arguments_without_a_parameter(args, kwargs, fragment) -> None:
    with pytest.raises(UserError, match=fragment) as caught:
        add_scaled(*args, **kwargs)
    assert caught.value.diagnostics[0].code == "PT831"


def test_kernels_are_compiled_by_the_front_door_when_their_annotations_say_all() -> None:
    @pl.jit.incore
    def kern(x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
        return pl.store(pl.load(x, [0, 0], [16, 16]), [0, 0], out)

    assert [artifact.name for artifact in compile(kern).artifacts] == ["kern.pto"]
    assert [artifact.name for artifact in kern.compile().artifacts] == ["kern.pto"]


def test_logging_is_quiet_when_all_is_well(caplog) -> None:
    with caplog.at_level(logging.WARNING, "pypto_core"):
        x = numbers(16, 16)
        add_scaled(x, x, np.zeros_like(x), 1.0)
    assert not caplog.records


def test_the_example_of_the_manual(tmp_path, monkeypatch) -> None:
    manual = Path(__file__).parents[2] / "docs" / "how-to" / "jit.md"
    code = manual.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    path = tmp_path / "manual.py"
    path.write_text(code)
    with PassContext(backend=None, host=load_host()):
        names = runpy.run_path(str(path))
    powers = np.exp(names["x"] - names["x"].max(axis=1, keepdims=True))
    np.testing.assert_allclose(names["out"], powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)


def test_calls_from_many_threads() -> None:
    config = JitConfig(backend=next(iter(load_host().backends)), verification="basic")
    add_scaled.forget()

    def work(number: int) -> bool:
        shape = (16 * (1 + number % 3), 16)
        x, y, out = (
            numbers(*shape, seed=number),
            numbers(*shape, seed=number + 1),
            np.zeros(shape, np.float32),
        )
        returned = add_scaled(x, y, out, float(number % 2), config=config)
        return returned is out and np.array_equal(out, x * np.float32(number % 2) + y)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(24)))

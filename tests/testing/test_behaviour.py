"""Random inputs and the comparison of behaviour, with an engine that the test brings along."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto_core.contract import Engine, RunResult, entry_function
from pypto_core.diagnostics import UserError
from pypto_core.host import PluginInfo, hookimpl, load_host
from pypto_core.ir import DataType, FunctionType, ParamDirection, Var, mul, scalar_type
from pypto_core.testing import assert_same_behaviour, random_inputs, same_elements
from pypto_core.testing import build as b

INDEX = scalar_type(DataType.INDEX)


class Fake:
    """A plugin whose engine returns what a table says for a function's name."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.results = results
        self.inputs: list[Any] = []

    def run(self, program: Any, inputs: Any, entry: str | None = None, **options: Any) -> RunResult:
        self.inputs.append(inputs)
        return self.results[entry_function(program, entry).name]

    @hookimpl
    def pypto_plugin(self) -> PluginInfo:
        return PluginInfo(name="fake", summary="runs nothing", requires_api=">=1,<2")

    @hookimpl
    def pypto_engines(self) -> list[Engine]:
        return [Engine("values", "a table", self.run)]


def compare(before: RunResult, after: RunResult, **options: Any) -> Fake:
    fake = Fake({"before": before, "after": after})
    x = b.tensor("x__ssa_v0", (2, 3))
    functions = [b.function(name, [x], [b.ret()]) for name in ("before", "after")]
    host = load_host(entry_points=[], extra_plugins=[fake])
    assert_same_behaviour(*functions, host=host, **options)
    return fake


def out(*values: float, dtype: Any = np.float32) -> RunResult:
    return RunResult({"out": np.array(values).astype(dtype)})


def test_both_run_on_the_same_inputs() -> None:
    fake = compare(out(1, 2), out(1, 2))
    assert fake.inputs[0] is fake.inputs[1]
    assert fake.inputs[0]["x"].shape == (2, 3)


def test_equal_results_pass() -> None:
    compare(out(1.0, float("nan")), out(1.0, float("nan")))
    compare(RunResult({}, (3, (1.5, None))), RunResult({}, (3, (1.5, None))))
    compare(out(1, -2, dtype=ml_dtypes.int4), out(1, -2, dtype=ml_dtypes.int4))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            out(1, 2, 3), out(1, 2.5, 4),
            r"'out' differs in 2 of 3 elements: at \[1\] it is 2.0 before and 2.5 after; at most 1",
        ),
        (out(0.0), out(-0.0), "differs in 1 of 1"),
        (out(1), out(float("nan")), "differs"),
        (out(1), out(1, 2), r"float32\[1\] before, float32\[2\] after"),
        (out(1), out(1, dtype=np.float16), "float16"),
        (out(1), RunResult({}), "outputs differ"),
        (RunResult({}, (1,)), RunResult({}), "1 values are returned before, 0 after"),
        (RunResult({}, (1,)), RunResult({}, (2,)), "returned value 0 differs"),
        (RunResult({}, (1,)), RunResult({}, (1.0,)), "is a int before, a float after"),
    ],
)  # fmt: skip
def test_different_results_are_named(before: RunResult, after: RunResult, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        compare(before, after)


def test_tolerances_are_for_floats() -> None:
    compare(out(100.0), out(100.5), rtol=0.01)
    compare(out(0.0), out(-0.0), atol=1e-9)
    with pytest.raises(AssertionError):
        compare(out(100.0), out(102.0), rtol=0.01)
    with pytest.raises(AssertionError):
        compare(out(100, dtype=np.int32), out(101, dtype=np.int32), rtol=0.5)
    with pytest.raises(AssertionError):
        compare(out(float("inf")), out(1e30), rtol=0.5)


def test_without_an_engine_the_error_says_what_to_install() -> None:
    host = load_host(entry_points=[])
    function = b.function("f", [], [b.ret()])
    with pytest.raises(UserError, match="no engine 'values'") as caught:
        assert_same_behaviour(function, function, host=host)
    assert "pypto-plugin-simulator" in caught.value.diagnostics[0].remedy


@given(st.integers(0, 2**32 - 1))
def test_inputs_follow_the_types_and_the_seed(seed: int) -> None:
    m, n = Var("M", INDEX), b.scalar("n")
    dtypes = (DataType.FP32, DataType.BF16, DataType.FP8E4M3FN, DataType.INT8, DataType.INT4, DataType.BOOL)
    tensors = [b.tensor(f"t{i}", (m, mul(n, 2)), dtype) for i, dtype in enumerate(dtypes)]
    rate = b.scalar("rate", DataType.FP32)
    function = b.function("f", [n, *tensors[:-1], (tensors[-1], ParamDirection.Out), rate], [b.ret()])
    first, second = (random_inputs(function, seed, {"M": 5}) for _ in range(2))
    assert list(first) == ["n", "t0", "t1", "t2", "t3", "t4", "t5", "rate"]
    assert all(first[f"t{i}"].shape == (5, 2 * first["n"]) for i in range(6))
    names = ["float32", "bfloat16", "float8_e4m3fn", "int8", "int4", "bool"]
    assert [first[f"t{i}"].dtype.name for i in range(6)] == names
    assert isinstance(first["rate"], float) and 1 <= first["n"] <= 8
    floats = first["t0"].astype(np.float64)
    assert (np.abs(floats) >= 0.25).all() and (np.abs(floats) <= 2).all() and len(np.unique(floats)) > 5
    for name, value in first.items():
        assert np.array_equal(
            np.asarray(value).astype(np.float64), np.asarray(second[name]).astype(np.float64)
        )


def test_other_seeds_give_other_inputs() -> None:
    function = b.function("f", [b.tensor("x", (4, 4))], [b.ret()])
    assert not np.array_equal(random_inputs(function, 1)["x"], random_inputs(function, 2)["x"])


def test_an_extent_and_the_scalar_of_its_name_agree() -> None:
    n = b.scalar("n")
    function = b.function("f", [b.tensor("x", (n, 2)), n], [b.ret()])
    made = random_inputs(function, dims={"n": 7})
    assert made["x"].shape == (7, 2) and made["n"] == 7
    made = random_inputs(function)
    assert made["x"].shape[0] == made["n"] == 32


def test_inputs_that_can_not_be_made() -> None:
    function = b.function("f", [b.tensor("x", (2, 2), DataType.HF8)], [b.ret()])
    with pytest.raises(UserError, match="no type for hf8"):
        random_inputs(function)


def test_the_entry_function() -> None:
    leaf = b.kernel("leaf", [], [b.ret()])
    call = b.do(b.call(leaf))
    main = b.function("main", [], [call], kind=FunctionType.Orchestration)
    other = b.function("other", [], [b.ret()])
    assert entry_function(leaf) is leaf
    assert entry_function(b.program(leaf, main, other)) is main
    assert entry_function(b.program(leaf, main), "leaf") is leaf
    with pytest.raises(UserError, match="several"):
        entry_function(b.program(leaf, other))


def test_elements_are_compared_bit_by_bit() -> None:
    a = np.array([1.0, np.nan, 0.0, np.inf], np.float32)
    c = np.array([np.nextafter(np.float32(1), np.float32(2)), -np.nan, -0.0, np.inf], np.float32)
    assert same_elements(a, c).tolist() == [False, True, False, True]
    assert same_elements(a, c, atol=1e-6).tolist() == [True, True, True, True]
    transposed = np.arange(6, dtype=np.float32).reshape(2, 3).T
    assert same_elements(transposed, np.ascontiguousarray(transposed)).all()


def test_the_second_program_may_be_run_by_another_engine() -> None:
    seen: list[Any] = []

    class Placed(Fake):
        def placed(self, program: Any, inputs: Any, entry: str | None = None, **options: Any) -> RunResult:
            seen.append(options)
            return RunResult({"out": np.array([entry_function(program, entry).name == "after"])})

        @hookimpl
        def pypto_engines(self) -> list[Engine]:
            return [
                Engine("values", "a table", self.run),
                Engine("placed", "others", self.placed, placed=True),
            ]

    fake = Placed({"before": RunResult({"out": np.array([True])})})
    host = load_host(entry_points=[], extra_plugins=[fake])
    functions = [b.function(name, [], [b.ret()]) for name in ("before", "after")]
    assert_same_behaviour(
        *functions, host=host, engine="placed", engine_options={"addressed": True}, max_steps=7
    )
    assert seen == [{"host": host, "max_steps": 7, "addressed": True}]

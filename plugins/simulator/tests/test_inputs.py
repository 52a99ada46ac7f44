"""Inputs that don't fit, operators without a meaning, and where errors point."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pypto_core.contract import ArrayValue, ExecContext, OpExecutor
from pypto_core.diagnostics import ArgumentError, InternalError, Span, UserError
from pypto_core.host import PluginInfo, hookimpl, load_host
from pypto_core.ir import (
    AssignStmt,
    ConstFloat,
    DataType,
    ParamDirection,
    TileType,
    Var,
    add,
    floordiv,
    mul,
    scalar_type,
)
from pypto_core.ops import Kind, OpDef, Param, builtin_registry, create_call, using_registry
from pypto_core.testing import build as b
from pypto_plugin_simulator.catalogue import executors, meanings
from pypto_plugin_simulator.values import run

INDEX = scalar_type(DataType.INDEX)


def doubler(rows: Any = 4, dtype: DataType = DataType.FP32, out_rows: Any = None) -> Any:
    x, out = b.tensor("x__ssa_v0", (rows, 4), dtype), b.tensor("out", (out_rows or rows, 4), dtype)
    load = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(4, 4)))
    double = b.let("d", b.op("tile.add", load.var, load.var))
    store = b.do(b.op("tile.store", double.var, b.dims(0, 0), out))
    return b.kernel("k", [x, (out, ParamDirection.Out)], [load, double, store])


DATA = np.arange(16, dtype=np.float32).reshape(4, 4)


def test_inputs_by_name_and_in_order() -> None:
    for inputs in (
        {"x": DATA},
        [DATA],
        {"x__ssa_v0": DATA},
        {"x": DATA.tolist()},
        [DATA, np.zeros((4, 4), np.float32)],
    ):
        assert np.array_equal(run(doubler(), inputs).outputs["out"], DATA * 2)
    transposed = run(doubler(), [DATA.T]).outputs["out"]
    assert np.array_equal(transposed, DATA.T * 2)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "no input is given for 'x'"),
        ({"x": DATA, "z": 1}, "no parameter 'z'"),
        ([DATA, DATA, DATA], "3 inputs are given for the 2 parameters"),
        ([DATA[:3]], "extent 0 of 'x' is 3"),
        ([DATA[0]], "has 2 dimensions"),
        ([DATA.astype(np.float64)], "the input is an array of float64"),
        ([[[1, 2], [3]]], "the input for 'x' is no array"),
        (["text"], "the input for 'x' is no array"),
    ],
)
def test_inputs_that_do_not_fit(inputs: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        run(doubler(), inputs)


@pytest.mark.parametrize("engine", ["values", "bytes", "time"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"program": 7}, "program of run takes Program or Function, not 7 (int)"),
        ({"inputs": 7}, "inputs of run takes a mapping or a list, not 7 (int)"),
        ({"entry": 7}, "entry of run takes text or None, not 7 (int)"),
        ({"host": "here"}, "host of run takes Host or None, not 'here' (str)"),
        ({"max_steps": "9"}, "max_steps of run takes a whole number, not '9' (str)"),
        ({"block_num": 1.5}, "block_num of run takes a whole number, not 1.5 (float)"),
    ],
)
def test_arguments_of_the_wrong_type(engine: str, arguments: dict[str, Any], message: str) -> None:
    usual = {"program": doubler(), "inputs": [DATA]}
    with pytest.raises(ArgumentError) as caught:
        load_host().engine(engine).load()(**(usual | arguments))
    assert caught.value.message == message


def test_the_remedy_for_a_wrong_format_works() -> None:
    with pytest.raises(UserError) as caught:
        run(doubler(dtype=DataType.BF16), [DATA])
    assert "array.astype('bfloat16')" in caught.value.diagnostics[0].remedy
    assert np.array_equal(run(doubler(dtype=DataType.BF16), [DATA.astype("bfloat16")]).outputs["out"],
                          (DATA * 2).astype(ml_dtypes.bfloat16))  # fmt: skip


def test_symbolic_extents_agree() -> None:
    m = Var("M", INDEX)
    kernel = doubler(m)
    assert run(kernel, [DATA]).outputs["out"].shape == (4, 4)
    assert run(kernel, [np.vstack([DATA, DATA])]).outputs["out"].shape == (8, 4)
    with pytest.raises(UserError, match="extent 0 of 'out' is 5, its parameter's type says 4"):
        run(kernel, [DATA, np.zeros((5, 4), np.float32)])
    wide = doubler(m, out_rows=mul(m, 2))
    assert run(wide, [DATA]).outputs["out"].shape == (8, 4)
    with pytest.raises(UserError, match="an extent of 'out' is 7, its parameter's type says 8"):
        run(wide, [DATA, np.zeros((7, 4), np.float32)])
    narrow = doubler(mul(add(m, -2), 2), out_rows=m)
    assert run(narrow, [np.vstack([DATA, DATA])]).outputs["out"].shape == (6, 4)
    with pytest.raises(UserError, match="an extent of 'x' is 7, its parameter's type says 6"):
        run(narrow, [np.vstack([DATA, DATA[:3]])])
    with pytest.raises(UserError, match="'M // 2' is 4 in the argument for 'x', which leaves open what"):
        run(doubler(floordiv(m, 2), out_rows=m), [DATA])
    free = doubler(4, out_rows=Var("K", INDEX))
    with pytest.raises(UserError, match="don't follow from the inputs"):
        run(free, [DATA])


def test_scalar_parameters() -> None:
    n = Var("n", scalar_type(DataType.INT8))
    kernel = b.function("f", [n], [b.ret(n)])
    assert run(kernel, [np.int64(7)]).returns == (7,)
    assert run(kernel, [200]).returns == (-56,)
    with pytest.raises(UserError, match="'n' takes a number"):
        run(kernel, ["7"])


def test_the_entry_is_named_when_it_is_not_clear() -> None:
    one, two = b.function("one", [], [b.ret(1)]), b.function("two", [], [b.ret(2)])
    program = b.program(one, two)
    with pytest.raises(UserError, match="several functions could be the entry"):
        run(program)
    assert run(program, entry="two").returns == (2,)
    with pytest.raises(UserError, match="there is no function 'three'"):
        run(program, entry="three")


def test_errors_point_at_the_call() -> None:
    at = Var("at", INDEX)
    x = b.tensor("x", (4, 4))
    call = create_call("tile.load", [x, b.dims(at, 0), b.dims(4, 4)], {}, Span("k.py", 12, 9))
    kernel = b.kernel("k", [x, at], [AssignStmt(Var("t", call.type), call)])
    with pytest.raises(UserError) as caught:
        run(kernel, [DATA, 1])
    assert str(caught.value.span) == "k.py:12:9"
    assert dict(caught.value.diagnostics[0].facts)["operator"] == "tile.load"


def test_integer_division_by_zero_points_at_the_call() -> None:
    x = b.tensor("x", (1, 4), DataType.INT32)
    load = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(1, 4)))
    call = create_call("tile.div", [load.var, load.var], {}, Span("k.py", 3, 1))
    kernel = b.kernel("k", [x], [load, AssignStmt(Var("d", call.type), call)])
    with pytest.raises(UserError, match="divided by zero") as caught:
        run(kernel, [np.array([[1, 2, 0, 4]], np.int32)])
    assert caught.value.span.begin_line == 3


def cube_type(args: Any, options: Any) -> TileType:
    return args[0].type


CUBE = OpDef(name="acme.cube", params=(Param("x", Kind.TILE),), deduce=cube_type)


def cube(ctx: ExecContext, x: ArrayValue) -> ArrayValue:
    part = x.defined.astype(np.float64) ** 3
    return ctx.value(ctx.convert(part, x.dtype), x.shape)


def cubing_kernel() -> Any:
    x = b.tensor("x", (4, 4))
    load = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(4, 4)))
    with using_registry(builtin_registry().extended([CUBE])):
        cubed = b.let("c", create_call("acme.cube", [load.var], {}, Span("k.py", 5, 3)))
    return b.kernel("k", [x], [load, cubed, b.ret(cubed.var)], returns=[cubed.var.type])


class Acme:
    """A plugin with an operator of its own and its meaning."""

    def __init__(self, meaning: Any) -> None:
        self.meaning = meaning

    @hookimpl
    def pypto_plugin(self) -> PluginInfo:
        return PluginInfo(name="acme", summary="cubes", requires_api=">=1,<2")

    @hookimpl
    def pypto_ops(self) -> list[OpDef]:
        return [CUBE]

    @hookimpl
    def pypto_executors(self) -> list[OpExecutor]:
        return [OpExecutor("acme.cube", self.meaning)] if self.meaning else []


def test_plugins_bring_meanings() -> None:
    host = load_host(entry_points=[], extra_plugins=[Acme(cube)])
    assert np.array_equal(run(cubing_kernel(), [DATA], host=host).returns[0], DATA**3)


def test_an_operator_without_a_meaning() -> None:
    host = load_host(entry_points=[], extra_plugins=[Acme(None)])
    with pytest.raises(UserError, match="does not know what acme.cube computes") as caught:
        run(cubing_kernel(), [DATA], host=host)
    assert "pypto_executors" in caught.value.diagnostics[0].remedy
    assert str(caught.value.span) == "k.py:5:3"


def test_a_meaning_that_fails_is_a_fault_not_a_mistake() -> None:
    def broken(ctx: ExecContext, x: ArrayValue) -> ArrayValue:
        raise KeyError("oops")

    host = load_host(entry_points=[], extra_plugins=[Acme(broken)])
    with pytest.raises(InternalError, match="the meaning of acme.cube failed: KeyError"):
        run(cubing_kernel(), [DATA], host=host)


def test_every_meaning_is_of_an_operator_and_can_be_loaded() -> None:
    registry = builtin_registry()
    assert [name for name in meanings() if name not in registry] == []
    assert all(callable(executor.load()) for executor in executors())


def test_declared_valid_extents_win() -> None:
    declared = b.tile_type((2, 4), valid_shape=(1, 3))
    call = b.op("tile.full", b.dims(2, 4), ConstFloat(1.0), dtype=DataType.FP32)
    made = AssignStmt(Var("t", declared), b.raw_op("tile.full", call.args, declared))
    out = b.tensor("out", (2, 4))
    store = b.do(b.op("tile.store", made.var, b.dims(0, 0), out))
    kernel = b.kernel("k", [(out, ParamDirection.InOut)], [made, store])
    result = run(kernel, [np.zeros((2, 4), np.float32)]).outputs["out"]
    assert result.tolist() == [[1, 1, 1, 0], [0, 0, 0, 0]]


def test_every_code_has_a_page() -> None:
    import re
    from pathlib import Path

    import pypto_plugin_simulator
    from pypto_plugin_simulator.codes import PAGES

    folder = Path(pypto_plugin_simulator.__file__).parent
    used = {
        code for path in folder.rglob("*.py") for code in re.findall(r'code="(SIM-\d+)"', path.read_text())
    }
    assert used == {page.code for page in PAGES}

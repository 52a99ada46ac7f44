"""MaterializeValidShapeSymbols: what becomes a parameter, what callers hand in, and what can't be told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    ArgDirection,
    ConstInt,
    DataType,
    FunctionType,
    ParamDirection,
    TensorType,
    TensorView,
    Var,
    add,
    const_index,
    replace,
    walk,
)
from pypto_core.testing import build as b
from pypto_core.verify import STRUCTURAL, verify_or_raise
from pypto_plugin_tile.valid_symbols import materialize_valid_shape_symbols

FP32 = DataType.FP32


def narrowed(name: str, valid: Any, shape: tuple[Any, ...] = (16, 64)) -> Var:
    return Var(name, TensorType(shape, FP32, None, TensorView(valid_shape=valid)))


def calling(params: list[Any], args: list[Any], *, kind: Any = FunctionType.InCore, notes: Any = None) -> Any:
    callee = b.function("k", params, [b.ret()], kind=kind)
    caller_params = [a for a in args if isinstance(a, Var)]
    call = b.call(callee, *args, kind=b.INDEX, notes=notes)
    main = b.function("main", caller_params, [b.do(call), b.ret()], kind=FunctionType.Orchestration)
    return b.program(callee, main)


def materialized(program: Any) -> Any:
    after = materialize_valid_shape_symbols(program, None)
    assert materialize_valid_shape_symbols(after, None) is after
    verify_or_raise(after, STRUCTURAL, after="the pass")
    return after


def call_of(program: Any) -> Any:
    [call] = [n for n in walk(program["main"].body) if getattr(getattr(n, "op", None), "name", "") == "k"]
    return call


def test_a_symbol_becomes_the_first_parameter() -> None:
    n = b.scalar("n")
    program = calling(
        [narrowed("a", (n, const_index(64)))], [narrowed("x", (const_index(5), const_index(64)))]
    )
    after = materialized(program)
    kernel = after["k"]
    assert kernel.params[0] is n and kernel.param_directions == (ParamDirection.In, ParamDirection.In)
    first, second = call_of(after).args
    assert isinstance(first, ConstInt) and first.value == 5 and second.name_hint == "x"


def test_symbols_come_in_the_order_of_their_declaration() -> None:
    m, n = b.scalar("m"), b.scalar("n")
    params = [narrowed("a", (n, m)), narrowed("c", (const_index(3), n))]
    args = [narrowed("x", (const_index(5), const_index(7))), narrowed("y", (const_index(3), const_index(5)))]
    after = materialized(calling(params, args))
    assert after["k"].params[:2] == (n, m)
    assert [a.value for a in call_of(after).args[:2]] == [5, 7]


def test_what_is_whole_has_its_extent() -> None:
    n = b.scalar("n")
    after = materialized(calling([narrowed("a", (n, const_index(64)))], [b.tensor("x", [16, 64])]))
    assert call_of(after).args[0].value == 16


def test_directions_of_arguments_follow() -> None:
    n = b.scalar("n")
    notes = {"arg_directions": (ArgDirection.Output,)}
    program = calling([narrowed("a", (n, const_index(64)))], [b.tensor("x", [16, 64])], notes=notes)
    found = call_of(materialized(program)).attrs["arg_directions"]
    assert found == (ArgDirection.Scalar, ArgDirection.Output)


def test_parameters_and_extents_are_known_already() -> None:
    n, m = b.scalar("n"), b.scalar("m")
    params = [n, narrowed("a", (n, m), (16, m))]
    program = calling(params, [b.scalar("q"), b.tensor("x", [16, 64])])
    assert materialize_valid_shape_symbols(program, None) is program


@pytest.mark.parametrize("kind", [FunctionType.Orchestration, FunctionType.Opaque])
def test_functions_outside_of_the_device_keep_theirs(kind: Any) -> None:
    program = calling([narrowed("a", (b.scalar("n"), const_index(64)))], [b.tensor("x", [16, 64])], kind=kind)
    assert materialize_valid_shape_symbols(program, None) is program


def failing(program: Any, code: str, text: str) -> None:
    with pytest.raises(UserError, match=text) as caught:
        materialize_valid_shape_symbols(program, None)
    [found] = caught.value.diagnostics
    assert found.code == code and found.remedy


def test_what_cannot_be_told() -> None:
    n = b.scalar("n")
    whole = b.tensor("x", [16, 64])
    failing(
        calling([narrowed("a", (add(n, 1), const_index(64)))], [whole]), "PT345", "nothing says what 'n' is"
    )
    two = [narrowed("a", (n, const_index(64))), narrowed("c", (n, const_index(64)))]
    failing(
        calling(two, [whole, narrowed("y", (const_index(5), const_index(64)))]),
        "PT346",
        "gives 'n' two extents",
    )
    program = calling([b.tensor("z", [16, 64]), narrowed("a", (n, const_index(64)))], [whole, whole])
    call = call_of(program)
    short = replace(call, args=call.args[:1])
    main = replace(program["main"], body=b.do(short))
    failing(
        replace(program, functions=[program["k"], main]), "PT347", "lacks the argument that says what 'n' is"
    )


def test_the_symbol_may_also_stand_in_larger_expressions() -> None:
    n = b.scalar("n")
    params = [narrowed("a", (n, const_index(64))), narrowed("c", (add(n, 1), const_index(64)))]
    after = materialized(calling(params, [b.tensor("x", [16, 64]), b.tensor("y", [16, 64])]))
    assert after["k"].params[0] is n


def test_a_kernel_reads_as_much_as_its_caller_says(kit: Any) -> None:
    text = """
n = pl.dynamic("n")

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, a: pl.Tensor[[16, 64], pl.FP32, pl.TensorView(valid_shape=[n, 64], layout=pl.TensorLayout.ND)],
        out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ) -> pl.Tensor[[16, 64], pl.FP32]:
        t = pl.load(a, [0, 0], [16, 64])
        return pl.store(t, [0, 0], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, a: pl.Tensor[[16, 64], pl.FP32], out: pl.InOut[pl.Tensor[[16, 64], pl.FP32]],
    ) -> pl.Tensor[[16, 64], pl.FP32]:
        v = pl.tensor.set_validshape(a, 5, 64)
        return self.k(v, out)
"""
    program = kit.program(text)
    after = materialize_valid_shape_symbols(program, None)
    assert after["k"].params[0].name_hint == "n" and call_of(after).args[0].value == 5
    array = np.random.default_rng(0).standard_normal((16, 64)).astype(np.float32)
    run = kit.host.engine("values").load()
    outputs = run(after, {"a": array, "out": array * 0}, "main", host=kit.host).outputs
    assert np.array_equal(outputs["out"][:5], array[:5]) and not outputs["out"][5:].any()

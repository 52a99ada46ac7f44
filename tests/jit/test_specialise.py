# ruff: noqa: F841, I002 - kernels assign without use, and Python evaluates their annotations here
"""What arguments make of a kernel: types, constants, decided branches, names used again, functions that it calls."""

from enum import IntEnum

import numpy as np
import pytest

import pypto_core.language as pl
from pypto_core.diagnostics import ParserError, ParserTypeError
from pypto_core.ir import (
    Call,
    ConstInt,
    ForStmt,
    FunctionType,
    IfStmt,
    ParamDirection,
    Program,
    ScalarType,
    TensorType,
    TileType,
    Var,
    flatten,
    static_shape,
    walk,
)
from pypto_core.jit import JitFunction

ROWS = 16


class Like:
    """An array without elements."""

    def __init__(self, *shape: int, dtype: object = "float32") -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)


def calls(program: Program, name: str) -> list[Call]:
    functions = program.functions.values()
    return [n for f in functions for n in walk(f.body) if isinstance(n, Call) and n.op.name == name]


def shapes(program: Program, name: str) -> list[tuple[int, ...]]:
    return [static_shape(call.type.shape) for call in calls(program, name)]


@pl.jit.incore
def copy(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    rows, cols = x.shape
    t = pl.load(x, [0, 0], [rows, cols])
    return pl.store(t, [0, 0], out)


def test_bare_annotations_take_extents_and_element_type_of_the_arrays() -> None:
    program = copy.specialise(Like(32, 64, dtype="float16"), Like(32, 64, dtype="float16"))
    [function] = program.functions.values()
    assert function.func_type is FunctionType.InCore
    assert function.param_directions == (ParamDirection.In, ParamDirection.Out)
    for param in function.params:
        assert isinstance(param.type, TensorType)
        assert (static_shape(param.type.shape), param.type.dtype) == ((32, 64), pl.FP16)
    assert shapes(program, "tile.load") == [(32, 64)]
    # the unpacked extents are no variables of the program
    assert {v.name_hint for v in walk(function.body) if isinstance(v, Var)} == {"x", "t", "out"}


@pytest.mark.parametrize(
    ("decorator", "kind"),
    [
        (pl.jit, FunctionType.Orchestration),
        (pl.jit.incore, FunctionType.InCore),
        (pl.jit.inline, FunctionType.Inline),
        (pl.jit.opaque, FunctionType.Opaque),
        (pl.jit(), FunctionType.Orchestration),
        (pl.jit.incore(attrs={"a": 1}), FunctionType.InCore),
    ],
)
def test_each_decorator_makes_its_kind(decorator, kind) -> None:
    @decorator
    def kern(x: pl.Tensor):
        return x

    assert isinstance(kern, JitFunction) and (kern.__name__, kern.pl_template.name) == ("kern", "kern")
    [function] = kern.specialise(Like(8, 8)).functions.values()
    assert function.func_type is kind
    assert [p.type for p in function.params] == list(function.return_types)


def test_auto_scope_is_a_note_on_the_function() -> None:
    @pl.jit(auto_scope=False)
    def kern(x: pl.Tensor):
        return x

    [function] = kern.specialise(Like(8, 8)).functions.values()
    assert function.attrs["auto_scope"] is False


@pl.jit.incore
def scaled(x: pl.Tensor, out: pl.Out[pl.Tensor], factor: pl.Scalar[pl.FP32], tile: int = 8, deep=False):
    rows = x.shape[0]
    if factor > 1.0:
        for i in pl.range(rows // tile):
            t = pl.load(x, [i * tile, 0], [tile, 16])
            out = pl.store(pl.mul(t, factor), [i * tile, 0], out)
    elif deep:
        out = pl.store(pl.load(x, [0, 0], [rows, 16]), [0, 0], out)
    return out


def test_numbers_are_constants_and_decide_branches() -> None:
    one = scaled.specialise(Like(32, 16), Like(32, 16), 2, tile=16)
    assert [p.name_hint for p in one.functions["scaled"].params] == ["x", "out"]
    [multiplied] = calls(one, "tile.muls")
    assert (multiplied.args[1].value, multiplied.args[1].type.dtype) == (2.0, pl.FP32)
    assert shapes(one, "tile.load") == [(16, 16)]
    [loop] = [n for n in walk(one.functions["scaled"].body) if isinstance(n, ForStmt)]
    assert isinstance(loop.stop, ConstInt) and loop.stop.value == 2
    assert not [n for n in walk(one.functions["scaled"].body) if isinstance(n, IfStmt)]
    other = scaled.specialise(Like(32, 16), Like(32, 16), np.float32(0.5), deep=True)
    assert shapes(other, "tile.load") == [(32, 16)] and not calls(other, "tile.muls")
    assert not calls(scaled.specialise(Like(32, 16), Like(32, 16), 0.5), "tile.load")


@pytest.mark.parametrize(
    ("value", "fragment"),
    [(True, "no value True"), ("a", "no value 'a'"), (Like(4, 4), "is no tensor"), (None, "no value None")],
)
def test_a_typed_scalar_refuses_what_it_can_not_hold(value, fragment) -> None:
    with pytest.raises(ParserTypeError) as caught:
        scaled.specialise(Like(32, 16), Like(32, 16), value)
    assert fragment in caught.value.message
    assert caught.value.span.line_text().startswith("def scaled(")
    assert "factor: pl.Scalar" in caught.value.span.line_text()[caught.value.span.begin_column - 1 :]


@pytest.mark.parametrize(("dtype", "value"), [("INT8", 128), ("UINT8", -1), ("INT32", 2**31), ("INT32", 1.5)])
def test_integers_have_to_fit_their_type(dtype, value) -> None:
    kind = getattr(pl, dtype)

    @pl.jit.incore
    def kern(x: pl.Tensor, n: pl.Scalar[kind]):
        return x

    with pytest.raises(ParserTypeError, match="which has no value"):
        kern.specialise(Like(8, 8), value)


def test_returning_from_a_decided_branch_ends_the_kernel() -> None:
    @pl.jit.incore
    def kern(x: pl.Tensor, out: pl.Out[pl.Tensor], early: bool):
        t = pl.load(x, [0, 0], [8, 8])
        if early:
            return pl.store(t, [0, 0], out)
        t = pl.exp(t)
        return pl.store(t, [0, 0], out)

    assert not calls(kern.specialise(Like(8, 8), Like(8, 8), True), "tile.exp")
    assert len(calls(kern.specialise(Like(8, 8), Like(8, 8), False), "tile.exp")) == 1


def test_what_a_decided_branch_yields_is_assigned() -> None:
    @pl.jit.incore
    def kern(x: pl.Tensor, out: pl.Out[pl.Tensor], negative: bool):
        t = pl.load(x, [0, 0], [8, 8])
        if negative:
            r = pl.yield_(pl.neg(t))
        else:
            r = pl.yield_(pl.exp(t))
        return pl.store(r, [0, 0], out)

    program = kern.specialise(Like(8, 8), Like(8, 8), True)
    assert len(calls(program, "tile.neg")) == 1 and not calls(program, "tile.exp")
    assert [type(s).__name__ for s in flatten(program.functions["kern"].body)].count("IfStmt") == 0


def test_numbers_that_a_branch_of_the_program_chooses_are_joined() -> None:
    @pl.jit.incore
    def kern(n: pl.Tensor, out: pl.InOut[pl.Tensor]):
        if pl.tensor.read(n, [0]) > 3:
            row = 1
        else:
            row = 2
        pl.write(out, [row, 0], pl.cast(row, pl.INT32))
        return out

    from pypto_core.host import load_host

    program = kern.specialise(Like(1, dtype="int32"), Like(4, 1, dtype="int32"))
    run = load_host().engine("values").load()
    for value, row in ((9, 1), (2, 2)):
        out = run(program, [np.array([value], np.int32), np.zeros((4, 1), np.int32)], "kern").outputs["out"]
        assert out[:, 0].tolist() == [row if i == row else 0 for i in range(4)]


def test_a_branch_on_a_value_of_the_program_stays() -> None:
    @pl.jit.incore
    def kern(x: pl.Tensor, n: pl.Tensor, out: pl.Out[pl.Tensor]):
        k = pl.tensor.read(n, [0])
        t = pl.load(x, [0, 0], [8, 8])
        if k > 3:
            t = pl.exp(t)
        return pl.store(t, [0, 0], out)

    body = kern.specialise(Like(8, 8), Like(1, dtype="int32"), Like(8, 8)).functions["kern"].body
    assert [n for n in walk(body) if isinstance(n, IfStmt)]


def test_constants_come_from_closures_modules_and_locals_of_the_factory() -> None:
    class Part(IntEnum):
        half = 2

    def factory(width: int):
        shape = [ROWS, width // Part.half]

        @pl.jit.incore
        def kern(x: pl.Tensor, out: pl.Out[pl.Tensor]):
            narrow = width // Part.half
            t = pl.load(x, [0, narrow], shape)
            return pl.store(t, [0, 0], out)

        return kern

    wide, narrow = (factory(w).specialise(Like(16, w), Like(16, w // 2)) for w in (64, 32))
    assert (shapes(wide, "tile.load"), shapes(narrow, "tile.load")) == ([(16, 32)], [(16, 16)])


def test_a_constant_assigned_in_both_decided_branches() -> None:
    @pl.jit.incore
    def kern(x: pl.Tensor, out: pl.Out[pl.Tensor]):
        if x.dtype == pl.FP32:
            width = 8
        else:
            width = 16
        return pl.store(pl.load(x, [0, 0], [8, width]), [0, 0], out)

    assert shapes(kern.specialise(Like(8, 16), Like(8, 16)), "tile.load") == [(8, 8)]
    half = Like(8, 16, dtype="float16")
    assert shapes(kern.specialise(half, half), "tile.load") == [(8, 16)]


def test_a_constant_that_decided_branches_change() -> None:
    @pl.jit.incore
    def kern(x: pl.Tensor, out: pl.Out[pl.Tensor], wide: bool, tile: int = 4):
        rows = 8
        if wide and x.dtype == pl.FP32:
            rows = 16
            tile = tile * 2
        return pl.store(pl.load(x, [0, 0], [rows, tile * 2]), [0, 0], out)

    x, half = Like(16, 16), Like(16, 16, dtype="float16")
    assert shapes(kern.specialise(x, x, True), "tile.load") == [(16, 16)]
    assert shapes(kern.specialise(x, x, False), "tile.load") == [(8, 8)]
    assert shapes(kern.specialise(half, half, True), "tile.load") == [(8, 8)]


def test_a_constant_can_not_change_in_a_loop_of_the_program() -> None:
    @pl.jit.incore
    def kern(x: pl.Tensor, n: int):
        for _i in pl.range(4):
            n = n + 1
        return x

    with pytest.raises(ParserTypeError, match="'n' is a constant of this kernel"):
        kern.specialise(Like(8, 8), 1)


def test_numbers_that_a_loop_carries_stay_variables() -> None:
    @pl.jit.incore
    def kern(x: pl.Tensor, out: pl.Out[pl.Tensor]):
        row = 0
        for _i in pl.range(4):
            t = pl.load(x, [row, 0], [8, 8])
            out = pl.store(t, [row, 0], out)
            row = row + 8
        return out

    function = kern.specialise(Like(32, 8), Like(32, 8)).functions["kern"]
    assert any(v.name_hint == "row" for v in walk(function.body) if isinstance(v, Var))


def test_a_name_may_hold_a_value_of_another_type_where_nobody_expects_the_old_one() -> None:
    @pl.jit.incore
    def kern(x: pl.Tensor, out: pl.Out[pl.Tensor]):
        t = pl.load(x, [0, 0], [8, 16])
        t = pl.cast(t, pl.FP16)
        t = pl.cast(t, pl.FP32)
        out = pl.store(t, [0, 0], out)
        for i in pl.range(2):
            t = pl.load(x, [8 * i, 0], [4, 16])
            out = pl.store(t, [8 * i, 0], out)
        for i in pl.range(2):
            t = pl.load(x, [8 * i, 0], [2, 16])
            out = pl.store(t, [8 * i, 0], out)
        return out

    program = kern.specialise(Like(16, 16), Like(16, 16))
    assert shapes(program, "tile.load") == [(8, 16), (4, 16), (2, 16)]


def carried(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    t = pl.load(x, [0, 0], [8, 16])
    for _i in pl.range(2):
        out = pl.store(t, [0, 0], out)
        t = pl.load(x, [0, 0], [4, 16])
    return out


def read_after_a_loop(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    t = pl.load(x, [0, 0], [8, 16])
    for _i in pl.range(2):
        t = pl.load(x, [0, 0], [4, 16])
    return pl.store(t, [0, 0], out)


def read_after_a_branch(x: pl.Tensor, n: pl.Tensor, out: pl.Out[pl.Tensor]):
    t = pl.load(x, [0, 0], [8, 16])
    if pl.tensor.read(n, [0]) > 2:
        t = pl.load(x, [0, 0], [4, 16])
    return pl.store(t, [0, 0], out)


def read_after_a_break(x: pl.Tensor, n: pl.Tensor, out: pl.Out[pl.Tensor]):
    t = pl.load(x, [0, 0], [8, 16])
    for i in pl.range(2):
        if pl.tensor.read(n, [0]) > i:
            t = pl.load(x, [0, 0], [4, 16])
            break
        t = pl.load(x, [8, 0], [8, 16])
    return pl.store(t, [0, 0], out)


def after_a_scope(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        t = pl.load(x, [0, 0], [8, 16])
    for _i in pl.range(2):
        out = pl.store(t, [0, 0], out)
        t = pl.load(x, [0, 0], [4, 16])
    return out


@pytest.mark.parametrize(
    "python", [carried, read_after_a_loop, read_after_a_branch, read_after_a_break, after_a_scope]
)
def test_a_name_keeps_its_type_where_the_old_value_may_be_read(python) -> None:
    kern = pl.jit.incore(python)
    number = [Like(1, dtype="int32")] if "n" in python.__annotations__ else []
    with pytest.raises(ParserTypeError, match="'t' already holds a value of another type"):
        kern.specialise(Like(16, 16), *number, Like(16, 16))


def test_symbols_in_annotations_stay_open_and_are_checked() -> None:
    M = pl.dynamic("M")

    @pl.jit.incore
    def kern(x: pl.Tensor[[M, 16], pl.FP32], out: pl.Out[pl.Tensor[[M, 16], pl.FP32]]):
        rows, cols = x.shape
        for i in pl.range(rows // 8):
            t = pl.load(x, [i * 8, 0], [8, cols])
            out = pl.store(t, [i * 8, 0], out)
        return out

    [function] = kern.specialise(Like(64, 16), Like(64, 16)).functions.values()
    x, out = function.params
    assert x.type.shape[0] is M.expr and out.type.shape[0] is M.expr
    for arrays, fragment in (
        ([Like(64, 16), Like(32, 16)], "the extent M is 64 in 'x' and 32 in 'out'"),
        ([Like(64, 8), Like(64, 8)], "'x' has other extents"),
        ([Like(64, 16, dtype="float16"), Like(64, 16)], "'x' holds fp32"),
        ([Like(64), Like(64, 16)], "'x' has 2 axes"),
    ):
        with pytest.raises(ParserTypeError) as caught:
            kern.specialise(*arrays)
        assert caught.value.message == fragment
        assert "array" in dict(caught.value.diagnostics[0].facts)


def test_bind_dynamic_opens_an_extent_of_a_bare_tensor() -> None:
    @pl.jit.incore
    def kern(x: pl.Tensor, out: pl.Out[pl.Tensor]):
        N = pl.dynamic("N")
        # rows are counted when it runs
        x.bind_dynamic(0, N)
        out.bind_dynamic(0, N)
        for i in pl.range(x.shape[0] // 8):
            out = pl.store(pl.load(x, [i * 8, 0], [8, 16]), [i * 8, 0], out)
        return out

    [function] = kern.specialise(Like(64, 16), Like(64, 16)).functions.values()
    x, out = function.params
    assert x.type.shape[0] is out.type.shape[0] is pl.dynamic("N").expr
    [loop] = [n for n in walk(function.body) if isinstance(n, ForStmt)]
    assert x.type.shape[0] in set(walk(loop.stop))
    with pytest.raises(ParserTypeError, match="the extent N is 64 in 'x' and 32 in 'out'"):
        kern.specialise(Like(64, 16), Like(32, 16))


def test_bind_dynamic_of_what_is_no_axis() -> None:
    @pl.jit.incore
    def beyond(x: pl.Tensor):
        x.bind_dynamic(2, pl.dynamic("N"))
        return x

    @pl.jit.incore
    def odd(x: pl.Tensor):
        x.bind_dynamic(0, 16)
        return x

    for kern in (beyond, odd):
        with pytest.raises(ParserError):
            kern.specialise(Like(8, 8))


def test_annotations_that_say_all_need_no_arguments() -> None:
    @pl.jit.incore
    def kern(x: pl.Tensor[[8, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 16], pl.FP32]]):
        return pl.store(pl.load(x, [0, 0], [8, 16]), [0, 0], out)

    assert kern.program.functions["kern"].params[0].type.dtype is pl.FP32
    with pytest.raises(ParserTypeError, match="nothing says what 'x' is"):
        copy.specialise()


@pl.jit.incore
def add_scaled(x: pl.Tensor, y: pl.Tensor, out: pl.Out[pl.Tensor], s: pl.Scalar[pl.FP32], tile: int = 16):
    for i in pl.range(x.shape[0] // tile):
        a = pl.load(x, [i * tile, 0], [tile, x.shape[1]])
        b = pl.load(y, [i * tile, 0], [tile, y.shape[1]])
        out = pl.store(pl.add(pl.mul(a, s), b), [i * tile, 0], out)
    return out


@pl.jit
def caller(
    x: pl.Tensor, y: pl.Tensor, wide: pl.Out[pl.Tensor], narrow: pl.Out[pl.Tensor], s: pl.Scalar[pl.FP32]
):
    wide = add_scaled(x, y, wide, s)
    wide = add_scaled(wide, y, wide, 2.0)
    narrow = add_scaled(narrow, narrow, s=0.5, out=narrow, tile=8)
    narrow = late(narrow)
    return wide, narrow


@pl.jit.inline
def late(x):
    return pl.add(x, 1.0)


def test_called_kernels_are_read_once_for_each_kind_of_arguments() -> None:
    program = caller.specialise(Like(64, 32), Like(64, 32), Like(64, 32), Like(16, 16), 3.0)
    assert set(program.functions) == {"caller", "add_scaled", "add_scaled_2", "late"}
    first, second = program.functions["add_scaled"], program.functions["add_scaled_2"]
    assert static_shape(first.params[0].type.shape) == (64, 32)
    assert static_shape(second.params[0].type.shape) == (16, 16)
    # a typed scalar is passed, so that one function serves both calls; an untyped number is part of the function
    assert [p.name_hint for p in first.params] == ["x", "y", "out", "s"]
    assert isinstance(first.params[3].type, ScalarType)
    passed = [call.args[3].value for call in calls(program, "add_scaled")]
    assert passed == [3.0, 2.0]
    assert [call.args[2].name_hint for call in calls(program, "add_scaled_2")] == ["narrow"]
    assert program.functions["late"].func_type is FunctionType.Inline


def test_extents_that_only_the_caller_knows_get_names_in_the_callee() -> None:
    @pl.jit.inline
    def double(t):
        return pl.add(t, t)

    @pl.jit.incore
    def kern(x: pl.Tensor, n: pl.Tensor, out: pl.Out[pl.Tensor]):
        k = pl.cast(pl.tensor.read(n, [0]), pl.INDEX)
        part = pl.slice(x, [8, k], [0, 0])
        part = double(part)
        out[0:8, 0:k] = part
        return out

    program = kern.specialise(Like(8, 64), Like(1, dtype="int32"), Like(8, 64))
    [param] = program.functions["double"].params
    assert param.type.shape[1] is pl.dynamic("t_dim1").expr
    [call] = calls(program, "double")
    assert call.type.shape[1] is not param.type.shape[1]


@pl.jit
def too_few(x: pl.Tensor):
    return add_scaled(x, x)


@pl.jit
def too_many(x: pl.Tensor):
    return add_scaled(x, x, x, 1.0, 2, 3)


@pl.jit
def unknown_name(x: pl.Tensor):
    return add_scaled(x, x, x, 1.0, nothing=5)


@pl.jit
def given_twice(x: pl.Tensor):
    return add_scaled(x, x, x, 1.0, x=x)


@pl.jit
def number_for_array(x: pl.Tensor):
    return add_scaled(x, 3, x, 1.0)


@pytest.mark.parametrize(
    ("kern", "fragment"),
    [
        (too_few, "needs 'out' as well"),
        (too_many, "takes 5 arguments, not 6"),
        (unknown_name, "has no parameter 'nothing'"),
        (given_twice, "is given 'x' twice"),
        (number_for_array, "'y' is an array, and 3 is given"),
    ],
)
def test_calls_within_kernels_name_what_is_wrong_with_their_arguments(kern, fragment) -> None:
    with pytest.raises(ParserError) as caught:
        kern.specialise(Like(16, 16))
    assert fragment in caught.value.message


def test_recursion_is_refused_with_the_reason() -> None:
    @pl.jit.inline
    def again(x: pl.Tensor):
        return again(x)

    @pl.jit
    def kern(x: pl.Tensor):
        return again(x)

    with pytest.raises(ParserError, match="calls itself"):
        kern.specialise(Like(8, 8))


def test_what_has_no_source_or_is_no_function_is_refused() -> None:
    with pytest.raises(ParserError, match="decorates functions"):
        pl.jit(TileType)
    namespace: dict[str, object] = {"pl": pl}
    exec("def kern(x): return x", namespace)
    with pytest.raises(ParserError, match="source of 'kern' can't be found"):
        pl.jit(namespace["kern"])


def test_variable_arguments_are_refused() -> None:
    @pl.jit
    def kern(*arrays):
        return arrays

    with pytest.raises(ParserError, match="fixed number of parameters"):
        kern.specialise()


def test_a_python_value_without_meaning_is_refused_where_it_is_used() -> None:
    helper = {"a": 1}

    @pl.jit.incore
    def kern(x: pl.Tensor):
        n = helper
        return x

    with pytest.raises(ParserError, match="'helper' is a dict"):
        kern.specialise(Like(8, 8))


def test_the_language_stays_light_and_knows_jit() -> None:
    import subprocess
    import sys

    code = "import sys, pypto_core.language; print('pypto_core.jit' in sys.modules, 'jit' in dir(pypto_core.language))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False True\n"
    )

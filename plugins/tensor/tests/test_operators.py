"""ConvertTensorToTileOps, operator by operator: the kernel does the same on tiles, on both machines."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import Call, MemorySpace, walk
from pypto_core.run import compile
from pypto_core.testing import assert_same_behaviour

F, H, B, I, S = "pl.FP32", "pl.FP16", "pl.BF16", "pl.INT32", "pl.INT8"
PLANNERS = ("pypto", "dsa_rp", "ptoas")
TO_TILES = ("OutlineIncoreScopes", "ConvertTensorToTileOps")


def tensor(shape: str, dtype: str = F) -> str:
    return f"pl.Tensor[[{shape}], {dtype}]"


def kernel(kit: Any, expression: str, result: str, asked: str = "", **params: str) -> Any:
    listed = ", ".join(f"{name}: {kind}" for name, kind in params.items())
    return kit.main(
        f"{listed}, out: pl.Out[{result}]",
        f"""
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="k"{asked}):
            out[:] = {expression}
        return out
        """,
        result,
    )


def tile_ops(program: Any) -> list[str]:
    return [n.name for f in program if f.is_incore for n in walk(f.body) if isinstance(n, Call)]


X, Y, ROW, COLUMN = tensor("16, 64"), tensor("16, 64"), tensor("1, 64"), tensor("16, 1")
PLAIN = {
    "add": "pl.add(x, y)", "sub": "pl.sub(x, y)", "mul": "pl.mul(x, y)", "maximum": "pl.maximum(x, y)",
    "minimum": "pl.minimum(x, y)", "div": "pl.div(x, pl.add(pl.abs(y), 1.0))", "adds": "pl.add(x, 1.5)",
    "subs": "pl.sub(x, 1.5)", "muls": "pl.mul(x, -2.0)", "divs": "pl.div(x, 3.0)", "exp": "pl.exp(x)",
    "neg": "pl.neg(x)", "abs": "pl.abs(x)", "relu": "pl.relu(x)", "sqrt": "pl.sqrt(pl.abs(x))",
    "log": "pl.log(pl.add(pl.abs(x), 1.0))",
    "recip": "pl.recip(pl.add(pl.abs(x), 1.0))", "rsqrt": "pl.rsqrt(pl.add(pl.abs(x), 1.0))",
    "rsqrt precise": "pl.rsqrt(pl.add(pl.abs(x), 1.0), high_precision=True)",
    "cast": "pl.cast(pl.cast(x, pl.BF16, mode='rint'), pl.FP32)", "same cast": "pl.cast(pl.neg(x), pl.FP32)",
    "integers": "pl.cast(pl.add(pl.cast(x, pl.INT32, mode='trunc'), 3), pl.FP32, mode='none')",
    "full": "pl.full([16, 64], dtype=pl.FP32, value=2.5)",
    "arange": "pl.cast(pl.reshape(pl.arange(3, [1, 1024], dtype=pl.INT32), [16, 64]), pl.FP32, mode='none')",
    "chain": "pl.mul(pl.add(pl.exp(pl.neg(x)), 1.0), pl.sub(y, x))", "copy": "x",
    "slice of a tile": "pl.concat(pl.exp(x)[:, 32:64], pl.exp(y)[:, 0:32])",
    "assemble into a tile": "pl.assemble(pl.exp(x), pl.neg(y[0:8, :]), [8, 0])",
    "row_expand": "pl.row_expand(x, pl.row_sum(y))", "col_expand": "pl.col_expand(x, pl.col_sum(y))",
    "fmod": "pl.fmod(x, pl.add(pl.abs(y), 1.0))", "read": "pl.mul(x, pl.read(pl.exp(y), [3, 5]))",
    "rem": "pl.tensor.rem(x, pl.add(pl.abs(y), 1.0))", "expand_clone": "pl.expand_clone(pl.row_sum(x), y)",
    "stretched both ways": "pl.mul(pl.expand_clone(x[0:1, :], y), pl.expand_clone(y[:, 0:1], x))",
    "axes that are missing": "pl.add(x, pl.reshape(y[0:1, :], [64]))",
    "create and fill": "pl.add(pl.create_tensor([16, 64], dtype=pl.FP32, init_value=0.5), x)",
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_element_by_element(kit: Any, name: str) -> None:
    program = kernel(kit, PLAIN[name], X, x=X, y=Y)
    kit.prove(kit.front(program), *TO_TILES, holds=["SplitIncoreOrch", "IncoreTileOps"])
    kit.everywhere(program)


def test_integers_bit_by_bit(kit: Any) -> None:
    kind = tensor("16, 64", "pl.INT16")
    program = kernel(kit, "pl.xor(pl.and_(i, j), pl.or_(pl.and_(j, 255), i))", kind, i=kind, j=kind)
    kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])
    kit.everywhere(program)


def test_reductions_that_drop_their_axis(kit: Any) -> None:
    program = kernel(kit, "pl.row_sum(x, keep_dim=False)", tensor("16"), x=X)
    kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])
    kit.everywhere(program)


def test_lists_of_tensors(kit: Any) -> None:
    program = kit.main(
        f"x: {X}, out: pl.Out[{X}]",
        """
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="k"):
            parts = [pl.mul(x[k * 4:(k + 1) * 4, :], 2.0) for k in range(4)]
            out[0:4, :] = parts[3]
            out[4:8, :] = parts[0]
            out[8:16, :] = pl.neg(x[0:8, :])
        return out
        """,
        X,
    )
    kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])
    kit.everywhere(program)


def test_notes_of_operators_stay(kit: Any) -> None:
    note = 'attrs={"mark": 7}'
    program = kernel(kit, f"pl.tensor.exp(pl.tensor.slice(x, [16, 64], [0, 0], {note}), {note})", X, x=X)
    after = kit.apply(kit.front(program), *TO_TILES)
    marked = [n.name for f in after for n in walk(f.body) if isinstance(n, Call) and n.attrs.get("mark") == 7]
    assert marked == ["tile.load", "tile.exp"]


@pytest.mark.parametrize("what", ["max", "min", "sum", "prod"])
@pytest.mark.parametrize("line", ["row", "col"])
def test_reductions(kit: Any, line: str, what: str) -> None:
    result = COLUMN if line == "row" else ROW
    program = kernel(kit, f"pl.{line}_{what}(x)", result, x=X)
    after = kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])
    assert f"tile.{line}_{what}" in tile_ops(after)
    kit.everywhere(program)


@pytest.mark.parametrize("what", ["argmax", "argmin"])
def test_places_of_extremes(kit: Any, what: str) -> None:
    program = kernel(kit, f"pl.row_{what}(x)", tensor("16, 1", I), x=X)
    kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])


@pytest.mark.parametrize("mix", ["add", "sub", "mul", "div", "max", "min", "expdif"])
@pytest.mark.parametrize("line", ["row", "col"])
def test_expansions(kit: Any, line: str, mix: str) -> None:
    vector = "pl.add(pl.abs(v), 1.0)"
    program = kernel(kit, f"pl.{line}_expand_{mix}(x, {vector})", X, x=X, v=COLUMN if line == "row" else ROW)
    kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])
    kit.everywhere(program)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("pl.add(x, row)", "tile.col_expand_add"), ("pl.sub(x, column)", "tile.row_expand_sub"),
        ("pl.mul(row, x)", "tile.col_expand_mul"), ("pl.maximum(x, column)", "tile.row_expand_max"),
        ("pl.sub(row, x)", "tile.sub"), ("pl.add(row, column)", "tile.row_expand_add"),
    ],
)  # fmt: skip
def test_shapes_are_stretched_by_expansions(kit: Any, expression: str, wanted: str) -> None:
    program = kernel(kit, expression, X, x=X, row=ROW, column=COLUMN)
    after = kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])
    assert wanted in tile_ops(after)
    kit.everywhere(program)


@pytest.mark.parametrize("dtype", ["BF16", "FP16"])
def test_half_width_results_are_narrowed_on_the_way(kit: Any, dtype: str) -> None:
    """Assembling single precision into a half-width tensor: the vector unit converts ahead of the store."""
    program = kernel(kit, "pl.exp(x)", tensor("16, 64", f"pl.{dtype}"), x=X)
    after = kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])
    assert tile_ops(after).count("tile.cast") == 1
    kit.everywhere(program)


def test_transpose(kit: Any) -> None:
    program = kernel(kit, "pl.transpose(x, 0, 1)", tensor("64, 16"), x=X)
    kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])
    kit.everywhere(program)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_are_written_out(kit: Any, name: str) -> None:
    program = kernel(kit, f"pl.{name}(pl.mul(x, 60.0))", X, x=X)
    kit.everywhere(program, atol=1e-6)
    x = np.linspace(-3000, 3000, 1024, dtype=np.float32).reshape(16, 64)
    engine = kit.host.engine("values").load()
    compiled = compile(kernel(kit, f"pl.{name}(x)", X, x=X), backend="910b", host=kit.host)
    found = engine(compiled.program, {"x": x}, None, host=kit.host).outputs["out"]
    assert np.abs(found - getattr(np, name)(x.astype(np.float64))).max() < 1e-6
    assert f"tile.{name}" not in tile_ops(compiled.program)


def test_gather_along_rows(kit: Any) -> None:
    rng = np.random.default_rng(1)
    given = {
        "x": rng.standard_normal((16, 64), dtype=np.float32),
        "index": rng.integers(0, 64, (16, 32)).astype(np.int32),
    }
    program = kernel(
        kit, "pl.gather(x, index=index, dim=-1)", tensor("16, 32"), x=X, index=tensor("16, 32", I)
    )
    kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"], inputs=given)
    kit.everywhere(program, inputs=given)
    single = kernel(
        kit, "pl.gather(x, index=index, dim=-1)", tensor("1, 32"), x=ROW, index=tensor("1, 32", I)
    )
    kit.everywhere(single, inputs={k: v[:1] for k, v in given.items()})
    engine = kit.host.engine("values").load()
    found = engine(program, given, None, host=kit.host).outputs["out"]
    assert np.array_equal(found, np.take_along_axis(given["x"], given["index"].astype(np.int64), 1))


def test_gather_by_mask(kit: Any) -> None:
    program = kernel(kit, "pl.gather(x, mask_pattern=2)", tensor("16, 32"), x=X)
    kit.everywhere(program)
    engine = kit.host.engine("values").load()
    x = np.arange(1024, dtype=np.float32).reshape(16, 64)
    assert np.array_equal(engine(program, {"x": x}, None, host=kit.host).outputs["out"], x[:, 1::2])


# -- matrices

M = {"a": tensor("32, 64", B), "b": tensor("64, 48", B)}


def product(
    a: str, b: str, dtype: str = B, flags: str = "", rows: int = 32, columns: int = 48, out: str = F
) -> Any:
    params = {"a": tensor(a, dtype), "b": tensor(b, dtype)}
    wanted = f"pl.matmul(a, b, out_dtype={out}{flags})"
    return wanted, tensor(f"{rows}, {columns}", out), params


@pytest.mark.parametrize(
    ("a", "b", "flags"),
    [
        ("32, 64", "64, 48", ""), ("32, 64", "48, 64", ", b_trans=True"), ("64, 32", "64, 48", ", a_trans=True"),
        ("64, 32", "48, 64", ", a_trans=True, b_trans=True"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["BF16", "FP16", "FP32", "INT8"])
def test_products(kit: Any, dtype: str, a: str, b: str, flags: str) -> None:
    if dtype == "INT8":
        b = b.replace("48", "64")
    out, columns = (I, 64) if dtype == "INT8" else (F, 48)
    expression, result, params = product(a, b, f"pl.{dtype}", flags, columns=columns, out=out)
    program = kernel(kit, expression, result, **params)
    after = kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])
    assert tile_ops(after).count("tile.transpose_view") == flags.count("True")
    kit.everywhere(program)


@pytest.mark.parametrize("rows", [1, 5, 8, 16, 17, 40])
def test_rows_are_padded_and_the_rest_is_not_read(kit: Any, rows: int) -> None:
    expression, result, params = product(f"{rows}, 64", "64, 48", rows=rows)
    program = kernel(kit, expression, result, **params)
    kit.everywhere(program)
    flags = ", a_trans=True"
    expression, result, params = product(f"64, {rows}", "64, 48", flags=flags, rows=rows)
    kit.everywhere(kernel(kit, expression, result, **params))


@pytest.mark.parametrize(("columns", "depth"), [(8, 64), (48, 24), (24, 40)])
def test_columns_and_depth_are_padded(kit: Any, columns: int, depth: int) -> None:
    for b, flags in ((f"{depth}, {columns}", ""), (f"{columns}, {depth}", ", b_trans=True")):
        expression, result, params = product(f"16, {depth}", b, flags=flags, rows=16, columns=columns)
        kit.everywhere(kernel(kit, expression, result, **params))


def test_a_narrow_result_is_narrowed_by_the_drain(kit: Any) -> None:
    """Without out_dtype a product has its operands' type: no conversion of its own is needed on the way to memory."""
    program = kernel(kit, "pl.matmul(a, b)", tensor("32, 48", B), **M)
    after = kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])
    assert "tile.cast" not in tile_ops(after)
    kit.everywhere(program)


SUMS = {
    "peeled": """
        acc = pl.create_tensor([ROWS, 48], dtype=pl.FP32)
        for k in pl.range(0, 128, 32):
            if k == 0:
                acc = pl.matmul(a[:, k:k + 32], b[k:k + 32, :], out_dtype=pl.FP32)
            else:
                acc = pl.matmul_acc(acc, a[:, k:k + 32], b[k:k + 32, :])
    """,
    "first ahead": """
        acc = pl.matmul(a[:, 0:32], b[0:32, :], out_dtype=pl.FP32)
        for k in pl.pipeline(32, 128, 32, stage=2):
            acc = pl.matmul_acc(acc, a[:, k:k + 32], b[k:k + 32, :])
    """,
    "zeros": """
        acc = pl.full([ROWS, 48], dtype=pl.FP32, value=0.0)
        for k in pl.pipeline(0, 128, 32, stage=2):
            acc = pl.matmul_acc(acc, a[:, k:k + 32], b[k:k + 32, :])
    """,
    "zeros in two loops": """
        acc = pl.full([ROWS, 48], dtype=pl.FP32, value=0.0)
        for i in pl.range(2):
            for j in pl.range(2):
                k = i * 64 + j * 32
                acc = pl.matmul_acc(acc, a[:, k:k + 32], b[k:k + 32, :])
    """,
    "zeros once": """
        zero = pl.full([ROWS, 48], dtype=pl.FP32, value=0.0)
        acc = pl.matmul_acc(pl.matmul_acc(zero, a[:, 0:64], b[0:64, :]), a[:, 64:128], b[64:128, :])
    """,
    "predicate": """
        acc = pl.create_tensor([ROWS, 48], dtype=pl.FP32)
        for k in pl.range(0, 128, 32):
            acc = pl.matmul_acc(acc, a[:, k:k + 32], b[k:k + 32, :], k == 0)
    """,
}  # fmt: skip


@pytest.mark.parametrize("rows", [16, 5])
@pytest.mark.parametrize("name", SUMS)
def test_sums_of_products(kit: Any, name: str, rows: int) -> None:
    result = tensor(f"{rows}, 48")
    program = kit.main(
        f"a: {tensor(f'{rows}, 128', B)}, b: {tensor('128, 48', B)}, out: pl.Out[{result}]",
        f"""
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="k"):{SUMS[name].replace("ROWS", str(rows))}
        out[:, :] = acc
    return out
    """,
        result,
    )
    kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"], atol=1e-5)
    kit.everywhere(program, atol=1e-4, planners=PLANNERS)


@pytest.mark.parametrize("backend", ["910b", "a5"])
def test_both_cores_in_one_kernel(kit: Any, backend: str) -> None:
    """A product, its epilogue, and a product of that: planned for every planner, whole in the simulator."""
    hidden = "pl.relu(pl.add(pl.matmul(a, b, out_dtype=pl.FP32), v))"
    program = kernel(
        kit, f"pl.matmul(pl.cast({hidden}, pl.BF16), c, out_dtype=pl.FP32)", tensor("8, 32"),
        ", optimizations=[pl.split(pl.SplitMode.UP_DOWN)]",
        a=tensor("8, 64", B), b=tensor("64, 48", B), c=tensor("48, 32", B), v=tensor("1, 48"),
    )  # fmt: skip
    for planner, goal in (
        ("pypto", "AllocatedMemoryAddr"),
        ("dsa_rp", "AllocatedMemoryAddr"),
        ("ptoas", "HasMemRefs"),
    ):
        compiled = compile(program, backend=backend, planner=planner, goal=goal, host=kit.host)
        assert_same_behaviour(program, compiled.program, atol=1e-4, host=kit.host)
    with pytest.raises(UserError, match="mixes operators of the cube and of the vector core") as caught:
        compile(program, backend=backend, host=kit.host)
    assert caught.value.diagnostics[0].remedy.startswith("leave pl.split out")


# -- what can't be

REFUSED = (
    ("PT372", "pl.exp(x[0:n, :])", "extent 0 of"),
    ("PT373", "pl.matmul_acc(x, a, b)", "is no matrix product"),
    ("PT374", "pl.gather(x, index=idx, dim=0)", "along the last axis"),
    ("PT376", "pl.gather_row(x, pl.exp(x), idx)", "rows are picked from whole tensors in memory"),
    ("PT377", "pl.matmul(t[0:n, :, :], t[0:n, :, :])", "of a batch whose size is not known"),
)


@pytest.mark.parametrize(("code", "expression", "message"), REFUSED)
def test_what_no_tile_can_do(kit: Any, code: str, expression: str, message: str) -> None:
    program = kit.main(
        f"x: {tensor('16, 16')}, a: {tensor('16, 16', B)}, b: {tensor('16, 16', B)}, n: pl.Scalar[pl.INDEX], "
        f"idx: {tensor('16, 16', I)}, t: {tensor('2, 16, 16')}, out: pl.Out[{tensor('16, 16')}]",
        f"""
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="k"):
            y = {expression}
            out[:, :] = pl.neg(x)
        return out
        """,
        tensor("16, 16"),
    )
    with pytest.raises(UserError, match=message) as caught:
        kit.apply(kit.front(program), *TO_TILES)
    [found] = caught.value.diagnostics
    assert found.code == code and found.remedy and found.span.is_valid


def test_integers_that_are_stored_transposed_share_one_accumulator(kit: Any) -> None:
    """Columns of eight-bit elements come in boxes of 32, so all products of the kernel have 32 rows and one counts."""
    result = tensor("1, 8", I)
    program = kit.main(
        f"a: {tensor('64, 1', S)}, b: {tensor('64, 8', S)}, out: pl.Out[{result}]",
        """
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="k"):
            acc = pl.create_tensor([1, 8], dtype=pl.INT32)
            for k in pl.range(0, 64, 32):
                if k == 0:
                    acc = pl.matmul(a[0:32, :], b[0:32, :], a_trans=True, out_dtype=pl.INT32)
                else:
                    acc = pl.matmul_acc(acc, a[k:k + 32, :], b[k:k + 32, :], a_trans=True)
            out[:, :] = acc
        return out
        """,
        result,
    )
    kit.everywhere(program, planners=PLANNERS)


def test_operands_that_lose_axes_of_one_are_windows_still(kit: Any) -> None:
    """They are loaded for the cube core, and not looked at on the vector core first."""
    result = tensor("16, 64")
    program = kit.main(
        f"q: {tensor('4, 16, 1, 32', B)}, k: {tensor('4, 1, 64, 32', B)}, out: pl.Out[{result}]",
        """
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="k"):
            x = pl.reshape(q[1], [16, 32])
            y = pl.reshape(k[2:3, :, :, :], [64, 32])
            out[:, :] = pl.matmul(x, y, b_trans=True, out_dtype=pl.FP32)
        return out
        """,
        result,
    )
    after = kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])
    loads = [n for f in after for n in walk(f.body) if isinstance(n, Call) and n.name == "tile.load"]
    assert [n.kwargs.get("target_memory") for n in loads] == [MemorySpace.Mat, MemorySpace.Mat]


def test_products_of_which_less_counts_stay_on_the_cube_core(kit: Any) -> None:
    rng = np.random.default_rng(2)
    inputs = {
        name: rng.standard_normal(shape).astype(ml_dtypes.bfloat16)
        for name, shape in (("a", (16, 64)), ("b", (64, 32)))
    }
    inputs["out"] = rng.standard_normal((16, 32), dtype=np.float32)
    result = tensor("16, 32")
    program = kit.main(
        f"a: {tensor('16, 64', B)}, b: {tensor('64, 32', B)}, out: pl.InOut[{result}]",
        """
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="k"):
            few = pl.tensor.set_validshape(a, 9, 64)
            product = pl.matmul(few, b, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.set_validshape(product, 5, 32), [1, 0])
        return out
        """,
        result,
    )
    kit.everywhere(program, inputs=inputs, atol=1e-4)
    engine = kit.host.engine("values").load()
    found = engine(program, inputs, None, host=kit.host).outputs["out"]
    wanted = inputs["out"].copy()
    wanted[1:6] = inputs["a"][:5].astype(np.float64) @ inputs["b"].astype(np.float64)
    assert np.abs(found - wanted).max() < 1e-4


@pytest.mark.parametrize("backend", ["910b", "a5"])
def test_a_peeled_sum_that_is_too_wide_is_cut_into_windows(kit: Any, backend: str) -> None:
    """The accumulator of the whole result would need more than there is; each part is summed by itself."""
    result = tensor("16, 1152", I)
    program = kit.main(
        f"a: {tensor('16, 256', S)}, b: {tensor('256, 1152', S)}, out: pl.Out[{result}]",
        """
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="k"):
            acc = pl.create_tensor([16, 1152], dtype=pl.INT32)
            for k in pl.pipeline(0, 256, 128, stage=2):
                if k == 0:
                    acc = pl.matmul(a[:, k:k + 128], b[k:k + 128, :], out_dtype=pl.INT32)
                else:
                    acc = pl.matmul_acc(acc, a[:, k:k + 128], b[k:k + 128, :])
            out[:, :] = acc
        return out
        """,
        result,
    )
    compiled = compile(program, backend=backend, host=kit.host)
    assert_same_behaviour(program, compiled.program, host=kit.host)
    assert not [h for h in compiled.hints if h.code.startswith("PH-AT")]

"""ConvertTensorToTileOps: where things are loaded, what loops carry, and what callers have to bring."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import Call, ForStmt, MemorySpace, TensorType, TileType, flatten, walk, walk_stmts

T = "pl.Tensor[[64, 64], pl.FP32]"
R = "pl.Tensor[[16, 64], pl.FP32]"
CONVERT = "ConvertTensorToTileOps"


def kernel(kit: Any, params: str, body: str, result: str = "") -> Any:
    return kit.front(kit.main(params, body, result, kind="InCore"))


def converted(kit: Any, params: str, body: str, result: str = "", **options: Any) -> Any:
    return kit.prove(kernel(kit, params, body, result), CONVERT, holds=["IncoreTileOps"], **options)


def names(program: Any, function: str = "main") -> list[str]:
    return [n.name for n in walk(program[function].body) if isinstance(n, Call)]


def test_windows_are_loaded_where_they_are_taken(kit: Any) -> None:
    after = converted(
        kit, f"a: {T}, b: {T}, out: pl.Out[{T}]", """
        x = a[0:16, :]
        for i in pl.range(4):
            out[i * 16:(i + 1) * 16, :] = pl.add(b[i * 16:(i + 1) * 16, :], x)
        return out
        """, T,
    )  # fmt: skip
    kit.equal(
        after,
        f"""
        @pl.program
        class P:
            @pl.function(type=pl.FunctionType.InCore)
            def main(a: {T}, b: {T}, out: pl.Out[{T}]) -> {T}:
                x = pl.tile.load(a, [0, 0], [16, 64], [16, 64], target_memory=None)
                for i, (o,) in pl.range(4, init_values=(out,)):
                    y = pl.tile.load(b, [i * 16, 0], [16, 64], [16, 64], target_memory=None)
                    z = pl.tile.add(y, x)
                    s = pl.tile.store(z, [i * 16, 0], o)
                    r = pl.yield_(s)
                return r
        """,
    )


def test_operands_of_products_go_to_l1(kit: Any) -> None:
    """One window, read by both cores, is loaded once for each."""
    B = "pl.Tensor[[64, 64], pl.BF16]"
    after = converted(
        kit, f"a: {B}, out: pl.Out[{T}], copy: pl.Out[{B}]", """
        x = a[:, :]
        copy[:, :] = x
        out[:, :] = pl.matmul(x, x, b_trans=True, out_dtype=pl.FP32)
        return out, copy
        """, f"tuple[{T}, {B}]",
    )  # fmt: skip
    loads = [n for n in walk(after["main"].body) if isinstance(n, Call) and n.name == "tile.load"]
    assert [n.kwargs.get("target_memory") for n in loads].count(MemorySpace.Mat) == 2
    assert names(after).count("tile.transpose_view") == 1


def test_memory_that_the_kernel_writes_is_read_anew(kit: Any) -> None:
    """A window is a view: what is written to its tensor afterwards shows in it."""
    after = converted(
        kit, f"a: pl.InOut[{T}], out: pl.Out[{R}]", """
        x = a[0:16, :]
        y = pl.exp(x)
        a[0:16, :] = y
        out[:, :] = pl.add(x, y)
        return a, out
        """, f"tuple[{T}, {R}]",
    )  # fmt: skip
    assert names(after).count("tile.load") == 2


def test_windows_of_windows(kit: Any) -> None:
    after = converted(
        kit, f"a: {T}, out: pl.Out[{T}]", """
        x = a[16:48, :]
        part = out[16:48, 0:32]
        y = x[8:24, 16:48]
        part[8:24, :] = pl.neg(y)
        out[0:16, :] = a[0:16, :]
        out[16:24, :] = a[16:24, :]
        out[40:64, :] = a[40:64, :]
        out[24:40, 32:64] = a[24:40, 32:64]
        return out
        """, T,
    )  # fmt: skip
    [store] = [
        n for n in walk(after["main"].body)
        if isinstance(n, Call) and n.name == "tile.store" and n.args[1].elements[1].value == 0  # type: ignore[attr-defined]
        and n.args[1].elements[0].value == 24  # type: ignore[attr-defined]
    ]  # fmt: skip
    assert isinstance(store.type, TensorType)


def test_loops_carry_tiles(kit: Any) -> None:
    """A sum that starts from a window, from a constant and from nothing."""
    after = converted(
        kit, f"a: {T}, out: pl.Out[{R}]", """
        total = a[0:16, :]
        peak = pl.full([16, 1], dtype=pl.FP32, value=-1000.0)
        for i in pl.range(1, 4):
            rows = a[i * 16:(i + 1) * 16, :]
            total = pl.add(total, rows)
            peak = pl.maximum(peak, pl.row_max(rows))
        out[:, :] = pl.row_expand_sub(total, peak)
        return out
        """, R,
    )  # fmt: skip
    [loop] = [s for s in walk_stmts(after["main"].body) if hasattr(s, "iter_args")]
    assert all(isinstance(arg.type, TileType) for arg in loop.iter_args)


def test_branches_that_meet(kit: Any) -> None:
    """Both ways write the tensor; both compute; one computes and the other takes memory as it is."""
    body = """
    if n > 1:
        out[0:16, :] = pl.neg(a[0:16, :])
        x = pl.exp(a[16:32, :])
        y = pl.exp(a[32:48, :])
    else:
        out[0:16, :] = a[0:16, :]
        x = pl.neg(a[16:32, :])
        y = a[32:48, :]
    out[16:32, :] = x
    out[32:48, :] = y
    out[48:64, :] = pl.add(x, y)
    return out
    """
    for n in (0, 2):
        inputs = {"a": np.random.default_rng(n).standard_normal((64, 64), dtype=np.float32), "n": n}
        converted(kit, f"a: {T}, n: pl.Scalar[pl.INT32], out: pl.Out[{T}]", body, T, inputs=inputs)


def test_a_tensor_chosen_by_a_branch(kit: Any) -> None:
    """Two different tensors in memory meet: what comes out is a value."""
    body = """
    if n > 1:
        x = a
    else:
        x = b
    out[:, :] = pl.add(x, 1.0)
    return out
    """
    for n in (0, 2):
        rng = np.random.default_rng(n)
        inputs = {k: rng.standard_normal((16, 64), dtype=np.float32) for k in "ab"} | {"n": n}
        converted(kit, f"a: {R}, b: {R}, n: pl.Scalar[pl.INT32], out: pl.Out[{R}]", body, R, inputs=inputs)


def test_a_while_loop(kit: Any) -> None:
    body = """
    x = a[:, :]
    i = 0
    while i < n:
        x = pl.mul(x, 0.5)
        i = i + 1
    out[:, :] = x
    return out
    """
    inputs = {"a": np.ones((16, 64), np.float32), "n": 3}
    converted(kit, f"a: {R}, n: pl.Scalar[pl.INDEX], out: pl.Out[{R}]", body, R, inputs=inputs)


def test_callers_make_what_kernels_return(kit: Any) -> None:
    program = kit.program("""
    N = pl.dynamic("N")

    @pl.program
    class P:
        @pl.function(type=pl.FunctionType.InCore)
        def head(self, a: pl.Tensor[[N, 64], pl.FP32], rows: pl.Scalar[pl.INDEX]) -> pl.Tensor[[16, 64], pl.FP32]:
            return pl.exp(a[0:16, :])
        @pl.function(type=pl.FunctionType.Orchestration)
        def main(self, a: pl.Tensor[[N, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]
                 ) -> pl.Tensor[[16, 64], pl.FP32]:
            for i in pl.range(2):
                x = self.head(a, i)
                out = pl.assemble(out, x, [0, 0])
            return out
    """)
    after = kit.prove(kit.front(program), CONVERT, holds=["IncoreTileOps"], dims={"N": 48})
    assert [p.name_hint for p in after["head"].params][2:] == ["head_out"] or len(after["head"].params) == 3
    assert names(after) == ["tensor.create", "head", "tensor.assemble"]


def test_an_entry_kernel_gets_a_parameter_for_its_result(kit: Any) -> None:
    after = kit.apply(kernel(kit, f"a: {R}", "return pl.exp(a)", R), CONVERT)
    [_, out] = after["main"].params
    assert after["main"].param_directions[1].name == "Out" and out.type.shape[0].value == 16
    engine = kit.host.engine("values").load()
    a = np.random.default_rng(0).standard_normal((16, 64), dtype=np.float32)
    [found] = engine(after, {"a": a}, None, host=kit.host).returns
    assert np.allclose(found, np.exp(a), rtol=1e-6)


def test_extents_that_callers_can_not_know(kit: Any) -> None:
    body = """
    n = pl.cast(pl.read(length, [0]), pl.INDEX)
    m = pl.min(n, 16)
    return pl.exp(a[0:m, :])
    """
    with pytest.raises(UserError, match="extents are only known inside") as caught:
        kit.apply(kernel(kit, f"a: {T}, length: pl.Tensor[[1], pl.INT32]", body), CONVERT)
    assert caught.value.diagnostics[0].code == "PT378"


def test_bounded_extents_are_physical_and_the_rest_is_valid(kit: Any) -> None:
    body = """
    m = pl.min(n, 16)
    out[0:m, :] = pl.exp(a[0:m, :])
    return out
    """
    after = kit.apply(kernel(kit, f"a: {T}, n: pl.Scalar[pl.INDEX], out: pl.InOut[{T}]", body, T), CONVERT)
    [load] = [n for n in walk(after["main"].body) if isinstance(n, Call) and n.name == "tile.load"]
    assert load.type.shape[0].value == 16 and not load.type.is_fully_valid  # type: ignore[union-attr]
    rng = np.random.default_rng(0)
    a, before = (rng.standard_normal((64, 64), dtype=np.float32) for _ in range(2))
    engine = kit.host.engine("values").load()
    for n in (3, 16, 40):
        found = engine(after, {"a": a, "n": n, "out": before}, None, host=kit.host).outputs["out"]
        rows = min(n, 16)
        assert np.allclose(found[:rows], np.exp(a[:rows]), rtol=1e-6)
        assert np.array_equal(found[rows:], before[rows:])


def test_sums_that_may_stay_empty(kit: Any) -> None:
    head = "a: pl.Tensor[[16, 64], pl.BF16], b: pl.Tensor[[64, 64], pl.BF16], n: pl.Scalar[pl.INDEX], "
    open_ended = """
    acc = pl.full([16, 64], dtype=pl.FP32, value=0.0)
    for k in pl.range(n):
        acc = pl.matmul_acc(acc, a, b)
    out[:, :] = acc
    return out
    """
    sometimes = """
    acc = pl.full([16, 64], dtype=pl.FP32, value=0.0)
    for k in pl.range(4):
        if k > n:
            acc = pl.matmul_acc(acc, a, b)
    out[:, :] = acc
    return out
    """
    for body, message in (
        (open_ended, "may have no trip at all"),
        (sometimes, "not every way adds a product"),
    ):
        with pytest.raises(UserError, match=message) as caught:
            kit.apply(kernel(kit, f"{head}out: pl.Out[{R}]", body, R), CONVERT)
        assert caught.value.diagnostics[0].code == "PT375"
    started = open_ended.replace("value=0.0", "value=1.0").replace("range(n)", "range(4)")
    with pytest.raises(UserError, match="can't be put into the accumulator") as caught:
        kit.apply(kernel(kit, f"{head}out: pl.Out[{R}]", started, R), CONVERT)
    assert caught.value.diagnostics[0].code == "PT373"


def test_zeros_on_one_way_are_zeros(kit: Any) -> None:
    """A product on one way and zeros on the other meet outside of the accumulator, which nobody fills with zeros."""
    head = "a: pl.Tensor[[16, 64], pl.BF16], b: pl.Tensor[[64, 64], pl.BF16], n: pl.Scalar[pl.INDEX], "
    branch = """
    if n > 1:
        acc = pl.matmul(a, b, out_dtype=pl.FP32)
    else:
        acc = pl.full([16, 64], dtype=pl.FP32, value=0.0)
    out[:, :] = acc
    return out
    """
    again = """
    acc = pl.matmul(a, b, out_dtype=pl.FP32)
    for k in pl.range(2):
        out[:, :] = acc
        acc = pl.full([16, 64], dtype=pl.FP32, value=0.0)
    return out
    """
    for body in (branch, again):
        for n in (0, 3):
            rng = np.random.default_rng(n)
            inputs: dict[str, Any] = {"n": n}
            inputs["a"] = rng.standard_normal((16, 64)).astype(ml_dtypes.bfloat16)
            inputs["b"] = rng.standard_normal((64, 64)).astype(ml_dtypes.bfloat16)
            converted(kit, f"{head}out: pl.Out[{R}]", body, R, inputs=inputs)


PEELED = """
acc = pl.create_tensor([16, 64], dtype=pl.FP32)
for k in pl.range(0, 128, 32):
    # first or not
    if k == 0:
        acc = pl.matmul({first}, b[{row}:{row} + 32, :], out_dtype=pl.FP32)
    else:
        acc = pl.matmul_acc(acc, a[:, k:k + 32], b[k:k + 32, :])
out[:, :] = acc
return out
"""


@pytest.mark.parametrize(
    ("first", "row", "loads"),
    [("a[:, k:k + 32]", "k", 2), ("a[:, 0:32]", "0", 2), ("a[:, 32:64]", "0", 3), ("a[:, 64:96]", "32", 4)],
)
def test_windows_of_both_ways_are_taken_once(kit: Any, first: str, row: str, loads: int) -> None:
    """The same, and the same where the condition says what the counter is; another one is not."""
    params = f"a: pl.Tensor[[16, 128], pl.BF16], b: pl.Tensor[[128, 64], pl.BF16], out: pl.Out[{R}]"
    after = converted(kit, params, PEELED.format(first=first, row=row), R)
    assert names(after).count("tile.load") == loads
    [loop] = [s for s in walk_stmts(after["main"].body) if isinstance(s, ForStmt)]
    form = [type(s).__name__ for s in flatten(loop.body)]
    assert form == [*["AssignStmt"] * (4 - loads), "IfStmt", "YieldStmt"]
    assert [c for s in walk_stmts(after["main"].body) for c in s.leading_comments] == ["first or not"]


def test_tile_code_beside_tensor_code(kit: Any) -> None:
    after = converted(
        kit, f"a: {T}, out: pl.Out[{T}]", """
        t = pl.load(a[16:32, :], [0, 0], [16, 64])
        out = pl.store(pl.exp(t), [0, 0], out)
        pl.store(t, [0, 0], out[16:32, :])
        out[32:64, :] = pl.neg(a[32:64, :])
        return out
        """, T,
    )  # fmt: skip
    assert not any(name.startswith("tensor.") for name in names(after))


def test_chips_own_tensors_are_no_memory(kit: Any) -> None:
    body = """
    x = pl.exp(a)
    t = pl.load(x, [0, 0], [16, 64])
    out = pl.store(t, [0, 0], out)
    return out
    """
    with pytest.raises(UserError, match="works on memory, and 'x' is computed on chip") as caught:
        kit.apply(kernel(kit, f"a: {R}, out: pl.Out[{R}]", body, R), CONVERT)
    assert caught.value.diagnostics[0].code == "PT376"


def test_single_elements(kit: Any) -> None:
    converted(
        kit, f"a: {R}, out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]", """
        x = pl.exp(a)
        for i in pl.range(16):
            for j in pl.range(64):
                pl.write(out, [i, j], pl.read(x, [15 - i, j]) + pl.read(a, [i, j]))
        return out
        """, R,
    )  # fmt: skip


def test_kernels_on_tiles_are_left_alone(kit: Any) -> None:
    before = kernel(
        kit, f"a: {R}, out: pl.Out[{R}]", """
        t = pl.load(a, [0, 0], [16, 64])
        out = pl.store(pl.exp(t), [0, 0], out)
        return out
        """, R,
    )  # fmt: skip
    assert kit.apply(before, CONVERT) is before


def test_comments_stay(kit: Any) -> None:
    before = kernel(
        kit, f"a: {R}, out: pl.Out[{R}]", """
        # first
        x = a[:, :]
        # second
        for i in pl.range(2):
            # third
            x = pl.add(x, 1.0)
        # fourth
        out[:, :] = x
        # fifth
        return out
        """, R,
    )  # fmt: skip
    after = kit.apply(before, CONVERT)
    comments = [c for s in walk_stmts(after["main"].body) for c in s.leading_comments]
    assert comments == ["first", "second", "third", "fourth", "fifth"]


@pytest.mark.parametrize("around", ["for i in pl.range(3):", "if n > 2:", "if n < 3:"])
@pytest.mark.parametrize("result", ["pl.add(filled, x)", "pl.row_expand_mul(filled, pl.row_max(x))"])
def test_what_is_computed_of_a_filled_tile_meets_what_is_not(kit: Any, around: str, result: str) -> None:
    """On chip it counts as filled, and carries and results are of one type."""
    whole = "pl.Tensor[[16, 16], pl.FP32]"
    body = f"""
        with pl.at(level=pl.Level.CORE_GROUP):
            v = pl.neg(x)
            {around}
                part = pl.slice(v, [16, 16], [0, 0], valid_shape=[8, 16])
                filled = pl.fillpad(part, pad_value=pl.PadValue.zero)
                v = {result}
            out[:, :] = v
        return out
    """
    kit.everywhere(kit.main(f"x: {whole}, n: pl.Scalar[pl.INDEX], out: pl.Out[{whole}]", body, whole))

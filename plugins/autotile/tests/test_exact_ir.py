"""What the pass makes of one product of each kind, statement by statement."""

from __future__ import annotations

from typing import Any

import pytest

MAT = "target_memory=pl.Mem.Mat"
ACC = "target_memory=pl.Mem.Acc"
LEFT, RIGHT = "target_memory=pl.Mem.Left", "target_memory=pl.Mem.Right"


def operands(M: int, N: int, K: int, dtype: str) -> tuple[tuple[str, ...], str]:
    result = "INT32" if dtype == "INT8" else "FP32"
    out = f"pl.Tensor[[{M}, {N}], pl.{result}]"
    params = (
        f"a: pl.Tensor[[{M}, {K}], pl.{dtype}]",
        f"b: pl.Tensor[[{K}, {N}], pl.{dtype}]",
        f"out: pl.Out[{out}]",
    )
    return params, out


def test_fresh_product_is_one_predicated_loop(kit: Any) -> None:
    M, N, K = 16, 64, 2048
    tiled = kit.tile(kit.plain(M, N, K), "a5")
    kit.expect(tiled, *operands(M, N, K, "BF16"), kit.loads(M, N, K) + f"""
init = pl.tile.create([16, 64], pl.FP32, {ACC})
for ko, (acc,) in pl.pipeline(0, 2048, 256, stage=2, init_values=(init,)):
    sa = pl.tile.extract(lhs, 0, ko, [16, 256], {LEFT})
    sb = pl.tile.extract(rhs, ko, 0, [256, 64], {RIGHT})
    step = pl.tile.matmul_acc(acc, sa, sb, ko == 0)
    c = pl.yield_(step)
res = pl.store(c, [0, 0], out)
return res
""")  # fmt: skip
    kit.same(tiled)


@pytest.mark.parametrize("backend", ["910b", "a5"])
def test_blocks_of_128(kit: Any, backend: str) -> None:
    tiled = kit.tile(kit.plain(128, 128, 256), backend)
    [loop] = tiled.loops()
    assert [loop.start.value, loop.stop.value, loop.step.value] == [0, 256, 128]
    assert dict(loop.attrs) == {"pipeline_stages": 2}


def acc_kernel(kit: Any, K: int, condition: str, dtype: str = "BF16", M: int = 64, N: int = 64) -> Any:
    params, out = operands(M, N, K, dtype)
    flag = ("first_k: pl.Scalar[pl.INDEX]",) if "first_k" in condition else ()
    return kit.program((*params[:2], *flag, params[2]), out, kit.loads(M, N, K) + f"""
start = pl.tile.create([{M}, {N}], pl.{kit.result(dtype)}, {ACC})
c = pl.tile.matmul_acc(start, lhs, rhs{condition})
res = pl.store(c, [0, 0], out)
return res
""")  # fmt: skip


def test_accumulation_with_a_callers_predicate_and_a_tail(kit: Any) -> None:
    tiled = kit.tile(acc_kernel(kit, 544, ", first_k == 0"), "a5")
    params, out = operands(64, 64, 544, "BF16")
    kit.expect(tiled, (*params[:2], "first_k: pl.Scalar[pl.INDEX]", params[2]), out, kit.loads(64, 64, 544) + f"""
start = pl.tile.create([64, 64], pl.FP32, {ACC})
for ko, (acc,) in pl.pipeline(0, 384, 192, stage=2, init_values=(start,)):
    sa = pl.tile.extract(lhs, 0, ko, [64, 192], {LEFT})
    sb = pl.tile.extract(rhs, ko, 0, [192, 64], {RIGHT})
    step = pl.tile.matmul_acc(acc, sa, sb, first_k == 0 and ko == 0)
    main = pl.yield_(step)
at = pl.tile.extract(lhs, 0, 384, [64, 160], {LEFT})
bt = pl.tile.extract(rhs, 384, 0, [160, 64], {RIGHT})
c = pl.tile.matmul_acc(main, at, bt)
res = pl.store(c, [0, 0], out)
return res
""")  # fmt: skip


def test_one_whole_block_takes_the_callers_predicate_as_it_is(kit: Any) -> None:
    tiled = kit.tile(acc_kernel(kit, 272, ", first_k == 0"), "a5")
    params, out = operands(64, 64, 272, "BF16")
    kit.expect(tiled, (*params[:2], "first_k: pl.Scalar[pl.INDEX]", params[2]), out, kit.loads(64, 64, 272) + f"""
start = pl.tile.create([64, 64], pl.FP32, {ACC})
a0 = pl.tile.extract(lhs, 0, 0, [64, 144], {LEFT})
b0 = pl.tile.extract(rhs, 0, 0, [144, 64], {RIGHT})
c0 = pl.tile.matmul_acc(start, a0, b0, first_k == 0)
at = pl.tile.extract(lhs, 0, 144, [64, 128], {LEFT})
bt = pl.tile.extract(rhs, 144, 0, [128, 64], {RIGHT})
c = pl.tile.matmul_acc(c0, at, bt)
res = pl.store(c, [0, 0], out)
return res
""")  # fmt: skip


def test_accumulation_without_a_predicate_never_overwrites(kit: Any) -> None:
    params, out = operands(64, 64, 512, "BF16")
    seeded = (
        kit.loads(64, 64, 512)
        + """
half = pl.tile.extract(lhs, 0, 0, [64, 16], target_memory=pl.Mem.Left)
other = pl.tile.extract(rhs, 0, 0, [16, 64], target_memory=pl.Mem.Right)
start = pl.tile.matmul(half, other)
"""
    )
    tiled = kit.tile(
        kit.program(params, out, seeded + "c = pl.tile.matmul_acc(start, lhs, rhs)\nres = pl.store(c, [0, 0], out)\n"
                    "return res"), "910b")  # fmt: skip
    [loop] = tiled.loops()
    k = loop.step.value
    kit.expect(tiled, params, out, seeded + f"""
for ko, (acc,) in pl.pipeline(0, 512, {k}, stage=2, init_values=(start,)):
    sa = pl.tile.extract(lhs, 0, ko, [64, {k}], {LEFT})
    sb = pl.tile.extract(rhs, ko, 0, [{k}, 64], {RIGHT})
    step = pl.tile.matmul_acc(acc, sa, sb)
    c = pl.yield_(step)
res = pl.store(c, [0, 0], out)
return res
""")  # fmt: skip
    kit.same(tiled)


def test_a_literal_true_predicate_is_composed(kit: Any) -> None:
    tiled = kit.tile(acc_kernel(kit, 544, ", True"), "a5")
    conditions = [call.args[3] for call in tiled.calls("tile.matmul_acc") if len(call.args) == 4]
    assert len(conditions) == 1 and type(conditions[0]).__name__ == "And"
    kit.same(tiled)


def bias_kernel(kit: Any, M: int, N: int, K: int, dtype: str = "BF16", between: str = "") -> Any:
    params, out = operands(M, N, K, dtype)
    result = kit.result(dtype)
    params = (*params[:2], f"bias: pl.Tensor[[1, {N}], pl.{result}]", params[2])
    return params, out, kit.program(params, out, kit.loads(M, N, K) + f"""
row = pl.load(bias, [0, 0], [1, {N}], {MAT})
{between}
c = pl.tile.matmul_bias(lhs, rhs, row)
res = pl.store(c, [0, 0], out)
return res
""")  # fmt: skip


def test_a_bias_is_added_by_a_block_ahead_of_the_loop(kit: Any) -> None:
    params, out, program = bias_kernel(kit, 16, 64, 2048)
    tiled = kit.tile(program, "910b")
    kit.expect(tiled, params, out, kit.loads(16, 64, 2048) + f"""
row = pl.load(bias, [0, 0], [1, 64], {MAT})
inbias = pl.move(row, target_memory=pl.Mem.Bias)
a0 = pl.tile.extract(lhs, 0, 0, [16, 256], {LEFT})
b0 = pl.tile.extract(rhs, 0, 0, [256, 64], {RIGHT})
first = pl.tile.matmul_bias(a0, b0, inbias)
for ko, (acc,) in pl.pipeline(256, 2048, 256, stage=2, init_values=(first,)):
    sa = pl.tile.extract(lhs, 0, ko, [16, 256], {LEFT})
    sb = pl.tile.extract(rhs, ko, 0, [256, 64], {RIGHT})
    step = pl.tile.matmul_acc(acc, sa, sb)
    c = pl.yield_(step)
res = pl.store(c, [0, 0], out)
return res
""")  # fmt: skip
    kit.same(tiled)


def test_two_whole_blocks_of_a_biased_product_stay_in_line(kit: Any) -> None:
    _, _, program = bias_kernel(kit, 16, 64, 512)
    tiled = kit.tile(program, "910b")
    assert tiled.loops() == []
    assert len(tiled.calls("tile.matmul_bias")) == 1 and len(tiled.calls("tile.matmul_acc")) == 1
    kit.same(tiled)


def test_a_stays_with_columns_left_over(kit: Any) -> None:
    M, N, K = 256, 544, 128
    tiled = kit.tile(kit.plain(M, N, K), "910b")
    kit.expect(tiled, *operands(M, N, K, "BF16"), kit.loads(M, N, K) + f"""
for mo, (oo,) in pl.range(0, 256, 256, init_values=(out,)):
    sa = pl.tile.extract(lhs, mo, 0, [256, 128], {LEFT})
    for ni, (oi,) in pl.pipeline(0, 512, 128, stage=2, init_values=(oo,), attrs={{"pipeline_overlap_stores": False}}):
        sb = pl.tile.extract(rhs, 0, ni, [128, 128], {RIGHT})
        c = pl.tile.matmul(sa, sb)
        stored = pl.store(c, [mo, ni], oi)
        o2 = pl.yield_(stored)
    o1 = pl.yield_(o2)
at = pl.tile.extract(lhs, 0, 0, [256, 128], {LEFT})
bt = pl.tile.extract(rhs, 0, 512, [128, 32], {RIGHT})
ct = pl.tile.matmul(at, bt)
res = pl.store(ct, [0, 512], o1)
return res
""")  # fmt: skip
    kit.same(tiled)


def test_b_stays(kit: Any) -> None:
    M, N, K = 192, 512, 64
    tiled = kit.tile(kit.plain(M, N, K), "910b")
    kit.expect(tiled, *operands(M, N, K, "BF16"), kit.loads(M, N, K) + f"""
for no, (oo,) in pl.range(0, 512, 512, init_values=(out,)):
    sb = pl.tile.extract(rhs, 0, no, [64, 512], {RIGHT})
    for mi, (oi,) in pl.pipeline(0, 192, 64, stage=2, init_values=(oo,), attrs={{"pipeline_overlap_stores": False}}):
        sa = pl.tile.extract(lhs, mi, 0, [64, 64], {LEFT})
        c = pl.tile.matmul(sa, sb)
        stored = pl.store(c, [mi, no], oi)
        o2 = pl.yield_(stored)
    o1 = pl.yield_(o2)
return o1
""")  # fmt: skip
    kit.same(tiled)


def test_a_biased_grid_loads_windows_of_the_bias(kit: Any) -> None:
    params, out, program = bias_kernel(kit, 528, 528, 32)
    tiled = kit.tile(program, "a5")
    kit.expect(tiled, params, out, kit.loads(528, 528, 32) + f"""
for mo, (oo,) in pl.range(0, 528, 528, init_values=(out,)):
    sa = pl.tile.extract(lhs, mo, 0, [528, 32], {LEFT})
    for ni, (oi,) in pl.pipeline(0, 512, 64, stage=2, init_values=(oo,), attrs={{"pipeline_overlap_stores": False}}):
        sb = pl.tile.extract(rhs, 0, ni, [32, 64], {RIGHT})
        window = pl.load(bias, [0, ni], [1, 64], {MAT})
        inbias = pl.move(window, target_memory=pl.Mem.Bias)
        c = pl.tile.matmul_bias(sa, sb, inbias)
        stored = pl.store(c, [mo, ni], oi)
        o2 = pl.yield_(stored)
    o1 = pl.yield_(o2)
at = pl.tile.extract(lhs, 0, 0, [528, 32], {LEFT})
bt = pl.tile.extract(rhs, 0, 512, [32, 16], {RIGHT})
wt = pl.load(bias, [0, 512], [1, 16], {MAT})
ib = pl.move(wt, target_memory=pl.Mem.Bias)
ct = pl.tile.matmul_bias(at, bt, ib)
res = pl.store(ct, [0, 512], o1)
return res
""")  # fmt: skip
    kit.same(tiled)


def chain_kernel(
    kit: Any, M: int, K: int, N: int, P: int = 64, mode: str = "rint", dtype: str = "BF16"
) -> Any:
    """c = a @ b, narrowed, times e."""
    params = (
        f"a: pl.Tensor[[{M}, {K}], pl.{dtype}]", f"b: pl.Tensor[[{K}, {N}], pl.{dtype}]",
        f"e: pl.Tensor[[{N}, {P}], pl.BF16]", f"out: pl.Out[pl.Tensor[[{M}, {P}], pl.FP32]]",
    )  # fmt: skip
    out = f"pl.Tensor[[{M}, {P}], pl.FP32]"
    head = kit.loads(M, N, K) + f"other = pl.load(e, [0, 0], [{N}, {P}], {MAT})\n"
    return params, out, head, kit.program(params, out, head + f"""
c = pl.tile.matmul(lhs, rhs)
cb = pl.tile.cast(c, pl.BF16, mode="{mode}")
d = pl.tile.matmul(cb, other)
res = pl.store(d, [0, 0], out)
return res
""")  # fmt: skip


def test_a_cast_between_products_becomes_one_assemble(kit: Any) -> None:
    params, out, head, program = chain_kernel(kit, 128, 64, 128)
    tiled = kit.tile(program, "910b")
    kit.expect(tiled, params, out, head + f"""
c = pl.tile.matmul(lhs, rhs)
scratch = pl.tile.create([128, 128], pl.BF16, {MAT})
filled = pl.tile.assemble(scratch, c, [0, 0])
d = pl.tile.matmul(filled, other)
res = pl.store(d, [0, 0], out)
return res
""")  # fmt: skip
    kit.same(tiled)


def test_a_cast_folds_behind_a_k_loop_too(kit: Any) -> None:
    params, out, head, program = chain_kernel(kit, 128, 512, 128)
    tiled = kit.tile(program, "910b")
    kit.expect(tiled, params, out, head + f"""
init = pl.tile.create([128, 128], pl.FP32, {ACC})
for ko, (acc,) in pl.pipeline(0, 512, 128, stage=2, init_values=(init,)):
    sa = pl.tile.extract(lhs, 0, ko, [128, 128], {LEFT})
    sb = pl.tile.extract(rhs, ko, 0, [128, 128], {RIGHT})
    step = pl.tile.matmul_acc(acc, sa, sb, ko == 0)
    c = pl.yield_(step)
scratch = pl.tile.create([128, 128], pl.BF16, {MAT})
filled = pl.tile.assemble(scratch, c, [0, 0])
d = pl.tile.matmul(filled, other)
res = pl.store(d, [0, 0], out)
return res
""")  # fmt: skip
    kit.same(tiled)


def test_a_result_beyond_l0c_is_stored_window_by_window(kit: Any) -> None:
    M = N = K = 512
    tiled = kit.tile(kit.plain(M, N, K, "FP32"), "a5")
    body, target = kit.loads(M, N, K), "out"
    for step, (row, col) in enumerate(((0, 0), (256, 0), (0, 256), (256, 256))):
        body += f"""
i{step} = pl.tile.create([256, 256], pl.FP32, {ACC})
for ko, (acc,) in pl.pipeline(0, 512, 32, stage=2, init_values=(i{step},)):
    sa = pl.tile.extract(lhs, {row}, ko, [256, 32], {LEFT})
    sb = pl.tile.extract(rhs, ko, {col}, [32, 256], {RIGHT})
    step = pl.tile.matmul_acc(acc, sa, sb, ko == 0)
    c{step} = pl.yield_(step)
t{step} = pl.store(c{step}, [{row}, {col}], {target})"""
        target = f"t{step}"
    kit.expect(tiled, *operands(M, N, K, "FP32"), body + "\nreturn t3")


def narrow_kernel(
    kit: Any, M: int, N: int, K: int, rows: object, dtype: str = "INT8", extra: str = ""
) -> Any:
    params, out = operands(M, N, K, dtype)
    params = (*params[:2], extra, params[2]) if extra else params
    head = (
        f"lhs = pl.load(a, [0, 0], [{M}, {K}], [{rows}, {K}], {MAT})\n"
        f"rhs = pl.load(b, [0, 0], [{K}, {N}], {MAT})\n"
    )
    tail = "c = pl.matmul(lhs, rhs)\nres = pl.store(c, [0, 0], out)\nreturn res"
    return params, out, head, kit.program(params, out, head + tail)


def test_narrowed_rows_start_from_a_compact_seed(kit: Any) -> None:
    params, out, head, program = narrow_kernel(kit, 64, 128, 2048, 16)
    tiled = kit.tile(program, "910b")
    kit.expect(tiled, params, out, head + f"""
storage = pl.tile.create([64, 128], pl.INT32, {ACC}, compact=True)
seed = pl.tile.set_validshape(storage, 16, 128)
for ko, (acc,) in pl.pipeline(0, 2048, 256, stage=2, init_values=(seed,)):
    sa = pl.tile.extract(lhs, 0, ko, [64, 256], {LEFT})
    sb = pl.tile.extract(rhs, ko, 0, [256, 128], {RIGHT})
    step = pl.tile.matmul_acc(acc, sa, sb, ko == 0)
    c = pl.yield_(step)
res = pl.store(c, [0, 0], out)
return res
""")  # fmt: skip
    kit.same(tiled)
    for call in tiled.calls("tile.matmul_acc"):
        assert call.type.view.compact.name == "normal"
        assert [d.value for d in call.type.valid_shape] == [16, 128]
    for call in tiled.calls("tile.extract"):
        if call.type.memory_space.name == "Left":
            assert [d.value for d in call.type.valid_shape] == [16, 256]
            assert call.type.view.compact.name == "normal"


def split_k_kernel(
    kit: Any, M: int, N: int, panel: int, steps: int, dtype: str, peeled: bool, cond: str
) -> Any:
    params, out = operands(M, N, panel * steps, dtype)
    reduction = (
        f"""    if {cond}:
        x = pl.tile.matmul(at, bt)
        ph = pl.yield_(x)
    else:
        y = pl.tile.matmul_acc(acc, at, bt)
        ph = pl.yield_(y)
    r = pl.yield_(ph)"""
        if peeled
        else f"""    step = pl.tile.matmul_acc(acc, at, bt, {cond})
    r = pl.yield_(step)"""
    )
    return params, out, kit.program(params, out, f"""
c0 = pl.tile.create([{M}, {N}], pl.{kit.result(dtype)}, {ACC})
for kb, (acc,) in pl.pipeline({steps}, stage=2, init_values=(c0,)):
    k0 = kb * {panel}
    at = pl.load(a, [0, k0], [{M}, {panel}], {MAT})
    bt = pl.load(b, [k0, 0], [{panel}, {N}], {MAT})
{reduction}
res = pl.store(r, [0, 0], out)
return res
""")  # fmt: skip


@pytest.mark.parametrize("cond", ["kb == 0", "k0 == 0"])
def test_a_predicated_split_k_chain_is_cut_outside_of_its_loop(kit: Any, cond: str) -> None:
    params, out, program = split_k_kernel(kit, 272, 144, 128, 2, "INT8", False, cond)
    tiled = kit.tile(program, "910b")
    body, target = "", "out"
    for step, (row, col, pm, pn, vm, vn) in enumerate(
        (
            (0, 0, 144, 128, 144, 128),
            (144, 0, 128, 128, 128, 128),
            (0, 128, 144, 32, 144, 16),
            (144, 128, 128, 32, 128, 16),
        )
    ):
        seed = f"s{step} = pl.tile.create([{pm}, {pn}], pl.INT32, {ACC})\n"
        if vn != pn:
            seed += f"s{step}n = pl.tile.set_validshape(s{step}, {vm}, {vn})\n"
        name = f"s{step}n" if vn != pn else f"s{step}"
        body += (
            seed
            + f"""
for kb, (acc,) in pl.pipeline(2, stage=2, init_values=({name},)):
    k0 = kb * 128
    at{step} = pl.load(a, [{row}, k0], [{pm}, 128], [{vm}, 128], {MAT})
    bt{step} = pl.load(b, [k0, {col}], [128, {pn}], [128, {vn}], {MAT})
    step{step} = pl.tile.matmul_acc(acc, at{step}, bt{step}, {cond})
    r{step} = pl.yield_(step{step})
t{step} = pl.store(r{step}, [{row}, {col}], {target})
"""
        )
        target = f"t{step}"
    kit.expect(tiled, params, out, body + "return t3")
    kit.same(tiled)

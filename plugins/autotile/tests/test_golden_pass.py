"""Which tile, schedule and loops come out for given kernels: figures found by running another implementation."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.ir import ForKind, ForStmt
from pypto_core.text import print_expr

OPT_IN = {"enable_pypto_l0c_double_buffer": True}


def loops_of(tiled: Any) -> list[tuple[str, int, int, int, bool]]:
    """(kind, start, stop, step, two accumulators) of each loop, outer ones first."""
    out: list[tuple[str, int, int, int, bool]] = []
    for loop in tiled.loops():
        assert isinstance(loop, ForStmt)
        kind = "pipeline" if loop.kind is ForKind.Pipeline else "range"
        bounds = [bound.value for bound in (loop.start, loop.stop, loop.step)]
        out.append((kind, *bounds, loop.attrs.get("pipeline_double_buffer_c") is True))
    return out


def extents(tiled: Any, space: str) -> list[tuple[int, int]]:
    """Shapes extracted to a memory, each once, in order."""
    shapes = [
        tuple(dim.value for dim in call.type.shape)
        for call in tiled.calls("tile.extract")
        if call.type.memory_space.name == space
    ]
    return list(dict.fromkeys(shapes))


P, R = "pipeline", "range"

# backend, dtype, (M, K, N), planner, loops, first Left window, first Right window
PLAIN = [
    ("a5", "BF16", (16, 2048, 64), "pypto", [(P, 0, 2048, 256, False)], (16, 256), (256, 64)),
    ("910b", "BF16", (16, 2048, 64), "pypto", [(P, 0, 2048, 256, False)], (16, 256), (256, 64)),
    ("910b", "FP32", (16, 128, 128), "pypto", [(P, 0, 128, 64, False)], (16, 64), (64, 128)),
    ("910b", "FP32", (16, 128, 128), "dsa_rp", [(P, 0, 128, 64, False)], (16, 64), (64, 128)),
    ("910b", "FP32", (64, 192, 128), "ptoas", [(P, 0, 192, 64, False)], (64, 64), (64, 128)),
    ("910b", "FP32", (64, 256, 256), "pypto", [(P, 0, 256, 32, False)], (64, 32), (32, 256)),
    ("910b", "FP32", (64, 256, 256), "dsa_rp", [(R, 0, 64, 64, False), (P, 0, 256, 32, True)], (64, 256), (256, 32)),
    ("910b", "FP32", (128, 384, 64), "pypto", [(P, 0, 384, 64, False)], (128, 64), (64, 64)),
    ("910b", "FP32", (128, 384, 64), "ptoas", [(P, 0, 384, 64, False)], (128, 64), (64, 64)),
    ("910b", "BF16", (64, 384, 288), "dsa_rp", [(R, 0, 64, 64, False), (P, 0, 288, 32, True)], (64, 384), (384, 32)),
    ("910b", "BF16", (64, 80, 256), "ptoas", [(R, 0, 256, 256, False), (P, 0, 64, 32, True)], (32, 80), (80, 256)),
    ("910b", "FP32", (160, 64, 160), "dsa_rp", [(P, 0, 128, 128, False), (P, 0, 160, 80, True)], (80, 64), (64, 128)),
    ("910b", "FP32", (144, 64, 144), "dsa_rp", [(P, 0, 128, 128, False), (P, 0, 144, 48, True)], (48, 64), (64, 128)),
    ("910b", "FP32", (256, 64, 256), "ptoas", [(R, 0, 256, 256, False), (P, 0, 256, 32, True)], (32, 64), (64, 256)),
    ("910b", "FP32", (448, 64, 448), "ptoas", [(P, 0, 384, 128, False), (P, 0, 448, 112, True)], (112, 64), (64, 128)),
    ("910b", "FP32", (384, 64, 256), "dsa_rp", [(R, 0, 256, 256, False), (P, 0, 384, 32, True)], (32, 64), (64, 256)),
    ("910b", "BF16", (256, 64, 256), "pypto", [(P, 0, 256, 256, False), (P, 0, 256, 128, False)], (128, 64), (64, 256)),
    ("910b", "BF16", (256, 64, 256), "dsa_rp", [(P, 0, 256, 256, False), (P, 0, 256, 64, True)], (64, 64), (64, 256)),
    ("910b", "BF16", (16, 128, 256), "pypto", [(P, 0, 128, 64, False)], (16, 64), (64, 256)),
    ("910b", "BF16", (16, 128, 256), "dsa_rp", [(P, 0, 16, 16, False), (P, 0, 256, 128, True)], (16, 128), (128, 128)),
    ("910b", "BF16", (256, 128, 16), "dsa_rp", [(P, 0, 16, 16, False), (P, 0, 256, 128, True)], (128, 128), (128, 16)),
    ("910b", "BF16", (384, 64, 640), "pypto", [(P, 0, 384, 192, False), (P, 0, 640, 128, False)], (192, 64), (64, 128)),
    ("910b", "BF16", (384, 64, 256), "pypto", [(P, 0, 256, 256, False), (P, 0, 384, 128, False)], (128, 64), (64, 256)),
    ("910b", "BF16", (384, 64, 512), "pypto", [(P, 0, 512, 256, False), (P, 0, 384, 128, False)], (128, 64), (64, 256)),
    ("910b", "BF16", (272, 32, 416), "pypto", [(P, 0, 256, 256, False), (P, 0, 192, 96, False)], (96, 32), (32, 256)),
    ("910b", "BF16", (256, 128, 544), "pypto", [(R, 0, 256, 256, False), (P, 0, 512, 128, False)],
     (256, 128), (128, 128)),
    ("910b", "BF16", (192, 64, 512), "pypto", [(R, 0, 512, 512, False), (P, 0, 192, 64, False)], (64, 64), (64, 512)),
]  # fmt: skip


@pytest.mark.parametrize(("backend", "dtype", "shape", "planner", "loops", "left", "right"), PLAIN)
def test_stored_products(
    kit: Any,
    backend: str,
    dtype: str,
    shape: tuple[int, int, int],
    planner: str,
    loops: Any,
    left: Any,
    right: Any,
) -> None:
    M, K, N = shape
    tiled = kit.tile(kit.plain(M, N, K, dtype), backend, planner)
    assert loops_of(tiled) == loops
    assert extents(tiled, "Left")[0] == left
    assert extents(tiled, "Right")[0] == right
    assert tiled.hints == ()
    kit.same(tiled)


@pytest.mark.parametrize("shape", [(160, 64, 160), (256, 64, 256)])
def test_the_stacking_planner_opts_in_to_two_accumulators(kit: Any, shape: tuple[int, int, int]) -> None:
    M, K, N = shape
    program = kit.plain(M, N, K, "FP32")
    opted, other = kit.tile(program, "910b", **OPT_IN), kit.tile(program, "910b", "dsa_rp")
    assert loops_of(opted) == loops_of(other)
    assert any(loop[4] for loop in loops_of(opted))
    assert not any(loop[4] for loop in loops_of(kit.tile(program, "910b")))


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp", "ptoas"])
def test_an_l0_sized_product_is_left_alone(kit: Any, planner: str) -> None:
    program = kit.plain(64, 64, 64)
    tiled = kit.tile(program, "a5", planner)
    assert tiled.after is program
    assert tiled.hints == ()


@pytest.mark.parametrize(
    ("backend", "shape", "tile", "stores"),
    [
        ("a5", (512, 512, 512), (256, 256, 32), [(0, 0), (256, 0), (0, 256), (256, 256)]),
        ("a5", (384, 512, 384), (192, 192, 32), [(0, 0), (192, 0), (0, 192), (192, 192)]),
        ("910b", (256, 256, 256), (128, 256, 32), [(0, 0), (128, 0)]),
    ],
)
def test_split_k_grids_walk_down_the_columns(
    kit: Any, backend: str, shape: tuple[int, int, int], tile: tuple[int, int, int], stores: Any
) -> None:
    M, K, N = shape
    tiled = kit.tile(kit.plain(M, N, K, "FP32"), backend)
    offsets = [tuple(o.value for o in call.args[1].elements) for call in tiled.calls("tile.store")]
    assert offsets == stores
    m, n, k = tile
    assert extents(tiled, "Left") == [(m, k)] and extents(tiled, "Right") == [(k, n)]
    assert loops_of(tiled) == [(P, 0, K, k, False)] * len(stores)


def test_the_boundary_is_peeled_below_then_to_the_right(kit: Any) -> None:
    tiled = kit.tile(kit.plain(272, 416, 32), "910b")
    straight = [stmt for stmt, loops in tiled.stmts() if not loops]
    stores = [s.value for s in straight if getattr(s, "value", None) in tiled.calls("tile.store")]
    offsets = [tuple(o.value for o in call.args[1].elements) for call in stores]
    assert offsets == [(192, 0), (192, 256), (0, 256), (96, 256)]
    shapes = [tuple(d.value for d in call.args[0].type.shape) for call in stores]
    assert shapes == [(80, 256), (80, 160), (96, 160), (96, 160)]


def chained(kit: Any, M: int, K: int, N: int, dtype: str = "BF16", P: int = 64, cast: bool = True) -> Any:
    second = "BF16" if cast else dtype
    params = (
        f"a: pl.Tensor[[{M}, {K}], pl.{dtype}]", f"b: pl.Tensor[[{K}, {N}], pl.{dtype}]",
        f"e: pl.Tensor[[{N}, {P}], pl.{second}]", f"out: pl.Out[pl.Tensor[[{M}, {P}], pl.FP32]]",
    )  # fmt: skip
    narrow = 'cb = pl.tile.cast(c, pl.BF16, mode="rint")\n' if cast else "cb = c\n"
    read = "cb" if cast else "c"
    body = (
        kit.loads(M, N, K)
        + f"other = pl.load(e, [0, 0], [{N}, {P}], target_memory=pl.Mem.Mat)\n"
        + "c = pl.tile.matmul(lhs, rhs)\n"
        + (narrow if cast else "")
        + f"d = pl.tile.matmul({read}, other)\nres = pl.store(d, [0, 0], out)\nreturn res"
    )
    return kit.program(params, f"pl.Tensor[[{M}, {P}], pl.FP32]", body)


def assembles(tiled: Any) -> list[Any]:
    return [
        tuple(getattr(o, "value", None) for o in call.args[2].elements)
        for call in tiled.calls("tile.assemble")
    ]


@pytest.mark.parametrize(
    ("shape", "planner", "producer", "places"),
    [
        ((256, 256, 256), "pypto", [(P, 0, 256, 64, False)] * 2, [(0, 0), (128, 0)]),
        ((128, 128, 512), "pypto", [(P, 0, 128, 64, False)] * 2, [(0, 0), (0, 256)]),
        ((128, 128, 512), "dsa_rp", [(R, 0, 512, 256, False), (P, 0, 128, 64, True)], [(None, None)]),
        (
            (128, 64, 272),
            "pypto",
            [(P, 0, 128, 128, False), (P, 0, 256, 128, False)],
            [(None, None), (0, 256)],
        ),
        ((256, 32, 256), "pypto", [(P, 0, 256, 256, False), (P, 0, 256, 128, False)], [(None, None)]),
    ],
)
def test_chained_products_stay_in_mat(kit: Any, shape: Any, planner: str, producer: Any, places: Any) -> None:
    program = chained(kit, *shape)
    tiled = kit.tile(program, "910b", planner)
    assert loops_of(tiled)[: len(producer)] == producer
    assert assembles(tiled) == places
    assert tiled.calls("tile.cast") == []
    scratch = [call for call in tiled.calls("tile.create") if call.type.memory_space.name == "Mat"]
    assert [tuple(d.value for d in call.type.shape) for call in scratch] == [(shape[0], shape[2])]
    assert tiled.hints == ()
    kit.same(tiled)


def test_a_wide_scratch_fits_the_a5(kit: Any) -> None:
    # 256 x 512 fp32 is 524,288 bytes, all of Mat.
    tiled = kit.tile(chained(kit, 256, 64, 512, "FP32", cast=False), "a5")
    scratch = [call for call in tiled.calls("tile.create") if call.type.memory_space.name == "Mat"]
    assert [call.type.dtype.name for call in scratch] == ["FP32"]
    kit.same(tiled)


def test_int8_with_padded_columns(kit: Any) -> None:
    """512 x 288 of which 272 columns hold data: the last panel is 32 wide, 16 of them valid."""
    params = (
        "a: pl.Tensor[[512, 384], pl.INT8]", "b: pl.Tensor[[384, 272], pl.INT8]",
        "out: pl.Out[pl.Tensor[[512, 272], pl.INT32]]",
    )  # fmt: skip
    body = """
lhs = pl.load(a, [0, 0], [512, 384], target_memory=pl.Mem.Mat)
rhs = pl.load(b, [0, 0], [384, 288], [384, 272], target_memory=pl.Mem.Mat)
c = pl.matmul(lhs, rhs)
res = pl.store(c, [0, 0], out)
return res
"""
    tiled = kit.tile(kit.program(params, "pl.Tensor[[512, 272], pl.INT32]", body), "910b")
    tiles = [call.args[0].type for call in tiled.calls("tile.store")]
    shapes = [tuple(d.value for d in kind.shape) for kind in tiles]
    assert shapes == [(256, 128), (256, 128), (256, 128), (256, 128), (256, 32), (256, 32)]
    assert [d.value for d in tiles[-1].valid_shape] == [256, 16]
    assert loops_of(tiled) == [(P, 0, 384, 128, False)] * 6
    kit.same(tiled)


def biased(kit: Any, M: int, K: int, N: int, dtype: str, space: str = "Mat", after: str = "") -> Any:
    result = kit.result(dtype)
    out = f"pl.Tensor[[{M}, {N}], pl.{result}]"
    params = (
        f"a: pl.Tensor[[{M}, {K}], pl.{dtype}]", f"b: pl.Tensor[[{K}, {N}], pl.{dtype}]",
        f"bias: pl.Tensor[[1, {N}], pl.{result}]", f"out: pl.Out[{out}]",
    )  # fmt: skip
    row = f"row = pl.load(bias, [0, 0], [1, {N}], target_memory=pl.Mem.Mat)\n"
    if space == "Bias":
        row += "row_b = pl.move(row, target_memory=pl.Mem.Bias)\n"
    name = "row_b" if space == "Bias" else "row"
    body = kit.loads(M, N, K) + row + f"c = pl.tile.matmul_bias(lhs, rhs, {name})\n"
    return kit.program(params, out, body + (after or "res = pl.store(c, [0, 0], out)\nreturn res"))


def test_biased_int8_is_peeled_at_the_head(kit: Any) -> None:
    tiled = kit.tile(biased(kit, 16, 2048, 64, "INT8"), "910b")
    assert loops_of(tiled) == [(P, 512, 2048, 512, False)]
    assert extents(tiled, "Left") == [(16, 512)]
    kit.same(tiled)


def test_biased_grids_never_exceed_the_bias_table(kit: Any) -> None:
    tiled = kit.tile(biased(kit, 256, 1024, 512, "INT8"), "910b")
    windows = [call for call in tiled.calls("tile.move") if call.type.memory_space.name == "Bias"]
    assert [call.type.shape[1].value for call in windows] == [128] * 4
    loads = [call for call in tiled.calls("tile.load") if call.type.shape[0].value == 1]
    assert [call.args[1].elements[1].value for call in loads] == [0, 128, 256, 384]
    kit.same(tiled)


def test_a_bias_is_moved_by_the_loop_over_columns(kit: Any) -> None:
    tiled = kit.tile(biased(kit, 16, 32, 512, "INT8"), "910b")
    assert loops_of(tiled) == [(R, 0, 512, 256, False), (P, 0, 16, 16, False)]
    outer = tiled.loops()[0]
    moves = [
        loops for stmt, loops in tiled.stmts()
        if getattr(stmt, "value", None) in tiled.calls("tile.move")
    ]  # fmt: skip
    assert moves == [(outer,)]
    kit.same(tiled)


def test_a_bias_in_its_table_keeps_all_columns(kit: Any) -> None:
    tiled = kit.tile(biased(kit, 528, 64, 256, "BF16", "Bias"), "910b")
    assert loops_of(tiled) == [(P, 0, 256, 256, False), (P, 0, 448, 112, False)]
    assert len(tiled.calls("tile.matmul_bias")) == 2
    kit.same(tiled)


def test_biased_a5_block_and_tail(kit: Any) -> None:
    tiled = kit.tile(biased(kit, 64, 272, 64, "BF16"), "a5")
    assert tiled.loops() == []
    assert extents(tiled, "Left") == [(64, 144), (64, 128)]
    kit.same(tiled)


CHAINED_BIAS = """cb = pl.tile.cast(c, pl.BF16, mode="rint")
other = pl.tile.extract(rhs, 0, 0, [{N}, 64], target_memory=pl.Mem.Mat)
"""


def chained_bias(kit: Any, M: int, K: int, N: int) -> Any:
    params = (
        f"a: pl.Tensor[[{M}, {K}], pl.BF16]", f"b: pl.Tensor[[{K}, {N}], pl.BF16]",
        f"bias: pl.Tensor[[1, {N}], pl.FP32]", f"e: pl.Tensor[[{N}, 64], pl.BF16]",
        f"out: pl.Out[pl.Tensor[[{M}, 64], pl.FP32]]",
    )  # fmt: skip
    body = kit.loads(M, N, K) + f"""
other = pl.load(e, [0, 0], [{N}, 64], target_memory=pl.Mem.Mat)
row = pl.load(bias, [0, 0], [1, {N}], target_memory=pl.Mem.Mat)
c = pl.tile.matmul_bias(lhs, rhs, row)
cb = pl.tile.cast(c, pl.BF16, mode="rint")
d = pl.tile.matmul(cb, other)
res = pl.store(d, [0, 0], out)
return res
"""  # fmt: skip
    return kit.program(params, f"pl.Tensor[[{M}, 64], pl.FP32]", body)


def test_chained_biased_products(kit: Any) -> None:
    cut = kit.tile(chained_bias(kit, 256, 192, 512), "a5")
    assert assembles(cut) == [(0, 0), (0, 256)]
    kit.same(cut)
    whole = kit.tile(chained_bias(kit, 208, 128, 192), "a5")
    assert assembles(whole) == [(0, 0)]
    assert extents(whole, "Left")[0] == (208, 64)
    kit.same(whole)


@pytest.mark.parametrize(
    ("shape", "stores", "inner"),
    [
        # M, panel, N; offsets of the stores; k of the loops that the panel is split into afterwards
        ((16, 128, 1152), [(0, 0), (0, 768)], [32, 64]),
        ((272, 128, 144), [(0, 0), (144, 0), (0, 128), (144, 128)], []),
        ((272, 384, 144), [(0, 0), (144, 0), (0, 128), (144, 128)], [192] * 4),
        ((576, 128, 48), [(0, 0), (288, 0)], [64, 64]),
    ],
)
@pytest.mark.parametrize("peeled", [False, True])
def test_split_k_chains(kit: Any, shape: Any, stores: Any, inner: Any, peeled: bool) -> None:
    M, panel, N = shape
    steps = 2
    reduction = (
        """    if kb == 0:
        x = pl.tile.matmul(at, bt)
        ph = pl.yield_(x)
    else:
        y = pl.tile.matmul_acc(acc, at, bt)
        ph = pl.yield_(y)
    r = pl.yield_(ph)"""
        if peeled
        else """    step = pl.tile.matmul_acc(acc, at, bt, kb == 0)
    r = pl.yield_(step)"""
    )
    params = (
        f"a: pl.Tensor[[{M}, {panel * steps}], pl.INT8]", f"b: pl.Tensor[[{panel * steps}, {N}], pl.INT8]",
        f"out: pl.Out[pl.Tensor[[{M}, {N}], pl.INT32]]",
    )  # fmt: skip
    program = kit.program(params, f"pl.Tensor[[{M}, {N}], pl.INT32]", f"""
c0 = pl.tile.create([{M}, {N}], pl.INT32, target_memory=pl.Mem.Acc)
for kb, (acc,) in pl.pipeline({steps}, stage=2, init_values=(c0,)):
    k0 = kb * {panel}
    at = pl.load(a, [0, k0], [{M}, {panel}], target_memory=pl.Mem.Mat)
    bt = pl.load(b, [k0, 0], [{panel}, {N}], target_memory=pl.Mem.Mat)
{reduction}
res = pl.store(r, [0, 0], out)
return res
""")  # fmt: skip
    tiled = kit.tile(program, "910b")
    offsets = [tuple(o.value for o in call.args[1].elements) for call in tiled.calls("tile.store")]
    assert offsets == stores
    outer = [
        loop for stmt, loops in tiled.stmts() if isinstance(stmt, ForStmt) and not loops for loop in (stmt,)
    ]
    assert len(outer) == len(stores)
    nested = [stmt for stmt, loops in tiled.stmts() if isinstance(stmt, ForStmt) and loops]
    wanted = [k for k in inner for _ in range(2 if peeled else 1)]
    assert [loop.step.value for loop in nested] == wanted
    if shape[0] == 576:
        accs = [c.type for c in tiled.calls("tile.create") if c.type.memory_space.name == "Acc"]
        assert {tuple(d.value for d in kind.shape) for kind in accs} == {(288, 64)}
    assert tiled.hints == ()
    kit.same(tiled)


def turned_chain(kit: Any, turned: str) -> Any:
    """128x512 of bfloat16, K in two panels of 128, with operands that lie transposed."""

    def panel(name: str, at: tuple[str, str], shape: tuple[int, int]) -> str:
        if name not in turned:
            return f"{name}t = pl.load({name}, [{at[0]}, {at[1]}], {list(shape)}, target_memory=pl.Mem.Mat)"
        load = f"pl.load({name}, [{at[1]}, {at[0]}], {list(shape[::-1])}, target_memory=pl.Mem.Mat)"
        return f"{name}l = {load}\n    {name}t = pl.tile.transpose_view({name}l)"

    shapes = {"a": (128, 256), "b": (256, 512)}
    lying = {name: list(shape[::-1] if name in turned else shape) for name, shape in shapes.items()}
    out = "pl.Tensor[[128, 512], pl.FP32]"
    params = (
        *(f"{name}: pl.Tensor[{shape}, pl.BF16]" for name, shape in lying.items()),
        f"out: pl.Out[{out}]",
    )
    return kit.program(params, out, f"""
c0 = pl.tile.create([128, 512], pl.FP32, target_memory=pl.Mem.Acc)
for kb, (acc,) in pl.pipeline(2, stage=2, init_values=(c0,)):
    k0 = kb * 128
    {panel("a", ("0", "k0"), (128, 128))}
    {panel("b", ("k0", "0"), (128, 512))}
    if kb == 0:
        x = pl.tile.matmul(at, bt)
        ph = pl.yield_(x)
    else:
        y = pl.tile.matmul_acc(acc, at, bt)
        ph = pl.yield_(y)
    r = pl.yield_(ph)
res = pl.store(r, [0, 0], out)
return res
""")  # fmt: skip


def texts(arg: Any) -> list[str]:
    """The entries of an offset or shape."""
    return [print_expr(entry) for entry in arg.elements]


@pytest.mark.parametrize("turned", ["a", "b", "ab"])
def test_operands_that_lie_transposed_are_cut_as_those_that_do_not(kit: Any, turned: str) -> None:
    """Boxes of bfloat16 are as high as wide, so that the windows are the same; a panel's other axis is narrowed."""
    plain, tiled = (kit.tile(turned_chain(kit, how), "910b") for how in ("", turned))
    stores = [[texts(c.args[1]) for c in t.calls("tile.store")] for t in (plain, tiled)]
    assert len(stores[0]) > 1
    assert stores[0] == stores[1]
    for call, other in zip(plain.calls("tile.load"), tiled.calls("tile.load"), strict=True):
        order = -1 if call.args[0].name_hint in turned else 1
        for at in (1, 2, 3):
            assert texts(other.args[at]) == texts(call.args[at])[::order]
    assert tiled.hints == ()
    kit.same(tiled)


@pytest.mark.parametrize("chain", [False, True])
def test_a_result_may_be_one_matrix_of_a_tensor_of_more_axes(kit: Any, chain: bool) -> None:
    """The weights of one expert of many, and its place among the results: windows of the last two axes."""
    out = "pl.Tensor[[2, 1, 128, 512], pl.FP32]"
    body = """
a = pl.load(x, [0, 0], [128, 256], target_memory=pl.Mem.Mat)
b = pl.load(w, [1, 0, 0], [256, 512], target_memory=pl.Mem.Mat)
c = pl.matmul(a, b)
""" if not chain else """
c0 = pl.tile.create([128, 512], pl.FP32, target_memory=pl.Mem.Acc)
for kb, (acc,) in pl.pipeline(2, stage=2, init_values=(c0,)):
    k0 = kb * 128
    a = pl.load(x, [0, k0], [128, 128], target_memory=pl.Mem.Mat)
    b = pl.load(w, [1, k0, 0], [128, 512], target_memory=pl.Mem.Mat)
    step = pl.tile.matmul_acc(acc, a, b, kb == 0)
    c = pl.yield_(step)
"""  # fmt: skip
    params = (
        "x: pl.Tensor[[128, 256], pl.BF16]",
        "w: pl.Tensor[[3, 256, 512], pl.BF16]",
        f"out: pl.Out[{out}]",
    )
    program = kit.program(
        params, out, f"{body}\nres = pl.store(c, [1, 0, 0, 0], out, [1, 1, 128, 512])\nreturn res"
    )
    tiled = kit.tile(program, "910b", settled=not chain)
    stores = tiled.calls("tile.store")
    for call in stores:
        assert texts(call.args[1])[:2] == ["1", "0"] and texts(call.args[3])[:2] == ["1", "1"]
        assert call.args[3].elements[-2:] == call.args[0].type.valid_shape
    if chain:
        assert [texts(call.args[1])[2:] for call in stores] == [["0", "0"], ["0", "256"]]
    assert tiled.hints == ()
    kit.same(tiled)


def test_one_panel_on_both_sides_is_left_to_other_rules(kit: Any) -> None:
    """A product with its own transpose would have to narrow one load in two ways."""
    out = "pl.Tensor[[256, 256], pl.FP32]"
    program = kit.program(("a: pl.Tensor[[256, 256], pl.BF16]", f"out: pl.Out[{out}]"), out, """
c0 = pl.tile.create([256, 256], pl.FP32, target_memory=pl.Mem.Acc)
for kb, (acc,) in pl.pipeline(2, stage=2, init_values=(c0,)):
    k0 = kb * 128
    at = pl.load(a, [0, k0], [256, 128], target_memory=pl.Mem.Mat)
    bt = pl.tile.transpose_view(at)
    step = pl.tile.matmul_acc(acc, at, bt, kb == 0)
    r = pl.yield_(step)
res = pl.store(r, [0, 0], out)
return res
""")  # fmt: skip
    tiled = kit.tile(program, "910b", check=False)
    assert len(tiled.calls("tile.store")) == 1
    assert set(tiled.codes) == {"PH-AT-006"}


MORE = [
    # backend, dtype, planner, (M, N, K), (m, n, k)
    ("910b", "BF16", "pypto", (128, 192, 688), (128, 192, 64)),
    ("910b", "BF16", "dsa_rp", (128, 192, 688), (128, 192, 64)),
    ("910b", "BF16", "pypto", (16, 512, 128), (16, 512, 32)),
    ("910b", "BF16", "dsa_rp", (16, 512, 128), (16, 128, 128)),
    ("910b", "BF16", "pypto", (512, 512, 512), (128, 256, 64)),
    ("910b", "BF16", "ptoas", (512, 512, 512), (32, 64, 512)),
    ("910b", "BF16", "pypto", (64, 512, 256), (64, 512, 32)),
    ("910b", "BF16", "dsa_rp", (64, 512, 256), (64, 64, 256)),
    ("910b", "BF16", "pypto", (48, 96, 1024), (48, 96, 128)),
    ("910b", "BF16", "pypto", (112, 224, 320), (112, 128, 80)),
    ("910b", "BF16", "pypto", (2048, 128, 128), (256, 128, 128)),
    ("910b", "BF16", "dsa_rp", (2048, 128, 128), (128, 128, 128)),
    ("910b", "BF16", "pypto", (128, 64, 272), (128, 64, 16)),
    ("a5", "BF16", "pypto", (128, 192, 688), (128, 192, 80)),
    ("a5", "BF16", "pypto", (128, 128, 688), (128, 128, 128)),
    ("a5", "BF16", "pypto", (256, 256, 256), (256, 256, 64)),
    ("a5", "BF16", "dsa_rp", (256, 256, 256), (128, 64, 256)),
    ("a5", "BF16", "pypto", (512, 512, 512), (256, 256, 64)),
    ("a5", "BF16", "dsa_rp", (512, 512, 512), (256, 256, 64)),
    ("a5", "BF16", "pypto", (112, 224, 320), (112, 224, 64)),
    ("a5", "BF16", "pypto", (2048, 128, 128), (512, 128, 32)),
    ("a5", "BF16", "dsa_rp", (2048, 128, 128), (128, 128, 128)),
    ("a5", "FP32", "pypto", (256, 256, 64), (256, 256, 32)),
    ("a5", "FP32", "dsa_rp", (256, 256, 64), (32, 128, 64)),
    ("a5", "INT8", "pypto", (64, 1024, 256), (64, 1024, 32)),
]


@pytest.mark.parametrize(("backend", "dtype", "planner", "shape", "tile"), MORE)
def test_more_picks(kit: Any, backend: str, dtype: str, planner: str, shape: Any, tile: Any) -> None:
    M, N, K = shape
    tiled = kit.tile(kit.plain(M, N, K, dtype), backend, planner)
    m, n, k = tile
    assert extents(tiled, "Left")[0] == (m, k)
    assert extents(tiled, "Right")[0] == (k, n)

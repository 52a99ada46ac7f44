"""Kernels compute on buffers what they compute in tiles, under every planner, by values and on bytes."""

from __future__ import annotations

import numpy as np
import pytest
from buffer_parts import FP32_64, PLANNERS, arrays, assert_same, in_buffers, names, planned, run, source

from pypto_core.host import load_host
from pypto_core.ir import IfStmt, walk_stmts

EXTENTS = (0, 1, 2, 3)


def cases(*extents, **more):
    return [{**arrays(n), "n": n, **more} for n in extents]


KERNELS = {
    "straight": """
        x = pl.load(a, [0, 0], [16, 64])
        y = pl.load(a, [16, 0], [16, 64])
        z = pl.maximum(pl.add(x, y), pl.mul(x, 2.0))
        pl.store(pl.sub(z, y), [n, 0], o)
        """,
    "no load at all": """
        x = pl.tile.full([16, 64], dtype=pl.FP32, value=3.0)
        pl.store(x, [0, 0], o)
        """,
    "branch": """
        x = pl.load(a, [0, 0], [16, 64])
        y = pl.load(a, [16, 0], [16, 64])
        if n > 1:
            z = pl.mul(x, y)
            at = 16
        else:
            z = x
            at = 0
        pl.store(z, [at, 0], o)
        pl.store(pl.add(x, y), [32, 0], o)
        """,
    "swap": """
        x = pl.load(a, [0, 0], [16, 64])
        y = pl.load(a, [16, 0], [16, 64])
        row = 0
        for i in pl.range(n):
            t = x
            x = y
            y = t
            row = row + 16
        pl.store(pl.sub(x, pl.mul(y, 3.0)), [row, 0], o)
        """,
    "fan out": """
        x = pl.load(a, [0, 0], [16, 64])
        y = pl.load(a, [16, 0], [16, 64])
        for i in pl.range(n):
            t = pl.add(x, y)
            x = t
            y = t
        pl.store(pl.sub(x, pl.mul(y, 3.0)), [0, 0], o)
        """,
    "shift register": """
        x = pl.load(a, [0, 0], [16, 64])
        y = pl.load(a, [16, 0], [16, 64])
        z = pl.load(a, [32, 0], [16, 64])
        for i in pl.range(n):
            t = pl.sub(x, z)
            x = y
            y = z
            z = t
        pl.store(pl.sub(pl.mul(x, 5.0), pl.sub(pl.mul(y, 3.0), z)), [0, 0], o)
        """,
    "input read after the loop": """
        x = pl.load(a, [0, 0], [16, 64])
        y = x
        for i in pl.range(n):
            y = pl.add(y, y)
        pl.store(pl.sub(y, x), [0, 0], o)
        pl.store(x, [32, 0], o)
        """,
    "tensor carried": """
        x = pl.load(a, [0, 0], [16, 64])
        for i in pl.range(n):
            x = pl.add(x, x)
            o = pl.store(x, [i * 16, 0], o)
        """,
    "scalars": """
        x = pl.load(a, [0, 0], [16, 64])
        y = pl.adds(x, pl.cast(n, pl.FP32))
        for i in pl.range(n):
            y = pl.muls(y, pl.cast(i - 1, pl.FP32))
        pl.store(pl.tile.lrelu(y, 0.5), [0, 0], o)
        """,
    "nested": """
        x = pl.load(a, [0, 0], [16, 64])
        for i in pl.range(n):
            y = pl.load(a, [16, 0], [16, 64])
            for j in pl.range(i):
                if j > 0:
                    y = pl.sub(x, y)
                else:
                    y = pl.add(y, x)
            x = pl.maximum(y, pl.mul(x, -1.0))
        pl.store(x, [0, 0], o)
        """,
    "while": """
        x = pl.load(a, [0, 0], [16, 64])
        m = 0
        while m < n:
            x = pl.add(x, pl.mul(x, 2.0))
            m = m + 1
        pl.store(x, [m, 0], o)
        """,
}


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("name", KERNELS)
def test_control_flow(name, planner):
    program = assert_same(KERNELS[name], planner, cases(*EXTENTS))
    assert not [n for n in names(program) if n.startswith("tile.")]


WINDOWS = {
    "static window and assemble": """
        w = pl.load(a, [0, 0], [64, 64])
        s = pl.slice(w, [16, 32], [16, 32])
        c = pl.tile.full([32, 32], dtype=pl.FP32, value=0.0)
        d = pl.tile.assemble(c, pl.add(s, s), [16, 0])
        pl.store(d, [0, 0], o)
        """,
    "runtime rows": """
        w = pl.load(a, [0, 0], [64, 64])
        s = pl.slice(w, [16, 64], [n, 0])
        pl.store(pl.mul(s, s), [n, 0], o)
        """,
    "runtime columns": """
        w = pl.load(a, [0, 0], [64, 64])
        s = pl.slice(w, [16, 32], [n, n * 8])
        pl.store(pl.add(s, s), [0, 0], o)
        """,
    "nested windows": """
        w = pl.load(a, [0, 0], [64, 64])
        s = pl.slice(w, [32, 64], [n, 0])
        t = pl.slice(s, [16, 32], [8, n * 8])
        pl.store(pl.add(t, t), [0, 0], o)
        """,
    "assemble at runtime": """
        w = pl.load(a, [0, 0], [32, 64])
        s = pl.load(a, [32, 0], [8, 64])
        d = pl.tile.assemble(w, pl.add(s, s), [n, 0])
        pl.store(d, [0, 0], o)
        """,
    "chain of assembles": """
        w = pl.load(a, [0, 0], [32, 64])
        s = pl.load(a, [32, 0], [8, 64])
        t = pl.slice(w, [8, 64], [24, 0])
        u = pl.add(t, s)
        d = pl.tile.assemble(w, s, [0, 0])
        e = pl.tile.assemble(d, u, [16, 0])
        pl.store(e, [0, 0], o)
        """,
    "window moved out": """
        w = pl.load(a, [0, 0], [64, 64])
        s = pl.slice(w, [16, 32], [16, 8])
        m = pl.move(s, target_memory=pl.Mem.Vec)
        pl.store(pl.add(m, m), [0, 0], o)
        """,
    "part copied out": """
        w = pl.load(a, [0, 0], [64, 64])
        s = pl.tile.extract(w, n, 8, [16, 32])
        pl.store(pl.add(s, s), [0, 0], o)
        """,
    "part of a window copied out": """
        w = pl.load(a, [0, 0], [64, 64])
        s = pl.slice(w, [32, 32], [16, 32])
        pl.store(pl.tile.extract(s, 8, n * 8, [16, 8]), [0, 0], o)
        """,
    "window under another shape": """
        w = pl.load(a, [0, 0], [64, 64])
        s = pl.slice(w, [16, 64], [16, 0])
        v = pl.reshape(s, [32, 32])
        pl.store(pl.add(v, v), [0, 0], o)
        """,
    "target still needed": """
        w = pl.load(a, [0, 0], [32, 64])
        s = pl.load(a, [32, 0], [16, 64])
        d = pl.tile.assemble(w, s, [16, 0])
        pl.store(pl.add(d, w), [0, 0], o)
        """,
    "written where it lies": """
        w = pl.load(a, [0, 0], [32, 64])
        s = pl.slice(w, [16, 64], [16, 0])
        d = pl.tile.assemble(w, s, [16, 0])
        pl.store(d, [0, 0], o)
        """,
    "written over itself": """
        w = pl.load(a, [0, 0], [32, 64])
        s = pl.slice(w, [16, 64], [0, 0])
        d = pl.tile.assemble(w, s, [8, 0])
        pl.store(d, [0, 0], o)
        """,
    "reinterpreted": """
        w = pl.load(a, [0, 0], [16, 64])
        v = pl.tile.reinterpret_view(w, dtype=pl.INT32)
        x = pl.tile.reinterpret_view(pl.tile.mul(v, v), dtype=pl.FP32)
        pl.store(x, [0, 0], o)
        """,
    "reshape": """
        w = pl.load(a, [0, 0], [16, 64])
        v = pl.reshape(pl.add(w, w), [32, 32])
        pl.store(pl.mul(v, v), [0, 0], o)
        """,
}


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name, planner):
    assert_same(WINDOWS[name], planner, cases(*EXTENTS))


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_partly_valid_target_is_filled_up_in_place(planner):
    body = """
        w = pl.load(a, [0, 0], [32, 64], valid_shape=[16, 64])
        s = pl.load(a, [32, 0], [16, 64])
        d = pl.tile.assemble(w, s, [16, 0])
        pl.store(d, [0, 0], o)
        """
    program = assert_same(body, planner, cases(0))
    assert names(program).count("alloc") == 2


RUNTIME = {
    "load": """
        x = pl.load(a, [0, 0], [32, 64], valid_shape=[n, m])
        pl.store(pl.add(x, x), [0, 0], o)
        """,
    "one axis": """
        x = pl.load(a, [0, 0], [32, 64], valid_shape=[32, m])
        y = pl.mul(x, 3.0)
        pl.store(pl.sub(y, x), [8, 0], o)
        """,
    "setter": """
        x = pl.load(a, [0, 0], [32, 64])
        y = pl.set_validshape(x, n, m)
        z = pl.exp(pl.sub(y, y))
        pl.store(pl.add(z, y), [0, 0], o)
        """,
    "window": """
        x = pl.load(a, [0, 0], [64, 64])
        y = pl.slice(x, [32, 64], [n, 0], valid_shape=[n, m])
        z = pl.add(y, y)
        pl.store(z, [0, 0], o)
        pl.store(y, [32, 0], o)
        """,
    "assembled": """
        w = pl.load(a, [0, 0], [32, 64])
        s = pl.load(a, [32, 0], [32, 64], valid_shape=[n, m])
        pl.store(pl.tile.assemble(w, pl.add(s, s), [0, 0]), [0, 0], o)
        """,
    "window of a window": """
        w = pl.load(a, [0, 0], [64, 64])
        s = pl.slice(w, [32, 64], [0, 0], valid_shape=[n, 64])
        t = pl.slice(s, [32, 64], [0, 0], valid_shape=[n, m])
        pl.store(pl.add(t, t), [0, 0], o)
        """,
    "full tile of a setter": """
        x = pl.tile.full([32, 64], dtype=pl.FP32, value=2.0)
        y = pl.set_validshape(x, n, m)
        pl.store(y, [16, 0], o)
        """,
}


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("name", RUNTIME)
def test_runtime_extents(name, planner):
    """One program for empty, partial and full extents; what lies outside keeps the sentinel."""
    params = FP32_64 + ", m: pl.Scalar[pl.INDEX]"
    grid = [{**arrays(n), "n": n, "m": m} for n, m in ((0, 0), (0, 64), (32, 0), (1, 8), (7, 63), (32, 64))]
    program = assert_same(RUNTIME[name], planner, grid, params)
    assert any(isinstance(s, IfStmt) for s in walk_stmts(program["k"].body))
    if name != "assembled":  # whose target is all there
        np.testing.assert_array_equal(run(program, grid[0], "bytes"), grid[0]["o"])


CUBE = "a: pl.Tensor[[64, 64], pl.{0}], o: pl.Out[pl.Tensor[[64, 64], pl.{1}]], n: pl.Scalar[pl.INDEX]"
PAIR = """
    am = pl.load(a, [0, 0], [32, 32], target_memory=pl.Mem.Mat)
    bm = pl.load(a, [32, 16], [32, 32], target_memory=pl.Mem.Mat)
    l = pl.move(am, target_memory=pl.Mem.Left)
    r = pl.move(bm, target_memory=pl.Mem.Right)
    """
PRODUCTS = {
    "product": PAIR
    + """
    pl.store(pl.matmul(l, r), [0, 0], o)
    """,
    "added up": PAIR
    + """
    c = pl.matmul(l, r)
    d = pl.matmul_acc(c, l, r)
    pl.store(d, [0, 0], o)
    """,
    "transposed": """
    am = pl.load(a, [0, 0], [32, 32], target_memory=pl.Mem.Mat)
    bm = pl.load(a, [32, 32], [32, 32], target_memory=pl.Mem.Mat)
    l = pl.move(am, target_memory=pl.Mem.Left)
    r = pl.move(pl.tile.transpose_view(bm), target_memory=pl.Mem.Right)
    pl.store(pl.matmul(l, r), [0, 0], o)
    """,
    "product of a part": PAIR
    + """
    pm = pl.load(a, [0, 32], [32, 32], valid_shape=[16, 32], target_memory=pl.Mem.Mat)
    p = pl.move(pm, target_memory=pl.Mem.Left)
    c = pl.matmul(l, r)
    d = pl.matmul_acc(c, p, r)
    pl.store(d, [0, 0], o)
    """,
    "literal conditions": PAIR
    + """
    c = pl.matmul(l, r)
    d = pl.tile.matmul_acc(c, l, r, True)
    e = pl.tile.matmul_acc(d, l, r, False)
    pl.store(e, [0, 0], o)
    """,
    "parts of operands": """
    am = pl.load(a, [0, 0], [32, 64], target_memory=pl.Mem.Mat)
    bm = pl.load(a, [0, 0], [64, 32], target_memory=pl.Mem.Mat)
    l = pl.tile.extract(am, 0, n * 32, [32, 32], target_memory=pl.Mem.Left)
    r = pl.tile.extract(bm, n * 32, 0, [32, 32], target_memory=pl.Mem.Right)
    pl.store(pl.matmul(l, r), [0, 0], o)
    """,
    "k loop": """
    c = pl.tile.create([32, 32], dtype=pl.{1}, target_memory=pl.Mem.Acc)
    for k in pl.range(4):
        am = pl.load(a, [0, k * 16], [32, 16], target_memory=pl.Mem.Mat)
        bm = pl.load(a, [k * 16, 0], [16, 32], target_memory=pl.Mem.Mat)
        l = pl.move(am, target_memory=pl.Mem.Left)
        r = pl.move(bm, target_memory=pl.Mem.Right)
        c = pl.tile.matmul_acc(c, l, r, k == n)
    pl.store(c, [0, 0], o)
    """,
}
TYPES = {
    "INT8": (np.int8, "INT32", np.int32),
    "FP16": (np.float16, "FP32", np.float32),
    "FP32": (np.float32, "FP32", np.float32),
}


def products(dtype, cube_dtype, out):
    rng = np.random.default_rng(3)
    numbers = rng.integers(-4, 5, (64, 64))
    return [{"a": numbers.astype(dtype), "o": np.full((64, 64), 77, out), "n": n} for n in (0, 1)]


# Every element type under one planner, and one of them under the others.
GRID = [*((e, "pypto") for e in [*TYPES, "BF16"]), ("FP16", "dsa_rp"), ("FP16", "ptoas")]


@pytest.mark.parametrize(("element", "planner"), GRID)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name, element, planner):
    import ml_dtypes

    dtype, result, out = TYPES.get(element, (ml_dtypes.bfloat16, "FP32", np.float32))
    if name == "k loop" and element == "INT8":
        body = (
            PRODUCTS[name]
            .replace("* 16", "* 32")
            .replace("[32, 16]", "[32, 32]")
            .replace("[16, 32]", "[32, 32]")
        )
        body = body.replace("pl.range(4)", "pl.range(2)")
    else:
        body = PRODUCTS[name]
    given = products(dtype, element, out)
    # Accumulators of a K loop that starts late hold what nobody has written.
    given = given[:1] if name == "k loop" else given
    assert_same(body.replace("{1}", result), planner, given, CUBE.format(element, result))


@pytest.mark.parametrize(("name", "case"), [("swap", cases(3)[0]), ("branch", cases(2)[0])])
def test_a_kernel_takes_as_long_in_either_form(name, case):
    tiles = planned(source(KERNELS[name]), "pypto")
    host, spent = load_host(), []
    for program in (tiles, in_buffers(tiles, "pypto")):
        inputs = {key: np.copy(value) for key, value in case.items()}
        report = host.engine("time").load()(program, inputs, backend=host.backend("910b")).report["time"]
        spent.append([(core.makespan, [(p.pipe, p.count) for p in core.pipes]) for core in report.cores])
    assert spent[0] == spent[1] and spent[0][0][0] > 0


def test_sources_are_what_they_are_meant_to_be():
    """The texts above mean what numpy computes."""
    case = cases(3)[0]
    x, y = case["a"][:16], case["a"][16:32]
    for _ in range(3):
        x, y = y, x
    want = case["o"].copy()
    want[48:64] = x - 3 * y
    np.testing.assert_array_equal(run(source(KERNELS["swap"]), case), want)

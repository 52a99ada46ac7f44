# ruff: noqa: E501 - texts as the printer writes them
"""Texts read back: what the printer writes is what was read, MemRefs included."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pypto_core.language as pl
from pypto_core.ir import (
    EMPTY,
    PTR,
    UNKNOWN,
    Abs,
    Add,
    And,
    AssignStmt,
    BitAnd,
    BitNot,
    BitOr,
    BitShiftLeft,
    BitShiftRight,
    BitXor,
    Call,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    Eq,
    EvalStmt,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    ForKind,
    ForStmt,
    Function,
    FunctionIRStage,
    FunctionType,
    Ge,
    GlobalVar,
    Gt,
    IfStmt,
    InlineStmt,
    IterArg,
    Le,
    Level,
    Lt,
    MakeTuple,
    Max,
    MemorySpace,
    MemRef,
    Min,
    Mul,
    Ne,
    Neg,
    Not,
    Or,
    Pow,
    Program,
    ReturnStmt,
    Role,
    ScalarType,
    SeqStmts,
    Stmt,
    Sub,
    TensorType,
    TileType,
    TileView,
    Type,
    Var,
    WhileStmt,
    Xor,
    YieldStmt,
    assert_structural_equal,
    dtype_of,
    make_binary,
    make_unary,
    scalar_type,
    structural_equal,
)
from pypto_core.ops.registry import create_call
from pypto_core.testing import ALL_FEATURES, SSA_FEATURES, random_program
from pypto_core.text import print_program

LOOPS = """
import pypto_core.language as pl
M = pl.dynamic("M")
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(a: pl.Tensor[[M, 64], pl.FP32], n: pl.Scalar[pl.INDEX], m: pl.Scalar[pl.INT32], out: pl.Out[pl.Tensor[[M, 64], pl.FP32]]):
        x = n + 1
        y = x * 2 - (n - 2) // 3 % 4
        z = -n
        f = 2.5
        g = f * 2.0 / 3.0
        c = n < 4 and not n == 5 or n >= 7
        d = (n & 3) | (n ^ 5) << 2 >> 1
        e = ~n
        p = n ** 2
        ab = abs(n)
        mm = pl.min(n, 64)
        mx = pl.max(pl.min(n, 3), 4)
        ci = pl.cast(n, pl.INT32)
        w = m * pl.const(2, pl.INT32)
        q = pl.const(2, pl.INDEX) + pl.const(3, pl.INDEX)
        inf = pl.const("inf", pl.FP16)
        xr = pl.xor(n < 3, n > 1)
        for i in pl.range(4):
            for j in pl.parallel(0, n, 2):
                for k in pl.unroll(4):
                    s = i + j + k
            for k in pl.pipeline(1, 9, 2, stage=3, attrs={"pipeline_overlap_stores": False}):
                s = i + k
        t = 0
        while t < n:
            t = t + 1
            if t > 3:
                break
            else:
                continue
        for u, (v, r) in pl.range(2, 10, init_values=(n, x)):
            v1 = v + 1
            if u > 3:
                ra = pl.yield_(r + 1)
            else:
                ra = pl.yield_(r)
            o1, o2 = pl.yield_(v1, ra)
        for (cc,) in pl.while_(init_values=(o1,)):
            pl.cond(cc < 100)
            cn = cc * 2
            dd = pl.yield_(cn)
        if n > 3:
            e1 = n
        elif n > 2:
            e1 = n + 1
        else:
            pass
        return
"""
TILES = """
import pypto_core.language as pl
buf = pl.MemRef(slots=2)
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(a: pl.Tensor[[256, 64], pl.FP32], b: pl.Tensor[[64, 64], pl.BF16, pl.NZ], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[256, 64], pl.FP32]]) -> pl.Tensor[[256, 64], pl.FP32]:
        pl.func_attr({"split": pl.SplitMode.UP_DOWN, "dual_aiv_dispatch": True})
        for i in pl.pipeline(4, stage=2):
            t: pl.Tile[[64, 64], pl.FP32, buf[i % 2], pl.Mem.Vec] = pl.load(a, [i * 64, 0], [64, 64])
            t2: pl.Tile[[64, 64], pl.FP32, pl.MemRef("other"), pl.Mem.Vec] = pl.load(a, [i * 64, 0], [64, 64], valid_shape=[n, 64])
            u = pl.add(t, t2)
            u2 = pl.mul(u, 2)
            v = pl.exp(u2)
            pl.store(v, [i * 64, 0], out)
        m = pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
        l = pl.move(m, pl.Mem.Left)
        r = pl.move(m, pl.Mem.Right)
        c = pl.matmul(l, r)
        for kk, (acc,) in pl.range(2, init_values=(c,)):
            acc2 = pl.matmul_acc(acc, l, r, kk == 0)
            acc3 = pl.yield_(acc2)
        mt = pl.tile.create([64, 64], pl.FP32, target_memory=pl.Mem.Acc, compact=True)
        ct = pl.cast(u, pl.BF16, mode="rint")
        sl = u[0:32, :]
        o = pl.tile.full([32, 64], dtype=pl.FP32, value=0.0)
        rd = pl.read(u, [1, 2])
        out = pl.store(u, [0, 0], out)
        out2 = pl.store(acc3, [0, 0], out)
        return out2
"""
MEM = """
import pypto_core.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(a: pl.Tensor[[256, 64], pl.FP32, pl.MemRef("mem_ddr_0", pl.const(0, pl.INT64), 65536)], out: pl.Out[pl.Tensor[[256, 64], pl.FP32, pl.TensorView(stride=[64, 1], layout=pl.TensorLayout.ND), pl.MemRef("mem_ddr_1", 0, 65536)]]):
        mem_vec_0: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 32768, pinned=True)
        mem_vec_1: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 16384)
        for i in pl.range(4):
            t: pl.Tile[[64, 64], pl.FP32, pl.MemRef(mem_vec_0, i % 2 * 16384, 16384, slots=2)[i % 2], pl.Mem.Vec] = pl.tile.load(a, [i * 64, 0], [64, 64], [64, 64], target_memory=pl.Mem.Vec)
            e: pl.Tile[[64, 64], pl.FP32, pl.MemRef(mem_vec_1, pl.const(0, pl.INT64), 16384), pl.Mem.Vec, pl.TileView(valid_shape=[pl.min(i, pl.const(64, pl.INDEX)), 64])] = pl.tile.exp(t)
            pl.tile.store(e, [i * 64, 0], out)
"""
CALLS = """
import pypto_core.language as pl
M = pl.dynamic("M")
@pl.program
class P:
    @pl.function
    def main(self, a: pl.Tensor[[128, 64], pl.FP32], b: pl.Tensor[[128, 64], pl.FP32]):
        r = self.k(a, b, 2.0)
        x, y = self.two(r, b)
        z = self.k(x, y, 1)
        arr = pl.array.create(4, pl.INT32)
        return z
    @pl.function(type=pl.FunctionType.InCore)
    def k(a: pl.Tensor[[M, 64], pl.FP32], b: pl.Out[pl.Tensor[[M, 64], pl.FP32]], s: pl.Scalar[pl.FP32]) -> pl.Tensor[[M, 64], pl.FP32]:
        t = pl.load(a, [0, 0], [64, 64])
        u = pl.mul(t, s)
        return pl.store(u, [0, 0], b)
    @pl.function(type=pl.FunctionType.InCore)
    def two(a: pl.Tensor[[M, 64], pl.FP32], b: pl.Out[pl.Tensor[[M, 64], pl.FP32]]) -> tuple[pl.Tensor[[M, 64], pl.FP32], pl.Tensor[[M, 64], pl.FP32]]:
        return a, b
"""
SCOPES = """
import pypto_core.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: pl.Tensor[[128, 64], pl.FP32], out: pl.Out[pl.Tensor[[128, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN), pl.cross_core_slot(slot_num=2)], name_hint="x") as tid:
            t = pl.load(a, [0, 0], [64, 64])
            pl.store(t, [0, 0], out)
        with pl.at(level=pl.Level.CORE_GROUP, deps=[tid], no_dep_args=[a], dumps=[out], allow_early_resolve=True):
            out[0:64, :] = pl.slice(a, [64, 64], [64, 0])
        with pl.at(level=pl.Level.HOST, role=pl.Role.Orchestrator):
            x = n + 1
        with pl.cluster():
            with pl.spmd(n, sync_start=True):
                y = n
        for b in pl.spmd(4):
            z = b + 1
        for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
            zz = lane + 1
        with pl.scope(mode=pl.ScopeMode.MANUAL):
            ww = n
        with pl.manual_scope():
            w2 = n
        with pl.scope():
            w3 = n
        r, tid2 = pl.submit(self.k, a, out, deps=[tid])
        r2, tid3 = pl.spmd_submit(self.k, a, r, core_num=n, deps=[tid, tid2])
        q = self.k(a, out, attrs={"arg_directions": [pl.adir.input, pl.adir.output_existing], "x": 1, "tid": tid})
        pl.dump_tag(q)
        return q
    @pl.function(type=pl.FunctionType.InCore)
    def k(a: pl.Tensor[[128, 64], pl.FP32], b: pl.Out[pl.Tensor[[128, 64], pl.FP32]]) -> pl.Tensor[[128, 64], pl.FP32]:
        return b
    @pl.function(type=pl.FunctionType.InCore, external_source="x.cpp")
    def ext(a: pl.Tensor[[128, 64], pl.FP32]):
        ...
"""
SUGAR = """
import pypto_core.language as pl
M = pl.dynamic("M")
@pl.program
class P:
    @pl.function
    def main(self, a: pl.Tensor[[M, 64], pl.FP32], out: pl.Out[pl.Tensor[[M, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
        e = a[n, 3]
        s = a[n * 16:n * 16 + 16, :]
        s2 = a[0:16, 0:32]
        s3 = a[n]
        s4 = a[n, 0:32]
        u = pl.add(s, s)
        v = pl.add(u, 1.0)
        out[n * 16:n * 16 + 16, :] = v
        lst = [n, 1]
        l0 = lst[0]
        one = [n]
        emp = []
        ar = pl.array.create(4, pl.INT32)
        ar[0] = 3
        g = ar[n]
        h = pl.matmul(s, s, b_trans=True)
        d = pl.tensor.dim(a, 0)
        z = pl.create_tensor([64, 64], pl.FP32)
        mx = pl.get_block_idx()
        return out
"""

TEXTS = {"loops": LOOPS, "tiles": TILES, "mem": MEM, "calls": CALLS, "scopes": SCOPES, "sugar": SUGAR}


def read_back(node: Program | Function) -> None:
    """Print, read, compare; and the second print is the first."""
    text = print_program(node)
    again = pl.parse(text)
    assert_structural_equal(again, node, compare_memref=True, enable_auto_mapping=True)
    assert print_program(again) == text
    if isinstance(node, Program):
        explicit = pl.parse(print_program(node, explicit_layout=True))
        assert_structural_equal(explicit, node, compare_memref=True, enable_auto_mapping=True)


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pl.LanguageWarning)
        read_back(pl.parse(TEXTS[name]))


@pytest.mark.parametrize("name", [name for name in TEXTS if name not in ("mem", "tiles")])
def test_concise_texts_deduce_what_they_leave_out(name: str) -> None:
    """Without annotations everything comes from the operators; declared MemRefs are lost, as they stand there alone."""
    found = pl.parse(TEXTS[name])
    again = pl.parse(print_program(found, concise=True))
    assert_structural_equal(again, found, enable_auto_mapping=True)


def test_reading_twice_gives_equal_programs_of_other_variables() -> None:
    first, second = pl.parse(LOOPS), pl.parse(LOOPS)
    assert structural_equal(first, second)
    assert first["k"].params[1] is not second["k"].params[1]


@pytest.mark.parametrize("features", [ALL_FEATURES, SSA_FEATURES], ids=["all", "ssa"])
def test_random_programs(features: frozenset) -> None:
    for seed in range(60):
        read_back(random_program(seed, features=features))


N = Var("n", scalar_type(DataType.INDEX))
K = Var("k", scalar_type(DataType.INT32))
F = Var("f", scalar_type(DataType.FP32))
H = Var("h", scalar_type(DataType.FP16))
B = Var("b", scalar_type(DataType.BOOL))
PARAMS = (N, K, F, H, B)
INTS = (Add, Sub, Mul, FloorDiv, FloorMod, Min, Max, Pow, BitAnd, BitOr, BitXor, BitShiftLeft, BitShiftRight)
FLOATS = (Add, Sub, Mul, FloatDiv, Min, Max, Pow)
COMPARES = (Eq, Ne, Lt, Le, Gt, Ge)


def integers(depth: int) -> st.SearchStrategy[Expr]:
    leaves = st.one_of(
        st.sampled_from([N, K]),
        st.integers(-5, 70).map(ConstInt),
        st.integers(-5, 70).map(lambda v: ConstInt(v, DataType.INT32)),
    )
    if depth == 0:
        return leaves
    below = integers(depth - 1)
    return st.one_of(
        leaves,
        st.builds(lambda c, a, b: make_binary(c, a, b), st.sampled_from(INTS), below, below),
        st.builds(lambda c, a: make_unary(c, a), st.sampled_from((Neg, BitNot, Abs)), below),
        st.builds(
            lambda a, d: Cast(a, scalar_type(d)), below, st.sampled_from([DataType.INDEX, DataType.INT32])
        ),
    )


def floats(depth: int) -> st.SearchStrategy[Expr]:
    leaves = st.one_of(
        st.sampled_from([F, H]),
        st.floats(width=32).filter(lambda v: v == v).map(ConstFloat),
        st.sampled_from([0.5, -2.0, float("inf")]).map(lambda v: ConstFloat(v, DataType.FP16)),
    )
    if depth == 0:
        return leaves
    below = floats(depth - 1)
    return st.one_of(
        leaves,
        st.builds(lambda c, a, b: make_binary(c, a, b), st.sampled_from(FLOATS), below, below),
        st.builds(lambda c, a: make_unary(c, a), st.sampled_from((Neg, Abs)), below),
    )


def truths(depth: int) -> st.SearchStrategy[Expr]:
    leaves = st.one_of(st.just(B), st.booleans().map(ConstBool))
    if depth == 0:
        return leaves
    below, numbers = truths(depth - 1), integers(depth - 1)
    return st.one_of(
        leaves,
        st.builds(lambda c, a, b: make_binary(c, a, b), st.sampled_from((And, Or, Xor)), below, below),
        st.builds(lambda c, a, b: make_binary(c, a, b), st.sampled_from(COMPARES), numbers, numbers),
        st.builds(lambda a: make_unary(Not, a), below),
    )


def function(*stmts: Stmt, params: tuple[Var, ...] = PARAMS, **options) -> Function:
    body = stmts[0] if len(stmts) == 1 else SeqStmts(stmts)
    options.setdefault("return_types", ())
    return Function("kern", params, options.pop("return_types"), body, **options)


@given(st.one_of(integers(3), floats(3), truths(3)))
@settings(max_examples=600)
def test_scalar_expressions(value: Expr) -> None:
    read_back(function(AssignStmt(Var("x", scalar_type(dtype_of(value))), value)))


T = Var("t", TileType((64, 64), DataType.FP32, memory_space=MemorySpace.Vec))
A = Var("a", TensorType((64, 64), DataType.FP32))
ZERO = MakeTuple((ConstInt(0), ConstInt(0)))
FULL = MakeTuple((ConstInt(64), ConstInt(64)))


def var(name: str, kind: Type | None = None) -> Var:
    return Var(name, scalar_type(DataType.INDEX) if kind is None else kind)


def test_options_that_are_absent_stay_absent() -> None:
    load = create_call("tile.load", (A, ZERO, FULL, FULL))
    assert "target_memory" not in load.kwargs
    read_back(function(AssignStmt(var("t", load.type), load), params=(A,)))


def test_left_out_operands_in_the_middle() -> None:
    call = create_call(
        "tensor.slice",
        (A, MakeTuple((ConstInt(1), ConstInt(64))), ZERO, MakeTuple(()), MakeTuple((ConstInt(0),))),
    )
    read_back(function(AssignStmt(var("s", call.type), call), params=(A,)))


def test_types_that_no_value_gives() -> None:
    """Carried values, results and loop variables whose types differ from those of their values."""
    narrow = TileType((64, 64), DataType.FP32, tile_view=TileView((N, 64)), memory_space=MemorySpace.Vec)
    base = Var("mem_vec_0", PTR)
    placed = TileType(
        (64, 64), DataType.FP32, MemRef(base, ConstInt(0, DataType.INT64), 16384), None, MemorySpace.Vec
    )
    make = create_call("tile.full", (FULL, ConstFloat(0.0)), {"dtype": DataType.FP32})
    t = Var("t", make.type)
    c1, c2 = IterArg("c", narrow, t), IterArg("c", placed, t)
    r1, r2 = Var("r", placed), Var("r", narrow)
    i = Var("i", scalar_type(DataType.INT32))
    alloc = create_call("tile.alloc", (), {"memory_space": MemorySpace.Vec, "size": 16384})
    loop = ForStmt(i, ConstInt(0), N, ConstInt(1), (c1, c2), YieldStmt((t, c1)), (r1, r2))
    read_back(function(AssignStmt(base, alloc), AssignStmt(t, make), loop))


def test_phis_of_several_types() -> None:
    narrow = TileType((64, 64), DataType.FP32, tile_view=TileView((N, 64)), memory_space=MemorySpace.Vec)
    make = create_call("tile.full", (FULL, ConstFloat(0.0)), {"dtype": DataType.FP32})
    cut = create_call("tile.set_validshape", (t := Var("t", make.type), N, ConstInt(64)))
    u = Var("u", cut.type)
    branch = IfStmt(B, YieldStmt((t, N)), YieldStmt((u, ConstInt(3))), (Var("p", narrow), Var("q", N.type)))
    read_back(function(AssignStmt(t, make), AssignStmt(u, cut), branch))


def test_names_that_collide() -> None:
    xs = [Var("x", scalar_type(DataType.INDEX)) for _ in range(3)]
    stmts = [AssignStmt(x, ConstInt(i)) for i, x in enumerate(xs)]
    total = var("x_1")
    stmts.append(AssignStmt(total, make_binary(Add, make_binary(Add, xs[0], xs[1]), xs[2])))
    read_back(function(*stmts))


def test_one_slot_variable_of_two_loops() -> None:
    """Two loops called ``i`` index one ring each by their own variable."""
    stmts: list[Stmt] = []
    for name in ("first", "second"):
        i = Var("i", scalar_type(DataType.INDEX))
        base = Var(name, PTR)
        slot = MemRef(base, ConstInt(0, DataType.INT64), 0, True, 2, make_binary(FloorMod, i, ConstInt(2)))
        load = create_call("tile.load", (A, ZERO, FULL, FULL), {"target_memory": MemorySpace.Vec})
        kind = TileType((64, 64), DataType.FP32, slot, None, MemorySpace.Vec)
        body = AssignStmt(Var("t", kind), load)
        stmts.append(ForStmt(i, ConstInt(0), ConstInt(4), ConstInt(1), (), body, ()))
    read_back(function(*stmts, params=(A,)))


def test_results_named_before_their_allocation() -> None:
    base = Var("mem_ddr_0", PTR)
    kind = TensorType((64, 64), DataType.FP32, MemRef(base, ConstInt(0, DataType.INT64), 16384))
    a = Var("a", kind)
    read_back(function(ReturnStmt((a,)), params=(a,), return_types=(kind,)))


def test_statements_and_options_of_functions() -> None:
    stmts = (
        InlineStmt('print("hi")\n', "python"),
        EvalStmt(Call(GlobalVar("other"), (N,), {}, {"note": (N, 3, "x", True, None)}, type=UNKNOWN)),
        AssignStmt(var("u", UNKNOWN), Call(GlobalVar("other"), (), type=UNKNOWN)),
        ReturnStmt(()),
    )
    read_back(
        function(
            *stmts,
            func_type=FunctionType.Opaque,
            level=Level.HOST,
            role=Role.Orchestrator,
            attrs={"auto_scope": False, "core_num": 8, "split_aiv": True, "rate": 0.5, "name": "a\"b'"},
            ir_stage=FunctionIRStage.Buffer,
        )
    )
    read_back(Function("ext", (N,), (), EMPTY, requires_runtime_binding=True))
    read_back(Program("Empty", [Function("f", (), (), EMPTY)]))


@pytest.mark.parametrize("kind", list(ForKind))
@pytest.mark.parametrize("dtype", [DataType.INDEX, DataType.INT64, DataType.INT32])
def test_loops_of_every_kind_and_type(kind: ForKind, dtype: DataType) -> None:
    bounds = [ConstInt(v, dtype) for v in (1, 9, 2)]
    notes = {"pipeline_stages": 2} if kind is ForKind.Pipeline else {}
    notes |= {"pipeline_double_buffer_c": True, "x": 1, "y": 0.5, "z": "s"}
    i = Var("i", scalar_type(dtype))
    stmt = ForStmt(
        i, bounds[0], bounds[1], bounds[2], (), AssignStmt(var("x", ScalarType(dtype)), i), (), kind, notes
    )
    text = print_program(function(stmt))
    again = pl.parse(text)
    assert_structural_equal(again, function(stmt), enable_auto_mapping=True)
    assert again.body.loop_var.type.dtype is dtype


def test_while_with_and_without_carries() -> None:
    c = IterArg("c", N.type, N)
    inner = WhileStmt(make_binary(Lt, N, ConstInt(3)), (), EMPTY, ())
    stmt = WhileStmt(
        make_binary(Lt, c, ConstInt(9)), (c,), SeqStmts((inner, YieldStmt((c,)))), (Var("r", N.type),)
    )
    read_back(function(stmt))


def test_texts_of_other_prefix_and_module() -> None:
    found = pl.parse(TILES)
    text = print_program(found, module="pypto.language", prefix="lang")
    assert text.startswith("# pypto.program: P\nimport pypto.language as lang\n")
    assert_structural_equal(pl.parse(text), found, compare_memref=True, enable_auto_mapping=True)


def test_comments_survive() -> None:
    text = """# above the program
@pl.program
class P:
    # above the function
    @pl.function
    def main(self, n: pl.Scalar[pl.INDEX]):
        # above
        x = n + 1  # behind
        # of the branch
        if n > 3:
            # inside
            y = x
        else:
            # in the else
            y = n
        # at the end
"""
    found = pl.parse(text)
    printed = print_program(found)
    for comment in (
        "above the program",
        "above the function",
        "above",
        "behind",
        "of the branch",
        "inside",
        "in the else",
        "at the end",
    ):
        assert printed.count(f"# {comment}\n") == 1, comment
    assert print_program(pl.parse(printed)) == printed

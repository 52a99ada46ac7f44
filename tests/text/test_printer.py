"""The text of programs, written out by hand for each form and trap."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import pytest
from hypothesis import given, settings

from pypto_core.ir import (
    EMPTY,
    PTR,
    Add,
    AssignStmt,
    BreakStmt,
    Call,
    ClusterScopeStmt,
    ConstFloat,
    ConstInt,
    ContinueStmt,
    DataType,
    EvalStmt,
    Expr,
    ForKind,
    ForStmt,
    Function,
    FunctionIRStage,
    FunctionType,
    GlobalVar,
    HierarchyScopeStmt,
    IfStmt,
    InCoreScopeStmt,
    InlineStmt,
    IterArg,
    Level,
    Lt,
    MemorySpace,
    MemRef,
    Op,
    ParamDirection,
    Program,
    ReturnStmt,
    RuntimeScopeStmt,
    SplitAivScopeStmt,
    SplitMode,
    SpmdScopeStmt,
    Stmt,
    TensorType,
    TileType,
    Var,
    WhileStmt,
    YieldStmt,
    scalar_type,
    seq,
)
from pypto_core.text import callees_first, print_program
from tests.ir.generators import functions, programs

D, M = DataType, MemorySpace
INDEX, INT32, BOOL, FP32 = (scalar_type(d) for d in (D.INDEX, D.INT32, D.BOOL, D.FP32))


def c(value: int, dtype: DataType = D.INDEX) -> ConstInt:
    return ConstInt(value, dtype)


def index(name: str) -> Var:
    return Var(name, INDEX)


def body_text(stmt: Stmt, **options: Any) -> str:
    return print_program(stmt, **options)


def lines(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


N, I = index("n"), index("i")
P, Q = Var("p", BOOL), Var("q", BOOL)


def tile(ref: MemRef | None) -> TileType:
    return TileType([4, 4], D.FP32, ref, None, M.Vec)


def call(name: str = "x.op", *args: Expr, kwargs: dict[str, Any] | None = None, **attrs: Any) -> Call:
    return Call(Op(name), args, kwargs or {}, attrs, type=INDEX)


# Statements


def test_assignments_and_evaluations() -> None:
    x = Var("x", INT32)
    stmts = seq([AssignStmt(x, c(3, D.INT32)), EvalStmt(call("x.op", x)), ReturnStmt((x, N)), ReturnStmt()])
    assert body_text(stmts) == lines(
        """
        x: pl.Scalar[pl.INT32] = pl.const(3, pl.INT32)
        pl.x.op(x)
        return x, n
        return
        """
    )
    assert body_text(stmts, concise=True).splitlines()[0] == "x = pl.const(3, pl.INT32)"


def test_a_literal_of_another_type_than_its_variable_keeps_it() -> None:
    assert body_text(AssignStmt(Var("x", INT32), c(3))) == "x: pl.Scalar[pl.INT32] = pl.const(3, pl.INDEX)"
    assert body_text(AssignStmt(index("x"), c(3))) == "x: pl.Scalar[pl.INDEX] = 3"
    half = Var("h", scalar_type(D.FP16))
    assert body_text(AssignStmt(half, ConstFloat(0.5))) == "h: pl.Scalar[pl.FP16] = pl.const(0.5, pl.FP32)"


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((c(0), N, c(1)), "n"),
        ((c(1), N, c(1)), "1, n"),
        ((c(0), N, c(2)), "0, n, 2"),
        ((I, N, c(-1)), "i, n, -1"),
        ((c(0), c(8), c(1, D.INT64)), "0, 8, pl.const(1, pl.INT64)"),
    ],
)
def test_bounds_of_loops(bounds: tuple[Expr, Expr, Expr], text: str) -> None:
    stmt = ForStmt(index("k"), *bounds, (), EMPTY, ())
    assert body_text(stmt) == f"for k in pl.range({text}):\n    pass"


def test_bounds_of_another_integer_type_state_it() -> None:
    i64 = scalar_type(D.INT64)
    stmt = ForStmt(Var("k", i64), c(0, D.INT64), c(8, D.INT64), c(1), (), EMPTY, ())
    assert body_text(stmt) == "for k in pl.range(pl.const(0, pl.INT64), pl.const(8, pl.INT64)):\n    pass"
    stmt = ForStmt(Var("k", i64), c(0), c(8), c(1), (), EMPTY, ())
    assert body_text(stmt) == "for k in pl.range(8):\n    k: pl.Scalar[pl.INT64]\n    pass"


@pytest.mark.parametrize(
    ("kind", "attrs", "text"),
    [
        (ForKind.Sequential, {}, "range(4)"),
        (ForKind.Parallel, {}, "parallel(4)"),
        (ForKind.Unroll, {"a": 1}, 'unroll(4, attrs={"a": 1})'),
        (ForKind.Pipeline, {"pipeline_stages": 2}, "pipeline(4, stage=2)"),
        (
            ForKind.Pipeline,
            {"b": False, "pipeline_stages": 3, "f": 0.5, "s": "x"},
            'pipeline(4, stage=3, attrs={"b": False, "f": 0.5, "s": "x"})',
        ),
    ],
)
def test_kinds_and_notes_of_loops(kind: ForKind, attrs: dict[str, Any], text: str) -> None:
    stmt = ForStmt(index("k"), c(0), c(4), c(1), (), ContinueStmt(), (), kind, attrs)
    assert body_text(stmt) == f"for k in pl.{text}:\n    continue"


def test_a_carried_value() -> None:
    a = IterArg("a", INDEX, N)
    r = index("r")
    stmt = ForStmt(index("k"), c(0), c(4), c(1), (a,), YieldStmt((Add(a, c(1), INDEX),)), (r,))
    assert body_text(stmt) == lines(
        """
        for k, (a,) in pl.range(4, init_values=(n,)):
            r: pl.Scalar[pl.INDEX] = pl.yield_(a + 1)
        """
    )
    assert body_text(stmt, concise=True).endswith("r = pl.yield_(a + 1)")


def test_several_carried_values_keep_types_that_can_t_be_read_off() -> None:
    base = Var("mem", PTR)

    def at(offset: int) -> TileType:
        return tile(MemRef(base, c(offset, D.INT64), 64))

    x, plain = Var("x", at(0)), tile(None)
    a, b = IterArg("a", at(0), x), IterArg("b", at(64), x)
    moved = Var("moved", at(0))
    r, s = Var("r", at(0)), Var("s", at(128))
    body = seq([AssignStmt(moved, Call(Op("x.move"), (a,), type=plain)), YieldStmt((moved, b))])
    stmt = ForStmt(
        index("k"), c(0), c(4), c(1), (a, b), body, (r, s), ForKind.Pipeline, {"pipeline_stages": 2}
    )
    place = 'pl.Tile[[4, 4], pl.FP32, pl.MemRef("mem", pl.const({}, pl.INT64), 64), pl.Mem.Vec]'
    # r has the type of what it is given each time; b and s do not.
    assert body_text(stmt) == lines(
        f"""
        for k, (a, b) in pl.pipeline(4, stage=2, init_values=(x, x)):
            b: {place.format(64)}
            moved: {place.format(0)} = pl.x.move(a)
            s: {place.format(128)}
            r, s = pl.yield_(moved, b)
        """
    )
    assert body_text(stmt, concise=True) == lines(
        """
        for k, (a, b) in pl.pipeline(4, stage=2, init_values=(x, x)):
            moved = pl.x.move(a)
            r, s = pl.yield_(moved, b)
        """
    )


def test_while_with_and_without_carried_values() -> None:
    plain = WhileStmt(Lt(N, c(4), BOOL), (), BreakStmt(), ())
    assert body_text(plain) == "while n < 4:\n    break"
    a, b = IterArg("a", INDEX, c(0)), IterArg("b", INDEX, N)
    stmt = WhileStmt(Lt(a, c(4), BOOL), (a, b), YieldStmt((b, a)), (index("r"), index("s")))
    assert body_text(stmt) == lines(
        """
        for (a, b) in pl.while_(init_values=(0, n)):
            pl.cond(a < 4)
            r, s = pl.yield_(b, a)
        """
    )
    one = WhileStmt(Lt(a, c(4), BOOL), (a,), YieldStmt((a,)), (index("r"),))
    assert body_text(one).splitlines()[0] == "for (a,) in pl.while_(init_values=(0,)):"


def test_branches() -> None:
    r, s = index("r"), index("s")
    one = IfStmt(P, YieldStmt((N,)), YieldStmt((I,)), (r,))
    assert body_text(one) == lines(
        """
        if p:
            r: pl.Scalar[pl.INDEX] = pl.yield_(n)
        else:
            r: pl.Scalar[pl.INDEX] = pl.yield_(i)
        """
    )
    two = IfStmt(P, YieldStmt((N, c(1))), YieldStmt((I, c(2))), (r, s))
    assert body_text(two).count("r, s = pl.yield_(") == 2
    assert body_text(IfStmt(P, EMPTY)) == "if p:\n    pass"
    assert body_text(IfStmt(P, EMPTY, EMPTY)) == "if p:\n    pass\nelse:\n    pass"
    nested = IfStmt(P, BreakStmt(), IfStmt(Q, BreakStmt(), ContinueStmt()))
    assert body_text(nested) == lines(
        """
        if p:
            break
        else:
            if q:
                break
            else:
                continue
        """
    )


def test_yields_bind_only_at_the_end_of_their_region() -> None:
    stmts = seq([YieldStmt((N,)), EvalStmt(N), YieldStmt((I,))])
    text = body_text(IfStmt(P, stmts, YieldStmt((N,)), (index("r"),)))
    assert text.splitlines()[1:4] == [
        "    pl.yield_(n)",
        "    n",
        "    r: pl.Scalar[pl.INDEX] = pl.yield_(i)",
    ]
    assert body_text(YieldStmt()) == "pl.yield_()"


@pytest.mark.parametrize(
    ("stmt", "text"),
    [
        (InCoreScopeStmt(BreakStmt()), "with pl.at(level=pl.Level.CORE_GROUP):"),
        (
            InCoreScopeStmt(BreakStmt(), split=SplitMode.UP_DOWN, name_hint="x", attrs={"deps": (N,)}),
            (
                "with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)], "
                'name_hint="x", attrs={"deps": [n]}):'
            ),
        ),
        (HierarchyScopeStmt(BreakStmt(), level=Level.HOST), "with pl.at(level=pl.Level.HOST):"),
        (ClusterScopeStmt(BreakStmt()), "with pl.cluster():"),
        (SpmdScopeStmt(BreakStmt(), core_num=N), "with pl.spmd(n):"),
        (
            SpmdScopeStmt(BreakStmt(), core_num=c(8), sync_start=True, loop_var=index("b")),
            "for b in pl.spmd(8, sync_start=True):",
        ),
        (
            SplitAivScopeStmt(BreakStmt(), split=SplitMode.LEFT_RIGHT, loop_var=index("lane")),
            "for lane in pl.split_aiv(2, mode=pl.SplitMode.LEFT_RIGHT):",
        ),
        (RuntimeScopeStmt(BreakStmt(), manual=True), "with pl.scope(mode=pl.ScopeMode.MANUAL):"),
        (RuntimeScopeStmt(BreakStmt()), "with pl.scope():"),
    ],
)
def test_scopes(stmt: Stmt, text: str) -> None:
    assert body_text(stmt) == f"{text}\n    break"


def test_text_for_the_host() -> None:
    assert body_text(InlineStmt('x = "1"\n')) == 'pl.inline_stmt("x = \\"1\\"\\n", language="python")'


def test_comments_stand_above_what_they_belong_to() -> None:
    stmt = IfStmt(
        P,
        EvalStmt(N, leading_comments=("inside",)),
        seq([EvalStmt(I, leading_comments=("#!odd", "")), BreakStmt()]),
        leading_comments=("one", "two"),
    )
    assert body_text(stmt) == lines(
        """
        # one
        # two
        if p:
            # inside
            n
        else:
            #!odd
            #
            i
            break
        """
    )


# Names


def test_names_are_one_to_one_and_keep_hints_where_they_can() -> None:
    hints = ["x", "x", "x_1", "lambda", "pl", "self", "a b", "1st", "", "x"]
    made = [index(h) for h in hints]
    text = print_program(Function("f", (), (), seq([AssignStmt(v, c(1)) for v in made])))
    names = [line.split(":")[0].strip() for line in text.splitlines()[2:]]
    # x_1 is somebody's own name, so the second x passes over it.
    assert names == ["x", "x_2", "x_1", "lambda_", "pl_1", "self_1", "a_b", "_1st", "_", "x_3"]


def test_one_variable_assigned_twice_prints_as_one() -> None:
    x = index("x")
    text = body_text(seq([AssignStmt(x, c(1)), AssignStmt(x, Add(x, c(1), INDEX))]), concise=True)
    assert text == "x = 1\nx = x + 1"


def test_names_that_python_reads_as_one_are_told_apart() -> None:
    made = [index("ﬁ"), index("fi")]
    text = print_program(Function("f", tuple(made), (), EMPTY))
    names = [a.arg for a in ast.parse(text).body[0].args.args]  # type: ignore[attr-defined]
    assert len(set(names)) == 2


def test_a_variable_that_nothing_defines_says_so() -> None:
    text = print_program(Function("f", (), (), ReturnStmt((N,))))
    assert "return n__FREE_VAR" in text
    assert "FREE_VAR" not in print_program(ReturnStmt((N,)))


# Functions and programs


def kernel(name: str, *calls: str, kind: FunctionType = FunctionType.InCore) -> Function:
    stmts = [EvalStmt(Call(GlobalVar(g), (), type=INDEX)) for g in calls]
    return Function(name, (), (), seq(stmts), func_type=kind)


def test_a_program() -> None:
    m = index("M")
    kind = TensorType([m, 64], D.FP32)
    a, out = Var("a", kind), Var("out", kind)
    kern = Function(
        "kern",
        (a, out, N),
        (kind,),
        ReturnStmt((out,)),
        (ParamDirection.In, ParamDirection.Out, ParamDirection.InOut),
        FunctionType.InCore,
        attrs={"split": SplitMode.UP_DOWN, "note": "x"},
        leading_comments=("a kernel",),
    )
    x = Var("x", kind)
    run = Call(GlobalVar("kern"), (x, x, c(1)), type=kind)
    main = Function("main", (x,), (), EvalStmt(run), func_type=FunctionType.Orchestration)
    both = Function("both", (), (kind, INDEX), EMPTY, attrs={"auto_scope": False, "external_source": "k.cpp"})
    program = Program("Prog", [main, kern, both], leading_comments=("all of it",))
    shape, scalar = "pl.Tensor[[M, 64], pl.FP32]", "pl.Scalar[pl.INDEX]"
    assert print_program(program) == lines(
        f"""
        # pypto.program: Prog
        import pypto_core.language as pl

        M = pl.dynamic("M")

        # all of it
        @pl.program
        class Prog:
            @pl.function(auto_scope=False, external_source="k.cpp")
            def both(self) -> tuple[{shape}, {scalar}]:
                pass
            # a kernel
            @pl.function(type=pl.FunctionType.InCore, level=pl.Level.CHIP_DIE, role=pl.Role.SubWorker)
            def kern(a: {shape}, out: pl.Out[{shape}], n: pl.InOut[{scalar}]) -> {shape}:
                pl.func_attr({{"split": pl.SplitMode.UP_DOWN, "note": "x"}})
                return out
            @pl.function(type=pl.FunctionType.Orchestration, level=pl.Level.CHIP, role=pl.Role.Orchestrator)
            def main(self, x: {shape}):
                self.kern(x, x, 1)
        """
    ) + "\n"  # fmt: skip


def test_open_extents_are_declared_in_order_of_their_names() -> None:
    k, m, m2 = index("K"), index("M"), index("M")
    f = Function("f", (Var("a", TensorType([m, k], D.FP32)), index("K")), (), ReturnStmt((k,)))
    g = Function("g", (Var("a", TensorType([m2, m], D.FP32)),), (), EMPTY)
    text = print_program(Program("P", [f, g]))
    head = text.split("@pl.program")[0].splitlines()
    assert head[3:6] == ['K = pl.dynamic("K")', 'M = pl.dynamic("M")', 'M_1 = pl.dynamic("M_1")']
    # A parameter called like an extent makes way, so that the extent is still visible.
    assert "def f(self, a: pl.Tensor[[M, K], pl.FP32], K_1: pl.Scalar[pl.INDEX]):" in text
    assert "return K\n" in text
    assert "def g(self, a: pl.Tensor[[M_1, M], pl.FP32]):" in text


def test_an_open_extent_of_another_type_states_it() -> None:
    program = Program("P", [Function("f", (Var("a", TensorType([Var("m", INT32)], D.FP32)),), (), EMPTY)])
    assert 'm = pl.dynamic("m", pl.INT32)' in print_program(program)


def test_a_function_alone_has_no_header_and_no_self() -> None:
    text = print_program(Function("f", (Var("a", TensorType([index("M")], D.FP32)),), (), EMPTY))
    assert text == "@pl.function\ndef f(a: pl.Tensor[[M], pl.FP32]):\n    pass\n"


def test_functions_that_others_bring_and_buffer_functions() -> None:
    external = Function("f", (), (), EMPTY, requires_runtime_binding=True, attrs={"a": 1})
    assert print_program(external) == '@pl.function\ndef f():\n    pl.func_attr({"a": 1})\n    ...\n'
    kept = Function("f", (), (), ReturnStmt(), requires_runtime_binding=True)
    assert "@pl.function(requires_runtime_binding=True)" in print_program(kept)
    buffered = Function("f", (), (), EMPTY, ir_stage=FunctionIRStage.Buffer)
    assert "@pl.function(stage=pl.FunctionIRStage.Buffer)" in print_program(buffered)


@pytest.mark.parametrize(
    ("calls", "order"),
    [
        ({"a": [], "b": [], "c": []}, "abc"),
        ({"a": ["c"], "b": [], "c": ["b"]}, "bca"),
        ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, "dbca"),
        ({"a": ["x"], "x": []}, "xa"),
        ({"a": ["gone"]}, "a"),
        ({"a": ["b"], "b": ["a"], "c": []}, "abc"),
        ({"a": ["a"], "b": []}, "ab"),
        ({"z": [], "a": ["z"]}, "za"),
    ],
)
def test_callees_come_first(calls: dict[str, list[str]], order: str) -> None:
    assert "".join(callees_first(calls)) == order


def test_callees_print_first() -> None:
    program = Program("P", [kernel("a", "m"), kernel("m", "z"), kernel("z")])
    text = print_program(program)
    assert [line.split("(")[0].split()[-1] for line in text.splitlines() if " def " in line] == [
        "z",
        "m",
        "a",
    ]


def test_an_empty_program() -> None:
    text = print_program(Program("Nothing", []))
    assert text.endswith("@pl.program\nclass Nothing:\n    pass\n")


def test_another_module_and_prefix() -> None:
    program = Program("P", [Function("f", (index("pl"), index("t")), (INDEX,), EMPTY)])
    text = print_program(program, module="pypto.language", prefix="t")
    assert text.splitlines()[1] == "import pypto.language as t"
    assert "def f(self, pl: t.Scalar[t.INDEX], t_1: t.Scalar[t.INDEX])" in text
    assert "import t\n" in print_program(program, module="t", prefix="t")


# Random programs


@settings(max_examples=25)
@given(programs())
def test_text_is_python_and_the_same_each_time(program: Program) -> None:
    text = print_program(program)
    ast.parse(text)
    assert print_program(program) == text
    ast.parse(print_program(program, concise=True))
    ast.parse(print_program(program, explicit_layout=True))


@settings(max_examples=25)
@given(functions())
def test_no_two_variables_share_a_name(function: Function) -> None:
    """Each name that a text binds is bound once, except where both branches of an if yield it."""
    tree = ast.parse(print_program(function))
    bound: list[str] = [a.arg for n in ast.walk(tree) if isinstance(n, ast.arguments) for a in n.args]
    yields: set[str] = set()
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(node, ast.For):
            targets = [node.target]
        elif isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "pl.yield_":
            yields.update(names)
        else:
            bound += names
    assert len(bound) == len(set(bound))
    assert not yields & set(bound)
    assert "FREE_VAR" not in ast.unparse(tree)

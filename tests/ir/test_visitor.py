"""Walking, rewriting, substituting and cloning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings

from pypto_core.ir import (
    EMPTY,
    PTR,
    Add,
    AssignStmt,
    Call,
    ConstInt,
    DataType,
    EvalStmt,
    Expr,
    FloorMod,
    ForStmt,
    Function,
    IfStmt,
    IterArg,
    Lt,
    MemorySpace,
    MemRef,
    Mul,
    Mutator,
    Node,
    Op,
    Program,
    ReturnStmt,
    SeqStmts,
    Stmt,
    TensorType,
    TileType,
    TileView,
    Var,
    Visitor,
    WhileStmt,
    YieldStmt,
    deep_clone,
    defined_vars,
    flatten,
    replace,
    scalar_type,
    seq,
    snake_name,
    structural_equal,
    structural_hash,
    substitute,
    type_vars,
    used_vars,
    walk,
    walk_stmts,
)
from tests.ir.generators import functions, programs

INDEX = scalar_type(DataType.INDEX)
BOOL = scalar_type(DataType.BOOL)
ZERO, ONE, FOUR = ConstInt(0), ConstInt(1), ConstInt(4)


def index(name: str) -> Var:
    return Var(name, INDEX)


def tile(base: Var, rows: Expr, slot: Expr) -> TileType:
    """A type with a variable in each place that can hold one."""
    ref = MemRef(base, Mul(slot, ConstInt(64), INDEX), 64, False, 2, slot)
    view = TileView(valid_shape=[rows, 16])
    return TileType([16, 16], DataType.FP32, ref, view, MemorySpace.Vec)


def nest() -> tuple[Function, dict[str, Any]]:
    """A loop and a branch around a tile whose type, MemRef and notes use variables."""
    n, i, base = index("n"), index("i"), Var("mem", PTR)
    carried = IterArg("c", INDEX, n)
    slot = FloorMod(i, ConstInt(2), INDEX)
    t = Var("t", tile(base, n, slot))
    make = AssignStmt(t, Call(Op("x.make"), (n,), {}, {"deps": (n, (i,))}, type=t.type))
    r, done = index("r"), index("done")
    branch = IfStmt(Lt(i, n, BOOL), YieldStmt((i,)), YieldStmt((carried,)), (r,))
    loop = ForStmt(i, ZERO, n, ONE, (carried,), seq([make, branch, YieldStmt((r,))]), (done,))
    alloc = AssignStmt(base, Call(Op("x.alloc"), (), type=PTR))
    function = Function("f", (n,), (INDEX,), seq([alloc, loop, ReturnStmt((done,))]))
    found = {"n": n, "i": i, "base": base, "carried": carried, "t": t, "r": r, "done": done, "loop": loop}
    return function, found


# Reading


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (AssignStmt, "assign_stmt"), (MemRef, "mem_ref"), (ConstInt, "const_int"), (Op, "op"),
        (ForStmt, "for_stmt"), (IterArg, "iter_arg"),
    ],
)  # fmt: skip
def test_method_names(cls: type, name: str) -> None:
    assert snake_name(cls) == name


def test_walk_goes_parents_first_and_in_order() -> None:
    x, y = index("x"), index("y")
    add = Add(x, Mul(y, FOUR, INDEX), INDEX)
    stmt = EvalStmt(add)
    assert list(walk(stmt)) == [stmt, add, x, add.right, y, FOUR]


def test_walk_sees_notes_and_leaves_types_out() -> None:
    function, found = nest()
    nodes = list(walk(function))
    assert all(isinstance(n, Node) for n in nodes)
    assert found["base"] in nodes
    # Twice in the call: as argument and in its notes; the type's own uses are not walked.
    call = next(n for n in nodes if isinstance(n, Call) and n.name == "x.make")
    assert [n for n in walk(call) if isinstance(n, Var)] == [found["n"], found["n"], found["i"]]


def test_walk_of_a_program_goes_function_by_function() -> None:
    f, g = Function("f", (), (), EMPTY), Function("g", (), (), ReturnStmt())
    assert [n for n in walk(Program("p", [g, f])) if isinstance(n, Function)] == [f, g]


def test_statements_in_program_order_without_sequences() -> None:
    function, found = nest()
    names = [type(s).__name__ for s in walk_stmts(function.body)]
    assert names == [
        "AssignStmt", "ForStmt", "AssignStmt", "IfStmt", "YieldStmt", "YieldStmt", "YieldStmt", "ReturnStmt",
    ]  # fmt: skip
    assert list(walk_stmts(None)) == []
    assert list(walk_stmts(SeqStmts((SeqStmts((ReturnStmt(),)),)))) != []
    assert found["loop"] in list(walk_stmts(function.body))


def test_a_visitor_reaches_a_class_by_its_name_and_by_its_bases() -> None:
    seen: list[str] = []

    class Reader(Visitor):
        def visit_binary_expr(self, node: Any) -> None:
            seen.append(type(node).__name__)
            self.visit_children(node)

        def visit_mul(self, node: Any) -> None:
            seen.append("the product")

        def visit_for_stmt(self, node: ForStmt) -> None:
            seen.append("loop")
            self.visit_children(node)

    function, _ = nest()
    Reader().visit(Program("p", [function]))
    assert seen == ["loop", "Lt"]
    seen.clear()
    Reader().visit(Add(ONE, Mul(ONE, ONE, INDEX), INDEX))
    assert seen == ["Add", "the product"]


def test_a_visitor_reads_types_on_request() -> None:
    class Sizes(Visitor):
        visit_types = True

        def __init__(self) -> None:
            self.found: list[int] = []

        def visit_const_int(self, node: ConstInt) -> None:
            self.found.append(node.value)

    reader = Sizes()
    reader.visit(Var("t", TileType([3, 5], DataType.FP32)))
    assert reader.found == [3, 5]


def test_loop_state_is_visited_before_the_condition_of_a_while() -> None:
    carried = IterArg("c", INDEX, FOUR)
    order: list[Any] = []

    class Reader(Visitor):
        def visit_iter_arg(self, node: IterArg) -> None:
            order.append(node)

        def visit_lt(self, node: Lt) -> None:
            order.append(node)

    condition = Lt(carried, FOUR, BOOL)
    Reader().visit(WhileStmt(condition, (carried,), YieldStmt((carried,)), (index("r"),)))
    assert order == [carried, condition, carried]


def test_definitions_and_uses() -> None:
    function, found = nest()
    names = [found[k] for k in ("base", "carried", "i", "t", "r", "done")]
    assert set(defined_vars(function.body)) == set(names)
    assert [v for v in defined_vars(found["loop"]) if v in (found["carried"], found["i"])] == [
        found["carried"], found["i"],
    ]  # fmt: skip
    uses = used_vars(found["loop"])
    assert len(uses) == len(set(uses))
    # The base is used by the tile's type alone.
    assert set(uses) == {found[k] for k in ("n", "i", "carried", "base", "r")}


def test_variables_of_a_type() -> None:
    _, found = nest()
    assert set(type_vars(found["t"].type)) == {found["base"], found["i"], found["n"]}
    assert list(type_vars(TileType([4, 4], DataType.FP32))) == []


# Rewriting


@settings(max_examples=30)
@given(programs())
def test_a_rewrite_that_changes_nothing_returns_the_same_object(program: Program) -> None:
    assert Mutator().visit(program) is program
    assert substitute(program, {index("stranger"): ONE}) is program


def test_a_change_of_type_reaches_every_use() -> None:
    class Retype(Mutator):
        def visit_type(self, kind: Any) -> Any:
            if kind is PTR:
                return TensorType([1], DataType.INT8)
            return super().visit_type(kind)

    function, found = nest()
    new = Retype().visit(function)
    base, t = found["base"], found["t"]
    stmts = list(walk_stmts(new.body))
    new_base, new_t = stmts[0].var, stmts[2].var
    assert new_base is not base
    assert new_base.name_hint == "mem"
    assert new_t is not t
    assert new_t.type.memref.base is new_base
    assert stmts[2].value.type.memref.base is new_base
    assert base not in set(used_vars(new))
    # What has nothing to do with it stays.
    assert new.params == function.params
    assert stmts[3] is list(walk_stmts(function.body))[3]


def test_a_substitution_reaches_types_memrefs_and_notes() -> None:
    function, found = nest()
    n, i, m, j = found["n"], found["i"], index("m"), index("j")
    make = list(walk_stmts(function.body))[2]
    assert isinstance(make, AssignStmt)
    new = substitute(make, {n: m, i: j})
    assert isinstance(new, AssignStmt)
    for kind in (new.var.type, new.value.type):
        assert isinstance(kind, TileType)
        assert kind.valid_shape[0] is m
        assert set(type_vars(kind)) == {m, j, found["base"]}
        assert kind.memref is not None
        assert isinstance(kind.memref.slot_index, FloorMod)
        assert kind.memref.slot_index.left is j
    assert isinstance(new.value, Call)
    assert new.value.args == (m,)
    assert new.value.attrs["deps"] == (m, (j,))
    assert new.var is not make.var


def test_substituting_in_a_type_and_in_an_expression() -> None:
    n = index("n")
    kind = TensorType([n, 4], DataType.FP32)
    new = substitute(kind, {n: FOUR})
    assert new.shape[0] is FOUR
    assert substitute(kind, {index("m"): FOUR}) is kind
    total = Add(n, n, INDEX)
    assert isinstance(substitute(total, {n: FOUR}).left, ConstInt)


def test_a_replacement_that_changes_reaches_types_seen_before() -> None:
    n, kinds = index("n"), []
    stmt = AssignStmt(Var("t", TensorType([n], DataType.FP32)), Call(Op("x"), (), type=PTR))

    class Unroll(Mutator):
        def visit_seq_stmts(self, node: SeqStmts) -> Stmt:
            for trip in range(3):
                self.remap[n] = ConstInt(trip)
                kinds.append(self.visit_type(stmt.var.type))
            return node

    Unroll().visit(SeqStmts((stmt, stmt)))
    assert [k.shape[0].value for k in kinds] == [0, 1, 2]


def test_calls_are_rebuilt_by_the_given_function() -> None:
    seen: list[tuple[Call, tuple[Expr, ...], Mapping[str, Any]]] = []

    def rebuild(call: Call, args: tuple[Expr, ...], attrs: Mapping[str, Any]) -> Call:
        seen.append((call, args, attrs))
        return replace(call, args=args, attrs=attrs, type=TensorType([1], DataType.INT8))

    n, m = index("n"), index("m")
    call = Call(Op("x"), (n,), {"size": n}, {"note": n}, type=INDEX)
    quiet = Call(Op("x"), (ONE,), {}, {"note": n}, type=INDEX)
    mutator = Mutator({n: m}, rebuild)
    new = mutator.visit(call)
    assert isinstance(new.type, TensorType)
    assert (new.args, new.kwargs["size"], new.attrs["note"]) == ((m,), m, m)
    assert len(seen) == 1
    # Notes alone don't change what the call computes.
    kept = mutator.visit(quiet)
    assert kept.type is INDEX
    assert kept.attrs["note"] is m
    assert len(seen) == 1


def test_sequences_are_flattened_and_comments_kept() -> None:
    class Double(Mutator):
        def visit_eval_stmt(self, node: EvalStmt) -> Stmt:
            return SeqStmts((node, node))

        def visit_return_stmt(self, node: ReturnStmt) -> Stmt:
            return EMPTY

    first = EvalStmt(ONE, leading_comments=("why",))
    new = Double().visit(SeqStmts((first, AssignStmt(index("x"), ONE), ReturnStmt())))
    assert [type(s).__name__ for s in flatten(new)] == ["EvalStmt", "EvalStmt", "AssignStmt"]
    assert flatten(new)[0].leading_comments == ("why",)


def test_a_variable_assigned_twice_stays_one_variable() -> None:
    """Before SSA both branches assign the same object; what follows must see one variable, whichever was taken."""
    base = Var("mem", PTR)
    x = Var("x", TileType([4, 4], DataType.FP32, MemRef(base, ZERO, 64), memory_space=MemorySpace.Vec))
    p = Var("p", BOOL)
    call = Call(Op("x"), (), type=x.type)
    body = seq([IfStmt(p, AssignStmt(x, call), AssignStmt(x, call)), EvalStmt(x)])
    other = Var("other", PTR)
    for new in (substitute(body, {base: other}), deep_clone(body, {base: other})[0]):
        branch, use = flatten(new)
        assert isinstance(branch, IfStmt)
        assert isinstance(use, EvalStmt)
        assert branch.then_body.var is branch.else_body.var is use.expr  # type: ignore[union-attr]
        assert use.expr is not x


# Cloning


@settings(max_examples=30)
@given(functions())
def test_a_clone_is_equal_and_shares_no_definition(function: Function) -> None:
    clone, mapping = deep_clone(function)
    assert structural_equal(clone, function, enable_auto_mapping=True, compare_memref=True)
    assert structural_hash(clone, enable_auto_mapping=True) == structural_hash(
        function, enable_auto_mapping=True
    )
    old = {*function.params, *defined_vars(function.body)}
    new = {*clone.params, *defined_vars(clone.body)}
    assert not old & new
    assert set(mapping) == old
    assert set(mapping.values()) == new
    assert not old & set(used_vars(clone.body))


def test_a_clone_keeps_names_spans_comments_and_free_variables() -> None:
    function, found = nest()
    body, mapping = deep_clone(found["loop"])
    assert mapping[found["t"]].name_hint == "t"  # type: ignore[union-attr]
    assert found["n"] not in mapping
    assert found["n"] in used_vars(body)
    m = index("m")
    body, _ = deep_clone(found["loop"], {found["n"]: m})
    assert m in used_vars(body)
    assert found["n"] not in used_vars(body)
    assert structural_equal(function, function)

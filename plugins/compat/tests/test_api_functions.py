"""Every function of ``pypto.ir`` that applies here, each with what it gives on a small example."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pypto
from pypto import DataType, ir

U = ir.Span.unknown()
I64 = ir.ScalarType(DataType.INT64)
FP32 = DataType.FP32
BOOL = ir.ScalarType(DataType.BOOL)
X, Y = ir.Var("x", I64, U), ir.Var("y", I64, U)
B, D = ir.Var("b", BOOL, U), ir.Var("d", BOOL, U)
TENSOR = ir.Var("t", ir.TensorType([64, 64], FP32), U)
TILE = ir.Var("v", ir.TileType([16, 32], FP32, None, None, ir.Vec), U)
ONE = ir.ConstInt(1, DataType.INT64, U)
RETURN = ir.ReturnStmt([X], U)
ASSIGN = ir.AssignStmt(Y, X + 1, U)

FUNCTIONS = """
create_op_call make_call set_call_attrs get_op cast add sub mul truediv floordiv mod pow eq ne lt le gt ge
and_ or_ not_ neg min_ max_ bit_and bit_or bit_xor bit_not bit_shift_left bit_shift_right op
is_op_registered get_op_memory_spec get_op_arg_effect op_has_declared_arg_effect op_has_declared_arg_effects
get_op_write_channel structural_equal assert_structural_equal structural_hash python_print python_print_type
serialize deserialize serialize_to_file deserialize_from_file register_format_callback
make_roundtrip_instrument deep_clone substitute_expr substitute_stmt collect_def_vars flatten_to_stmts
find_yield_stmt get_last_yield_stmt attach_leading_comments deduce_call_return_type ParentStmtAnalysis
is_incore_type IRVisitor IRMutator IRBuilder compile CompiledProgram PassManager OptimizationStrategy
PassContext PassDumpLevel VerificationLevel VerificationMode DiagnosticCheck DiagnosticCheckSet
DiagnosticPhase
"""

NAMES = [f"ir.{name}" for name in FUNCTIONS.split()]
Case = Callable[[], tuple[Any, Any]]
CASES: dict[str, Case] = {}


def raised(error: type[Exception], call: Callable[[], Any]) -> str:
    """The first line of what a call raises."""
    with pytest.raises(error) as caught:
        call()
    return getattr(caught.value, "message", str(caught.value))


def function(name: str = "f", type: Any = ir.FunctionType.Opaque) -> Any:
    x = ir.Var("x", I64, U)
    return ir.Function(name, [x], [I64], ir.ReturnStmt([x + 1], U), U, type=type)


TEXTS = {
    "add": "x + y", "sub": "x - y", "mul": "x * y", "truediv": "x / y", "floordiv": "x // y", "mod": "x % y",
    "eq": "x == y", "ne": "x != y", "lt": "x < y", "le": "x <= y", "gt": "x > y", "ge": "x >= y", "pow": "x ** y",
    "min_": "pl.min(x, y)", "max_": "pl.max(x, y)", "bit_and": "x & y", "bit_or": "x | y", "bit_xor": "x ^ y",
    "bit_shift_left": "x << y", "bit_shift_right": "x >> y",
}  # fmt: skip
CASES |= {
    f"ir.{name}": (lambda n=name, t=text: (str(getattr(ir, n)(X, Y)), t)) for name, text in TEXTS.items()
}
CASES |= {
    "ir.and_": lambda: (str(ir.and_(B, D)), "b and d"),
    "ir.or_": lambda: (str(ir.or_(B, D)), "b or d"),
    "ir.not_": lambda: (str(ir.not_(B)), "not b"),
    "ir.neg": lambda: (str(ir.neg(X, ir.Span("f", 1, 1))), "-x"),
    "ir.bit_not": lambda: (str(ir.bit_not(X)), "~x"),
    "ir.cast": lambda: (str(ir.cast(X, DataType.INT32)), "pl.cast(x, pl.INT32)"),
}


def op_call() -> tuple[Any, Any]:
    call = ir.create_op_call(
        "tile.load", [TENSOR, [0, 0], [16, 32]], {"target_memory": 2}, ir.Span("f.py", 9, 1)
    )
    assert call.span.begin_line == 9
    return (
        str(call),
        call.type.memory_space,
        str(ir.create_op_call("tile.adds", [TILE, 2], U)),
        raised(ValueError, lambda: ir.create_op_call("tile.add", [TILE], U)),
    ), (
        "pl.tile.load(t, [0, 0], [16, 32], [16, 32], target_memory=pl.Mem.Mat)",
        ir.Mat,
        "pl.tile.adds(v, 2.0)",
        "tile.add takes 2 arguments, not 1",
    )


def wrappers() -> tuple[Any, Any]:
    loaded = ir.op.tile.load(TENSOR, [0, X], [16, 32], target_memory=ir.Mem.Vec)
    got = [
        str(loaded),
        str(ir.op.tile.add(TILE, 1.5)),
        str(ir.op.tile.cast(TILE, DataType.BF16, mode="rint")),
        str(ir.op.tile.store(TILE, offsets=[0, 0], output_tensor=TENSOR)),
        [d.value for d in ir.op.tensor.slice(TENSOR, [1, 64], [0, 0], drop_dims=[0]).type.shape],
        str(ir.op.tile.get_block_idx()),
        "load" in dir(ir.op.tile) and "matmul" in dir(ir.op.tensor),
        ir.op.array.create(4, dtype=DataType.INT32).type == ir.ArrayType(DataType.INT32, 4),
        ir.op.system.reserve_buffer(name="b", size=64).type.dtype,
    ]
    with pytest.raises(AttributeError, match="no operator 'tile.nothing'"):
        _ = ir.op.tile.nothing
    with pytest.raises(ValueError, match="has no argument 'tarhet'"):
        ir.op.tile.load(TENSOR, [0, 0], [16, 32], tarhet=1)
    return got, [
        "pl.tile.load(t, [0, x], [16, 32], [16, 32], target_memory=pl.Mem.Vec)",
        "pl.tile.adds(v, 1.5)",
        "pl.tile.cast(v, target_type=pl.BF16, mode='rint')",
        "pl.tile.store(v, [0, 0], t)",
        [64],
        "pl.tile.get_block_idx()",
        True,
        True,
        DataType.INT32,
    ]


def clone() -> tuple[Any, Any]:
    z = ir.Var("z", I64, U)
    body = ir.SeqStmts([ASSIGN, ir.AssignStmt(z, Y * 2, U)], U)
    copy, pairs = ir.deep_clone(body, [(X, ONE)])
    return (
        (
            str(copy),
            [old for old, _ in pairs],
            ir.collect_def_vars(copy) == [new for _, new in pairs],
            Y in dict(pairs).values(),
        ),
        ("y = pl.const(1, pl.INT64) + pl.const(1, pl.INT64)\nz = y * pl.const(2, pl.INT64)", [Y, z], True, False),
    )  # fmt: skip


def parents() -> tuple[Any, Any]:
    inner = ir.AssignStmt(Y, X, U)
    branch = ir.IfStmt(B, inner, None, [], U)
    body = ir.SeqStmts([branch, RETURN], U)
    analysis = ir.ParentStmtAnalysis()
    analysis.build_map(ir.Function("f", [X], [I64], body, U))
    got = [analysis.get_parent(s) for s in (inner, branch, RETURN, body)]
    got.append(analysis.has_parent(inner))
    analysis.clear()
    return [*got, analysis.has_parent(inner)], [branch, body, body, None, True, False]


def visited() -> tuple[Any, Any]:
    class Names(ir.IRVisitor):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def visit_var_like(self, op: Any) -> None:
            self.seen.append(op.name_hint)

        def visit_add(self, op: Any) -> None:
            self.seen.append("add")
            super().visit_add(op)

        def visit_expr(self, expr: Any) -> None:
            self.seen.append(">") if isinstance(expr, ir.ConstInt) else None
            super().visit_expr(expr)

    names = Names()
    names.visit_program(ir.Program([function()], "p", U))
    return names.seen, ["x", "add", "x", ">"]


def mutated() -> tuple[Any, Any]:
    class Double(ir.IRMutator):
        def visit_const_int(self, op: Any) -> Any:
            return ir.ConstInt(op.value * 2, op.dtype, op.span)

        def visit_mul(self, op: Any) -> Any:
            new = super().visit_mul(op)
            return ir.Add(new.left, new.right, DataType.INT64, new.span)

    class Nothing(ir.IRMutator):
        pass

    stmt = ir.AssignStmt(Y, (X * 3) + 1, U)
    program = ir.Program([function()], "p", U)
    got = (
        str(Double().visit_stmt(stmt)),
        Nothing().visit_program(program) is program,
        Nothing().visit_stmt(stmt) is stmt,
    )
    return got, ("y = x + pl.const(6, pl.INT64) + pl.const(2, pl.INT64)", True, True)


def stored(folder: Path) -> tuple[Any, Any]:
    f = function()
    ir.serialize_to_file(f, folder / "f.bin")
    back = ir.deserialize_from_file(folder / "f.bin")
    return (ir.structural_equal(back, f), ir.deserialize(ir.serialize(f)).name, back is f), (True, "f", False)


def formatted() -> tuple[Any, Any]:
    ir.register_format_callback(str.upper)
    try:
        return (ir.python_print(X + Y), ir.python_print(X + Y, format=False)), ("X + Y", "x + y")
    finally:
        ir.register_format_callback(None)


def returned() -> tuple[Any, Any]:
    n, k = ir.Var("n", ir.ScalarType(DataType.INDEX), U), ir.Var("k", ir.ScalarType(DataType.INDEX), U)
    kind = ir.TensorType([n, 4], FP32)
    f = ir.Function("f", [ir.Var("a", kind, U)], [kind], ir.ReturnStmt(U), U)
    arg = ir.Var("arg", ir.TensorType([k, 4], FP32), U)
    return ir.deduce_call_return_type(f, [arg]), ir.TensorType([k, 4], FP32)


def returning(number: int) -> Any:
    x = ir.Var("x", I64, U)
    return ir.Function("f", [x], [I64], ir.ReturnStmt([x + number], U), U)


def free_names() -> tuple[Any, Any]:
    a, b = function(), function()
    with pytest.raises(
        ValueError, match=r"assertion failed at: left\n(.*\n)+Reason: Variable pointer mismatch"
    ):
        ir.assert_structural_equal(X + 1, Y + 1)
    with pytest.raises(
        ValueError, match=r"at: \['f'\].body\[0\].right\n(.*\n)+Reason: Integer value mismatch \(1 != 2\)"
    ):
        ir.assert_structural_equal(*(ir.Program([returning(n)], "p", U) for n in (1, 2)))
    ir.assert_structural_equal(X + 1, Y + 1, True)
    got = (
        ir.structural_equal(a, b),
        ir.structural_equal(X + 1, Y + 1),
        ir.structural_equal(X + 1, Y + 1, True),
    )
    return got, (True, False, True)


YIELD = ir.YieldStmt([X], U)

CASES |= {
    "ir.create_op_call": op_call,
    "ir.make_call": lambda: (str(ir.make_call("tile.exp", [TILE], TILE.type, U).type), str(TILE.type)),
    "ir.set_call_attrs": lambda: (
        dict(ir.set_call_attrs(ir.op.tile.exp(TILE), {"pipeline_membership": "0:1"}).attrs),
        {"pipeline_membership": "0:1"},
    ),
    "ir.get_op": lambda: (
        (ir.get_op("tile.exp").name, raised(pypto.Error, lambda: ir.get_op("tile.exq"))),
        ("tile.exp", "there is no operator 'tile.exq'"),
    ),
    "ir.op": wrappers,
    "ir.is_op_registered": lambda: ((ir.is_op_registered("tile.add"), ir.is_op_registered("no.op")), (True, False)),
    "ir.get_op_memory_spec": lambda: (
        [ir.get_op_memory_spec(name) for name in ("tile.matmul", "tile.load", "tile.slice", "tensor.dim")],
        [
            {"input_constraints": [[ir.Left], [ir.Right]], "output_memory": ir.Acc},
            {"input_constraints": [[], [], [], []], "output_memory": "deferred"},
            {"input_constraints": [[], [], [], [], []], "output_memory": "inherit_from_input"},
            None,
        ],
    ),
    "ir.get_op_arg_effect": lambda: (
        [ir.get_op_arg_effect("tile.store", i) for i in (0, 2)]
        + [ir.get_op_arg_effect("tile.store", 2, atomic=ir.AtomicType.Add)],
        [ir.ArgEffect.Read, ir.ArgEffect.Write, ir.ArgEffect.ReadWrite],
    ),
    "ir.op_has_declared_arg_effect": lambda: (
        (ir.op_has_declared_arg_effect("tile.store", 2), ir.op_has_declared_arg_effect("tile.store", 0)),
        (True, False),
    ),
    "ir.op_has_declared_arg_effects": lambda: (
        (ir.op_has_declared_arg_effects("tile.store"), ir.op_has_declared_arg_effects("tile.exp")),
        (True, False),
    ),
    "ir.get_op_write_channel": lambda: (
        (ir.get_op_write_channel("tile.store"), ir.get_op_write_channel("tensor.write")),
        (ir.WriteChannel.Dma, ir.WriteChannel.Scalar),
    ),
    "ir.structural_equal": free_names,
    "ir.assert_structural_equal": free_names,
    "ir.structural_hash": lambda: (
        (
            ir.structural_hash(function()) == ir.structural_hash(function()),
            ir.structural_hash(X, True) == ir.structural_hash(Y, True),
        ),
        (True, True),
    ),
    "ir.python_print": lambda: (
        ir.python_print(ASSIGN, "q", concise=True), "y = x + q.const(1, q.INT64)",
    ),
    "ir.python_print_type": lambda: (ir.python_print_type(I64), "pl.Scalar[pl.INT64]"),
    "ir.register_format_callback": formatted,
    "ir.make_roundtrip_instrument": lambda: (ir.make_roundtrip_instrument().get_name(), "RoundTripInstrument"),
    "ir.deep_clone": clone,
    "ir.substitute_expr": lambda: (str(ir.substitute_expr(X + Y, [(X, Y)])), "y + y"),
    "ir.substitute_stmt": lambda: (ir.substitute_stmt(ASSIGN, {Y: X}) is ASSIGN, True),
    "ir.collect_def_vars": lambda: (ir.collect_def_vars(ir.SeqStmts([ASSIGN, RETURN], U)), [Y]),
    "ir.flatten_to_stmts": lambda: (
        (ir.flatten_to_stmts(ir.SeqStmts([ASSIGN, RETURN], U)), ir.flatten_to_stmts(ASSIGN), ir.flatten_to_stmts(None)),
        ([ASSIGN, RETURN], [ASSIGN], []),
    ),
    "ir.find_yield_stmt": lambda: (ir.find_yield_stmt(ir.SeqStmts([YIELD, ASSIGN], U)), YIELD),
    "ir.get_last_yield_stmt": lambda: (
        tuple(ir.get_last_yield_stmt(ir.SeqStmts(s, U)) for s in ([YIELD, ASSIGN], [ASSIGN, YIELD])),
        (None, YIELD),
    ),
    "ir.attach_leading_comments": lambda: (
        str(ir.attach_leading_comments(RETURN, ["why"])), "# why\nreturn x",
    ),
    "ir.deduce_call_return_type": returned,
    "ir.ParentStmtAnalysis": parents,
    "ir.is_incore_type": lambda: ([t.name for t in ir.FunctionType if ir.is_incore_type(t)], ["InCore", "AIC", "AIV"]),
    "ir.IRVisitor": visited,
    "ir.IRMutator": mutated,
    "ir.OptimizationStrategy": lambda: (list(ir.OptimizationStrategy.__members__), ["Default"]),
    "ir.PassDumpLevel": lambda: (
        [ir.PassDumpLevel.of(v).name for v in (False, True, ir.PassDumpLevel.EXPLICIT)],
        ["NONE", "CONCISE", "EXPLICIT"],
    ),
    "ir.VerificationLevel": lambda: ([m.name for m in ir.VerificationLevel], ["NONE", "BASIC", "ROUNDTRIP"]),
    "ir.VerificationMode": lambda: (
        [m.name for m in ir.VerificationMode], ["NONE", "BEFORE", "AFTER", "BEFORE_AND_AFTER"],
    ),
    "ir.DiagnosticPhase": lambda: (
        [m.name for m in ir.DiagnosticPhase], ["NONE", "PRE_PIPELINE", "POST_PASS", "POST_PIPELINE"],
    ),
    "ir.DiagnosticCheck": lambda: (ir.DiagnosticCheck.OutParamWriteDropped.value, 3),
    "ir.DiagnosticCheckSet": lambda: (
        str(ir.DiagnosticCheckSet([ir.DiagnosticCheck(2), ir.DiagnosticCheck(0)])),
        "{UnusedVariable, TileInnermostDimGranularity}",
    ),
}  # fmt: skip

# What takes a longer story has tests of its own.
ELSEWHERE = {
    "ir.serialize", "ir.deserialize", "ir.serialize_to_file", "ir.deserialize_from_file",  # below
    "ir.IRBuilder",  # test_builder.py
    "ir.PassManager", "ir.PassContext", "ir.compile", "ir.CompiledProgram",  # test_api_passes.py, test_kernel_files.py
}  # fmt: skip


def test_every_name_has_a_case() -> None:
    assert len(set(NAMES)) == len(NAMES) > 70
    assert sorted(set(NAMES) - set(CASES)) == sorted(ELSEWHERE)
    assert set(CASES) <= set(NAMES)


@pytest.mark.parametrize("name", sorted(CASES))
def test_name(name: str) -> None:
    got, want = CASES[name]()
    assert got == want


def test_stored_programs(tmp_path: Path) -> None:
    got, want = stored(tmp_path)
    assert got == want

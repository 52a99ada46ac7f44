"""TypeChecked, AssignTypeSymmetry, ArrayNotEscaped: values have the types of what they are bound to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pypto_core.diagnostics import Diagnostic, Span
from pypto_core.ir import (
    ArrayType,
    AssignStmt,
    DataType,
    Expr,
    ForStmt,
    FunctionType,
    IfStmt,
    IterArg,
    Program,
    ScalarType,
    Stmt,
    TupleType,
    Type,
    Var,
    WhileStmt,
    last_yield,
    types_equal,
)
from pypto_core.ops import type_text
from pypto_core.verify.mismatch import COUNT, mismatches
from pypto_core.verify.rules import place, rule, shown
from pypto_core.verify.scan import scan

_RULE = rule("TypeChecked", "TypeCheck")
_SYMMETRY = rule("AssignTypeSymmetry")
_ARRAY = rule("ArrayNotEscaped")
_CONDITION_SCALAR, _BOUND_SCALAR, _CONDITION_BOOL = 106, 107, 108
_REMEDY = {
    104: "make the extents the same expression, or hand on a tile narrowed with pl.set_validshape",
    105: "give as many values as there are results",
    109: "pad both with the same value",
    111: "bring the value into the carried layout first, e.g. with pl.move",
}


def verify_type_checked(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find disagreements of types between what loops and ifs start with, hand on and result in.

    101 kind, 102 element type, 103 rank, 104 extents that differ or can't be shown equal, 105 counts, 106 a condition
    that is no scalar, 107 a loop bound that is no scalar, 108 a condition that is not BOOL, 109 padding of tensors,
    111 the view of tiles and the layout of tensors.
    """
    for function in program:
        for stmt in scan(function).of(ForStmt, WhileStmt, IfStmt):
            yield from _check(stmt)


def _check(stmt: ForStmt | WhileStmt | IfStmt) -> Iterator[Diagnostic]:
    if isinstance(stmt, ForStmt):
        for what, bound in (("start", stmt.start), ("stop", stmt.stop), ("step", stmt.step)):
            if not isinstance(bound.type, ScalarType):
                yield _RULE.error(
                    _BOUND_SCALAR,
                    f"the {what} of a loop must be a scalar, not {type_text(bound.type)}",
                    place(bound.span, stmt.span),
                    remedy="use an integer, or read one from the tensor with pl.read",
                )
        yield from _carries(stmt)
    elif isinstance(stmt, WhileStmt):
        yield from _condition(stmt.condition, stmt)
        yield from _carries(stmt)
    else:
        yield from _condition(stmt.condition, stmt)
        yield from _phis(stmt)


def _condition(condition: Expr, stmt: Stmt) -> Iterator[Diagnostic]:
    kind = condition.type
    if not isinstance(kind, ScalarType):
        yield _RULE.error(
            _CONDITION_SCALAR,
            f"a condition must be a scalar, not {type_text(kind)}",
            place(condition.span, stmt.span),
            remedy="compare scalars: read an element with pl.read first",
        )
    elif kind.dtype is not DataType.BOOL:
        yield _RULE.error(
            _CONDITION_BOOL,
            f"a condition must be BOOL, not {kind.dtype}",
            place(condition.span, stmt.span),
            remedy="compare it, for example with != 0",
        )


def _carries(stmt: ForStmt | WhileStmt) -> Iterator[Diagnostic]:
    args, results = stmt.iter_args, stmt.return_vars
    for arg in args:
        yield from _agree(
            f"carry {shown(arg)}", "starts as", arg.init_value.type, "is declared", arg.type, stmt.span
        )
    last = last_yield(stmt.body)
    if last is not None and args:
        yield from _all_agree(
            args, [v.type for v in last.values], "is yielded as", place(last.span, stmt.span)
        )
    yield from _all_agree(args, [v.type for v in results], "ends as", stmt.span)


def _phis(stmt: IfStmt) -> Iterator[Diagnostic]:
    for name, body in (("then", stmt.then_body), ("else", stmt.else_body)):
        last = last_yield(body)
        if last is not None and (stmt.return_vars or last.values):
            said = f"is yielded by the {name} branch as"
            yield from _all_agree(
                stmt.return_vars, [v.type for v in last.values], said, place(last.span, stmt.span)
            )


def _all_agree(
    declared: Sequence[Var], others: Sequence[Type], said: str, span: Span
) -> Iterator[Diagnostic]:
    if len(declared) != len(others):
        what = "carries" if any(isinstance(v, IterArg) for v in declared) else "results"
        yield _RULE.error(
            COUNT,
            f"{len(others)} values meet {len(declared)} {what}",
            span,
            remedy=_REMEDY[COUNT],
            facts={what: ", ".join(shown(v) for v in declared) or "none"},
        )
        return
    for var, other in zip(declared, others, strict=True):
        if other is not var.type:
            kind = "carry" if isinstance(var, IterArg) else "result"
            yield from _agree(f"{kind} {shown(var)}", said, other, "is declared", var.type, span)


def _agree(
    what: str, said_left: str, left: Type, said_right: str, right: Type, span: Span
) -> Iterator[Diagnostic]:
    if left is right:
        return
    for difference in mismatches(left, right):
        facts = {f"{difference.what}, {said_left}": difference.left}
        facts[f"{difference.what}, {said_right}"] = difference.right
        ending = f"may differ, {difference.note}" if difference.note else "differs"
        message = f"{what} {said_left} {type_text(left)} and {said_right} {type_text(right)}"
        yield _RULE.error(
            difference.number,
            f"{message}: {difference.what} {ending}",
            span,
            remedy=_REMEDY.get(difference.number, "convert the value, or declare the type that it has"),
            facts=facts,
        )


def verify_assign_type_symmetry(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find assignments whose variable has another type than the value (1); MemRefs are left out."""
    for function in program:
        for stmt in scan(function).of(AssignStmt):
            have, want = stmt.value.type, stmt.var.type
            if have is not want and not types_equal(have, want):
                yield _SYMMETRY.error(
                    1,
                    f"variable {shown(stmt.var)} has another type than the value assigned to it",
                    stmt.span,
                    remedy="give the variable the type that the operator deduces",
                    facts={
                        "variable": type_text(want),
                        "value": type_text(have),
                        "differs in": _differences(have, want),
                    },
                )


def _differences(have: Type, want: Type) -> str:
    return ", ".join(d.what for d in mismatches(have, want)) or "view or memory space"


def verify_array_not_escaped(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find arrays among parameters (1) and returned values (2): they can't leave the function that makes them.

    What is inlined becomes part of that function.
    """
    for function in program:
        if function.func_type is FunctionType.Inline:
            continue
        for param in function.params:
            if _holds_array(param.type):
                yield _ARRAY.error(
                    1,
                    f"parameter {shown(param)} of function '{function.name}' is an array",
                    place(param.span, function.span),
                    remedy="pass a tensor, or the elements as scalars",
                )
        for i, kind in enumerate(function.return_types):
            if _holds_array(kind):
                yield _ARRAY.error(
                    2,
                    f"function '{function.name}' returns an array as value {i}",
                    function.span,
                    remedy="write the elements to a tensor, or return them as scalars",
                )


def _holds_array(kind: Type) -> bool:
    if isinstance(kind, TupleType):
        return any(_holds_array(part) for part in kind.types)
    return isinstance(kind, ArrayType)

"""Tensors that a kernel computes and returns: it gets parameters to store them to, and its callers make the tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    INDEX_ZERO,
    AssignStmt,
    Call,
    EvalStmt,
    Expr,
    Function,
    GlobalVar,
    MakeTuple,
    Mutator,
    NameSource,
    ParamDirection,
    Program,
    ReturnStmt,
    Stmt,
    Submit,
    TensorLayout,
    TensorType,
    Type,
    Var,
    base_name,
    map_functions,
    replace,
    seq,
    substitute,
    type_vars,
    walk_stmts,
)
from pypto_core.ops import create_call
from pypto_plugin_tensor.kernel import name_of
from pypto_plugin_tensor.values import Global

if TYPE_CHECKING:
    from pypto_plugin_tensor.convert import Converter


class Results:
    """The parameters that one kernel gets for what it returns."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.params: list[Var] = []
        self._taken = {base_name(p.name_hint) for p in function.params}

    @property
    def types(self) -> tuple[TensorType, ...]:
        """The types of the new parameters."""
        return tuple(p.type for p in self.params if isinstance(p.type, TensorType))

    def given(self, kernel: Converter, params: tuple[Var, ...]) -> None:
        """Parameters that the kernel writes already."""
        for param in params:
            assert isinstance(param.type, TensorType)
            self._check(param.type, param)
            new = replace(param, name_hint=self._name(base_name(param.name_hint).removesuffix("_out")))
            self.params.append(new)
            kernel.values[param] = Global(kind=param.type, var=new)

    def returned(self, kernel: Converter, stmt: ReturnStmt) -> ReturnStmt:
        """The return, with computed tensors stored ahead of it."""
        values = tuple(self._value(kernel, value, stmt) for value in stmt.values)
        return replace(stmt, values=values)

    def _value(self, kernel: Converter, value: Expr, stmt: ReturnStmt) -> Expr:
        if not isinstance(value.type, TensorType):
            return kernel.scalar(value)
        found = kernel.value(value)
        if isinstance(found, Global):
            return found.var
        kind = TensorType(found.kind.shape, found.kind.dtype)
        self._check(kind, value)
        param = Var(self._name(name_of(value)), kind, span=value.span)
        self.params.append(param)
        target = Global(kind=kind, var=param)
        origin = (INDEX_ZERO,) * len(kind.shape)
        call = kernel.store(found, target, origin, {}, stmt.span, name_of(value))
        new = Var(kernel.names.fresh(name_of(value), "store"), call.type, span=stmt.span)
        kernel.put(AssignStmt(new, call, span=stmt.span))
        return new

    def _check(self, kind: TensorType, value: Expr) -> None:
        """Callers have to know the extents."""
        known = set(self.function.params) | {v for p in self.function.params for v in type_vars(p.type)}
        unknown = [v for v in type_vars(kind) if v not in known]
        if unknown:
            raise UserError(
                f"'{name_of(value)}' is returned, and its extents are only known inside of the kernel",
                code="PT378",
                span=value.span if value.span.is_valid else self.function.span,
                facts={"extents": ", ".join(base_name(v.name_hint) for v in unknown)},
                remedy="return a tensor of constant extents, or write into one that is a parameter",
            )

    def _name(self, base: str) -> str:
        name, number = f"{base}_out", 0
        while name in self._taken:
            number += 1
            name = f"{base}_out{number}"
        self._taken.add(name)
        return name

    def extended(self, function: Function) -> Function:
        """The function with its new parameters, and returns of what it stores now."""
        types = _returned_types(function)
        if types is not None:
            function = replace(function, return_types=types)
        if not self.params:
            return function
        return replace(
            function,
            params=(*function.params, *self.params),
            param_directions=(*function.param_directions, *(ParamDirection.Out for _ in self.params)),
        )


def _returned_types(function: Function) -> tuple[Type, ...] | None:
    for stmt in walk_stmts(function.body):
        if isinstance(stmt, ReturnStmt):
            return tuple(v.type for v in stmt.values)
    return None


def pass_results(program: Program, results: Mapping[str, Results]) -> Program:
    """The program with tensors for the new parameters made and passed at every call."""
    if not results:
        return program

    def change(function: Function) -> Function:
        return _Passing(results).visit(function)

    return map_functions(program, change)


class _Passing(Mutator):
    def __init__(self, results: Mapping[str, Results]) -> None:
        super().__init__()
        self.results = results
        self.names = NameSource()
        self.ahead: list[Stmt] = []

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Tensors are made right ahead of the call."""
        return self._with_ahead(super().visit_assign_stmt(node))

    def visit_eval_stmt(self, node: EvalStmt) -> Stmt:
        """As for an assignment."""
        return self._with_ahead(self.mutate_children(node))

    def _with_ahead(self, stmt: Stmt) -> Stmt:
        made, self.ahead = self.ahead, []
        return seq([*made, stmt], stmt.span) if made else stmt

    def visit_call(self, node: Call) -> Expr:
        """A call of a kernel with new parameters."""
        new = super().visit_call(node)
        found = self.results.get(node.op.name) if isinstance(node.op, GlobalVar) else None
        if found is None or not isinstance(new, Call):
            return new
        return replace(new, args=(*new.args, *self._tensors(found, new)))

    def visit_submit(self, node: Submit) -> Expr:
        """A task likewise."""
        new = super().mutate_children(node)
        found = self.results.get(node.op.name)
        return new if found is None else replace(new, args=(*new.args, *self._tensors(found, new)))

    def _tensors(self, results: Results, call: Call | Submit) -> list[Var]:
        mapping = _extents(results.function, call.args)
        made: list[Var] = []
        for param, kind in zip(results.params, results.types, strict=True):
            shape = MakeTuple(tuple(substitute(d, mapping) for d in kind.shape))
            create = create_call(
                "tensor.create", [shape], {"dtype": kind.dtype, "layout": TensorLayout.ND}, call.span
            )
            var = Var(self.names.fresh(param.name_hint, "out"), create.type, span=call.span)
            self.ahead.append(AssignStmt(var, create, span=call.span))
            made.append(var)
        return made


def _extents(function: Function, args: tuple[Expr, ...]) -> dict[Var, Expr]:
    """What parameters and symbols of a callee are at a call."""
    mapping: dict[Var, Expr] = dict(zip(function.params, args, strict=False))
    for param, arg in zip(function.params, args, strict=False):
        if isinstance(param.type, TensorType) and isinstance(arg.type, TensorType):
            for dim, have in zip(param.type.shape, arg.type.shape, strict=True):
                if isinstance(dim, Var):
                    mapping.setdefault(dim, have)
    return mapping

"""IRBuilder: programs written statement by statement, each construct a ``with`` block."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

import attrs

from pypto.arithmetic import index, operand
from pypto.ir import constructors as make
from pypto_core.diagnostics import UNKNOWN_SPAN, Span, UserError
from pypto_core.ir import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    DataType,
    EvalStmt,
    Expr,
    ForKind,
    ForStmt,
    Function,
    FunctionType,
    GlobalVar,
    IfStmt,
    InCoreScopeStmt,
    InlineStmt,
    IterArg,
    MakeTuple,
    MemorySpace,
    MemRef,
    ParamDirection,
    Program,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    TensorType,
    TensorView,
    TileType,
    TileView,
    Type,
    Var,
    WhileStmt,
    YieldStmt,
    last_yield,
    scalar_type,
    seq,
)


def wrong(message: str, remedy: str) -> UserError:
    """The error for a builder that is used out of order."""
    return UserError(message, code="PT001", remedy=remedy)


@attrs.define(eq=False)
class _Block:
    """The statements of one region while it is open."""

    kind: str
    stmts: list[Stmt] = attrs.field(factory=lambda: list[Stmt]())

    def body(self) -> Stmt:
        return seq(self.stmts)


class _Result:
    """A construct that has a node once its block is closed."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._result: Any = None

    def close(self, result: Any) -> None:
        """Keep the node that was made."""
        self._result = result

    def get_result(self) -> Any:
        """The node; an error while the block is still open."""
        if self._result is None:
            raise wrong(f"the {self._what} is not finished", "leave its with block first")
        return self._result


class _Returning(_Result):
    """A construct with return variables."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self._return_vars: list[Var] = []

    def output(self, index: int = 0) -> Var:
        """One of the variables that hold the results afterwards."""
        return self._return_vars[index]

    def outputs(self) -> list[Var]:
        """All variables that hold the results afterwards."""
        return list(self._return_vars)

    get_output, get_outputs = output, outputs


class FunctionBuilder(_Result):
    """``with ib.function("f") as f``: parameters, return types and attributes of the function."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        super().__init__("function")
        self.name, self.options = name, options
        self.params: list[tuple[Var, ParamDirection]] = []
        self.return_types: list[Type] = []
        self.attrs: dict[str, Any] = dict(options.pop("attrs", None) or {})

    def param(
        self,
        name: str,
        type: Type,
        span: Span = UNKNOWN_SPAN,
        direction: ParamDirection = ParamDirection.In,
    ) -> Var:
        """A new parameter."""
        var = Var(name, type, span=span)
        self.params.append((var, direction))
        return var

    def return_type(self, type: Type) -> None:
        """One more result."""
        self.return_types.append(type)

    def finish(self, body: Stmt, span: Span) -> None:
        """Make the function."""
        self._result = make.function(
            self.name, self.params, self.return_types, body, span, attrs=self.attrs, **self.options
        )


class ForLoopBuilder(_Returning):
    """``with ib.for_loop(i, 0, n, 1) as loop``: what the loop carries."""

    def __init__(self) -> None:
        super().__init__("loop")
        self._iter_args: list[IterArg] = []

    def iter_arg(
        self, name: str, init_value: Any, type: Type | None = None, span: Span = UNKNOWN_SPAN
    ) -> Var:
        """A carried variable, of the type of its initial value unless another is given."""
        init = operand(init_value)
        var = IterArg(name, type or init.type, init, span=span)
        self._iter_args.append(var)
        return var

    def return_var(self, name: str, type: Type | None = None, span: Span = UNKNOWN_SPAN) -> Var:
        """The variable that holds the last value of the next carried variable after the loop."""
        at = len(self._return_vars)
        if type is None and at >= len(self._iter_args):
            raise wrong("the loop returns more than it carries", "call iter_arg once for each return_var")
        var = Var(name, type or self._iter_args[at].type, span=span)
        self._return_vars.append(var)
        return var

    def parts(self) -> tuple[tuple[IterArg, ...], tuple[Var, ...]]:
        """Carried and returned variables; the latter are made where the author made none."""
        while len(self._return_vars) < len(self._iter_args):
            self.return_var(f"{self._iter_args[len(self._return_vars)].name_hint}_out")
        return tuple(self._iter_args), tuple(self._return_vars)


class WhileLoopBuilder(ForLoopBuilder):
    """``with ib.while_loop(condition) as loop``; the condition may be set inside of the block."""

    def __init__(self, condition: Expr | None) -> None:
        super().__init__()
        self.condition = condition

    def set_condition(self, condition: Expr) -> None:
        """The condition over the carried variables."""
        self.condition = condition


class IfBuilder(_Returning):
    """``with ib.if_stmt(condition) as branch``: the branches and the phis."""

    def __init__(self, builder: IRBuilder) -> None:
        super().__init__("branch")
        self._builder = builder
        self.then_block: _Block | None = None

    def else_(self) -> None:
        """Go on with the other branch."""
        if self.then_block is not None:
            raise wrong("a branch has one else", "nest another if_stmt instead")
        self.then_block = self._builder.exchange("else")

    def return_var(self, name: str, type: Type | None = None, span: Span = UNKNOWN_SPAN) -> Var:
        """A phi of what both branches yield; without a type that of the current branch's last yield."""
        if type is None:
            found = last_yield(self._builder.current.body())
            if found is None or len(found.values) <= len(self._return_vars):
                raise wrong(f"nothing says what type '{name}' has", "give its type, or yield before")
            type = found.values[len(self._return_vars)].type
        var = Var(name, type, span=span)
        self._return_vars.append(var)
        return var


class ProgramBuilder(_Result):
    """``with ib.program("p") as p``: the functions of the program."""

    def __init__(self, name: str) -> None:
        super().__init__("program")
        self.name = name
        self.functions: list[Function] = []
        self._declared: dict[str, GlobalVar] = {}

    def declare_function(self, name: str) -> GlobalVar:
        """The reference to a function of the program, before or after it is added."""
        return self._declared.setdefault(name, GlobalVar(name))

    get_global_var = declare_function

    def add_function(self, function: Function) -> None:
        """Take a function in."""
        self.functions.append(function)

    def finish(self, span: Span) -> None:
        """Make the program; functions that were declared have to be there."""
        missing = sorted(set(self._declared) - {f.name for f in self.functions})
        if missing:
            raise wrong(f"function '{missing[0]}' is declared and never added", "call add_function with it")
        self._result = Program(self.name, self.functions, span=span)


class IRBuilder:
    """Builds programs; statements go to the innermost open block."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._functions: list[FunctionBuilder] = []

    @property
    def current(self) -> _Block:
        """The innermost open block."""
        if not self._blocks:
            raise wrong("no block is open", "write statements inside of `with ib.function(...)`")
        return self._blocks[-1]

    def exchange(self, kind: str) -> _Block:
        """Close the innermost block and open another in its place; returns the closed one."""
        closed = self._blocks.pop()
        self._blocks.append(_Block(kind))
        return closed

    @contextmanager
    def _block(self, kind: str) -> Generator[_Block]:
        opened = len(self._blocks)
        self._blocks.append(_Block(kind))
        try:
            yield self._blocks[-1]
        finally:
            del self._blocks[opened:]

    # Constructs

    @contextmanager
    def program(self, name: str = "", span: Span = UNKNOWN_SPAN) -> Generator[ProgramBuilder]:
        """A program; functions built inside are added with ``add_function``."""
        building = ProgramBuilder(name)
        yield building
        building.finish(span)

    @contextmanager
    def function(
        self,
        name: str,
        span: Span = UNKNOWN_SPAN,
        type: FunctionType = FunctionType.Opaque,
        level: Any = None,
        role: Any = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Generator[FunctionBuilder]:
        """A function."""
        if self.in_function():
            raise wrong("functions don't nest", "leave the with block of the other function first")
        building = FunctionBuilder(name, {"type": type, "level": level, "role": role, "attrs": attrs})
        self._functions.append(building)
        try:
            with self._block("function") as block:
                yield building
                building.finish(block.body(), span)
        finally:
            self._functions.pop()

    @contextmanager
    def for_loop(
        self,
        loop_var: Var,
        start: Any,
        stop: Any,
        step: Any = 1,
        span: Span = UNKNOWN_SPAN,
        kind: ForKind = ForKind.Sequential,
        attrs: Mapping[str, Any] | None = None,
    ) -> Generator[ForLoopBuilder]:
        """A counted loop."""
        building = ForLoopBuilder()
        with self._block("loop") as block:
            yield building
            carried, returned = building.parts()
            bounds = (index(start), index(stop), index(step))
            stmt = ForStmt(loop_var, *bounds, carried, block.body(), returned, kind, attrs or {}, span=span)
        building.close(stmt)
        self.emit(stmt)

    @contextmanager
    def while_loop(
        self, condition: Expr | None = None, span: Span = UNKNOWN_SPAN
    ) -> Generator[WhileLoopBuilder]:
        """A loop while a condition over what it carries holds."""
        building = WhileLoopBuilder(condition)
        with self._block("loop") as block:
            yield building
            if building.condition is None:
                raise wrong("the loop has no condition", "call set_condition in its block")
            carried, returned = building.parts()
            stmt = WhileStmt(building.condition, carried, block.body(), returned, span=span)
        building.close(stmt)
        self.emit(stmt)

    @contextmanager
    def if_stmt(self, condition: Expr, span: Span = UNKNOWN_SPAN) -> Generator[IfBuilder]:
        """A branch; ``branch.else_()`` goes on with the other way."""
        building = IfBuilder(self)
        with self._block("if"):
            yield building
            last = self.current
            then, other = (building.then_block, last) if building.then_block is not None else (last, None)
            body = other.body() if other is not None else None
            stmt = IfStmt(condition, then.body(), body, tuple(building.outputs()), span=span)
        building.close(stmt)
        self.emit(stmt)

    @contextmanager
    def scope(
        self, cls: Any = InCoreScopeStmt, name_hint: str = "", span: Span = UNKNOWN_SPAN, **fields: Any
    ) -> Generator[_Result]:
        """A scope statement of this class, its own fields by name."""
        building = _Result("scope")
        with self._block("scope") as block:
            yield building
            kernel = getattr(cls, "kernel", cls)
            stmt: ScopeStmt = kernel(block.body(), name_hint=name_hint, span=span, **fields)
        building.close(stmt)
        self.emit(stmt)

    # Statements

    def emit(self, stmt: Stmt) -> None:
        """Append a statement."""
        self.current.stmts.append(stmt)

    def var(self, name: str, type: Type, span: Span = UNKNOWN_SPAN) -> Var:
        """A variable that nothing defines yet."""
        return Var(name, type, span=span)

    def let(self, name: str, value: Any, type: Type | None = None, span: Span = UNKNOWN_SPAN) -> Var:
        """Assign a value to a new variable and return it."""
        expr = operand(value)
        var = Var(name, type or expr.type, span=span)
        self.emit(AssignStmt(var, expr, span=span))
        return var

    def assign(self, var: Var, value: Any, span: Span = UNKNOWN_SPAN) -> AssignStmt:
        """``var = value``."""
        stmt = AssignStmt(var, operand(value, var), span=span)
        self.emit(stmt)
        return stmt

    def eval_stmt(self, expr: Expr, span: Span = UNKNOWN_SPAN) -> EvalStmt:
        """An expression for its effect."""
        stmt = EvalStmt(expr, span=span)
        self.emit(stmt)
        return stmt

    def return_stmt(self, values: Any = (), span: Span = UNKNOWN_SPAN) -> ReturnStmt:
        """Leave the function."""
        stmt = ReturnStmt(_several(values), span=span)
        self.emit(stmt)
        return stmt

    def yield_stmt(self, values: Any = (), span: Span = UNKNOWN_SPAN) -> YieldStmt:
        """Hand values on from the current region."""
        stmt = YieldStmt(_several(values), span=span)
        self.emit(stmt)
        return stmt

    def break_stmt(self, span: Span = UNKNOWN_SPAN) -> BreakStmt:
        """Leave the loop."""
        stmt = BreakStmt(span=span)
        self.emit(stmt)
        return stmt

    def continue_stmt(self, span: Span = UNKNOWN_SPAN) -> ContinueStmt:
        """Go on with the next trip."""
        stmt = ContinueStmt(span=span)
        self.emit(stmt)
        return stmt

    def inline_stmt(self, body: str, language: str = "python", span: Span = UNKNOWN_SPAN) -> InlineStmt:
        """Text for the host level."""
        stmt = InlineStmt(body, language, span=span)
        self.emit(stmt)
        return stmt

    # Values and types

    def make_tuple(self, elements: Iterable[Any], span: Span = UNKNOWN_SPAN) -> MakeTuple:
        """Several values as one."""
        return MakeTuple(tuple(index(e) if isinstance(e, int) else operand(e) for e in elements), span=span)

    def memref(self, *args: Any, **options: Any) -> MemRef:
        """As ``ir.MemRef(...)``."""
        return make.mem_ref(*args, **options)  # type: ignore[return-value]

    def scalar_type(self, dtype: DataType) -> Type:
        """A scalar."""
        return scalar_type(dtype)

    def tensor_type(
        self,
        shape: Iterable[Any],
        dtype: DataType,
        memref: MemRef | None = None,
        tensor_view: TensorView | None = None,
    ) -> TensorType:
        """A tensor in global memory."""
        return TensorType(tuple(shape), dtype, memref, tensor_view)

    def tensor_view(self, *args: Any, **options: Any) -> TensorView:
        """As ``ir.TensorView(...)``."""
        return TensorView(*args, **options)

    def tile_type(
        self,
        shape: Iterable[Any],
        dtype: DataType,
        memref: MemRef | None = None,
        tile_view: TileView | None = None,
        memory_space: MemorySpace | None = None,
    ) -> TileType:
        """A tile in an on-chip memory."""
        return TileType(tuple(shape), dtype, memref, tile_view, memory_space)

    def tile_view(self, *args: Any, **options: Any) -> TileView:
        """As ``ir.TileView(...)``."""
        return TileView(*args, **options)

    # Questions

    def in_function(self) -> bool:
        """Whether a function is open."""
        return bool(self._functions)

    def in_loop(self) -> bool:
        """Whether the innermost construct is a loop."""
        return bool(self._blocks) and self._blocks[-1].kind == "loop"

    def in_if(self) -> bool:
        """Whether the innermost construct is a branch."""
        return bool(self._blocks) and self._blocks[-1].kind in ("if", "else")

    def add_function_attrs(self, attrs: Mapping[str, Any]) -> None:
        """More attributes for the open function."""
        if not self._functions:
            raise wrong("no function is open", "call it inside of `with ib.function(...)`")
        self._functions[-1].attrs.update(attrs)


def _several(values: Any) -> tuple[Expr, ...]:
    if isinstance(values, Expr | int | float):
        return (operand(values),)
    return tuple(operand(value) for value in values)

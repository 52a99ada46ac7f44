"""FuseCreateAssembleToSlice: a buffer that is only made to be copied into a part of another tensor is that part.

``b = create(…); r = kernel(…, b); t2 = assemble(t, r, at)`` becomes ``b = slice(t, …, at); r = kernel(…, b); t2 = t``:
the kernel writes where its result would have been copied to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import attrs

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    EMPTY,
    AssignStmt,
    AtomicType,
    Call,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    MakeTuple,
    Mutator,
    ParamDirection,
    Program,
    SeqStmts,
    Stmt,
    Submit,
    TensorType,
    TupleGetItemExpr,
    Type,
    Var,
    WhileStmt,
    is_wrapper,
    last_yield,
    map_functions,
    replace,
    seq,
    types_equal,
    used_vars,
    walk_stmts,
)
from pypto_core.ops import alias_source, create_call, is_view, op_of
from pypto_plugin_tile.origins import Results


def fuse_create_assemble_to_slice(program: Program, ctx: Any) -> Program:
    """The program with such buffers as slices of their targets; the same object when it has none.

    Only where nothing looks at the target in between, the buffer and the result have no other use, and the kernel does
    not read what it is given.
    """

    def change(function: Function) -> Function:
        if function.is_incore or is_wrapper(function.func_type):
            return function
        return _Fuser(function, program.functions).visit(function)

    return map_functions(program, change)


@attrs.frozen(eq=False)
class Fusion:
    """A buffer made at ``create`` and copied at ``assemble``, positions in one sequence."""

    create: int
    assemble: int
    target: Var
    window: Call


class _Fuser(Mutator):
    def __init__(self, function: Function, functions: Mapping[str, Function]) -> None:
        super().__init__()
        self.functions, self.results = functions, Results(functions)
        self.same = _Aliases(function, functions)
        self.uses: Counter[Var] = Counter()
        self.definitions: dict[Var, AssignStmt] = {}
        for stmt in walk_stmts(function.body):
            self.uses.update(_occurrences(stmt))
            if isinstance(stmt, AssignStmt):
                self.definitions[stmt.var] = stmt

    def visit_seq_stmts(self, node: SeqStmts) -> Stmt:
        """Fuse what stands in one sequence, front to back."""
        stmts = [self.visit(s) for s in node.stmts]
        at = {var: i for i, s in enumerate(stmts) for var in _defines(s)}
        for j in range(len(stmts)):
            fusion = self.fusion(stmts, j, at)
            if fusion is not None:
                self.fuse(stmts, fusion)
        if all(a is b for a, b in zip(stmts, node.stmts, strict=True)):
            return node
        return seq([replace(node, stmts=tuple(s for s in stmts if s is not EMPTY))], node.span)

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Nothing to look into."""
        return node

    def visit_eval_stmt(self, node: EvalStmt) -> Stmt:
        """Nothing to look into."""
        return node

    # -- what fits together

    def fusion(self, stmts: list[Stmt], j: int, at: Mapping[Var, int]) -> Fusion | None:
        """The buffer that the statement at ``j`` copies into its target, when it may be the target's part."""
        stmt = stmts[j]
        call = (
            stmt.value if isinstance(stmt, AssignStmt) else stmt.expr if isinstance(stmt, EvalStmt) else None
        )
        if not (isinstance(call, Call) and call.name == "tensor.assemble"):
            return None
        target, source = _whole(call.args[0], self.definitions), call.args[1]
        if not (isinstance(target, Var) and isinstance(source, Var)) or _is_atomic(call):
            return None
        found = self.filled_buffer(source, at)
        if found is None:
            return None
        buffer, filled = found
        i = at.get(buffer, j)
        if not i < filled < j or not self.available((target, call.args[2]), i, at):
            return None
        if isinstance(stmt, AssignStmt) and not types_equal(stmt.var.type, target.type):
            return None
        window = _window(target, buffer, call)
        if window is None or self.touched(stmts[i + 1 : j], target):
            return None
        return Fusion(i, j, target, window)

    def filled_buffer(self, source: Var, at: Mapping[Var, int]) -> tuple[Var, int] | None:
        """The fresh buffer behind what is copied, and where a kernel fills it."""
        made = self.definitions.get(source)
        if made is None or self.uses[source] != 1 or source not in at:
            return None
        value, index = made.value, 0
        if isinstance(value, TupleGetItemExpr) and isinstance(value.tuple, Var) and value.tuple in at:
            index = value.index
            held = self.definitions.get(value.tuple)
            value = held.value if held is not None else value
        if not isinstance(value, Call | Submit):
            return None
        callee = self.functions.get(value.op.name)
        position = self.results.parameter(value.op.name, index)
        if callee is None or position is None or position >= len(value.args):
            return None
        buffer = value.args[position]
        if callee.param_directions[position] is not ParamDirection.Out or not isinstance(buffer, Var):
            return None
        holder = made.value.tuple if isinstance(made.value, TupleGetItemExpr) else source
        assert isinstance(holder, Var)
        fresh = self.uses[buffer] == 1 and _is_fresh(self.definitions.get(buffer))
        return (buffer, at[holder]) if fresh else None

    def available(self, values: tuple[Expr, ...], i: int, at: Mapping[Var, int]) -> bool:
        """Whether all that these use is there ahead of position ``i``."""
        return all(at.get(var, -1) < i for value in values for var in used_vars(value))

    def touched(self, between: list[Stmt], target: Var) -> bool:
        """Whether one of the statements may read or write the target's storage."""
        root = self.same.of(target)
        for stmt in between:
            value = stmt.value if isinstance(stmt, AssignStmt) else None
            if isinstance(value, Var) or (isinstance(value, Call) and is_view(value)):
                continue
            if any(self.same.of(var) is root for var in used_vars(stmt)):
                return True
        return False

    def fuse(self, stmts: list[Stmt], fusion: Fusion) -> None:
        create, assemble = stmts[fusion.create], stmts[fusion.assemble]
        assert isinstance(create, AssignStmt)
        stmts[fusion.create] = replace(create, value=fusion.window)
        self.same.join(create.var, fusion.target)
        if isinstance(assemble, AssignStmt):
            stmts[fusion.assemble] = new = replace(assemble, value=fusion.target)
            self.definitions[assemble.var] = new
        else:
            stmts[fusion.assemble] = EMPTY
        self.definitions[create.var] = stmts[fusion.create]  # type: ignore[assignment]


def _occurrences(stmt: Stmt) -> list[Var]:
    """The variables that a statement itself uses, as often as it does."""
    if isinstance(stmt, AssignStmt | EvalStmt):
        value = stmt.value if isinstance(stmt, AssignStmt) else stmt.expr
        if isinstance(value, Call | Submit):
            direct = [a for a in value.args if isinstance(a, Var)]
            rest = [v for v in used_vars(value) if v not in direct]
            return direct + rest
        return list(used_vars(value))
    if isinstance(stmt, ForStmt | WhileStmt):
        return list(used_vars(replace(stmt, body=EMPTY)))
    if isinstance(stmt, IfStmt):
        return list(used_vars(replace(stmt, then_body=EMPTY, else_body=None)))
    body = getattr(stmt, "body", None)
    return list(used_vars(replace(stmt, body=EMPTY) if isinstance(body, Stmt) else stmt))


def _defines(stmt: Stmt) -> tuple[Var, ...]:
    """The variables that the statements behind this one may use."""
    if isinstance(stmt, AssignStmt):
        return (stmt.var,)
    return stmt.return_vars if isinstance(stmt, ForStmt | WhileStmt | IfStmt) else ()


def _is_fresh(stmt: AssignStmt | None) -> bool:
    """Whether a statement makes a tensor whose content does not matter."""
    call = stmt.value if stmt is not None else None
    return isinstance(call, Call) and call.name == "tensor.create" and "init_value" not in call.kwargs


def _is_atomic(call: Call) -> bool:
    return call.kwargs.get("atomic", AtomicType.None_) is not AtomicType.None_


def _whole(value: Expr, definitions: Mapping[Var, AssignStmt]) -> Expr:
    """What a variable is another name of."""
    while isinstance(value, Var) and value in definitions and isinstance(definitions[value].value, Var):
        value = definitions[value].value
    return value


def _window(target: Var, buffer: Var, assemble: Call) -> Call | None:
    """The slice of the target that the buffer is to be, when that has the buffer's type."""
    kind: Type = buffer.type
    if not (isinstance(kind, TensorType) and isinstance(target.type, TensorType)):
        return None
    if len(kind.shape) != len(target.type.shape):
        return None
    try:
        call = create_call(
            "tensor.slice", [target, MakeTuple(kind.shape), assemble.args[2]], {}, assemble.span
        )
    except OpError:
        return None
    return call if types_equal(call.type, kind) else None


class _Aliases:
    """Tensors that may be one storage have one representative."""

    def __init__(self, function: Function, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._parent: dict[Var, Var] = {}
        for stmt in walk_stmts(function.body):
            if isinstance(stmt, AssignStmt):
                self._value(stmt.var, stmt.value)
            elif isinstance(stmt, ForStmt | WhileStmt):
                tail = last_yield(stmt.body)
                for i, arg in enumerate(stmt.iter_args):
                    for other in (
                        arg.init_value,
                        stmt.return_vars[i],
                        *(tail.values[i : i + 1] if tail else ()),
                    ):
                        self.join(arg, other)
            elif isinstance(stmt, IfStmt):
                for body in (stmt.then_body, stmt.else_body):
                    tail = last_yield(body)
                    for var, value in zip(stmt.return_vars, tail.values if tail else (), strict=False):
                        self.join(var, value)

    def of(self, var: Var) -> Var:
        """The representative."""
        root = var
        while root in self._parent:
            root = self._parent[root]
        while var is not root:
            self._parent[var], var = root, self._parent[var]
        return root

    def join(self, a: Expr, b: Expr) -> None:
        """Both may be one storage."""
        if isinstance(a, Var) and isinstance(b, Var):
            left, right = self.of(a), self.of(b)
            if left is not right:
                self._parent[left] = right

    def _value(self, var: Var, value: Expr) -> None:
        if isinstance(value, Var):
            self.join(var, value)
        elif isinstance(value, TupleGetItemExpr):
            self.join(var, value.tuple)
        elif isinstance(value, Submit) or (isinstance(value, Call) and op_of(value) is None):
            callee = self._functions.get(value.op.name)
            directions = callee.param_directions if callee is not None else ()
            for i, arg in enumerate(value.args):
                read = i < len(directions) and directions[i] is ParamDirection.In
                if isinstance(arg.type, TensorType) and not read:
                    self.join(var, arg)
        elif isinstance(value, Call):
            index = alias_source(value)
            if index is not None and index < len(value.args):
                self.join(var, value.args[index])

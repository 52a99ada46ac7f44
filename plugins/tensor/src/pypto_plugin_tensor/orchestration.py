"""OptimizeOrchTensors: a tensor that a loop hands from trip to trip is replaced where it lies.

``for …, (x,): y = create(…); x = kernel(x, y)`` makes a tensor per trip. When the kernel has read all of ``x`` before
it writes ``y``, and nobody else looks at what ``x`` started from, both may be one: the kernel reads and writes ``x``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from pypto_core.ir import (
    EMPTY,
    AssignStmt,
    Call,
    ForKind,
    ForStmt,
    Function,
    GlobalVar,
    IterArg,
    Mutator,
    ParamDirection,
    Program,
    ReturnStmt,
    SeqStmts,
    Stmt,
    Submit,
    TupleGetItemExpr,
    Var,
    flatten,
    last_yield,
    replace,
    seq,
    substitute,
    types_equal,
    used_vars,
    walk,
)
from pypto_plugin_tensor.storage import Storage


def optimize_orch_tensors(program: Program, ctx: Any) -> Program:
    """The program with such tensors in one place; the same object when it has none."""
    while (found := _first(program)) is not None:
        function, merge = found
        functions = dict(program.functions)
        functions[merge.kernel] = _merged_kernel(functions[merge.kernel], merge)
        functions[function.name] = _Merging(merge).visit(function)
        program = replace(program, functions=functions.values())
    return program


def _first(program: Program) -> tuple[Function, Merge] | None:
    calls = Counter(n.op.name for f in program for n in walk(f.body) if isinstance(n, Call | Submit))
    for function in program:
        for merge in () if function.is_incore else _merges(function, program.functions, calls):
            return function, merge
    return None


@attrs.frozen(eq=False)
class Merge:
    """The call of ``kernel``, its argument ``kept`` that is carried, and ``gone`` for what ``create`` makes."""

    kernel: str
    kept: int
    gone: int
    create: AssignStmt


def _merges(function: Function, functions: Mapping[str, Function], calls: Counter[str]) -> Iterator[Merge]:
    """What can be merged in the loops of a function's own sequence of statements."""
    stmts = flatten(function.body)
    loops = [(i, s) for i, s in enumerate(stmts) if isinstance(s, ForStmt) and s.kind is ForKind.Sequential]
    if not loops:
        return
    storage = Storage(function.body, functions)
    for position, loop in loops:
        for index, arg in enumerate(loop.iter_args):
            found = _merge(loop, index, functions, calls)
            if found is not None and _is_private(arg, stmts, position, storage):
                yield found


def _merge(loop: ForStmt, index: int, functions: Mapping[str, Function], calls: Counter[str]) -> Merge | None:
    arg, tail, body = loop.iter_args[index], last_yield(loop.body), flatten(loop.body)
    if tail is None:
        return None
    made = {s.var: s for s in body if isinstance(s, AssignStmt)}
    call, result = _call_of(tail.values[index], made)
    kernel = functions.get(call.op.name) if call is not None else None
    if call is None or kernel is None or not kernel.is_incore or calls[kernel.name] != 1:
        return None
    uses = Counter(v for stmt in body for v in _occurrences(stmt))
    kept = [i for i, a in enumerate(call.args) if a is arg]
    gone = _returned(kernel, result, functions)
    if len(kept) != 1 or gone is None or uses[arg] != 1:
        return None
    buffer = call.args[gone]
    create = made.get(buffer) if isinstance(buffer, Var) else None
    if create is None or not _is_create(create) or uses[create.var] != 1:
        return None
    [position] = kept
    before, after = kernel.params[position], kernel.params[gone]
    if kernel.param_directions[position] is not ParamDirection.In or not types_equal(before.type, after.type):
        return None
    return Merge(kernel.name, position, gone, create) if _read_first(kernel, before, after) else None


def _call_of(value: Any, made: dict[Var, AssignStmt]) -> tuple[Call | None, int]:
    """The call that a value is a result of, and which."""
    index = 0
    stmt = made.get(value)
    source = stmt.value if stmt is not None else None
    if isinstance(source, TupleGetItemExpr):
        index = source.index
        stmt = made.get(source.tuple) if isinstance(source.tuple, Var) else None
        source = stmt.value if stmt is not None else None
    return (source, index) if isinstance(source, Call) and isinstance(source.op, GlobalVar) else (None, 0)


def _returned(kernel: Function, index: int, functions: Mapping[str, Function]) -> int | None:
    """The parameter that a kernel returns at ``index``."""
    last = flatten(kernel.body)[-1:]
    if not last or not isinstance(last[0], ReturnStmt) or index >= len(last[0].values):
        return None
    place = Storage(kernel.body, functions).of(last[0].values[index])
    if place is None or not place.whole:
        return None
    return next((i for i, p in enumerate(kernel.params) if p is place.root), None)


def _read_first(kernel: Function, before: Var, after: Var) -> bool:
    """Whether the last use of one parameter comes ahead of the first one of the other."""
    reads = [i for i, s in enumerate(flatten(kernel.body)) if before in used_vars(s)]
    writes = [i for i, s in enumerate(flatten(kernel.body)) if after in used_vars(s)]
    return bool(writes) and (not reads or reads[-1] < writes[0])


def _is_private(arg: IterArg, stmts: tuple[Stmt, ...], position: int, storage: Storage) -> bool:
    """Whether a carry starts from a tensor of this function that nothing looks at from the loop on."""
    place = storage.of(arg.init_value)
    made = next(
        (s for s in stmts[:position] if isinstance(s, AssignStmt) and place and s.var is place.root), None
    )
    if place is None or not place.whole or made is None or not _is_create(made):
        return False
    loop = stmts[position]
    starts = (
        [a for a in loop.iter_args if a.init_value is arg.init_value] if isinstance(loop, ForStmt) else []
    )
    if len(starts) != 1:
        return False
    later = [replace(loop, iter_args=(), return_vars=()), *stmts[position + 1 :]]
    return all(storage.root(v) is not place.root for stmt in later for v in used_vars(stmt))


def _is_create(stmt: AssignStmt) -> bool:
    call = stmt.value
    return isinstance(call, Call) and call.name == "tensor.create" and "init_value" not in call.kwargs


def _occurrences(stmt: Stmt) -> list[Var]:
    return [
        n for n in walk(stmt) if isinstance(n, Var) and not (isinstance(stmt, AssignStmt) and n is stmt.var)
    ]


def _merged_kernel(kernel: Function, merge: Merge) -> Function:
    """The kernel with one parameter for both."""
    kept, gone = kernel.params[merge.kept], kernel.params[merge.gone]
    ways = list(kernel.param_directions)
    ways[merge.kept] = ParamDirection.InOut
    return replace(
        kernel,
        params=tuple(p for p in kernel.params if p is not gone),
        param_directions=tuple(w for i, w in enumerate(ways) if i != merge.gone),
        body=substitute(kernel.body, {gone: kept}),
    )


class _Merging(Mutator):
    def __init__(self, merge: Merge) -> None:
        super().__init__()
        self.merge = merge

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """The tensor is not made any more."""
        if node is not self.merge.create:
            return super().visit_assign_stmt(node)
        return SeqStmts((), leading_comments=node.leading_comments) if node.leading_comments else EMPTY

    def visit_seq_stmts(self, node: SeqStmts) -> Stmt:
        """Without what is gone."""
        return seq([self.visit(s) for s in node.stmts], node.span)

    def visit_call(self, node: Call) -> Any:
        """The kernel's call lacks the tensor."""
        new = super().visit_call(node)
        if node.op.name != self.merge.kernel or not isinstance(new, Call):
            return new
        return replace(new, args=tuple(a for i, a in enumerate(new.args) if i != self.merge.gone))

"""OptimizeOrchTensors: a tensor that a loop hands from trip to trip is replaced where it lies.

``for …, (x,): y = create(…); x = kernel(x, y)`` makes a tensor per trip. When the kernel has read all of ``x`` before
it writes ``y``, and nobody else looks at what ``x`` started from, both may be one: the kernel reads and writes ``x``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
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
    SeqStmts,
    Stmt,
    Submit,
    TensorType,
    TupleGetItemExpr,
    Var,
    base_name,
    flatten,
    last_yield,
    map_functions,
    replace,
    substitute,
    types_equal,
    used_vars,
    walk,
)
from pypto_plugin_tensor.storage import Storage, returned_parameters


def optimize_orch_tensors(program: Program, ctx: Any) -> Program:
    """The program with such tensors in one place; the same object when it has none.

    What has to stay as it is, is reported as a hint (PH-OT-001), with what stands against it.
    """
    while True:
        found = list(_candidates(program))
        merges = {c.kernel.name: c for c in found if not c.obstacle}
        if not merges:
            break
        program = map_functions(program, partial(_changed, merges=merges))
    for candidate in found if ctx is not None else ():
        _report(candidate, ctx)
    return program


@attrs.frozen(eq=False, kw_only=True)
class Candidate:
    """A call of ``kernel`` whose argument ``kept`` is carried, and whose argument ``gone`` is made by ``create``.

    ``obstacle``: why both can't be one; empty when they can.
    """

    kernel: Function
    function: str
    kept: int
    gone: int
    create: AssignStmt
    arg: IterArg
    obstacle: str


def _candidates(program: Program) -> Iterator[Candidate]:
    """What might be merged in loops that stand in a function's own sequence of statements; one per kernel."""
    calls = Counter(n.op.name for f in program for n in walk(f.body) if isinstance(n, Call | Submit))
    seen: set[str] = set()
    for function in program:
        stmts = flatten(function.body)
        loops = [(i, s) for i, s in enumerate(stmts) if isinstance(s, ForStmt) and s.iter_args]
        if function.is_incore or not loops:
            continue
        storage = Storage(function.body, program.functions)
        for position, loop in loops:
            shape = _Trip(loop, program.functions)
            for index, arg in enumerate(loop.iter_args):
                found = shape.match(index)
                if found is None or found[0].name in seen:
                    continue
                kernel, kept, gone, create = found
                obstacle = (
                    "the trips of its loop may run at the same time" if loop.kind is not ForKind.Sequential
                    else f"'{kernel.name}' is called in {calls[kernel.name]} places" if calls[kernel.name] != 1
                    else _not_in_place(kernel, kept, gone)
                    or _looked_at(arg, stmts, position, storage)
                )  # fmt: skip
                if not obstacle:
                    seen.add(kernel.name)
                yield Candidate(
                    kernel=kernel,
                    function=function.name,
                    kept=kept,
                    gone=gone,
                    create=create,
                    arg=arg,
                    obstacle=obstacle,
                )


class _Trip:
    """The body of one loop: what it makes, and how often it uses what."""

    def __init__(self, loop: ForStmt, functions: Mapping[str, Function]) -> None:
        self.loop, self.functions = loop, functions
        body = flatten(loop.body)
        self.tail = last_yield(loop.body)
        self.made = {s.var: s for s in body if isinstance(s, AssignStmt)}
        self.uses = Counter(v for stmt in body for v in _occurrences(stmt))

    def match(self, index: int) -> tuple[Function, int, int, AssignStmt] | None:
        """The kernel that replaces a carry by a tensor of this trip, both arguments, and where the tensor is made."""
        arg = self.loop.iter_args[index]
        if self.tail is None or not isinstance(arg.type, TensorType):
            return None
        call, result = _call_of(self.tail.values[index], self.made)
        kernel = self.functions.get(call.op.name) if call is not None else None
        if call is None or kernel is None or not kernel.is_incore:
            return None
        kept = [i for i, a in enumerate(call.args) if a is arg]
        returned = returned_parameters(kernel, self.functions)
        gone = returned[result] if result < len(returned) else None
        buffer = call.args[gone] if gone is not None else None
        create = self.made.get(buffer) if isinstance(buffer, Var) else None
        if len(kept) != 1 or gone is None or create is None or not _is_create(create):
            return None
        if self.uses[arg] != 1 or self.uses[create.var] != 1:
            return None
        return kernel, kept[0], gone, create


def _report(candidate: Candidate, ctx: Any) -> None:
    name = base_name(candidate.arg.name_hint)
    ctx.hint(
        "PH-OT-001",
        f"'{name}' gets a tensor of its own in each trip of its loop: {candidate.obstacle}",
        candidate.create.span,
        facts=[("function", candidate.function), ("kernel", candidate.kernel.name)],
        remedy="let the kernel write the tensor itself: pass it as pl.InOut, or assign to a window of it",
    )


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


def _not_in_place(kernel: Function, kept: int, gone: int) -> str:
    """Why a kernel can't write one parameter's memory in place of the other's; empty when it can."""
    before, after = kernel.params[kept], kernel.params[gone]
    if kernel.param_directions[kept] is not ParamDirection.In or not types_equal(before.type, after.type):
        return f"'{kernel.name}' writes both, or they are of different types"
    reads = [i for i, s in enumerate(flatten(kernel.body)) if before in used_vars(s)]
    writes = [i for i, s in enumerate(flatten(kernel.body)) if after in used_vars(s)]
    if not writes or (reads and reads[-1] >= writes[0]):
        return f"'{kernel.name}' still reads the old one when it writes the new one"
    return ""


def _looked_at(arg: IterArg, stmts: tuple[Stmt, ...], position: int, storage: Storage) -> str:
    """Why what a carry starts from is not this loop's alone; empty when it is a tensor that nothing else looks at."""
    place = storage.of(arg.init_value)
    made = next(
        (s for s in stmts[:position] if isinstance(s, AssignStmt) and place and s.var is place.root), None
    )
    if place is None or not place.whole or made is None or not _is_create(made):
        return "it starts from a tensor that the function does not make itself"
    loop = stmts[position]
    assert isinstance(loop, ForStmt)
    later = [replace(loop, iter_args=(), return_vars=()), *stmts[position + 1 :]]
    others = [a for a in loop.iter_args if a.init_value is arg.init_value and a is not arg]
    if others or any(storage.root(v) is place.root for stmt in later for v in used_vars(stmt)):
        return "what it starts from is read again"
    return ""


def _is_create(stmt: AssignStmt) -> bool:
    call = stmt.value
    return isinstance(call, Call) and call.name == "tensor.create" and "init_value" not in call.kwargs


def _occurrences(stmt: Stmt) -> list[Var]:
    return [
        n for n in walk(stmt) if isinstance(n, Var) and not (isinstance(stmt, AssignStmt) and n is stmt.var)
    ]


def _changed(function: Function, merges: Mapping[str, Candidate]) -> Function:
    """A function with one parameter for both where it is a kernel, and without the tensors where it is a caller."""
    own = merges.get(function.name)
    if own is None:
        return _Merging(merges).visit(function)
    kept, gone = function.params[own.kept], function.params[own.gone]
    ways = list(function.param_directions)
    ways[own.kept] = ParamDirection.InOut
    return replace(
        function,
        params=tuple(p for p in function.params if p is not gone),
        param_directions=tuple(w for i, w in enumerate(ways) if i != own.gone),
        body=substitute(function.body, {gone: kept}),
    )


class _Merging(Mutator):
    def __init__(self, merges: Mapping[str, Candidate]) -> None:
        super().__init__()
        self.merges = merges
        self.created = {c.create for c in merges.values()}

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """The tensor is not made any more."""
        if node not in self.created:
            return super().visit_assign_stmt(node)
        return SeqStmts((), leading_comments=node.leading_comments) if node.leading_comments else EMPTY

    def visit_call(self, node: Call) -> Any:
        """The kernel's call lacks the tensor."""
        new = super().visit_call(node)
        merge = self.merges.get(node.op.name) if isinstance(node.op, GlobalVar) else None
        if merge is None or not isinstance(new, Call):
            return new
        return replace(new, args=tuple(a for i, a in enumerate(new.args) if i != merge.gone))

"""What is a batch of products in a kernel, which of its operands' matrices are needed, and where each is computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
from math import prod

from pypto_core.ir import (
    AssignStmt,
    Call,
    EvalStmt,
    Expr,
    Function,
    Stmt,
    Var,
    flatten,
    is_const,
    regions,
    shapes_equal,
    walk,
    walk_stmts,
)
from pypto_core.ops import op_of, written_arguments
from pypto_plugin_tensor.accumulators import find_accumulators
from pypto_plugin_tensor.batch_levels import Index, Level, batch_of, rank_of, shaped
from pypto_plugin_tensor.storage import Storage


class BatchFacts:
    """``batched``: the variables that are split into matrices: products, carries and results of such, and what is made
    of them. ``late``: those of them that their only reader computes, matrix by matrix. ``made``: what sums begin with.
    ``loads``: loads of several matrices that only products read. ``wanted``: which matrices of which other operands
    are taken where these are defined.
    """

    def __init__(self, function: Function, functions: Mapping[str, Function], level: Level) -> None:
        self.level = level
        self.assigned = [s for s in walk_stmts(function.body) if isinstance(s, AssignStmt)]
        self.made = {s.var: c for s, c in self._calls() if c.name in level.made}
        self.batched = self._find(function)
        self.loads = self._loads(function)
        self.late = self._late(function, Storage(function.body, functions))
        self.wanted = self._wanted()

    def _calls(self) -> list[tuple[AssignStmt, Call]]:
        return [(s, s.value) for s in self.assigned if isinstance(s.value, Call)]

    def _find(self, function: Function) -> frozenset[Var]:
        level = self.level
        sums = find_accumulators(function, level.kind, frozenset(level.products), level.made)
        found = {v for v in sums if isinstance(v.type, level.kind) and rank_of(v) > 2}
        for stmt, call in self._calls():
            if call.name in level.per_matrix and call.args[0] in found and _takes_whole_batches(call):
                found.add(stmt.var)
        return frozenset(found)

    def _loads(self, function: Function) -> dict[Var, Call]:
        uses = Counter(node for node in walk(function.body) if isinstance(node, Var))
        products = [n for n in walk(function.body) if isinstance(n, Call) and self.level.is_batch(n)]
        operands = Counter(arg for call in products for arg in call.args if isinstance(arg, Var))
        return {
            stmt.var: call
            for stmt, call in self._calls()
            if call.name == "tile.load"
            and rank_of(stmt.var) > 2
            and 0 < operands[stmt.var] == uses[stmt.var] - 1
        }

    def _late(self, function: Function, storage: Storage) -> frozenset[Var]:
        """What they are made of stays as it is until they are read."""
        single = _read_once(function.body)
        return frozenset(
            stmt.var
            for stmt, call in self._calls()
            if stmt.var in self.batched & single
            and prod(batch_of(stmt.var)) > 1
            and all(storage.root(a) not in storage.writes for a in call.args if rank_of(a))
        )

    def _wanted(self) -> dict[Var, set[Index]]:
        found: dict[Var, set[Index]] = {}
        for stmt, call in self._calls():
            if not self.level.is_batch(call):
                continue
            for operand in call.args[: self.level.products[call.name] + 2]:
                if not isinstance(operand, Var) or rank_of(operand) < 3 or operand in self.batched:
                    continue
                if stmt.var in self.late and operand not in self.loads:
                    continue  # a window is taken where it is used
                places = (own_index(operand, i) for i in product(*map(range, batch_of(call))))
                found.setdefault(operand, set()).update(places)
        return found


def indices_of(var: Expr) -> list[Index]:
    """Where the matrices of a batch are, in order."""
    return list(product(*map(range, batch_of(var))))


def own_index(operand: Expr, index: Index) -> Index:
    """Which matrix of an operand a matrix of the result comes from: axes of one are read for each entry."""
    lead = shaped(operand).shape[:-2]
    behind = index[len(index) - len(lead) :]
    return tuple(0 if is_const(d, 1) else i for d, i in zip(lead, behind, strict=True))


def _takes_whole_batches(call: Call) -> bool:
    """Whether all of the leading axes holds data."""
    kind = shaped(call)
    return shapes_equal(kind.shape[:-2], kind.valid_shape[:-2])


def _read_once(body: Stmt) -> frozenset[Var]:
    """Variables with one reader, in the block that defines them and with nothing in between that has an effect."""
    uses = Counter(node for node in walk(body) if isinstance(node, Var))
    found: set[Var] = set()
    blocks = [flatten(body)]
    while blocks:
        near: set[Var] = set()
        for stmt in blocks.pop():
            read = {node for node in walk(stmt) if isinstance(node, Var)}
            if isinstance(stmt, AssignStmt | EvalStmt):
                found |= {v for v in near & read if uses[v] == 2}  # its definition and its reader
            near -= read
            if not _is_plain(stmt):
                near.clear()
            if isinstance(stmt, AssignStmt):
                near.add(stmt.var)
            blocks += [flatten(region) for region in regions(stmt)]
    return frozenset(found)


def _is_plain(stmt: Stmt) -> bool:
    """Whether a statement computes a value and does nothing else."""
    if not isinstance(stmt, AssignStmt):
        return False
    call = stmt.value
    if not isinstance(call, Call):
        return True
    op = op_of(call)
    return op is not None and op.pure and not written_arguments(call)


__all__ = ["BatchFacts", "indices_of", "own_index"]

"""A launch as a loop of the host: each block is a task, and all of them may run at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pypto_core.ir import (
    INDEX_ONE,
    INDEX_ZERO,
    Call,
    Expr,
    ForKind,
    ForStmt,
    InCoreScopeStmt,
    IterArg,
    Mutator,
    SpmdScopeStmt,
    Stmt,
    Var,
    YieldStmt,
    base_name,
    deep_clone,
    seq,
)
from pypto_plugin_tensor.cores import Cores
from pypto_plugin_tensor.dealing import Undivided
from pypto_plugin_tensor.storage import Storage


class BlockLoop:
    """The loop of one launch, and the ``scope`` that one of its trips executes.

    ``escapes``: the variables of the scope that the loop hands on. Raises Undivided for a launch whose blocks have to
    start together, ask for more than their number, or hand on anything but tensors that they write in place.
    """

    def __init__(self, launch: SpmdScopeStmt, escapes: set[Var], storage: Storage) -> None:
        if launch.sync_start:
            raise Undivided(
                "its blocks start together, and kernels for one core each start one after the other"
            )
        self._launch = launch
        self._results = sorted(escapes, key=lambda var: var.unique_id)
        roots = [_written(var, storage) for var in self._results]
        if len(set(roots)) < len(roots):
            raise Undivided("two names of one tensor are used behind it")
        self._args = tuple(IterArg(f"{r.name_hint}", r.type, init_value=r, span=r.span) for r in roots)
        old = launch.loop_var
        self._block = Var(
            "block__idx_v0" if old is None else old.name_hint, INDEX_ZERO.type, span=launch.span
        )
        known: dict[Var, Expr] = dict(zip(roots, self._args, strict=True))
        if old is not None:
            known[old] = self._block
        body, self._copies = deep_clone(_Queries(launch, self._block).visit(launch.body), known)
        self.scope = InCoreScopeStmt(body, name_hint=launch.name_hint, attrs=launch.attrs, span=launch.span)
        self.escapes = set(self._copied(self._results))

    def _copied(self, variables: Iterable[Var]) -> frozenset[Var]:
        return frozenset(v for v in map(self._copy, variables) if isinstance(v, Var))

    def _copy(self, var: Var) -> Expr:
        return self._copies.get(var, var)

    def cores(self, cores: Cores) -> Cores:
        """What is known about the launch's statements, of the trip's."""
        return Cores(self._copied(cores.accumulated), self._copied(cores.on_the_cube))

    def around(self, stmts: Sequence[Stmt]) -> ForStmt:
        """The loop with these statements for its scope."""
        span = self._launch.span
        tail = [YieldStmt(tuple(map(self._copy, self._results)), span=span)] if self._results else []
        return ForStmt(
            self._block, INDEX_ZERO, self._launch.core_num, INDEX_ONE, self._args, seq([*stmts, *tail], span),
            tuple(self._results), ForKind.Parallel, span=span,
        )  # fmt: skip


def _written(var: Var, storage: Storage) -> Var:
    """The tensor of the surroundings that a variable is the written state of."""
    place = storage.of(var)
    if place is None or not place.whole or place.root not in storage.writes or place.root is var:
        raise Undivided(f"'{base_name(var.name_hint)}' of its blocks is used behind it")
    return place.root


class _Queries(Mutator):
    """A block's number and the number of blocks are the loop's."""

    def __init__(self, launch: SpmdScopeStmt, block: Var) -> None:
        super().__init__()
        self._count, self._number = launch.core_num, block

    def visit_call(self, node: Call) -> Expr:
        """The answer in place of a question."""
        question = node.name.split(".")[-1] if not node.args else ""
        if question == "get_block_idx":
            return self._number
        if question == "get_block_num":
            return self._count
        if question == "get_subblock_idx":
            raise Undivided("its blocks ask for the number of their half")
        return self.mutate_children(node)


__all__ = ["BlockLoop"]

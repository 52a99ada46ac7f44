"""Cutting a hand-written reduction over K into windows: the grid goes outside of the author's loop.

Every window has an accumulator of its own that takes the whole reduction before the next window begins. Slicing the
finished accumulator would come too late: it is the one that L0C can't hold.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs

from pypto_core.ir import (
    AssignStmt,
    Call,
    Expr,
    ForKind,
    ForStmt,
    Function,
    IterArg,
    Mutator,
    SeqStmts,
    Stmt,
    TensorType,
    TileType,
    Var,
    const_index,
    replace,
    round_up,
    seq,
    shapes_equal,
    walk_stmts,
)
from pypto_core.ops import create_call, rebuild_call
from pypto_plugin_autotile.analysis import Question, analyse
from pypto_plugin_autotile.emit import Emitter, dims, shifted, with_comments
from pypto_plugin_autotile.grid_split_k import windows_of
from pypto_plugin_autotile.hints import NO_PLACE, Hints, Refusal
from pypto_plugin_autotile.k_loop import Window
from pypto_plugin_autotile.machine import Machine, box_alignment
from pypto_plugin_autotile.match import literal_pair, match_product, tile_type
from pypto_plugin_autotile.placers import DirectStore
from pypto_plugin_autotile.plan import Plan
from pypto_plugin_autotile.seed import emit_seed
from pypto_plugin_autotile.split_k_match import Chain, match_chain
from pypto_plugin_autotile.uses import count_uses

_AS_WRITTEN = "the loop stays as it is written"


def tile_split_k_chains(function: Function, machine: Machine, hints: Hints) -> Function:
    """The function with every chain whose accumulator exceeds L0C cut into windows."""
    if not any(isinstance(s, ForStmt) and s.kind is ForKind.Pipeline for s in walk_stmts(function.body)):
        return function
    body = _Chains(machine, hints, count_uses(function).reads).visit(function.body)
    return function if body is function.body else replace(function, body=body)


class _Chains(Mutator):
    def __init__(self, machine: Machine, hints: Hints, reads: Counter[Var]) -> None:
        super().__init__(rebuild_call=rebuild_call)
        self.machine, self.hints, self.reads = machine, hints, reads

    def visit_seq_stmts(self, node: SeqStmts) -> Stmt:
        stmts, out, place = node.stmts, list[Stmt](), 0
        while place < len(stmts):
            made = self.folded(stmts[place : place + 3])
            if made is None:
                out.append(self.visit(stmts[place]))
            else:
                out += made
            place += 1 if made is None else 3
        if len(out) == len(stmts) and all(a is b for a, b in zip(out, stmts, strict=True)):
            return node
        return seq(out, node.span)

    def folded(self, three: tuple[Stmt, ...]) -> list[Stmt] | None:
        """The statements that replace a chain; None when there is none, or when it need not or can't be cut."""
        if len(three) < 3 or match_chain(three[0], three[1], three[2], self.reads) is None:
            return None
        plain = Mutator(self.remap)
        chain = match_chain(three[0], plain.visit(three[1]), plain.visit(three[2]), self.reads)
        if chain is None:
            return None
        product = match_product(chain.product)
        assert product is not None
        lhs_box, rhs_box = box_alignment(product.lhs_type), box_alignment(product.rhs_type)
        box = None if lhs_box is None or rhs_box is None else (lhs_box[0], rhs_box[1])
        plan = analyse(product, self.machine, self.hints, Question(output_stationary=True, box=box))
        if plan is None or not plan.needs_grid:
            return None
        refusal = _refusal(chain, box)
        if refusal is not None or box is None:
            if refusal is not None:
                self.hints.refused(refusal, plan, self.machine, _AS_WRITTEN)
            return None
        return self.windows(chain, plan, box, three[2])

    def windows(self, chain: Chain, plan: Plan, box: tuple[int, int], original: Stmt) -> list[Stmt]:
        out = Emitter.at(chain.init)
        placer = DirectStore(chain.store)
        value = placer.begin(out)
        for step, window in enumerate(windows_of(plan.M, plan.N, plan.m, plan.n)):
            shape = round_up(window.rows, box[0]), round_up(window.cols, box[1])
            suffix = f"_mn{step}"
            valid = (const_index(window.rows), const_index(window.cols))
            dtype = tile_type(chain.init.var).dtype
            seed = emit_seed(out, f"{chain.init.var.name_hint}{suffix}", dtype, shape, valid)
            clone = _WindowClone(chain, seed, window, shape, suffix)
            loop = clone.visit(chain.loop)
            out.stmts.append(loop if step == 0 else replace(loop, leading_comments=()))
            value = placer.place(out, loop.return_vars[0], window.row, window.col, value, step)
        assert isinstance(original, AssignStmt)
        self.remap[original.var] = value
        comments = chain.init.leading_comments + chain.store.leading_comments
        return list(with_comments(out.stmts, comments))


def _refusal(chain: Chain, box: tuple[int, int] | None) -> Refusal | None:
    if not chain.first_step:
        return Refusal(
            code=NO_PLACE,
            reason="for a predicated split-K tile.matmul_acc: init_cond must test this loop's induction variable "
            "against 0, as nothing else shows where the accumulator begins",
            remedy="write init_cond as <loop variable> == 0, or as k0 == 0 with k0 = <loop variable> * <constant>",
        )
    if box is None:
        return Refusal(
            code=NO_PLACE,
            reason="a window needs boxed Mat operand layouts with a supported static fractal alignment",
            remedy="load the operands into Mat in their default layout",
        )
    target = chain.store.value.args[2].type if isinstance(chain.store.value, Call) else None
    if not isinstance(target, TensorType) or not shapes_equal(target.valid_shape, target.shape):
        return Refusal(
            code=NO_PLACE,
            reason="the tensor it is stored to is not valid everywhere, so that windows would leave gaps",
            remedy="store to a tensor without a valid_shape",
        )
    return None


@attrs.frozen
class _Panel:
    """How a load is narrowed: the axis, how far it moves, its physical and its valid extent."""

    axis: int
    offset: int
    physical: int
    valid: int


class _WindowClone(Mutator):
    """A copy of the loop with definitions of its own, its loads narrowed to one window and types deduced again."""

    def __init__(self, chain: Chain, seed: Var, window: Window, shape: tuple[int, int], suffix: str) -> None:
        super().__init__({chain.init.var: seed}, rebuild_call)
        self.chain, self.seed, self.suffix = chain, seed, suffix
        self.panels = {
            chain.lhs.load: _Panel(int(chain.lhs.turned), window.row, shape[0], window.rows),
            chain.rhs.load: _Panel(1 - chain.rhs.turned, window.col, shape[1], window.cols),
        }

    def visit_def(self, var: Var) -> Var:
        """A new variable for every definition; what stands for the accumulator has the seed's type."""
        new: Var
        if isinstance(var, IterArg):
            new = IterArg(
                var.name_hint + self.suffix, self.seed.type, self.visit(var.init_value), span=var.span
            )
        elif var in self.chain.carried:
            new = Var(var.name_hint + self.suffix, self.seed.type, span=var.span)
        else:
            new = Var(var.name_hint, self.visit_type(var.type), span=var.span)
        self.remap[var] = new
        return new

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """An assignment whose variable has the new value's type."""
        value = self.narrowed(node, self.panels[node]) if node in self.panels else self.visit(node.value)
        if not isinstance(value.type, TileType):
            return replace(node, var=self.visit_def(node.var), value=value)
        var = Var(node.var.name_hint + self.suffix, value.type, span=node.var.span)
        self.remap[node.var] = var
        return replace(node, var=var, value=value)

    def narrowed(self, stmt: AssignStmt, panel: _Panel) -> Call:
        """The load of one window's part of a panel."""
        call: Any = stmt.value
        tensor = self.visit(call.args[0])
        offsets = list(
            self.visit(call.args[1]).elements
        )  # the matrix lies along the last two axes of the tensor
        shape, valid = list(literal_pair(call.args[2]) or ()), list(literal_pair(call.args[3]) or ())
        axis = len(offsets) - 2 + panel.axis
        offsets[axis] = shifted(offsets[axis], panel.offset)
        shape[panel.axis], valid[panel.axis] = const_index(panel.physical), const_index(panel.valid)
        args: list[Expr] = [tensor, dims(*offsets), dims(*shape), dims(*valid)]
        return create_call(
            call.name, args, self.mutate_map(call.kwargs), call.span, self.mutate_map(call.attrs)
        )

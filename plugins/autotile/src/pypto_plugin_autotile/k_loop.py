"""One output window, reduced over K in blocks that fit L0.

All blocks add to one accumulator. What begins it differs: a predicate on the first trip of the loop for a product of
its own, nothing for a caller's accumulator, and for a bias a first block ahead of the loop, since the biased operator
takes no predicate. No two values ever meet in a phi: nothing could copy one accumulator into another.
"""

from __future__ import annotations

import attrs

from pypto_core.ir import And, Eq, Expr, MemorySpace, Var, make_binary, static_dim
from pypto_plugin_autotile.bias import emit_bias
from pypto_plugin_autotile.emit import INDEX_ZERO, PIPELINED, Emitter, loop_head
from pypto_plugin_autotile.match import Kind, tile_type
from pypto_plugin_autotile.plan import Plan
from pypto_plugin_autotile.seed import emit_seed, window_valid

LEFT, RIGHT, MAT, VEC = MemorySpace.Left, MemorySpace.Right, MemorySpace.Mat, MemorySpace.Vec


@attrs.frozen
class Window:
    """``rows`` x ``cols`` of the result, from ``row`` and ``col`` on."""

    row: int
    col: int
    rows: int
    cols: int


def whole_window(plan: Plan) -> Window:
    """The whole result."""
    return Window(0, 0, plan.M, plan.N)


def window_is_empty(plan: Plan, window: Window) -> bool:
    """Whether the window provably holds no valid element."""
    rows, cols = (static_dim(v) for v in plan.output_valid)
    return (rows is not None and rows <= window.row) or (cols is not None and cols <= window.col)


@attrs.frozen
class _Reduction:
    """The emission of one window. ``lhs`` is where blocks of the left operand are cut from."""

    out: Emitter
    plan: Plan
    window: Window
    name: str
    result: str
    lhs: Expr
    bias: Var | None

    def operands(self, out: Emitter, tag: str, at: Expr | int, depth: int) -> tuple[Var, Var]:
        """Block ``at`` of K, in L0."""
        w, base = self.window, f"{self.name}_l0"
        a = out.extract(f"{base}_a{tag}", self.lhs, (w.row, at), (w.rows, depth), LEFT)
        b = out.extract(f"{base}_b{tag}", self.plan.product.rhs, (at, w.col), (depth, w.cols), RIGHT)
        return a, b

    def product(self, out: Emitter, name: str, *args: Expr) -> Var:
        """One product with the operator that its operands call for."""
        notes = self.plan.product.call.attrs
        return out.let(name, "tile.matmul" if len(args) == 2 else "tile.matmul_acc", args, {}, notes)

    def first(self, out: Emitter, name: str) -> Var:
        """The block at 0, in a line of its own."""
        a, b = self.operands(out, "0", 0, self.plan.k)
        product = self.plan.product
        if self.bias is not None:
            return out.let(name, "tile.matmul_bias", (a, b, self.bias), {}, product.call.attrs)
        if product.acc is None:
            return self.product(out, name, a, b)
        condition = () if product.init_cond is None else (product.init_cond,)
        return self.product(out, name, product.acc, a, b, *condition)

    def block(self, name: str, tag: str, acc: Expr, at: int, depth: int) -> Var:
        """A block added to what is there."""
        a, b = self.operands(self.out, tag, at, depth)
        return self.product(self.out, name, acc, a, b)

    def loop(self, start: int, stop: int, init: Var, result: str, predicated: bool) -> Var:
        """The whole blocks from ``start`` on, one a trip."""
        base, out = f"{self.name}_l0", self.out
        bounds = (start, stop, self.plan.k)
        head = loop_head(f"{base}_ko", f"{base}_c", init, bounds, result, out.span, PIPELINED)
        body = out.nested()
        a, b = self.operands(body, "", head.var, self.plan.k)
        condition: tuple[Expr, ...] = (self.predicate(head.var),) if predicated else ()
        acc = self.product(body, f"{base}_c_acc", head.carry, a, b, *condition)
        return out.loop(head, body, acc)

    def predicate(self, ko: Var) -> Expr:
        """True on the first block: of this loop, and of the caller's reduction when that has more steps."""
        first = make_binary(Eq, ko, INDEX_ZERO)
        caller = self.plan.product.init_cond
        return first if caller is None else make_binary(And, caller, first)


def emit_reduction(out: Emitter, plan: Plan, window: Window, name: str, result: str) -> Var:
    """Emit the reduction of one window and return its value.

    ``name`` begins the names of all parts; ``result`` is the name of what comes out.
    """
    product = plan.product
    whole_blocks = plan.K // plan.k
    stop = whole_blocks * plan.k
    tail = plan.K - stop
    main = f"{name}_l0_kmain" if tail else result
    init = None
    if whole_blocks >= 2 and product.kind is not Kind.BIAS:
        init = product.acc if product.acc is not None else _seed(out, plan, window, name)
    lhs: Expr = product.lhs
    if tile_type(lhs).memory_space is VEC:
        # The crossing from the vector core stays a move of its own, which is what splitting a mixed kernel looks for.
        lhs = out.move(f"{name}_l0_lmat", lhs, MAT)
    bias = None
    if product.kind is Kind.BIAS:
        bias = emit_bias(out, plan, f"{name}_l0_bias", window.col, window.cols)
    work = _Reduction(out, plan, window, name, result, lhs, bias)
    value = _whole_blocks(work, init, whole_blocks, stop, main)
    if tail:
        value = work.block(result, "t", value, stop, tail)
    return value


def _whole_blocks(work: _Reduction, init: Var | None, count: int, stop: int, result: str) -> Var:
    product, k = work.plan.product, work.plan.k
    if init is not None:
        predicated = product.acc is None or product.init_cond is not None
        return work.loop(0, stop, init, result, predicated)
    if count == 1:
        return work.first(work.out, result)
    started = work.first(work.out, f"{work.name}_l0_c0")
    if count == 2:
        # A pipelined loop of one trip has nothing to overlap.
        return work.block(result, "1", started, k, k)
    return work.loop(k, stop, started, result, predicated=False)


def _seed(out: Emitter, plan: Plan, window: Window, name: str) -> Var:
    rows, cols = plan.output_valid
    if window != whole_window(plan):
        rows = window_valid(rows, window.row, window.rows)
        cols = window_valid(cols, window.col, window.cols)
    shape = (window.rows, window.cols)
    return emit_seed(out, f"{name}_l0_init", plan.product.type.dtype, shape, (rows, cols))

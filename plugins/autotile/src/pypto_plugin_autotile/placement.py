"""Whether and where the windows of a result can go, and the clause that says why not."""

from __future__ import annotations

import attrs

from pypto_core.ir import (
    AssignStmt,
    Call,
    DataType,
    MemorySpace,
    TensorType,
    Var,
    shapes_equal,
)
from pypto_plugin_autotile.analysis import Question, analyse
from pypto_plugin_autotile.cast_fold import drain_can_cast
from pypto_plugin_autotile.facts import ListFacts, Roots
from pypto_plugin_autotile.hints import NO_BIAS_WINDOW, NO_PLACE, WIDE_SCRATCH, Hints, Refusal
from pypto_plugin_autotile.machine import Machine
from pypto_plugin_autotile.match import Kind, store_offsets
from pypto_plugin_autotile.plan import Plan
from pypto_plugin_autotile.uses import Uses


@attrs.frozen(eq=False)
class Scratch:
    """A place in Mat: the plan to emit, the element type, and the cast that is done on the way."""

    plan: Plan
    dtype: DataType
    cast: AssignStmt | None


def bias_refusal(plan: Plan) -> Refusal | None:
    """Why a biased product's columns can't be cut."""
    bias = plan.product.bias
    if bias is None or plan.n == plan.N or plan.bias_load is not None:
        return None
    return Refusal(
        code=NO_BIAS_WINDOW,
        reason="the bias is no plain load of one whole row right before the product, so that columns of it can't be "
        "loaded instead",
        remedy="load the bias as [1, N] directly before the product, and use it there alone",
        facts={"bias columns": f"{plan.n} of {plan.N} a window"},
    )


def find_scratch(
    stmt: AssignStmt, plan: Plan, facts: ListFacts, uses: Uses, machine: Machine
) -> Scratch | Refusal | None:
    """A place in Mat for a result that products alone read; None when that is not what reads it."""
    product, backend = plan.product, machine.backend
    assert backend is not None
    if product.kind is Kind.ACC or product.lhs_type.memory_space is MemorySpace.Vec:
        return None
    var, dtype, cast = stmt.var, product.type.dtype, facts.casts.get(stmt.var)
    if cast is not None and isinstance(cast.value, Call):
        folds = drain_can_cast(cast.value, dtype) and uses.reads[var] == 1
        if folds and uses.only_operands(cast.var):
            var, dtype = cast.var, cast.value.kwargs["target_type"]
        else:
            cast = None
    if not uses.only_operands(var):
        return None
    plan = _for_stacking_planner(plan, machine)
    if dtype not in backend.mat_scratch_dtypes:
        allowed = ", ".join(d.text for d in backend.mat_scratch_dtypes)
        return Refusal(
            code=WIDE_SCRATCH,
            reason=f"its chained-matmul [M, N] intermediate is {dtype}, where {backend.title} needs a bf16/f16 one to "
            "keep it in Mat for the products that read it",
            remedy='convert the result before the next product: pl.cast(x, pl.BF16, mode="rint")',
            facts={"element types in Mat": allowed},
        )
    size, room = dtype.storage_bytes(plan.M * plan.N), backend.capacity(MemorySpace.Mat)
    if size > room:
        return Refusal(
            code=NO_PLACE,
            reason=f"the whole result is read by the next product, and its Mat scratch ({size} bytes) exceeds Mat "
            f"capacity ({room} bytes)",
            remedy="make the product smaller, or store its result and load parts of it",
            facts={"Mat": f"{size} of {room} bytes"},
        )
    return Scratch(plan, dtype, cast)


def _for_stacking_planner(plan: Plan, machine: Machine) -> Plan:
    """A plan that pins no operand, where the planner could not give the panel's room to the product that follows."""
    if not machine.stacks_buffers or not plan.pins_operand:
        return plan
    question = Question(output_stationary=True, bias_load=plan.bias_load)
    return analyse(plan.product, machine, Hints(), question) or plan


def find_store(
    stmt: AssignStmt, plan: Plan, facts: ListFacts, uses: Uses, roots: Roots
) -> AssignStmt | Refusal:
    """The store whose tensor takes the windows one by one."""
    product, store = plan.product, facts.stores.get(stmt.var)
    if product.kind is Kind.ACC:
        return _no_place(
            "it does not match the canonical create -> split-K pipeline -> store form, and a caller's accumulator of "
            "all rows and columns can't be cut into windows",
            "write the reduction as tile.create, one pl.pipeline loop and one store, with the predicate <loop "
            "variable> == 0 or an if on the first step",
        )
    if product.lhs_type.memory_space is MemorySpace.Vec:
        return _no_place(
            "its Vec left operand needs M/N tiling, and what comes from the vector core is not cut into rows",
            "bring the left operand to Mat, or make the product smaller",
        )
    if (
        store is not None
        and plan.bias_load is not None
        and plan.n != plan.N
        and facts.after_loads[stmt] is not store
    ):
        return Refusal(
            code=NO_BIAS_WINDOW,
            reason="its N-window loads would move past what stands between the product and its store, across an "
            "intervening effect, and have to preserve the original bias snapshot",
            remedy="store the result right after the product",
        )
    call = store.value if store is not None else None
    if store is None or not isinstance(call, Call) or uses.reads[stmt.var] != 1:
        return _no_place(
            "its output exceeds L0c but its result is not consumed by a single 2D tile.store beside it, nor by "
            "products alone",
            "store the result once, in the same block, and name the tensor: out = pl.store(c, [0, 0], out); or use it "
            "only as an operand of products",
        )
    return _usable_store(stmt, store, call, plan, facts, roots)


def _usable_store(
    stmt: AssignStmt, store: AssignStmt, call: Call, plan: Plan, facts: ListFacts, roots: Roots
) -> AssignStmt | Refusal:
    target = call.args[2]
    if store_offsets(call) is None or not isinstance(target, Var):
        return _no_place(
            "the store of its result has no written-out pair of offsets, or no variable to store to",
            "store to a tensor variable at [row, column]",
        )
    kind = target.type
    if not isinstance(kind, TensorType) or not shapes_equal(kind.valid_shape, kind.shape):
        return _no_place(
            "the tensor it is stored to is not valid everywhere, so that windows would leave gaps",
            "store to a tensor without a valid_shape",
        )
    if facts.after_loads[stmt] is not store:
        product = plan.product
        written = facts.written_between(stmt, store, (product.lhs, product.rhs), roots)
        if written is not None:
            return _no_place(
                f"its operand '{written.name_hint}' is overwritten before the result is stored",
                "store the result before the operand changes",
            )
    return store


def _no_place(reason: str, remedy: str) -> Refusal:
    return Refusal(code=NO_PLACE, reason=reason, remedy=remedy)

"""From a product to a plan: what disqualifies it, what to ask the chooser, and what the answer means."""

from __future__ import annotations

from typing import Any

import attrs

from pypto_core.contract import Backend
from pypto_core.diagnostics import UserError
from pypto_core.ir import AssignStmt, MemorySpace
from pypto_plugin_autotile.chooser import choose_l0_tile, config_for, schedule_gates
from pypto_plugin_autotile.hints import (
    NO_BIAS_WINDOW,
    NO_PLACE,
    NO_TILE,
    ODD_K,
    PADDED,
    SUB_BYTE,
    Hints,
)
from pypto_plugin_autotile.machine import Machine, box_alignment
from pypto_plugin_autotile.match import Kind, Product, static_2d, tile_type, usable_bias
from pypto_plugin_autotile.placed import check_placed_operands
from pypto_plugin_autotile.plan import Plan

MAT, VEC, BIAS = MemorySpace.Mat, MemorySpace.Vec, MemorySpace.Bias
LEFT_ALONE = "it is left untouched"


@attrs.frozen(kw_only=True)
class Question:
    """What differs between the places that ask.

    ``box``: multiples that the rows of a left window and the columns of a right one are padded to. ``bias_load``:
    the load of a full bias row that windows can be loaded instead of.
    """

    output_stationary: bool = False
    box: tuple[int, int] | None = None
    bias_load: AssignStmt | None = None


PLAIN = Question()


def analyse(product: Product, machine: Machine, hints: Hints, question: Question = PLAIN) -> Plan | None:
    """The plan for a product, or None when it stays as it is: silently, or with a hint that says why.

    Raises UserError when an operand placed in L0 by hand is larger than L0, or when no machine is chosen.
    """
    check_placed_operands(product, machine)
    if product.kind is Kind.BIAS and not usable_bias(product):
        return None
    lhs, rhs = static_2d(product.lhs), static_2d(product.rhs)
    if lhs is None or rhs is None or product.rhs_type.memory_space is not MAT:
        return None
    if product.lhs_type.memory_space not in (MAT, VEC):
        return None
    if product.kind is Kind.BIAS and product.lhs_type.memory_space is VEC:
        hints.about(
            NO_BIAS_WINDOW,
            f"the left operand of {product.call.name} lies in Vec, and a biased product is tiled from Mat only: "
            + LEFT_ALONE,
            product,
            remedy="bring both matrix operands to Mat before the product",
        )
        return None
    if _has_sub_byte(product, hints):
        return None
    if machine.backend is None:
        raise _no_machine(product)
    fields = _bias_fields(product, machine.backend, (lhs[0], rhs[1], lhs[1]), hints)
    if fields is None:
        return None
    return _planned(product, (lhs[0], rhs[1], lhs[1]), machine, hints, question, fields)


def _no_machine(product: Product) -> UserError:
    return UserError(
        f"{product.call.name} can't be tiled while no machine is chosen: nothing says how large its L0 is",
        code="PT611",
        span=product.call.span if product.call.span.is_valid else product.stmt.span,
        remedy="choose one: compile(..., backend='910b'), or a PassContext with a backend",
    )


def _has_sub_byte(product: Product, hints: Hints) -> bool:
    types = (product.lhs_type.dtype, product.rhs_type.dtype, product.type.dtype)
    narrow = next((dtype for dtype in types if dtype.bits % 8), None)
    if narrow is None:
        return False
    hints.about(
        SUB_BYTE,
        f"{product.call.name} works on {narrow}, of which several share a byte, and is not tiled: {LEFT_ALONE}",
        product,
        remedy="convert the operands to a type of at least 8 bits, such as int8",
    )
    return True


def _bias_fields(
    product: Product, backend: Backend, extents: tuple[int, int, int], hints: Hints
) -> dict[str, Any] | None:
    """What a bias adds to the question; None after saying why it can't be tiled."""
    if product.kind is not Kind.BIAS or product.bias is None:
        return {}
    bias = tile_type(product.bias)
    in_table = bias.memory_space is BIAS
    lhs_box, rhs_box = box_alignment(product.lhs_type), box_alignment(product.rhs_type)
    table, result = backend.capacity(BIAS), product.type.dtype
    step = backend.fractal_alignment
    most = table // result.element_bytes
    why = ""
    if not in_table and (bias.dtype, result) not in backend.mat_to_bias:
        why = f"{backend.title} can't move a bias of {bias.dtype} into its table as {result}"
    elif lhs_box is None or rhs_box is None:
        why = "an operand has no boxes that a window could be aligned to"
    elif most < backend.min_l0_tile_dim:
        why = f"the bias table of {table} bytes can't hold {backend.min_l0_tile_dim} columns"
    if why or lhs_box is None or rhs_box is None:
        _no_window(product, why, hints)
        return None
    aligned = (max(step, lhs_box[0]), max(step, rhs_box[1]), max(step, lhs_box[1], rhs_box[0]))
    off = [f"{n} % {a}" for n, a in zip(extents, aligned, strict=True) if n % a]
    if off:
        _no_window(product, f"its extents are no whole boxes ({', '.join(off)} is not 0)", hints)
        return None
    least = backend.min_l0_tile_dim
    fields: dict[str, Any] = {
        "align_m": aligned[0], "align_n": aligned[1], "align_k": aligned[2],
        "min_m": max(least, aligned[0]), "min_n": max(least, aligned[1]), "min_k": max(least, aligned[2]),
        "box_align_m": lhs_box[0], "box_align_n": rhs_box[1], "max_n": most,
    }  # fmt: skip
    if in_table:
        fields["min_n"] = extents[1]
    else:
        fields |= {"max_n_pipelined": most // 2, "max_n_nested_pipelined": most // 4}
    return fields


def _no_window(product: Product, why: str, hints: Hints) -> None:
    hints.about(
        NO_BIAS_WINDOW,
        f"{product.call.name} is not tiled, as {why}: {LEFT_ALONE}",
        product,
        remedy="keep operands and bias in Mat, aligned to whole boxes, and the bias in a type that the table takes",
    )


def _planned(
    product: Product,
    extents: tuple[int, int, int],
    machine: Machine,
    hints: Hints,
    question: Question,
    fields: dict[str, Any],
) -> Plan | None:
    M, N, K = extents
    backend = machine.backend
    assert backend is not None
    step = fields.get("align_k", backend.fractal_alignment)
    # The assembler takes whole fractals of K, which of one-byte elements are longer: where K has them, so has a block.
    fractal = backend.cost_model.mad_k_fractal_bytes // product.lhs_type.dtype.element_bytes
    if fractal > step and K % fractal == 0:
        step = fractal
        fields = {**fields, "align_k": step, "min_k": max(step, fields.get("min_k", backend.min_l0_tile_dim))}
    if K % step:
        hints.about(
            ODD_K,
            f"{product.call.name}: K={K} is not a multiple of the cube fractal {step}, so no block of it is whole: "
            f"{LEFT_ALONE}",
            product,
            remedy=f"pad K to {-(-K // step) * step} and narrow what is valid with valid_shape",
        )
        return None
    if question.box is not None:
        fields = {**fields, "box_align_m": question.box[0], "box_align_n": question.box[1]}
    gates = schedule_gates(
        double_buffer_c=machine.double_buffer_c, output_stationary=question.output_stationary
    )
    config = config_for(
        backend, M, N, K,
        product.lhs_type.dtype, product.rhs_type.dtype, product.type.dtype,
        c_read=product.kind is Kind.ACC, **(gates | fields),
    )  # fmt: skip
    try:
        choice = choose_l0_tile(config)
    except UserError as error:
        _no_tile(product, error, hints)
        return None
    plan = Plan(product=product, M=M, N=N, K=K, config=config, choice=choice, bias_load=question.bias_load)
    if plan.is_whole:
        return None
    if choice.perf_hint:
        hints.about(PADDED, choice.perf_hint, product, remedy="make the product at least as large as a tile")
    return plan


def _no_tile(product: Product, error: UserError, hints: Hints) -> None:
    facts = dict(error.diagnostics[0].facts)
    if product.bias is not None and tile_type(product.bias).memory_space is BIAS:
        # With its bias in the table already, a product must not be cut into columns.
        hints.about(
            NO_PLACE,
            f"the bias of {product.call.name} lies in the bias table, where no columns can be cut from it, and "
            f"with all columns no tile fits L0: {LEFT_ALONE}",
            product,
            facts={**facts, "chooser": error.message},
            remedy="leave the bias in Mat: windows of it are then loaded as they are needed",
        )
        return
    hints.about(
        NO_TILE,
        f"no L0 tile exists for {product.call.name} ({error.message}): {LEFT_ALONE}",
        product,
        facts=facts,
        remedy=error.diagnostics[0].remedy,
    )


def along_k_only(plan: Plan) -> Plan | None:
    """The best plan that keeps the whole result in one accumulator; None when L0C or L0 can't hold that."""
    config = attrs.evolve(
        plan.config,
        min_m=plan.M,
        min_n=plan.N,
        allow_a_stationary=False,
        allow_b_stationary=False,
        allow_double_buffer_c=False,
    )
    try:
        choice = choose_l0_tile(config)
    except UserError:
        return None
    return attrs.evolve(plan, config=config, choice=choice)

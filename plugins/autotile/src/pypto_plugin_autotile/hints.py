"""What the pass has to say: collected while it works, once for each call and code, logged when it is done."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from pypto_core.diagnostics import Span
from pypto_core.ir import Call, MemorySpace, Stmt
from pypto_core.run import PassContext
from pypto_plugin_autotile.machine import Machine
from pypto_plugin_autotile.match import Product, static_2d
from pypto_plugin_autotile.plan import Plan

RULE = "AutoTileMatmulL0"

SUB_BYTE = "PH-AT-003"
NO_TILE = "PH-AT-005"
NO_PLACE = "PH-AT-006"
ODD_K = "PH-AT-007"
PADDED = "PH-AT-008"
WIDE_SCRATCH = "PH-AT-009"
CAST_STAYS = "PH-AT-010"
NO_BIAS_WINDOW = "PH-AT-011"

Facts = Mapping[str, object]
_NO_FACTS: Facts = {}


@attrs.frozen(kw_only=True)
class Refusal:
    """Why something can't be done: a code, a clause to stand after "but", what to do about it, and facts."""

    code: str
    reason: str
    remedy: str
    facts: Facts = _NO_FACTS


@attrs.frozen(kw_only=True)
class _Hint:
    code: str
    message: str
    span: Span
    facts: Facts
    remedy: str


@attrs.define
class Hints:
    """Findings in order. A second one with the same code about the same call is dropped."""

    _found: dict[tuple[str, object], _Hint] = attrs.field(factory=dict)

    def add(
        self,
        code: str,
        message: str,
        node: Call | Stmt,
        stmt: Stmt,
        *,
        facts: Facts = _NO_FACTS,
        remedy: str,
    ) -> None:
        """Note a finding about ``node``; ``stmt`` gives the place when the node has none."""
        span = node.span if node.span.is_valid else stmt.span
        key = (code, span if span.is_valid else id(node))
        self._found.setdefault(key, _Hint(code=code, message=message, span=span, facts=facts, remedy=remedy))

    def about(
        self, code: str, message: str, product: Product, *, facts: Facts = _NO_FACTS, remedy: str
    ) -> None:
        """Note a finding about a product, whose shape joins the facts."""
        self.add(
            code, message, product.call, product.stmt, facts={**shape_facts(product), **facts}, remedy=remedy
        )

    def refused(self, refusal: Refusal, plan: Plan, machine: Machine, outcome: str) -> None:
        """Note that a plan's grid can't be placed, and what happens instead."""
        m, n, k = plan.tile
        self.about(
            refusal.code,
            f"{plan.product.call.name} runs best as a grid of {m} x {n} tiles, but {refusal.reason}: {outcome}",
            plan.product,
            facts={
                "best tile (m, n, k)": f"{m}, {n}, {k}",
                "best schedule": plan.schedule,
                "accumulator": f"{plan.acc_bytes} of {machine.capacity(MemorySpace.Acc)} bytes of L0C",
                **refusal.facts,
            },
            remedy=refusal.remedy,
        )

    def log(self, ctx: PassContext) -> None:
        """Hand everything to the context's log."""
        for hint in self._found.values():
            ctx.hint(hint.code, hint.message, hint.span, facts=hint.facts, remedy=hint.remedy, rule=RULE)


def shape_facts(product: Product) -> Facts:
    """M x N x K and the element types."""
    lhs, rhs = static_2d(product.lhs), static_2d(product.rhs)
    if lhs is None or rhs is None:
        return {}
    types = f"{product.lhs_type.dtype} to {product.type.dtype}"
    return {"product (M x N x K)": f"{lhs[0]} x {rhs[1]} x {lhs[1]}, {types}"}

"""The contract: what has to hold before the pass, and where it wants to stand."""

from __future__ import annotations

from pypto_core.contract import Pass, PassContract, PassScope, Role, after, strictly_before

KEPT = ("SSAForm", "NormalizedStmtStructure", "NoNestedCalls")

PASS = Pass(
    contract=PassContract(
        name="NimbusDropUnitScale",
        requires=KEPT,
        produces=KEPT,
        role=Role.OPTIMISE,
        order=(
            after("Simplify", "constants are folded by then"),
            strictly_before("InitMemRef", "what goes needs no place in memory"),
        ),
    ),
    run="pypto_plugin_nimbus_drop_unit_scale.nimbus_drop_unit_scale:nimbus_drop_unit_scale",
    scope=PassScope.FUNCTION,
    summary="take away multiplications of a tile by one",
)

"""The contracts of this plugin's passes."""

from __future__ import annotations

from pypto_core.contract import Pass, PassContract, PassScope, Role, after, before

_HERE = "pypto_plugin_structure"

PASSES = (
    Pass(
        contract=PassContract(
            name="ConvertToSSA",
            produces={"SSAForm"},
            invalidates={"NormalizedStmtStructure"},
            role=Role.MUST,
            touches={"ir.ssa-names", "ir.control-flow"},
        ),
        run=f"{_HERE}.convert_to_ssa:convert_to_ssa",
        scope=PassScope.FUNCTION,
        summary="assign every variable once; reassignment becomes phis and loop carries",
    ),
    Pass(
        contract=PassContract(
            name="NormalizeStmtStructure",
            produces={"NormalizedStmtStructure"},
            role=Role.MUST,
            touches={"ir.control-flow"},
        ),
        run=f"{_HERE}.normalize:normalize_stmt_structure",
        scope=PassScope.FUNCTION,
        summary="flatten sequences of statements",
    ),
    Pass(
        contract=PassContract(
            name="FlattenCallExpr",
            requires={"SSAForm", "NormalizedStmtStructure"},
            produces={"SSAForm", "NoNestedCalls", "NormalizedStmtStructure"},
            role=Role.MUST,
            order=(
                after("NormalizeStmtStructure", "it keeps the normal form that it finds"),
                before("InitMemRef", "tile passes and memory planning read three-address form"),
            ),
        ),
        run=f"{_HERE}.flatten_calls:flatten_call_expr",
        scope=PassScope.FUNCTION,
        summary="assign nested calls to variables of their own",
    ),
)

"""The numbers of findings, by the property that they are against; the names are those of what was found."""

from __future__ import annotations

import enum


class SSAErrorType(enum.IntEnum):
    """Findings against SSAForm."""

    MULTIPLE_ASSIGNMENT = 1
    NAME_SHADOWING = 2
    MISSING_YIELD = 3
    ITER_ARGS_RETURN_VARS_MISMATCH = 4
    YIELD_COUNT_MISMATCH = 5
    SCOPE_VIOLATION = 6
    MISPLACED_YIELD = 7


class TypeCheckErrorType(enum.IntEnum):
    """Findings against TypeChecked."""

    TYPE_KIND_MISMATCH = 101
    DTYPE_MISMATCH = 102
    SHAPE_DIMENSION_MISMATCH = 103
    SHAPE_VALUE_MISMATCH = 104
    SIZE_MISMATCH = 105
    IF_CONDITION_MUST_BE_SCALAR = 106
    FOR_RANGE_MUST_BE_SCALAR = 107
    CONDITION_MUST_BE_BOOL = 108
    PAD_MISMATCH = 109
    WINDOW_BUFFER_MISMATCH = 110
    TILE_VIEW_MISMATCH = 111


class NestedCallErrorType(enum.IntEnum):
    """Findings against NoNestedCalls: where the inner call stands."""

    CALL_IN_CALL_ARGS = 201
    CALL_IN_IF_CONDITION = 202
    CALL_IN_FOR_RANGE = 203
    CALL_IN_BINARY_EXPR = 204
    CALL_IN_UNARY_EXPR = 205


class UseAfterDefErrorType(enum.IntEnum):
    """Findings against UseAfterDef."""

    USE_BEFORE_DEF = 401

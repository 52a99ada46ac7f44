"""Verifiers: what has to hold of a program, one property at a time, and what to say when it does not."""

from pypto_core.verify.catalogue import (
    CORE_PROPERTIES,
    DEFAULT_CHECKS,
    EFFECTS,
    PROPERTIES_BY_NAME,
    STRUCTURAL,
    VERIFIED,
)
from pypto_core.verify.checking import Catalogue, PropertyError, holds, verify_or_raise, verify_properties
from pypto_core.verify.kernels import is_kernel_scope, is_tile_compute
from pypto_core.verify.mismatch import Mismatch, mismatches
from pypto_core.verify.numbers import PROPERTY_ORDER, property_code, property_number
from pypto_core.verify.report import report
from pypto_core.verify.rules import Rule, rule, shown

__all__ = [
    "CORE_PROPERTIES",
    "DEFAULT_CHECKS",
    "EFFECTS",
    "PROPERTIES_BY_NAME",
    "PROPERTY_ORDER",
    "STRUCTURAL",
    "VERIFIED",
    "Catalogue",
    "Mismatch",
    "PropertyError",
    "Rule",
    "holds",
    "is_kernel_scope",
    "is_tile_compute",
    "mismatches",
    "property_code",
    "property_number",
    "report",
    "rule",
    "shown",
    "verify_or_raise",
    "verify_properties",
]

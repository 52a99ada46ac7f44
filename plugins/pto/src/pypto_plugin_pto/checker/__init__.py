"""A checker of PTO text for those who have no assembler: grammar, tiles, levels, rings, names and types."""

from pypto_plugin_pto.checker.check import Report, check_text

__all__ = ["Report", "check_text"]

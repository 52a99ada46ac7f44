"""Kernels from text and from files."""

from __future__ import annotations

from pypto.language import parse, parse_program
from pypto_core.language import loads, loads_program

__all__ = ["loads", "loads_program", "parse", "parse_program"]

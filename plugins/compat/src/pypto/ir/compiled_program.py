"""What compiling a program gives."""

from __future__ import annotations

from pypto.ir.compiling import CompiledProgram

__all__ = ["CompiledProgram"]

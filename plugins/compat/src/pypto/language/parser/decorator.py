"""The decorators that read kernels."""

from __future__ import annotations

from pypto_core.language import function, inline, program

__all__ = ["function", "inline", "program"]

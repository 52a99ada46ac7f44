"""What parsing can end in: see :mod:`pypto.language.parser.diagnostics`."""

from __future__ import annotations

from pypto.language.parser import diagnostics

__all__ = ["diagnostics"]

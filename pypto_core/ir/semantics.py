"""The version of what programs mean, for everything that is kept beyond a process."""

from __future__ import annotations

SEMANTICS_VERSION = 1
"""Raised by every change after which an equal program means or compiles to something else."""

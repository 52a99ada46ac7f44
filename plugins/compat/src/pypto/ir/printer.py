"""Programs as text."""

from __future__ import annotations

from pypto.ir.text import python_print, python_print_type, register_format_callback

__all__ = ["python_print", "python_print_type", "register_format_callback"]

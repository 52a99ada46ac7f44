"""Programs as text and as bytes: the printer of the kernel language, and the binary codec."""

from pypto_core.text.codec import Codec, dumps, loads
from pypto_core.text.printer import callees_first, print_expr, print_program, print_type
from pypto_core.text.schema import ClassTable

__all__ = [
    "ClassTable",
    "Codec",
    "callees_first",
    "dumps",
    "loads",
    "print_expr",
    "print_program",
    "print_type",
]

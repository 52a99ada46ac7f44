"""Element types that each instruction takes, for both generations of the machine.

From the verifier of the assembler of August 2026. Instructions that are not listed are not checked.
"""

from __future__ import annotations

from functools import cache

_GROUPS: dict[str, tuple[str, ...]] = {
    "float": ("f32", "f16"),
    "bf16": ("bf16",),
    "i64": ("i64",),
    "i32": ("i32", "ui32"),
    "i16": ("i16", "ui16"),
    "i8": ("i8", "ui8"),
    "words": ("i32", "ui32", "i16", "ui16"),
    "wide": ("i32", "ui32"),
    "all": ("f32", "f16", "bf16", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64"),
    "narrow": ("f8E4M3FN", "f8E5M2", "!pto.f8E8M0", "!pto.hif8", "!pto.f4E2M1x2"),
}

# instructions: what a3 takes | what a5 takes
_TABLE = """
tload tstore: all | all narrow
tadd tneg: float words | float words bf16 i8
tsub: float words | float words i8
tmul tfmod: float words | float words
tdiv: float | float words
tmax: float words | float words i8
tmin: float words | float words i8 bf16
tand tor tshl tshr: words i8 | words i8
tands tors: i16 i8 | words i8
tshls: words i8 i64 | words i8 i64
tshrs: words | words i8
tnot: i16 | words i8
tconcat: float bf16 words i8 | float bf16 words i8
tabs texp tlog tsqrt trsqrt trecip: float | float
trelu: float wide | float wide
tadds tsubs tmuls tmaxs tmins: float words | float words bf16 i8
tdivs: float words | float words i8
trowsum trowmax trowmin trowprod: float words | float words
tcolsum tcolmax tcolmin: float words | float words bf16 i8
tcolprod: float words | float words bf16
trowexpandadd trowexpandsub trowexpandmul tcolexpandmul tcolexpandsub: float words | float words i8
trowexpanddiv: float | float i8
"""


@cache
def _rows() -> dict[str, dict[str, frozenset[str]]]:
    out: dict[str, dict[str, frozenset[str]]] = {}
    for line in filter(None, _TABLE.splitlines()):
        names, _, types = line.partition(":")
        a3, _, a5 = types.partition("|")
        row = {"a3": _types(a3), "a5": _types(a5)}
        out.update(dict.fromkeys(names.split(), row))
    return out


def _types(text: str) -> frozenset[str]:
    return frozenset(t for group in text.split() for t in _GROUPS[group])


def accepted(instruction: str, arch: str) -> frozenset[str] | None:
    """Element types of the first tile of an instruction; None when they are not checked."""
    row = _rows().get(instruction)
    return row.get(arch) if row is not None else None


def known(dtype: str, arch: str) -> bool:
    """Whether a machine has elements of a type at all: a3 has no floats of less than 16 bits."""
    return arch != "a3" or dtype not in _GROUPS["narrow"]

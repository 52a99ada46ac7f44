"""Every parameter of every installed operator refuses what it does not take: by name, at the argument, in the words of
the language.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator

import pytest

import pypto_core.language as pl
from pypto_core.diagnostics import DiagnosticError
from pypto_core.host import load_host
from pypto_core.ops import REQUIRED, Kind, OpDef, Param

HEAD = """import pypto_core.language as pl
import pypto_core.language.distributed as pld

@pl.function(type=pl.FunctionType.InCore)
def kern(x: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX], f: pl.Scalar[pl.FP32], b: pl.Scalar[pl.BOOL]):
    t = pl.load(x, [0, 0], [64, 64])
    a = pl.array.create(4, pl.INT32)
    u = pl.buffer.alloc([64, 64])
    """

GOOD = {
    Kind.TILE: "t", Kind.TENSOR: "x", Kind.SCALAR: "f", Kind.INDEX: "n", Kind.BOOL: "b", Kind.DIMS: "[0, 0]",
    Kind.PTR: "a", Kind.BUFFER: "u", Kind.ANY: "t", Kind.DTYPE: "pl.FP32", Kind.SPACE: "pl.MemorySpace.Vec",
    Kind.INT: "1", Kind.FLOAT: "1.0", Kind.FLAG: "True", Kind.TEXT: "'text'",
}  # fmt: skip
"""An argument of each kind."""

NOBODY = ("pl.FunctionType.Opaque", "kern", "pl.load", "['text']", "[None]")
"""What no parameter takes, whatever its kind."""

WRONG = {
    Kind.TILE: ("'text'", "pl.FP32", "x", "[1, 2]"),
    Kind.TENSOR: ("'text'", "pl.FP32", "t", "[1, 2]"),
    Kind.SCALAR: ("'text'", "pl.FP32", "t", "x", "[1]"),
    Kind.INDEX: ("'text'", "pl.FP32", "t", "x", "[1]", "1.5", "f", "True"),
    Kind.BOOL: ("'text'", "pl.FP32", "t", "[1]"),
    Kind.DIMS: ("'text'", "pl.FP32", "t", "x", "3", "1.5", "n", "True", "[1.5]", "[f]", "[[1]]"),
    Kind.PTR: ("'text'", "pl.FP32", "3", "[1]"),
    Kind.BUFFER: ("'text'", "pl.FP32", "3", "[1]"),
    Kind.ANY: ("'text'", "pl.FP32"),
    Kind.DTYPE: ("'text'", "3", "1.5", "True", "t", "[1]"),
    Kind.SPACE: ("'text'", "pl.FP32", "3", "1.5", "True", "t", "[1]"),
    Kind.INT: ("'text'", "pl.FP32", "1.5", "True", "t", "n", "[1]"),
    Kind.FLOAT: ("'text'", "pl.FP32", "True", "t", "f", "[1]"),
    Kind.FLAG: ("'text'", "pl.FP32", "1", "1.5", "t", "b", "[1]"),
    Kind.TEXT: ("pl.FP32", "1", "True", "t", "[1]"),
    Kind.ENUM: ("'no such member'", "pl.FP32", "1.5", "True", "t", "99", "[1]"),
}
"""What a kind does not take; its own text, where it takes text, is left to the operators."""

INTERNALS = re.compile(
    r"<\w|0x[0-9a-f]{4}|object at|NoneType|Traceback|KeyError|Expr\b|ConstInt|MakeTuple|REQUIRED"
)

# A statement of functions that run on no core.
OPS = {op.name: op for op in load_host().ops if op.name != "system.dump_tag"}


def written(param: Param, value: str | None = None) -> str:
    """An argument by name."""
    name = param.name + "_" * keyword.iskeyword(param.name)
    if value is None and param.kind is Kind.ENUM:
        assert param.enum is not None
        member = list(param.enum)[-1].name
        prefix = "pld" if param.enum.__name__ in ("NotifyOp", "WaitCmp") else "pl"
        value = repr(member) if param.as_text else f"{prefix}.{param.enum.__name__}.{member}"
    return f"{name}={value or GOOD[param.kind]}"


def wrong_values(op: OpDef, param: Param) -> Iterator[str]:
    """Arguments that the parameter does not take."""
    yield from WRONG[param.kind]
    yield from (v for v in NOBODY if v != "['text']" or param.kind is not Kind.TEXT)
    if param.default is REQUIRED:
        yield "None"
    takes_scalars = op.scalar_form is not None and op.operands[1:2] == (param,)
    if param.kind in (Kind.TILE, Kind.TENSOR) and not takes_scalars:
        yield from ("3", "1.5", "f", "n")


@pytest.mark.parametrize("name", OPS)
def test_a_wrong_argument_is_refused_by_name(name: str) -> None:
    op = OPS[name]
    path = name if name.startswith("pld.") else f"pl.{name}"
    path = path + "_" * keyword.iskeyword(path.rpartition(".")[2])
    for param in op.params:
        for value in wrong_values(op, param):
            arguments = [
                written(other, value if other is param else None)
                for other in op.params
                if other is param or other.default is REQUIRED
            ]
            text = f"{HEAD}{path}({', '.join(arguments)})\n"
            with pytest.raises(DiagnosticError) as caught:
                pl.parse(text, "kern.py")
            [found] = caught.value.diagnostics
            shown = f"{found.message} ({found.remedy}), for {arguments}"
            assert f"'{param.name}'" in found.message, shown
            line = text.splitlines()[found.span.begin_line - 1]
            assert line[found.span.begin_column - 1 :].startswith(value), shown
            assert not INTERNALS.search(f"{found.message} {found.facts} {found.remedy}"), shown


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.options])
def test_an_option_may_be_left_out_with_none(name: str) -> None:
    """The call is then read, or refused for what it lacks: every operator can do without what is optional."""
    op = OPS[name]
    for param in op.options:
        if param.default is not REQUIRED:
            arguments = [written(p) for p in op.params if p.default is REQUIRED]
            path = name if name.startswith("pld.") else f"pl.{name}"
            try:
                pl.parse(f"{HEAD}{path}({', '.join([*arguments, f'{param.name}=None'])})\n")
            except DiagnosticError as error:
                assert not INTERNALS.search(error.message)


VALUES = (
    "None", "'text'", "1.5", "3", "-1", "0", "10**40", "True", "[1, 2]", "['text']", "[None]", "[]", "[[1]]", "{}",
    "pl.FP32", "pl.MemorySpace.Vec", "pl.load", "pl", "pl.tile", "kern", "t", "x", "n", "f", "b", "x[0]", "x.shape",
    "x.dtype", "x.foo", "range", "lambda: 1", "...", "float('nan')", "pl.MemRef('m')",
)  # fmt: skip
WORDS = (
    "for i in pl.range({}):\n        pass", "for i in pl.range(0, 4, {}):\n        pass",
    "for i in pl.pipeline(4, stage={}):\n        pass", "for i in pl.parallel(4, chunk={}):\n        pass",
    "for i in pl.unroll({}):\n        pass", "for i in {}:\n        pass",
    "for i, (c,) in pl.range(4, init_values=({},)):\n        d = pl.yield_(c)",
    "for i, (c,) in pl.range(4, init_values={}):\n        d = pl.yield_(c)",
    "for i in pl.range(4, attrs={}):\n        pass", "for i in pl.spmd({}):\n        pass",
    "with pl.at(level={}):\n        pass", "with pl.at(level=pl.Level.CORE_GROUP, deps={}):\n        pass",
    "with {}:\n        pass", "if {}:\n        pass", "while {}:\n        pass",
    "z = pl.const({}, pl.INT32)", "z = pl.const(3, {})", "z = pl.cast({}, pl.INT32)", "z = pl.cast(n, {})",
    "z = pl.min({}, n)", "z = abs({})", "z = n + {}", "z = {} - n", "z = -{}", "z = not {}", "z = ~{}", "z = n < {}",
    "z = n and {}", "z = x[{}]", "z = x[{}:]", "z = t[{}, 0]", "x[{}] = t", "z: pl.Scalar[pl.INT32] = {}",
    "z: pl.Scalar[{}] = 1", "z: pl.Tile[{}, pl.FP32] = t", "z: pl.Tile[[64, 64], {}] = t", "z: {} = t", "return {}",
    "pl.static_assert({}, 'm')", "pl.static_assert(False, {})", "pl.func_attr({})", "{}", "z = {}", "z, y = {}",
    "pl.yield_({})", "z = {}()", "n += {}",
)  # fmt: skip
"""Statements and expressions with a place for anything."""


@pytest.mark.parametrize("form", WORDS)
def test_what_stands_in_the_wrong_place_is_refused_in_the_words_of_the_language(form: str) -> None:
    for value in VALUES:
        text = f"{HEAD}{form.replace('{}', value)}\n"
        try:
            pl.parse(text, "kern.py")
        except DiagnosticError as error:
            [found] = error.diagnostics
            assert found.span.is_valid and found.span.begin_line >= 5, (value, found.message)
            assert not INTERNALS.search(f"{found.message} {found.facts} {found.remedy}"), (
                value,
                found.message,
            )

"""Every operator with every element type on both machines: what is written passes, what is refused would not.

The emitter asks the machine's description, the checker has a table of its own from the assembler's verifier. Written
without asking any machine, the text of an operator must pass the checker exactly where the machine's emitter takes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from pypto_core.contract import Backend
from pypto_core.diagnostics import OpError, Span, UserError
from pypto_core.host import load_host
from pypto_core.ir import (
    PTR,
    AssignStmt,
    ConstFloat,
    ConstInt,
    DataType,
    Expr,
    FunctionType,
    MemorySpace,
    MemRef,
    Stmt,
    TileType,
    Var,
    const_index,
    replace,
)
from pypto_core.run import PassContext
from pypto_core.testing import build as b
from pypto_plugin_pto.checker import Report, check_text
from pypto_plugin_pto.write import function_lines, recipes_of

NUMBERS = [d for d in DataType if d.bits >= 8 and d.name not in ("BOOL", "INDEX", "FP64", "TASK_ID")]
FLOATS_OF_A5 = {DataType.FP8E4M3FN, DataType.FP8E5M2, DataType.FP8E8M0, DataType.HF8}
MACHINES = {"910b": "a3", "a5": "a5"}

ONE = "exp log sqrt rsqrt recip neg abs relu not"
TWO = "add sub mul div maximum minimum and or shl shr fmod"
SCALAR = "adds subs muls divs maximums minimums ands ors shls shrs fmods"
ROWS, COLUMNS = "row_sum row_max row_min row_prod row_argmax row_argmin", "col_sum col_max col_min col_prod"
MIXES = "add sub mul div max min expdif"
FORMS = [
    *((name, "x") for name in ONE.split()),
    *((name, "x y") for name in TWO.split()),
    *((name, "x s") for name in SCALAR.split()),
    *((name, "x y") for name in ROWS.split()),
    *((name, "x") for name in COLUMNS.split()),
    *((f"row_expand{mix}", "x column") for mix in ("", *(f"_{m}" for m in MIXES.split()))),
    *((f"col_expand{mix}", "x row") for mix in ("", *(f"_{m}" for m in MIXES.split()))),
    ("concat", "x y"),
    *((name, "x y y") for name in ("rem", "xor", "scatter")),
    *((name, "x s y") for name in ("rems", "xors")),
    *((name, "x y") for name in ("cmp", "col_argmax", "col_argmin")),
    *((name, "x s") for name in ("cmps", "lrelu", "expands")),
    ("fillpad", "x"),
]
OPTIONS: dict[str, dict[str, Any]] = {"cmp": {"cmp_type": 2}, "cmps": {"cmp_type": 2}}


# The machine's description is the narrower one: what dividing bytes by a column gives is not known.
NARROWER = {("a5", "row_expand_div", DataType.INT8), ("a5", "row_expand_div", DataType.UINT8)}


@cache
def machine(name: str) -> Backend:
    return load_host().backend(name)


def placed(var: Var) -> Var:
    kind = var.type
    assert isinstance(kind, TileType)
    memref = MemRef(Var(f"m_{var.name_hint}", PTR), const_index(0), 4096)
    return Var(var.name_hint, replace(kind, memref=memref))


def made(name: str, call: Any) -> AssignStmt:
    return AssignStmt(placed(Var(name, call.type)), call)


def buffers(dtype: DataType) -> dict[str, AssignStmt]:
    """A tile, another, a column and a row, all of ``dtype``."""
    shapes = {"x": (32, 64), "y": (32, 64), "column": (32, 1), "row": (1, 64)}
    options: Any = {"dtype": dtype, "target_memory": MemorySpace.Vec}
    return {n: made(n, b.op("tile.create", b.dims(*shape), **options)) for n, shape in shapes.items()}


def text_of(
    stmts: list[Stmt],
    backend: Backend | None,
    kind: FunctionType = FunctionType.AIV,
    params: Sequence[Var] = (),
) -> str:
    ctx = PassContext(backend=backend, planner="ptoas")
    function = b.function("k", params, stmts, kind=kind)
    return "\n".join(["module {", *function_lines(function, ctx, recipes_of(ctx)), "}"]) + "\n"


def agrees(
    stmts: list[Stmt], name: str, kind: FunctionType = FunctionType.AIV, params: Sequence[Var] = ()
) -> tuple[bool, Report]:
    """Whether the emitter for a machine takes the statements, and what the checker says of their text."""
    report = check_text(text_of(stmts, None, kind, params), arch=MACHINES[name])
    try:
        text = text_of(stmts, machine(name), kind, params)
    except UserError as error:
        assert error.diagnostics[0].code in ("PTO-002", "PTO-003"), error
        return False, report
    assert check_text(text, arch=MACHINES[name]).ok == report.ok
    return True, report


@pytest.mark.parametrize("name", list(MACHINES))
@pytest.mark.parametrize(("operator", "operands"), FORMS, ids=[f[0] for f in FORMS])
def test_an_operator_is_written_exactly_where_the_assembler_takes_its_elements(
    name: str, operator: str, operands: str
) -> None:
    taken: list[DataType] = []
    for dtype in NUMBERS:
        tiles = buffers(dtype)
        number: Expr = ConstFloat(2.0, dtype) if dtype.is_float else ConstInt(2, dtype)
        args = [number if o == "s" else tiles[o].var for o in operands.split()]
        try:
            call = b.op(f"tile.{operator}", *args, **OPTIONS.get(operator, {}))
        except OpError:
            # The operator itself is not for such elements.
            continue
        accepted, report = agrees([*tiles.values(), made("z", call)], name)
        assert accepted == report.ok or (name, operator, dtype) in NARROWER, (dtype, report.errors)
        taken += [dtype] if accepted else []
    assert taken, "no element type at all is taken"


@pytest.mark.parametrize("name", list(MACHINES))
@pytest.mark.parametrize("source", NUMBERS, ids=str)
def test_casts_are_those_of_the_machine(name: str, source: DataType) -> None:
    tile = buffers(source)["x"]
    for target in NUMBERS:
        if target is source:
            continue
        cast = made("z", b.op("tile.cast", tile.var, target_type=target))
        accepted, report = agrees([tile, cast], name)
        assert accepted == ((source, target) in machine(name).casts)
        # The verifier of the assembler takes every pair of elements that there are; the instruction set does not.
        assert report.ok or name == "910b" and FLOATS_OF_A5 & {source, target}


@pytest.mark.parametrize("name", list(MACHINES))
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_products_are_those_of_the_machine(name: str, dtype: DataType) -> None:
    options: Any = {"dtype": dtype, "target_memory": MemorySpace.Mat}
    mats = [made(n, b.op("tile.create", b.dims(32, 32), **options)) for n in ("p", "q")]
    sides = [made(f"{m.var.name_hint}s", b.op("tile.move", m.var, target_memory=space))
             for m, space in zip(mats, (MemorySpace.Left, MemorySpace.Right), strict=True)]  # fmt: skip
    product = made("z", b.op("tile.matmul", *[s.var for s in sides]))
    accepted, report = agrees([*mats, *sides, product], name, FunctionType.AIC)
    assert accepted == (dtype in [pair[0] for pair in machine(name).matmul_dtypes])
    assert report.ok or not accepted


@pytest.mark.parametrize("name", list(MACHINES))
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_elements_of_every_width_are_loaded_and_stored(name: str, dtype: DataType) -> None:
    tensor = b.tensor("a", (32, 64), dtype)
    load = made("x", b.op("tile.load", tensor, b.dims(0, 0), b.dims(32, 64), target_memory=MemorySpace.Vec))
    store = b.do(b.op("tile.store", load.var, b.dims(0, 0), tensor))
    accepted, report = agrees([load, store], name, params=[tensor])
    assert accepted == report.ok == (name == "a5" or dtype not in FLOATS_OF_A5)


def test_four_bits_count_by_pairs_in_vec() -> None:
    """Tiles in Vec count the bytes that two elements share: half the columns."""
    tensor = b.tensor("a", (32, 64), DataType.FP4)
    load = made("x", b.op("tile.load", tensor, b.dims(0, 0), b.dims(32, 64), target_memory=MemorySpace.Vec))
    text = text_of([load], machine("a5"), params=[tensor])
    assert check_text(text, arch="a5").ok
    assert "%x = pto.alloc_tile valid_row = %c32_index valid_col = %c32_index" in text
    assert "dtype=!pto.f4E2M1x2, rows=32, cols=32" in text


NAMELESS = [DataType.INT4, DataType.UINT4, DataType.HF4, DataType.FP64]


@pytest.mark.parametrize("dtype", [*NAMELESS, DataType.BOOL, DataType.INDEX], ids=str)
def test_elements_without_a_name_are_refused_where_they_come_in(dtype: DataType) -> None:
    tensor = Var("a", b.tensor("a", (32, 64), dtype).type, span=Span("k.py", 3, 7))
    call = b.op("tile.load", tensor, b.dims(0, 0), b.dims(32, 64), target_memory=MemorySpace.Vec)
    load = made("x", replace(call, span=Span("k.py", 4, 9)))
    with pytest.raises(UserError) as error:
        text_of([load], machine("a5"), params=[tensor])
    [diagnostic] = error.value.diagnostics
    assert diagnostic.code == "PTO-003" and diagnostic.remedy
    assert diagnostic.span.begin_line == (3 if dtype in NAMELESS else 4)


PAIR = "a: pl.Tensor[[64, 64], pl.{0}], b: pl.Tensor[{1}, pl.{2}], out: pl.Out[pl.Tensor[[64, 64], pl.{0}]]"


@pytest.mark.parametrize("backend", ["910b", "a5"])
@pytest.mark.parametrize(
    ("dtype", "shape", "call", "message", "remedy"),
    [
        ("FP16", [64, 64], "pl.add(x, y)", "elements of one type, not fp32 and fp16", "pl.cast"),
        ("FP16", [64, 64], "pl.maximum(x, y)", "elements of one type, not fp32 and fp16", "pl.cast"),
        ("FP32", [1, 64], "pl.add(x, y)", "tiles of one shape", "pl.col_expand_add"),
        ("FP32", [64, 1], "pl.mul(x, y)", "tiles of one shape", "pl.row_expand_mul"),
    ],
)
def test_operands_that_no_instruction_takes_side_by_side(
    backend: str, dtype: str, shape: list[int], call: str, message: str, remedy: str, write: Any
) -> None:
    """Operators promote and broadcast, and the assembler's dialect refuses both."""
    body = f"""
        x = pl.load(a, [0, 0], [64, 64])
        y = pl.load(b, [0, 0], {shape})
        z = {call}
        return pl.store(z, [0, 0], out)
    """
    with pytest.raises(UserError) as caught:
        write(PAIR.format("FP32", shape, dtype), body, backend=backend)
    [error] = caught.value.diagnostics
    assert error.code == "PTO-002" and message in error.message and remedy in error.remedy
    assert error.span.begin_line > 0

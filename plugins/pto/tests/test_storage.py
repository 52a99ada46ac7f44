"""Where tiles live: shared names without addresses, equal addresses with them; views, carries, branches."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    PTR,
    AssignStmt,
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
from pypto_plugin_pto.checker import check_text
from pypto_plugin_pto.write import function_lines, recipes_of

TWO = "a: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
LEVELS = ("ptoas", "pypto")


@pytest.mark.parametrize("planner", LEVELS)
def test_windows_reshapes_and_valid_extents(write: Any, body_of: Any, planner: str) -> None:
    body = """
    x = pl.load(a, [0, 0], [64, 64])
    rows = pl.tile.slice(x, [16, 64], [n, 0])
    part = pl.tile.slice(x, [16, 32], [16, 32])
    e = pl.exp(rows)
    f = pl.exp(part)
    w = pl.reshape(e, [32, 32])
    g = pl.exp(w)
    v = pl.tile.set_validshape(g, n, 16)
    h = pl.exp(v)
    s = pl.tile.set_validshape(h, 8, 8)
    k = pl.exp(s)
    out = pl.store(k, [0, 0], out)
    out = pl.store(f, [0, 0], out)
    return out
    """
    text = write(TWO, body, planner=planner)
    lines = body_of(text)
    whole, part = "vec[64x64xf32]", "vec[16x32xf32]"
    [rows_type] = re.findall(r"%rows = pto\.subview .*-> (!pto\.tile_buf<.*>)", text)
    assert "rows=16, cols=64, v_row=16, v_col=64" in rows_type
    assert (
        f"%rows = pto.subview %x[%arg2, %c0_index] sizes [16, 64] valid [%c16_index, %c64_index] : "
        f"{whole} -> vec[16x64xf32]"
    ) in lines
    assert (
        f"%part = pto.subview %x[%c16_index, %c32_index] sizes [16, 32] valid [%c16_index, %c32_index] : "
        f"{whole} -> {part}"
    ) in lines
    if planner == "ptoas":
        assert "%w = pto.treshape %e : vec[16x64xf32] -> vec[32x32xf32]" in lines
        at = lines.index("%v = pto.treshape %g : vec[32x32xf32] -> vec[32x32xf32]")
        assert lines[at + 1] == "pto.set_validshape %v, %arg2, %c16_index : vec[32x32xf32]"
        [narrow] = re.findall(r"%s = pto\.treshape .*-> (!pto\.tile_buf<.*>)", text)
        assert "v_row=8, v_col=8" in narrow
    else:
        address = {m[0]: m[1] for m in re.findall(r"(%\w+) = pto\.alloc_tile addr = (%\w+) ", text)}
        assert (
            address["%w"] == address["%e"]
            and address["%v"] == address["%g"]
            and address["%s"] == address["%h"]
        )
        assert re.search(r"%v = pto\.alloc_tile addr = \S+ valid_row = %arg2 valid_col = %c16_index", text)


@pytest.mark.parametrize("planner", LEVELS)
def test_column_windows_are_copied_by_extraction_and_insertion(
    write: Any, body_of: Any, planner: str
) -> None:
    body = """
    x = pl.load(a, [0, 0], [64, 64])
    y = pl.load(a, [0, 0], [64, 64])
    part = pl.tile.slice(x, [16, 32], [16, 32])
    inner = pl.tile.slice(part, [8, 32], [n, 0])
    m = pl.move(inner, target_memory=pl.Mem.Vec)
    y = pl.tile.assemble(y, m, [0, 32])
    r = pl.tile.extract(x, 0, 0, [16, 64])
    y = pl.tile.assemble(y, r, [n, 0])
    out = pl.store(y, [0, 0], out)
    return out
    """
    lines = body_of(write(TWO, body, planner=planner))
    whole = "vec[64x64xf32]"
    [extract] = [x for x in lines if "pto.textract" in x and "outs(%m " in x]
    # The window of the window begins at row 16 + n, column 32 of x.
    assert extract.startswith("pto.textract ins(%x, ") and extract.endswith(
        f"{whole}, index, index) outs(%m : vec[8x32xf32])"
    )
    row, col = extract.partition("ins(%x, ")[2].split(" : ")[0].split(", ")
    assert f"{row} = arith.addi %c16_index, %arg2 : index" in lines and col == "%c32_index"
    target = next(x for x in lines if x.startswith("pto.tstore")).partition("ins(")[2].split()[0]
    assert any(
        x.startswith("pto.tinsert ins(%m, %c0_index, %c32_index : vec[8x32xf32], index, index) outs(%y")
        for x in lines
    )
    assert any(
        x.startswith("%window = pto.subview %y") and "[%arg2, %c0_index] sizes [16, 64]" in x for x in lines
    )
    assert "pto.tmov ins(%r : vec[16x64xf32]) outs(%window : vec[16x64xf32])" in lines
    assert target.startswith("%y")


@pytest.mark.parametrize("planner", LEVELS)
def test_padding(write: Any, body_of: Any, planner: str) -> None:
    body = """
    x = pl.load(a, [0, 0], [64, 64], valid_shape=[n, 32])
    y = pl.tile.fillpad(x, pad_value=pl.PadValue.min)
    z = pl.tile.fillpad_expand(x, [64, 128], pad_value=pl.PadValue.max)
    w = pl.tile.fillpad_inplace(x, pad_value=pl.PadValue.zero)
    out = pl.store(y, [0, 0], out)
    out = pl.store(w, [0, 0], out)
    return out
    """
    text = write(TWO, body, planner=planner)
    for name, pad, mnemonic in (
        ("y", 3, "tfillpad"),
        ("z", 2, "tfillpad_expand"),
        ("w", 1, "tfillpad_inplace"),
    ):
        [line] = [x for x in text.splitlines() if f"pto.{mnemonic} " in x]
        assert line.partition("outs(")[2].startswith(f"%{name} :")
        assert line.count("pad=0") == 1 and f"pad={pad}>)" in line
    # Only what is valid is loaded.
    assert "sizes = [%arg2, %c32_index]" in text
    assert "!pto.partition_tensor_view<?x32xf32>" in text


CARRY = """
x = pl.load(a, [0, 0], [64, 64])
y = pl.exp(x)
for i in pl.range(n):
    y = pl.add(y, x)
out = pl.store(y, [0, 0], out)
return out
"""


def test_a_carried_tile_is_one_buffer_written_in_place(write: Any, body_of: Any) -> None:
    lines = body_of(write(TWO, CARRY, planner="ptoas"))
    [name] = {x.partition(" = ")[0] for x in lines if x.startswith("%y") and "alloc_tile" in x}
    tile = "vec[64x64xf32]"
    assert f"pto.tadd ins({name}, %x : {tile}, {tile}) outs({name} : {tile})" in lines
    assert any(x.startswith(f"pto.tstore ins({name} :") for x in lines)
    # Tiles ride in no loop argument.
    assert not any("iter_args" in x for x in lines)


def test_with_addresses_a_carried_tile_keeps_its_address(write: Any) -> None:
    text = write(TWO, CARRY, planner="pypto")
    address = dict(re.findall(r"(%\S+) = pto\.alloc_tile addr = (%\S+) ", text))
    [line] = [x for x in text.splitlines() if "pto.tadd" in x]
    source, target = re.findall(r"ins\((%\w+),", line)[0], re.findall(r"outs\((%\w+) ", line)[0]
    assert address[source] == address[target]


PHI = """
x = pl.load(a, [0, 0], [64, 64])
k = 0
if n > 3:
    y = pl.exp(x)
    k = n - 3
else:
    y = pl.neg(x)
    k = n * 2
out = pl.store(y, [k % 7, 0], out)
return out
"""


def test_the_result_of_a_branch_is_declared_ahead_of_it(write: Any, body_of: Any) -> None:
    lines = body_of(write(TWO, PHI, planner="ptoas"))
    branch = next(n for n, x in enumerate(lines) if "scf.if" in x)
    [name] = re.findall(r"outs\((%\w+) :", next(x for x in lines if "pto.texp" in x))
    declared = next(n for n, x in enumerate(lines) if x.startswith(f"{name} = pto.alloc_tile"))
    assert declared < branch
    assert any(x.startswith("pto.tneg") and f"outs({name} :" in x for x in lines)
    assert any(x.startswith(f"pto.tstore ins({name} :") for x in lines)
    assert lines[branch].endswith("-> (index) {")


K_LOOP = """
acc = pl.create_tile([64, 64], pl.FP32, target_memory=pl.Mem.Acc)
for k, (c,) in pl.range(0, 256, 64, init_values=(acc,)):
    x = pl.load(a, [0, k], [64, 64], target_memory=pl.Mem.Mat)
    y = pl.load(w, [k, 0], [64, 64], target_memory=pl.Mem.Mat)
    d = pl.tile.matmul_acc(c, x, y{cond})
    r = pl.yield_(d)
out = pl.store(r, [0, 0], out)
return out
"""
K_PARAMS = (
    "a: pl.Tensor[[64, 256], pl.FP16], w: pl.Tensor[[256, 64], pl.FP16], "
    "out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
)


@pytest.mark.parametrize("planner", LEVELS)
@pytest.mark.parametrize("backend", ["910b", "a5"])
def test_an_accumulator_is_started_by_a_runtime_condition(
    write: Any, body_of: Any, planner: str, backend: str
) -> None:
    lines = body_of(write(K_PARAMS, K_LOOP.format(cond=", k == 0"), planner=planner, backend=backend))
    at = next(n for n, x in enumerate(lines) if x.startswith("scf.if"))
    left, right, acc = "left[64x64xf16]", "right[64x64xf16]", "acc[64x64xf32]"
    assert re.fullmatch(
        rf"pto\.tmatmul ins\(%x\S+, %y\S+ : {re.escape(left)}, {re.escape(right)}\) outs\(%acc : {re.escape(acc)}\)",
        lines[at + 1],
    )
    assert lines[at + 2] == "} else {"
    assert lines[at + 3].startswith("pto.tmatmul.acc ins(%acc, %x")
    assert lines[at + 3].endswith(f"outs(%acc : {acc})")
    assert lines[at + 4] == "}"
    assert any(x.startswith("pto.tstore ins(%acc :") for x in lines)


@pytest.mark.parametrize(
    ("cond", "instruction"),
    [
        ("", "pto.tmatmul.acc ins(%acc,"),
        (", True", "pto.tmatmul ins(%x"),
        (", False", "pto.tmatmul.acc ins(%acc,"),
    ],
)
def test_a_known_condition_chooses_the_instruction(
    write: Any, body_of: Any, cond: str, instruction: str
) -> None:
    lines = body_of(write(K_PARAMS, K_LOOP.format(cond=cond), planner="ptoas"))
    assert not any("scf.if" in x for x in lines)
    [product] = [x for x in lines if x.startswith("pto.tmatmul")]
    assert product.startswith(instruction)


def test_the_order_of_boxes_in_left_is_the_machines(write: Any) -> None:
    body = K_LOOP.format(cond="")
    for backend, order in (("910b", "row_major"), ("a5", "col_major")):
        text = write(K_PARAMS, body, backend=backend)
        [kind] = set(re.findall(r"!pto\.tile_buf<loc=left, [^>]*>", text))
        assert f"blayout={order}, slayout=row_major, fractal=512" in kind


def test_views_of_tensors(write: Any) -> None:
    params = (
        "a: pl.Tensor[[4, 16, 64], pl.FP32], c: pl.Tensor[[64, 1], pl.FP32], "
        "d: pl.Tensor[[M, N], pl.FP32], out: pl.Out[pl.Tensor[[4, 16, 64], pl.FP32]]"
    )
    body = """
    t = pl.load(a, [1, 0, 0], [16, 64])
    u = pl.load(c, [0, 0], [64, 1])
    w = pl.load(d, [M - 16, 0], [16, 64], valid_shape=[16, pl.min(N, 64)])
    out = pl.store(t, [2, 0, 0], out, [1, 16, 64])
    return out
    """
    text = write(params, body)
    rank3 = "shape = [%c4_index, %c16_index, %c64_index], strides = [%c1024_index, %c64_index, %c1_index]"
    assert f"%a_view = pto.make_tensor_view %arg0, {rank3} {{layout = #pto.layout<nd>}}" in text
    column = "shape = [%c64_index, %c1_index], strides = [%c1_index, %c64_index] {layout = #pto.layout<dn>}"
    assert f"%c_view = pto.make_tensor_view %arg1, {column}" in text
    assert (
        "%d_view = pto.make_tensor_view %arg2, shape = [%arg4, %arg5], strides = [%arg5, %c1_index]" in text
    )
    assert "!pto.partition_tensor_view<1x16x64xf32>" in text
    assert "!pto.partition_tensor_view<16x?xf32>" in text
    # A runtime offset is kept from being negative, a constant one is not asked.
    lines = [x.strip() for x in text.splitlines()]
    at = next(n for n, x in enumerate(lines) if x.startswith("%d_p = "))
    offset = lines[at].partition("offsets = [")[2].split(",")[0]
    assert re.search(rf"{offset} = arith\.maxsi %\d+, %c0_index : index", text)
    assert "offsets = [%c1_index, %c0_index, %c0_index]" in text


def test_strides_of_runtime_extents_are_multiplied_in_the_head(write: Any) -> None:
    params = "a: pl.Tensor[[M, N, 64], pl.FP32], out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]"
    body = """
    t = pl.load(a, [0, 0, 0], [32, 64])
    out = pl.store(t, [0, 0], out)
    return out
    """
    lines = [x.strip() for x in write(params, body).splitlines()]
    view = next(n for n, x in enumerate(lines) if x.startswith("%a_view"))
    product = next(
        n
        for n, x in enumerate(lines)
        if re.match(r"%\d+ = arith\.muli (%c64_index, %arg3|%arg3, %c64_index)", x)
    )
    assert product < view < next(n for n, x in enumerate(lines) if "pto.alloc_tile" in x)


# -- states that only a faulty pipeline makes

A = b.tensor("a", (64, 64))


def place(name: str, offset: int = 0) -> MemRef:
    return MemRef(Var(name, PTR), const_index(offset), 4096)


def made(name: str, op: str, *args: Expr, at: MemRef | None, **options: Any) -> AssignStmt:
    call = b.op(op, *args, **options)
    kind = call.type
    assert isinstance(kind, TileType)
    return AssignStmt(Var(name, replace(kind, memref=at)), call)


def text_of(stmts: list[Stmt], planner: str = "ptoas", kind: FunctionType = FunctionType.AIV) -> str:
    ctx = PassContext(planner=planner)
    function = b.function("k", [A], stmts, kind=kind)
    text = "\n".join(["module {", *function_lines(function, ctx, recipes_of(ctx)), "}"]) + "\n"
    report = check_text(text)
    assert report.ok, (report.errors, text)
    return text


def load(name: str, at: MemRef) -> AssignStmt:
    return made(name, "tile.load", A, b.dims(0, 0), b.dims(16, 64), at=at, target_memory=MemorySpace.Vec)


def test_a_yielded_tile_that_lies_elsewhere_is_copied() -> None:
    first = load("x", place("one"))

    def body(i: Var, c: Var) -> list[Stmt]:
        more = made("y", "tile.exp", c, at=place("two"))
        return [more, b.give(more.var)]

    text = text_of([first, b.loop(4, body, carries={"c": first.var})])
    assert re.search(r"pto\.tmov ins\(%y : .*\) outs\(%x : ", text)


def test_exchanged_tiles_are_refused() -> None:
    first, second = load("x", place("one")), load("y", place("two"))
    loop = b.loop(4, lambda i, c, d: [b.give(d, c)], carries={"c": first.var, "d": second.var})
    with pytest.raises(UserError, match="overwritten already"):
        text_of([first, second, loop])


def test_an_accumulator_that_lies_elsewhere_is_refused() -> None:
    def acc(name: str, at: MemRef) -> AssignStmt:
        return made(
            name, "tile.create", b.dims(16, 16), at=at, dtype=DataType.FP32, target_memory=MemorySpace.Acc
        )

    kinds = [b.tile("l", (16, 16), DataType.FP16, space=MemorySpace.Left),
             b.tile("r", (16, 16), DataType.FP16, space=MemorySpace.Right)]  # fmt: skip
    operands: list[AssignStmt] = []
    for var in kinds:
        source = made(f"{var.name_hint}_m", "tile.create", b.dims(16, 16), at=place(var.name_hint + "m"),
                      dtype=DataType.FP16, target_memory=MemorySpace.Mat)  # fmt: skip
        kind: Any = var.type
        operands += [source, made(var.name_hint, "tile.move", source.var, at=place(var.name_hint),
                                  target_memory=kind.memory_space)]  # fmt: skip
    start = acc("c", place("one"))
    more = made("d", "tile.matmul_acc", start.var, operands[1].var, operands[3].var, at=place("two"))
    with pytest.raises(UserError) as error:
        text_of([start, *operands, more], kind=FunctionType.AIC)
    assert error.value.diagnostics[0].code == "PTO-010"
    assert "MaterializeSemanticAliases" in error.value.diagnostics[0].remedy


def test_a_tile_without_a_place_is_refused() -> None:
    with pytest.raises(UserError, match="has no place in memory"):
        text_of([made("x", "tile.load", A, b.dims(0, 0), b.dims(16, 64), at=None)])


def test_different_tensors_on_different_paths_are_refused() -> None:
    first, second = b.tensor("a", (64, 64)), b.tensor("w", (64, 64))
    result = Var("r", first.type)
    flag = b.scalar("flag", DataType.BOOL)
    stmt = b.branch(flag, [b.give(first)], [b.give(second)], [result])
    ctx = PassContext()
    function = b.function("k", [first, second, flag], [stmt], kind=FunctionType.AIV)
    with pytest.raises(UserError, match="different tensors on different paths"):
        function_lines(function, ctx, recipes_of(ctx))


def test_columns_are_seen_as_rows_by_element_wise_instructions(body_of: Any) -> None:
    """Where no pass has done so before."""
    x, scratch = load("x", place("one")), load("t", place("two"))
    column = made("r", "tile.row_max", x.var, scratch.var, at=place("three"))
    square = made("q", "tile.mul", column.var, column.var, at=place("four"))
    spread = made("z", "tile.row_expand_sub", x.var, square.var, at=place("five"))
    lines = body_of(text_of([x, scratch, column, square, spread]))
    tall, flat, tile = "vec[16x1xf32]", "vec[1x16xf32]", "vec[16x64xf32]"
    assert lines.count(f"%row = pto.treshape %r : {tall} -> {flat}") == 1
    assert f"pto.tmul ins(%row, %row : {flat}, {flat}) outs(%row_1 : {flat})" in lines
    assert f"pto.trowexpandsub ins(%x, %q : {tile}, {tall}) outs(%z : {tile})" in lines

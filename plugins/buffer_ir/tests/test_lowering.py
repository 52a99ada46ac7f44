"""What planned tiles become: allocations and views, what is written where, and what is refused."""

from __future__ import annotations

import textwrap

import pytest
from buffer_parts import FP32_64, PLANNERS, calls, counted, in_buffers, lowered, names, planned, source

import pypto_core.language as pl
from pypto_core.diagnostics import InternalError, UserError, VerificationError
from pypto_core.host import load_host
from pypto_core.ir import (
    BUFFER_IR_SELECTED,
    AssignStmt,
    Call,
    Cast,
    DataType,
    FunctionIRStage,
    IfStmt,
    ParamDirection,
    Program,
    Var,
    replace,
    scalar_type,
    seq,
    structural_equal,
    walk_stmts,
)
from pypto_core.run import PassContext, Pipeline
from pypto_core.text import dumps, loads, print_program
from pypto_plugin_buffer_ir.lower.calls import LOWERINGS
from pypto_plugin_buffer_ir.rules import RULES

HEAD = """
import pypto_core.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, {params}):
"""


def placed(body, params=FP32_64):
    """A program whose tiles have the places that its text says."""
    return pl.parse(
        HEAD.format(params=params) + textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8) + "\n"
    )


def tile(name, shape, dtype, base, at, size=None, space="Vec", view=""):
    rows, cols = shape
    size = size or rows * cols * {"FP32": 4, "FP16": 2, "INT32": 4}[dtype]
    view = f", pl.TileView({view})" if view else ""
    place = f"pl.MemRef({base}, pl.const({at}, pl.INT64), {size})"
    return f"{name}: pl.Tile[[{rows}, {cols}], pl.{dtype}, {place}, pl.Mem.{space}{view}]"


def lines(program):
    """The kernel's statements as text, without its head."""
    text = print_program(program)
    return [line.strip() for line in text[text.index("def k") :].splitlines()[1:] if line.strip() != "return"]


def written(body, planner="pypto", params=FP32_64):
    return lines(in_buffers(placed(body, params), planner))


def test_selection_and_lowering_know_the_same_operators():
    assert set(RULES) == set(LOWERINGS)


# -- roots

ONE = f"""
m: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 4096)
{tile("x", (16, 64), "FP32", "m", 128)} = pl.tile.load(a, [0, 0], [16, 64], target_memory=pl.Mem.Vec)
pl.tile.store(x, [0, 0], o)
"""


def test_one_tile_that_fills_its_allocation():
    assert written(ONE) == [
        "m_buffer: pl.BufferType([16, 64], pl.FP32, pl.Mem.Vec) = pl.buffer.alloc([], pl.const(128, pl.INT64))",
        "pl.buffer.load(a, [0, 0], [16, 64], m_buffer)",
        "pl.buffer.store(m_buffer, [0, 0], [16, 64], o)",
    ]
    assert written(ONE.replace("128", "0"), "ptoas")[0].endswith("= pl.buffer.alloc([])")


HALVES = FP32_64 + ", h: pl.Tensor[[64, 64], pl.FP16]"
SHARED = f"""
m: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 4096)
{tile("x", (32, 64), "FP16", "m", 8192)} = pl.tile.load(h, [0, 0], [32, 64], target_memory=pl.Mem.Vec)
{tile("y", (16, 32), "FP32", "m", 8256)} = pl.tile.load(a, [0, 0], [16, 32], target_memory=pl.Mem.Vec)
{tile("z", (16, 32), "FP32", "m", 8256)} = pl.tile.load(a, [9, 0], [16, 32], target_memory=pl.Mem.Vec)
pl.tile.store(z, [0, 0], o)
"""


def test_tiles_of_several_types_share_bytes():
    """4096 bytes at 8192; 16 x 32 FP32 elements begin 64 bytes, two rows of 32, further on."""
    bytes_ = "pl.BufferType([128, 32], pl.UINT8, pl.Mem.Vec)"
    assert written(SHARED, params=HALVES)[:4] == [
        f"m_buffer_bytes: {bytes_} = pl.buffer.alloc([], pl.const(8192, pl.INT64))",
        "m_buffer_view: pl.BufferType([32, 64], pl.FP16, pl.Mem.Vec) = pl.buffer.reshape(m_buffer_bytes)",
        "m_buffer_part: pl.BufferType([64, 32], pl.UINT8, pl.Mem.Vec) = pl.buffer.subview(m_buffer_bytes, [2, 0])",
        "m_buffer_view_1: pl.BufferType([16, 32], pl.FP32, pl.Mem.Vec) = pl.buffer.reshape(m_buffer_part)",
    ]  # one view serves y and z


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("8256", "8240"), "aligned to 32 bytes"),
        (("8256", "10272"), "exceeds the planned allocation capacity"),
        (("8256", "8160"), "exceeds the planned allocation capacity"),
        (("4096)\n", "4112)\n"), "full-capacity MemRef anchor"),
    ],
)
def test_places_that_don_t_add_up(change, said):
    with pytest.raises(UserError, match=said):
        written(SHARED.replace(*change), params=HALVES)


def test_the_least_address_is_no_origin():
    """Without a tile of all its bytes nobody knows where an allocation begins."""
    inner = ONE.replace("4096)\n", "8192)\n")
    with pytest.raises(UserError, match="full-capacity MemRef anchor"):
        written(inner)


def test_two_origins_contradict_each_other():
    twice = ONE + tile("y", (16, 64), "FP32", "m", 160) + " = pl.tile.add(x, x)\n"
    with pytest.raises((UserError, VerificationError), match="disagree on the allocation origin"):
        written(twice)


WINDOWED = f"""
m: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 16384)
{tile("x", (64, 64), "FP32", "m", 0)} = pl.tile.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Vec)
{tile("s", (16, 32), "FP32", "m", 0, 3968)} = pl.tile.slice(x, [16, 32], [n, 32])
c: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 2048)
{tile("d", (16, 32), "FP32", "c", 16384)} = pl.tile.add(s, s)
pl.tile.store(d, [0, 0], o)
"""


def test_a_window_is_made_where_it_is_cut():
    assert written(WINDOWED)[2:5] == [
        "s: pl.BufferType([16, 32], pl.FP32, pl.Mem.Vec) = pl.buffer.subview(m_buffer, [n, 32], [16, 32])",
        "c_buffer: pl.BufferType([16, 32], pl.FP32, pl.Mem.Vec) = pl.buffer.alloc([], pl.const(16384, pl.INT64))",
        "pl.buffer.add(s, s, c_buffer)",
    ]


def test_a_destination_inside_of_what_a_window_may_be_is_refused():
    on_top = WINDOWED.replace("c, pl.const(16384", "c, pl.const(4096")
    with pytest.raises(VerificationError, match="partially overlapping"):
        written(on_top)


def test_a_tile_that_windows_are_cut_from_keeps_its_type():
    """The rest of the allocation looks at it by its own address, or by another descriptor of the whole."""
    both = (
        WINDOWED
        + tile("y", (32, 128), "FP32", "m", 0)
        + " = pl.tile.load(a, [0, 0], [32, 128], [32, 64], target_memory=pl.Mem.Vec)\n"
    )
    both = both.replace(
        ", pl.Mem.Vec] = pl.tile.load(a, [0, 0], [32, 128]",
        ", pl.Mem.Vec, pl.TileView(valid_shape=[32, 64])] = pl.tile.load(a, [0, 0], [32, 128]",
    )
    made = written(both)
    assert made[0].startswith("m_buffer: pl.BufferType([64, 64], pl.FP32, pl.Mem.Vec) = pl.buffer.alloc")
    assert made[1] == (
        "m_buffer_view: pl.BufferType([32, 128], pl.FP32, pl.Mem.Vec, valid_shape=[32, 64]) = "
        "pl.buffer.reshape(m_buffer)"
    )


def test_constant_rectangles_are_views_of_one_allocation():
    body = """
    w = pl.load(a, [0, 0], [32, 64], valid_shape=[16, 64])
    s = pl.load(a, [32, 0], [16, 64])
    d = pl.tile.assemble(w, s, [16, 0])
    pl.store(d, [0, 0], o)
    """
    made = lines(lowered(body, "ptoas"))
    assert made[1] == (
        "mem_vec_2_buffer_valid: pl.BufferType([32, 64], pl.FP32, pl.Mem.Vec, valid_shape=[16, 64]) = "
        "pl.buffer.subview(mem_vec_2_buffer, [0, 0], [16, 64])"
    )
    assert "pl.buffer.load(a, [0, 0], [16, 64], mem_vec_2_buffer_valid)" in made
    assert sum("buffer.alloc" in line for line in made) == 2


def test_an_allocation_that_nobody_uses_goes():
    assert len(written(ONE + "e: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 64)\n")) == 3


def test_slots_need_a_recipe_of_their_own():
    with pytest.raises(UserError, match="multi-slot storage"):
        written(ONE.replace("4096), pl.Mem", "4096, slots=2)[0], pl.Mem").replace("4096)\n", "8192)\n"))


# -- runtime extents


def test_the_example_of_runtime_extents():
    body = """
    x = pl.load(a, [0, 0], [16, 64], valid_shape=[16, n])
    y = pl.add(x, x)
    pl.store(y, [0, 0], o)
    """
    open_ = "pl.BufferType([16, 64], pl.FP32, pl.Mem.Vec, valid_shape=[-1, -1])"
    assert lines(lowered(body, "ptoas")) == [
        f"mem_vec_2_buffer: {open_} = pl.buffer.alloc([16, 64])",
        f"mem_vec_3_buffer: {open_} = pl.buffer.alloc([16, 64])",
        "pl.buffer.set_validshape(mem_vec_2_buffer, [16, n])",
        "if n > 0:",
        "pl.buffer.load(a, [0, 0], [16, n], mem_vec_2_buffer)",
        "pl.buffer.set_validshape(mem_vec_3_buffer, [16, n])",
        "if n > 0:",
        "pl.buffer.add(mem_vec_2_buffer, mem_vec_2_buffer, mem_vec_3_buffer)",
        "if n > 0:",
        "pl.buffer.store(mem_vec_3_buffer, [0, 0], [16, n], o)",
    ]


def test_extents_are_stated_once_per_definition():
    assert (
        names(
            lowered(
                "x = pl.load(a, [0, 0], [16, 64], valid_shape=[16, n])\npl.store(pl.add(x, x), [0, 0], o)"
            )
        ).count("set_validshape")
        == 2
    )
    setter = (
        "x = pl.load(a, [0, 0], [16, 64])\ny = pl.set_validshape(x, 16, n)\npl.store(pl.add(y, y), [0, 0], o)"
    )
    assert names(lowered(setter)).count("set_validshape") == 3


def test_a_window_with_runtime_extents_is_cut_behind_the_test():
    body = """
    x = pl.load(a, [0, 0], [64, 64])
    y = pl.slice(x, [16, 64], [0, 0], valid_shape=[n, 64])
    pl.store(pl.add(y, y), [0, 0], o)
    """
    program = lowered(body)
    views = [
        s for s in walk_stmts(program["k"].body) if isinstance(s, AssignStmt) and "subview" in s.value.op.name
    ]
    outer = [s for s in program["k"].body.stmts if isinstance(s, AssignStmt)]
    assert views and not [s for s in views if s in outer]


def test_nothing_is_done_with_what_is_empty():
    body = """
    x = pl.load(a, [0, 0], [16, 64], valid_shape=[0, 64])
    pl.store(pl.add(x, x), [0, 0], o)
    """
    assert set(names(lowered(body))) == {"alloc", "set_validshape"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            """
            x = pl.load(a, [0, 0], [16, 64])
            y = pl.set_validshape(x, n, 64)
            pl.store(x, [0, 0], o)
            pl.store(y, [16, 0], o)
            """,
            "given other valid extents",
        ),
        (
            """
            x = pl.load(a, [0, 0], [32, 64])
            s = pl.slice(x, [16, 64], [0, 0])
            y = pl.set_validshape(s, n, 64)
            pl.store(y, [0, 0], o)
            """,
            "of a window",
        ),
        (
            """
            x = pl.load(a, [0, 0], [64, 64])
            y = pl.slice(x, [16, 64], [0, 0], valid_shape=[n, 64])
            pl.store(pl.reshape(y, [32, 32]), [0, 0], o)
            """,
            "runtime valid extents",
        ),
        (
            "x = pl.load(a, [0, 0], [16, 64])\npl.store(pl.row_max(x, x), [0, 0], o)",
            "no conversion recipe|dense",
        ),
        (
            "x = pl.load(a, [0, 0], [16, 64])\npl.tile.store(x, [0, 0], o, atomic=pl.AtomicType.Add)",
            "atomic and phased stores",
        ),
    ],
)
def test_what_has_no_form_is_refused(body, said):
    with pytest.raises((UserError, InternalError), match=said):
        lowered(body)


def test_element_scalars_are_converted():
    """An index goes through INT64, everything else straight."""
    program = planned(source("pl.store(pl.adds(pl.load(a, [0, 0], [16, 64]), 1.5), [0, 0], o)"), "pypto")
    small = Var("s", scalar_type(DataType.INT8))
    for scalar, types in ((program["k"].params[2], ["FP32", "INT64"]), (small, ["FP32"])):
        kernel = program["k"]
        stmts = [
            replace(s, value=replace(s.value, args=(s.value.args[0], scalar)))
            if isinstance(s, AssignStmt) and isinstance(s.value, Call) and s.value.op.name == "tile.adds"
            else s
            for s in kernel.body.stmts
        ]
        params = kernel.params if scalar in kernel.params else (*kernel.params, scalar)
        directions = (*kernel.param_directions, ParamDirection.In)[: len(params)]
        changed = replace(kernel, params=params, param_directions=directions, body=seq(stmts))
        [added] = [
            c for c in calls(in_buffers(Program("P", [changed]), "pypto")) if c.op.name == "buffer.adds"
        ]
        found, value = [], added.args[1]
        while isinstance(value, Cast):
            found.append(value.type.dtype.name)
            value = value.operand
        assert found == types and value is scalar


# -- control flow


@pytest.mark.parametrize("planner", PLANNERS)
def test_only_numbers_are_carried(planner):
    body = """
    x = pl.load(a, [0, 0], [16, 64])
    y = pl.load(a, [16, 0], [16, 64])
    row = 0
    col = 0
    for i in pl.range(n):
        t = x
        x = y
        row = row + 16
        y = t
        col = col + 2
    if n > 2:
        z = pl.add(x, y)
        at = row
    else:
        z = x
        at = col
    pl.store(z, [at, 0], o)
    """
    program = lowered(body, planner)
    loop = next(s for s in walk_stmts(program["k"].body) if hasattr(s, "iter_args"))
    assert [a.name_hint.split("__")[0] for a in loop.iter_args] == ["row", "col"]
    phi = next(s for s in walk_stmts(program["k"].body) if isinstance(s, IfStmt))
    assert [v.name_hint.split("__")[0] for v in phi.return_vars] == ["at"]


def test_tensors_are_named_by_their_parameter():
    params = FP32_64 + ", p: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
    body = """
    x = pl.load(a, [0, 0], [16, 64])
    if n > 1:
        o = pl.store(x, [0, 0], o)
    else:
        o = pl.store(pl.add(x, x), [16, 0], o)
    for i in pl.range(n):
        o = pl.store(x, [i, 0], o)
    p = pl.store(x, [0, 0], p)
    """
    made = lines(lowered(body, params=params))
    assert (
        sum(line.endswith(", o)") for line in made) == 3 and sum(line.endswith(", p)") for line in made) == 1
    )
    assert not any("Tensor[" in line for line in made)


def test_a_choice_between_tensors_is_refused():
    params = FP32_64 + ", p: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
    body = """
    x = pl.load(a, [0, 0], [16, 64])
    if n > 1:
        q = pl.store(x, [0, 0], o)
    else:
        q = pl.store(x, [0, 0], p)
    pl.store(x, [16, 0], q)
    """
    with pytest.raises(UserError, match="same parameter in both arms"):
        lowered(body, params=params)
    swap = """
    x = pl.load(a, [0, 0], [16, 64])
    for i in pl.range(n):
        t = o
        o = p
        p = t
    pl.store(x, [0, 0], o)
    """
    with pytest.raises(UserError, match="initial parameter alias"):
        lowered(swap, params=params)


def test_comments_stay():
    body = """
    # first
    x = pl.load(a, [0, 0], [16, 64])
    # an alias
    y = x
    # the loop
    for i in pl.range(n):
        # inside
        y = pl.add(y, x)
    # last
    pl.store(y, [0, 0], o)
    """
    text = print_program(lowered(body))
    assert [line.strip() for line in text.splitlines() if line.strip().startswith("# ")][1:] == [
        f"# {c}" for c in ("first", "an alias", "the loop", "inside", "last")
    ]


# -- products

CUBE = "a: pl.Tensor[[64, 64], pl.FP16], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]"
LOADS = """
    am = pl.load(a, [0, 0], [{rows}, 32], target_memory=pl.Mem.Mat)
    bm = pl.load(a, [0, 0], [32, 32], target_memory=pl.Mem.Mat)
    l = pl.move(am, target_memory=pl.Mem.Left)
    r = pl.move(bm, target_memory=pl.Mem.Right)
"""


@pytest.mark.parametrize(
    ("condition", "made"),
    [("True", ["matmul"]), ("False", ["matmul_acc"]), ("n == 0", ["matmul", "matmul_acc"])],
)
def test_the_condition_chooses_the_product(condition, made):
    body = (
        LOADS.format(rows=32)
        + f"    c = pl.matmul(l, r)\n    d = pl.tile.matmul_acc(c, l, r, {condition})\n    pl.store(d, [0, 0], o)\n"
    )
    program = lowered(body, params=CUBE)
    assert [n for n in names(program) if "matmul" in n] == ["matmul", *made]
    assert counted(program, IfStmt) == (len(made) == 2)


LOOPED = """
for k in pl.range(n):
    am = pl.load(a, [0, 0], [32, 32], target_memory=pl.Mem.Mat)
    l = pl.move(am, target_memory=pl.Mem.Left)
    r = pl.move(am, target_memory=pl.Mem.Right)
    c = pl.matmul(l, r)
    d = pl.matmul_acc(c, l, r)
    pl.store(d, [k, 0], o)
"""


def inner_allocs(program):
    loop = next(s for s in walk_stmts(program["k"].body) if hasattr(s, "iter_args"))
    return [
        s.var.type.memory_space.name
        for s in loop.body.stmts
        if isinstance(s, AssignStmt) and "alloc" in s.value.op.name
    ]


def test_an_accumulator_without_an_address_is_declared_where_it_is_used_first():
    program = lowered(LOOPED, "ptoas", CUBE)
    assert inner_allocs(program) == ["Acc"]
    stmts = next(s for s in walk_stmts(program["k"].body) if hasattr(s, "iter_args")).body.stmts
    at = next(i for i, s in enumerate(stmts) if isinstance(s, AssignStmt))
    assert stmts[at + 1].expr.op.name == "buffer.matmul"
    assert inner_allocs(lowered(LOOPED, "pypto", CUBE)) == []


def test_an_accumulator_that_a_loop_carries_stays():
    carried = """
    c = pl.tile.create([32, 32], dtype=pl.FP32, target_memory=pl.Mem.Acc)
    for k in pl.range(n):
        am = pl.load(a, [0, 0], [32, 32], target_memory=pl.Mem.Mat)
        l = pl.move(am, target_memory=pl.Mem.Left)
        r = pl.move(am, target_memory=pl.Mem.Right)
        c = pl.tile.matmul_acc(c, l, r, k == 0)
    pl.store(c, [0, 0], o)
    """
    assert inner_allocs(lowered(carried, "ptoas", CUBE)) == []


# -- the pass as a whole


def test_functions_are_chosen_by_their_attribute():
    program = planned(source("pl.store(pl.load(a, [0, 0], [16, 64]), [0, 0], o)"), "pypto")
    kernel = program["k"]
    left = Program("P", [replace(kernel, attrs={**kernel.attrs, BUFFER_IR_SELECTED: False})])
    assert in_buffers(left, "pypto") is left
    taken = in_buffers(
        Program("P", [replace(kernel, attrs={**kernel.attrs, BUFFER_IR_SELECTED: True})]), "pypto"
    )
    assert taken["k"].ir_stage is FunctionIRStage.Buffer
    assert taken["k"].attrs[BUFFER_IR_SELECTED] is True
    assert taken["k"].param_directions == kernel.param_directions


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_pipeline_of_ones_own_needs_no_selection(planner):
    host = load_host()
    program = planned(source("pl.store(pl.load(a, [0, 0], [16, 64]), [0, 0], o)"), planner)
    pipeline = Pipeline.of([host.passes["LowerTileToBuffer"]], host.properties, planner=planner)
    context = PassContext(planner=planner, host=host, verification="BASIC")
    done = pipeline.run(program, context)
    assert done.program["k"].ir_stage is FunctionIRStage.Buffer
    assert "BufferIR" in done.held
    assert pipeline.run(done.program, context).program is done.program


@pytest.mark.parametrize("planner", PLANNERS)
def test_once_is_enough(planner):
    program = planned(source("x = pl.load(a, [0, 0], [16, 64])\npl.store(pl.exp(x), [0, 0], o)"), planner)
    once = in_buffers(program, planner)
    assert in_buffers(once, planner) is once


def test_a_failure_leaves_the_program_as_it_was():
    body = """
    x = pl.load(a, [0, 0], [16, 64])
    pl.store(pl.exp(x), [0, 0], o)
    pl.tile.store(x, [16, 0], o, atomic=pl.AtomicType.Add)
    """
    program = planned(source(body), "pypto")
    before = dumps(program)
    with pytest.raises(UserError):
        in_buffers(program, "pypto")
    assert dumps(program) == before


def test_bytes_and_text_keep_kernels_and_their_handles():
    body = """
    x = pl.load(a, [0, 0], [64, 64])
    m = 0
    while m < n:
        x = pl.add(x, pl.mul(x, 2.5))
        m = m + 1
    s = pl.slice(x, [16, 64], [n, 0])
    pl.store(pl.add(s, s), [0, 0], o)
    """
    program = lowered(body)
    back = loads(dumps(program))
    assert structural_equal(back, program)
    double = next(c for c in calls(back) if c.op.name == "buffer.add" and c.args[0] is c.args[1])
    assert double.args[0] in {s.var for s in walk_stmts(back["k"].body) if isinstance(s, AssignStmt)}
    loop = next(s for s in walk_stmts(back["k"].body) if hasattr(s, "condition"))
    assert loop.condition.left is loop.iter_args[0]
    assert structural_equal(pl.parse(print_program(program)), program)


def test_extra_parameters_in_tiles_are_refused():
    place = 'pl.MemRef("m", pl.const(0, pl.INT64), 4096), pl.Mem.Vec'
    program = placed("return", f"t: pl.Tile[[16, 64], pl.FP32, {place}]")
    with pytest.raises(UserError, match="device Tile parameters"):
        in_buffers(program, "pypto")

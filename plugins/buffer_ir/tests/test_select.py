"""Each rule of selection accepts what lowering can do and refuses what is next to it, with a reason."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from buffer_parts import FP32_64, source
from selecting import placed, reason

from pypto_core.diagnostics import UserError
from pypto_core.host import load_host
from pypto_core.ir import (
    BUFFER_IR_SELECTED,
    EXTERNAL_SOURCE,
    AssignStmt,
    Call,
    DataType,
    EvalStmt,
    ForKind,
    ForStmt,
    Function,
    FunctionIRStage,
    FunctionType,
    MemorySpace,
    ParamDirection,
    Program,
    ReturnStmt,
    RuntimeScopeStmt,
    TensorType,
    TensorView,
    Var,
    flatten,
    gt,
    replace,
    scalar_type,
    seq,
    structural_equal,
)
from pypto_core.testing import build as b
from pypto_core.text import dumps, loads
from pypto_plugin_buffer_ir.elementwise import RECIPES
from pypto_plugin_buffer_ir.lower.calls import LOWERINGS
from pypto_plugin_buffer_ir.rules import RULES, Form
from pypto_plugin_buffer_ir.select.calls import OTHERS, OWNERS, VIEWS
from pypto_plugin_buffer_ir.select.decide import (
    BUFFER_IR_REASON,
    select_buffer_ir_functions,
    verify_selected,
    why_tile,
)

LOADED = "x = pl.load(a, [0, 0], [16, 64])\n"
NOWHERE, VEC = SimpleNamespace(), MemorySpace.Vec


def test_every_row_has_a_test_and_a_lowering():
    assert set(RULES) == set(LOWERINGS)
    assert {rule.form for rule in RULES.values()} == set(Form) == {*OWNERS, *VIEWS, *OTHERS}
    assert not (OWNERS.keys() & VIEWS.keys()) and not OTHERS & {*OWNERS, *VIEWS}
    assert {name for name, rule in RULES.items() if rule.recipe is not None} == set(RECIPES)


def cases():
    """(parameters, body, beginning of the reason) by family and name."""
    found = {}
    for block in (Path(__file__).parent / "selection_cases.txt").read_text().split("\n# ")[1:]:
        name, *lines = block.strip("\n").split("\n")
        marked = [line for line in lines if line.startswith(("! ", "= ", "+ "))]
        words = [line[2:] for line in marked if line.startswith("!")]
        base = [line[2:] for line in marked if line.startswith("=")] or [FP32_64]
        params = ", ".join([*base, *(line[2:] for line in marked if line.startswith("+"))])
        found[name] = (params, "\n".join(lines[len(marked) :]), "".join(words))
    return found


CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_rule(name, monkeypatch):
    """Windows as they are written: the pass that copies those out which begin anywhere is passed over."""
    monkeypatch.setattr("pypto_plugin_tile.op_layouts.copy_unaligned", lambda function: function)
    params, body, words = CASES[name]
    said = reason(body, params)
    assert said.startswith(words) if words else said == ""


def test_windows_that_are_copied_out_stay_in_tiles():
    params, body, _ = CASES["window: half a row off"]
    assert reason(body, params).startswith("PT361: tile.extract into Vec")


def test_each_family_accepts_and_refuses():
    families = {name.partition(":")[0] for name in CASES}
    assert families == {"shape", "flow", "tile", "window", "extents", "product"}
    for family in families:
        words = [w for name, (_, _, w) in CASES.items() if name.startswith(f"{family}:")]
        assert "" in words and any(words)


@pytest.mark.parametrize("dtype", [DataType.FP16, DataType.BF16, DataType.FP32, DataType.INT32], ids=str)
@pytest.mark.parametrize("name", RECIPES)
def test_each_operator_takes_the_elements_of_its_row(name, dtype):
    """The table of operators and element types, cell by cell."""
    recipe, one = RECIPES[name], "1" if dtype is DataType.INT32 else "1.0"
    operands = ", ".join(one if is_scalar else "x" for _, is_scalar in recipe.inputs)
    made = f"pl.{name}({operands})"
    if recipe.name == "full":
        made = f"pl.tile.full([16, 64], dtype=pl.{dtype.name}, value={one})"
    try:
        program = source(f"{LOADED}pl.store({made}, [0, 0], o)", FP32_64.replace("FP32", dtype.name))
    except UserError:
        assert dtype not in recipe.dtypes  # not even tiles have it
        return
    said = reason(program)
    if dtype in recipe.dtypes:
        assert said == ""
    else:
        assert said.startswith(f"PT361: {name} of {dtype} elements")


@pytest.mark.parametrize("dtype", ["FP16", "BF16", "FP32", "INT32"])
def test_what_goes_through_unchanged(dtype):
    assert reason(f"{LOADED}pl.store(x, [0, 0], o)", FP32_64.replace("FP32", dtype)) == ""


@pytest.mark.parametrize("dtype", ["INT8", "UINT8", "INT16", "UINT32", "FP8E4M3FN"])
def test_what_does_not(dtype):
    said = reason(f"{LOADED}pl.store(x, [0, 0], o)", FP32_64.replace("FP32", dtype))
    assert said.startswith("PT362: elements of")


@pytest.mark.parametrize(
    ("scalar", "words"),
    [
        ("FP32", ""),
        ("FP16", ""),
        ("INT32", ""),
        ("INT8", ""),
        ("INDEX", ""),
        ("UINT8", "PT361"),
        ("BOOL", "PT361"),
    ],
)
def test_scalars_that_become_elements(scalar, words):
    x = b.tile("x", (16, 64))
    load = b.let("x", b.raw_op("tile.load", [b.tensor("a", (64, 64)), b.dims(0, 0), b.dims(16, 64)], x.type))
    number = b.scalar("s", DataType[scalar])
    add = b.let("y", b.raw_op("tile.adds", [load.var, number], x.type))
    said = judged([load, add], load.value.args[0], number)
    assert said.startswith(words) if words else said == ""


# -- what a front end does not write, or other passes take away


def judged(stmts, *params, returns=()):
    """Why a kernel of these statements stays in tiles; its parameters may be read and written."""
    pairs = [(p, ParamDirection.InOut) for p in params]
    kernel = b.function("k", pairs, stmts, returns=returns, kind=FunctionType.InCore)
    said = why_tile(placed_tiles(kernel))
    return "" if said is None else str(said)


def placed_tiles(kernel: Function) -> Function:
    """A kernel with MemRefs."""
    from selecting import host

    return host().find_pass("InitMemRef").load()(kernel, None)


def parts():
    """A loaded tile, its tensor, an output."""
    a, o = b.tensor("a", (64, 64)), b.tensor("o", (64, 64))
    load = b.let("x", b.op("tile.load", a, b.dims(0, 0), b.dims(16, 64), target_memory=VEC))
    return load, a, o


def stored(tile: Var, o: Var) -> AssignStmt:
    return b.let("o_1", b.op("tile.store", tile, b.dims(0, 0), o))


def test_a_kernel_that_hands_in_tiles():
    load, a, o = parts()
    assert judged([stored(load.var, o)], load.var, o).startswith("PT360: parameter 'x' is of type Tile")
    assert judged([load, stored(load.var, o)], a, o) == ""


def test_a_call_of_another_kernel():
    load, a, o = parts()
    call = b.do(b.call("helper", a, kind=scalar_type(DataType.INDEX)))
    assert judged([load, call], a, o) == "PT360: it calls the function 'helper'"


def test_returns():
    load, a, o = parts()
    store = stored(load.var, o)
    assert judged([load, store, b.ret(store.var)], a, o, returns=[o.type]) == ""
    assert judged([load, store], a, o, returns=[o.type]) == "PT360: it does not end with a return"
    inside = b.branch(gt(b.scalar("n"), 1), [b.ret(store.var)])
    assert judged([load, store, inside], a, o) == "PT360: it returns from within"
    view = TensorType(o.type.shape, o.type.dtype, None, TensorView(stride=(64, 1)))
    said = judged([load, store, b.ret(store.var)], a, o, returns=[view])
    assert said == "PT360: what it returns for parameter 'o' is of another type than stated"
    number = b.scalar("n")
    said = judged([load, ReturnStmt((number,))], a, o, number, returns=[number.type])
    assert said.startswith("PT361: a tensor is no parameter")


def test_statements_that_are_lowered_elsewhere():
    load, a, o = parts()
    scope = RuntimeScopeStmt(seq([load, stored(load.var, o)]))
    assert judged([scope], a, o) == "PT360: a RuntimeScopeStmt has no form on buffers"
    setter = b.do(b.op("tile.set_validshape", load.var, b.scalar("n"), 64))
    assert judged([load, setter], a, o).startswith("PT361: tile.set_validshape stands alone")
    assert judged([load, EvalStmt(b.op("tile.store", load.var, b.dims(0, 0), o))], a, o) == ""


def test_loops_that_count_otherwise():
    load, a, o = parts()
    loop = b.loop(4, lambda i: [load, stored(load.var, o)])
    assert judged([loop], a, o) == ""
    narrow = replace(loop, loop_var=b.scalar("i", DataType.INT32))
    assert judged([narrow], a, o) == "PT360: the loop over 'i' does not count in INDEX"
    assert isinstance(loop, ForStmt)
    unrolled = replace(loop, kind=ForKind.Unroll)
    assert judged([unrolled], a, o) == "PT360: a Unroll loop has no form on buffers"
    assert judged([replace(loop, kind=ForKind.Parallel)], a, o) == ""
    unsigned = replace(loop, stop=b.scalar("n", DataType.UINT32))
    assert judged([unsigned], a, o) == "PT360: a loop bound is no signed integer"


def test_calls_with_notes_of_other_passes():
    load, a, o = parts()
    assert isinstance(load.value, Call)
    staged = replace(load, value=replace(load.value, attrs={"pipeline_membership": "0:1"}))
    assert judged([staged, stored(staged.var, o)], a, o) == ""
    noted = replace(load, value=replace(load.value, attrs={"core_placement": 1}))
    said = judged([noted, stored(noted.var, o)], a, o)
    assert said == "PT361: the call of tile.load is marked with 'core_placement'"


def test_transfers_beyond_the_tensor():
    load, a, o = parts()
    for at, words in ((48, ""), (56, "PT361: a transfer of 16 from 56 exceeds an extent of 64")):
        args = [load.var, b.dims(at, 0), o]
        store = b.let("o_1", b.raw_op("tile.store", args, o.type))
        assert judged([load, store], a, o) == words


# -- the pass itself


def kernel(body: str = f"{LOADED}pl.store(x, [0, 0], o)") -> Function:
    return placed(source(body))


def test_the_decision_and_its_reason_are_kept():
    yes = select_buffer_ir_functions(kernel(), NOWHERE)
    assert yes.attrs[BUFFER_IR_SELECTED] is True and BUFFER_IR_REASON not in yes.attrs
    refused = kernel(f"{LOADED}pl.store(pl.rsqrt(x), [0, 0], o)")
    no = select_buffer_ir_functions(refused, NOWHERE)
    assert no.attrs[BUFFER_IR_SELECTED] is False
    assert no.attrs[BUFFER_IR_REASON] == "PT361: tile.rsqrt has no form on buffers (line 9)"
    assert structural_equal(replace(no, attrs=refused.attrs), refused)


def test_a_decision_is_never_taken_again():
    decided = replace(kernel(), attrs={BUFFER_IR_SELECTED: False})
    assert select_buffer_ir_functions(decided, NOWHERE) is decided
    once = select_buffer_ir_functions(kernel(), NOWHERE)
    assert select_buffer_ir_functions(once, NOWHERE) is once


def test_a_machine_that_takes_no_buffers_keeps_all_kernels_in_tiles():
    def selected(backend):
        return select_buffer_ir_functions(kernel(), SimpleNamespace(backend=backend)).attrs

    machines = load_host().backends
    assert selected(machines["910b"])[BUFFER_IR_SELECTED] is True
    kept = selected(machines["a5"])
    assert kept[BUFFER_IR_SELECTED] is False
    assert kept[BUFFER_IR_REASON].startswith("PT360: Ascend 950 (A5) does not take buffers by default")


def test_who_is_not_asked():
    orchestration = replace(kernel(), func_type=FunctionType.Orchestration, level=None, role=None)
    assert select_buffer_ir_functions(orchestration, NOWHERE) is orchestration
    for other, words in (
        (replace(kernel(), attrs={EXTERNAL_SOURCE: "k.cpp"}), "its text comes from elsewhere"),
        (replace(kernel(), ir_stage=FunctionIRStage.Buffer), "it is written on buffers already"),
    ):
        found = why_tile(other)
        assert found is not None and found.text == words


def test_the_property_says_who_is_undecided():
    undecided = kernel()
    program = Program("p", (undecided,))
    assert [d.number for d in verify_selected(program)] == [1]
    assert list(verify_selected(Program("p", (select_buffer_ir_functions(undecided, NOWHERE),)))) == []


def test_the_decision_survives_the_binary_form():
    program = Program("p", (select_buffer_ir_functions(kernel(), NOWHERE),))
    again = loads(dumps(program))
    assert again["k"].attrs[BUFFER_IR_SELECTED] is True
    assert structural_equal(again, program)


def test_the_first_reason_points_to_its_line():
    found = why_tile(kernel(f"{LOADED}y = pl.rsqrt(x)\npl.store(pl.cos(y), [0, 0], o)"))
    assert found is not None
    assert (found.code, found.span.begin_line) == ("PT361", 9)
    assert len(flatten(kernel().body)) > 1

"""ConvertToSSA on small programs: what it writes, what it keeps, what it accepts and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import AssignStmt, IfStmt, Program, TileType, Var, flatten, walk_stmts
from pypto_core.testing import build as b
from pypto_core.verify import holds, verify_or_raise
from pypto_plugin_structure.convert_to_ssa import convert_to_ssa

NM = "n: pl.Scalar[pl.INDEX], m: pl.Scalar[pl.INDEX]"
GM = "x: pl.Tensor[[64, 64], pl.FP32], out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]"
TILE = "pl.Tile[[16, 64], pl.FP32, pl.Mem.Vec]"


def source(text: str, params: str = NM, kind: str = "") -> str:
    head = f"@pl.function({kind})" if kind else "@pl.function"
    lines = "\n".join("    " + line for line in text.strip("\n").split("\n"))
    return f"{head}\ndef main({params}):\n{lines}\n"


def short(text: str) -> str:
    """Printed statements without the annotations of scalars."""
    return text.replace(": pl.Scalar[pl.INDEX]", "").replace(": pl.Scalar[pl.BOOL]", "")


EXACT = {
    "only what is reassigned is renamed": (
        "a = n + 1\nb = a * 2\na = a + b\nc = m\nreturn a, c",
        "a__ssa_v0 = n + 1\nb = a__ssa_v0 * 2\na__ssa_v1 = a__ssa_v0 + b\nc = m\nreturn a__ssa_v1, c",
    ),
    "a parameter": (
        "n = n + m\nreturn n",
        "n__ssa_v0 = n + m\nreturn n__ssa_v0",
    ),
    "one arm assigns": (
        "a = n\nif m > 2:\n    a = a + 1\nreturn a",
        ("a__ssa_v0 = n\n"
        "if m > 2:\n    a__ssa_v1 = a__ssa_v0 + 1\n    a__phi_v0 = pl.yield_(a__ssa_v1)\n"
        "else:\n    a__phi_v0 = pl.yield_(a__ssa_v0)\n"
        "return a__phi_v0"),
    ),
    "both arms assign first": (
        "if m > 2:\n    a = n\n    b = a\nelse:\n    a = m\nreturn a",
        ("if m > 2:\n    a__ssa_v0 = n\n    b = a__ssa_v0\n    a__phi_v0 = pl.yield_(a__ssa_v0)\n"
        "else:\n    a__ssa_v1 = m\n    a__phi_v0 = pl.yield_(a__ssa_v1)\n"
        "return a__phi_v0"),
    ),
    "a loop carries": (
        "a = n\nfor i in pl.range(m):\n    a = a + i\n    t = a * 2\nreturn a",
        ("a__ssa_v0 = n\n"
        "for i, (a__iter_v0,) in pl.range(m, init_values=(a__ssa_v0,)):\n"
        "    a__ssa_v1 = a__iter_v0 + i\n    t = a__ssa_v1 * 2\n    a__rv_v0 = pl.yield_(a__ssa_v1)\n"
        "return a__rv_v0"),
    ),
    "what a trip assigns before it reads needs no carry": (
        "a = n\nfor i in pl.range(m):\n    a = i\n    b = a\nreturn m",
        "a__ssa_v0 = n\nfor i in pl.range(m):\n    a__ssa_v1 = i\n    b = a__ssa_v1\nreturn m",
    ),
    "a while loop": (
        "a = n\nwhile a < 10:\n    a = a + m\nreturn a",
        ("a__ssa_v0 = n\n"
        "for (a__iter_v0,) in pl.while_(init_values=(a__ssa_v0,)):\n"
        "    pl.cond(a__iter_v0 < 10)\n    a__ssa_v1 = a__iter_v0 + m\n    a__rv_v0 = pl.yield_(a__ssa_v1)\n"
        "return a__rv_v0"),
    ),
    "a loop's own carries stay as written": (
        ("a = n\na = a + 1\nfor i, (c,) in pl.range(m, init_values=(a,)):\n    d = c + i\n    r = pl.yield_(d)\n"
        "return r"),
        ("a__ssa_v0 = n\na__ssa_v1 = a__ssa_v0 + 1\n"
        "for i, (c,) in pl.range(m, init_values=(a__ssa_v1,)):\n    d = c + i\n    r = pl.yield_(d)\nreturn r"),
    ),
    "the first trip of a loop that surely runs assigns": (
        "for i in pl.range(4):\n    if i == 0:\n        a = n\n    else:\n        a = a + i\nreturn a",
        ("for i, (a__iter_v0,) in pl.range(4, init_values=(0,)):\n"
        "    if i == 0:\n        a__ssa_v0 = n\n        a__phi_v0 = pl.yield_(a__ssa_v0)\n"
        "    else:\n        a__ssa_v1 = a__iter_v0 + i\n        a__phi_v0 = pl.yield_(a__ssa_v1)\n"
        "    a__rv_v0 = pl.yield_(a__phi_v0)\n"
        "return a__rv_v0"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_exact_form(prove: Any, kernel: Any, body: Any, name: str) -> None:
    text, want = EXACT[name]
    loose = name.startswith("the first trip")  # its else branch reads what only the other one assigned
    program = kernel(source(text))
    if loose:
        after = prove.step(_convert, program, ["SSAForm"])
    else:
        inputs = [{"n": a, "m": c} for a, c in ((0, 1), (1, 3), (4, 2))]
        after = prove("ConvertToSSA", program, ["SSAForm"], inputs)
    assert short(body(after)) == want


def _convert(program: Program) -> Program:
    changed = [convert_to_ssa(f) for f in program]
    return program if all(a is c for a, c in zip(changed, program, strict=True)) else Program("p", changed)


def test_variables_that_need_no_new_name_are_the_same_objects(kernel: Any) -> None:
    before = kernel(source("a = n\nb = a + 1\nif b > m:\n    a = a + b\nreturn a, b"))["main"]
    after = convert_to_ssa(before)
    assert after.params == before.params
    named = [s.var for s in walk_stmts(after.body) if isinstance(s, AssignStmt) and s.var.name_hint == "b"]
    assert named == [
        s.var for s in walk_stmts(before.body) if isinstance(s, AssignStmt) and s.var.name_hint == "b"
    ]


def test_a_program_in_ssa_form_is_returned_as_it_is(kernel: Any) -> None:
    program = kernel(source("a = n\nif a > m:\n    c = a\nreturn a"))
    assert convert_to_ssa(program["main"]) is program["main"]


# -- values that not every path assigns

DEFINED = {
    "a flag says that it was found": (
        "found = 0 == 1\nfor i in pl.range(n):\n    if i * i > m:\n        x = i\n        found = 1 == 1\n"
        "        break\nr = m\nif found:\n    r = x + 100\nreturn r"
    ),
    "the same condition again": "if n > 2:\n    x = m\nr = n\nif n > 2:\n    r = x\nreturn r",
    "its opposite in the else": "if n > 2:\n    x = m\nr = n\nif n <= 2:\n    r = 1\nelse:\n    r = x\nreturn r",
    "a condition kept in a variable": "c = n > 2\nif c:\n    x = m\nr = n\nif c:\n    r = x\nreturn r",
    "part of a conjunction": "if n > 2:\n    x = m\nr = n\nif n > 2 and m > 1:\n    r = x\nreturn r",
    "a condition that the first one follows from": "if n > 2:\n    x = m\nr = n\nif n > 4:\n    r = x\nreturn r",
    "equal to what satisfies it": "if n > 2:\n    x = m\nr = n\nif n == 3:\n    r = x\nreturn r",
    "after the first trip": (
        "r = n\nfor i in pl.range(n):\n    if i == 0:\n        x = m\n    else:\n        r = r + x\n        x = i\n"
        "return r"
    ),
    "after the first trip of a loop from elsewhere": (
        "r = n\nfor i in pl.range(m, 9, 2):\n    if i == m:\n        x = m\n    else:\n        r = r + x\nreturn r"
    ),
    "a quotient that is nought in the first trip": (
        "r = n\nfor i in pl.range(0, 256, 64):\n    k = i // 64\n    if k == 0:\n        x = i\n    else:\n"
        "        r = r + x\n        x = x + 1\nreturn r"
    ),
    "a loop under the condition that it runs": (
        "r = n\nif n > 0:\n    for i in pl.range(n):\n        x = i\n    r = x\nreturn r"
    ),
    "a loop's result under that condition": "for i in pl.range(n):\n    x = i\nr = m\nif n > 0:\n    r = x\nreturn r",
    "nested loops that surely run": (
        "for i in pl.range(2):\n    for j in pl.range(i + 1):\n        x = i + j\nreturn x"
    ),
    "a while loop whose condition holds at once": "k = 0\nwhile k < 3:\n    x = k + n\n    k = k + 1\nreturn x",
    "every way but those that left": (
        "r = 0\nfor i in pl.range(n):\n    if i % 3 == 1:\n        continue\n    x = i\n    if i == m:\n        break\n"
        "    r = r + x\nreturn r"
    ),
    "guarded by nested exits": (
        "r = 0\nfor i in pl.range(n):\n    if i > 1:\n        if i > m:\n            break\n        x = i\n"
        "    else:\n        x = 7\n    r = r + x\nreturn r"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFINED)
def test_what_is_always_assigned_where_it_is_read(prove: Any, kernel: Any, run_pass: Any, name: str) -> None:
    before = kernel(source(DEFINED[name]))
    after = prove.step(_convert, run_pass("CtrlFlowTransform")(before), ["SSAForm"])
    for n in range(-1, 6):
        for m in range(5):
            given = {"n": n, "m": m}
            prove.same(prove.outputs(before, given), prove.outputs(after, given))


ARM = "not assigned in the else part of this branch"
UNDEFINED = {
    "one arm": ("if n > 2:\n    x = m\nreturn x", 5, ARM, 3),
    "no trip": ("for i in pl.range(n):\n    x = i\nreturn x", 5, "not assigned when this loop makes no trip", 3),
    "the first trip": (
        "r = n\nfor i in pl.range(n):\n    if i == 2:\n        x = i\n    else:\n        r = r + x\nreturn r",
        8, "not assigned before the first trip of this loop", 4,
    ),
    "a weaker condition": ("if n > 2:\n    x = m\nr = n\nif n > 1:\n    r = x\nreturn r", 7, ARM, 3),
    "a condition that changed": (
        "c = n > 2\nif c:\n    x = m\nc = m > 2\nr = n\nif c:\n    r = x\nreturn r", 9, ARM, 4,
    ),
    "a flag that is set elsewhere too": (
        ("f = n > 5\nfor i in pl.range(n):\n    if i > m:\n        x = i\n        f = 1 == 1\n"
        "r = m\nif f:\n    r = x\nreturn r"),
        10, "not assigned when this loop makes no trip", 4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDEFINED)
def test_what_may_be_unassigned_is_refused(kernel: Any, name: str) -> None:
    text, line, reason, gap = UNDEFINED[name]
    program = kernel(source(text))
    with pytest.raises(UserError) as caught:
        convert_to_ssa(program["main"])
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("PT331", "'x' may be read here before it is assigned")
    assert found.span.begin_line == line
    assert [(n.message, n.span.begin_line) for n in found.notes] == [(reason, gap)]
    assert "assign 'x' on every path" in found.remedy


def test_the_error_shows_both_places(kernel: Any) -> None:
    with pytest.raises(UserError) as caught:
        convert_to_ssa(kernel(source("for i in pl.range(n):\n    y = i\nreturn y"))["main"])
    assert str(caught.value) == (
        "error[PT331]: 'y' may be read here before it is assigned\n"
        "  --> <string>:5:5\n"
        "  5 |     return y\n"
        "    |     ^^^^^^^^\n"
        "  function   = main\n"
        "  unassigned = not assigned when this loop makes no trip\n"
        "  note: not assigned when this loop makes no trip\n"
        "  --> <string>:3:5\n"
        "  3 |     for i in pl.range(n):\n"
        "    |     ^^^^^^^^^^^^^^^^^^^^^\n"
        "  fix: assign 'y' on every path that leads here, for example before the branch or loop"
    )


def test_a_variable_that_nothing_assigns() -> None:
    ghost, n = b.scalar("ghost"), b.scalar("n")
    with pytest.raises(UserError, match="'ghost' may be read here before it is assigned"):
        convert_to_ssa(b.function("f", [n], [b.let("a", ghost), b.ret(n)], returns=[b.INDEX]))


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("for i in pl.range(3):\n    if i > n:\n        break", "'break' can't be brought into SSA form", 5),
        (
            "for i in pl.range(3):\n    if i > n:\n        continue",
            "'continue' can't be brought into SSA form",
            5,
        ),
        (
            "if n > 2:\n    return n\nreturn m",
            "a return that is not the function's last statement can't be brought into SSA form",
            4,
        ),
    ],
)
def test_exits_belong_to_another_pass(kernel: Any, text: str, message: str, line: int) -> None:
    with pytest.raises(UserError) as caught:
        convert_to_ssa(kernel(source(text))["main"])
    (found,) = caught.value.diagnostics
    assert (found.code, found.message, found.span.begin_line) == ("PT330", message, line)
    assert "CtrlFlowTransform" in found.remedy


# -- tiles and tensors

INCORE = "type=pl.FunctionType.InCore"


def test_tiles_that_a_loop_assigns_first_get_an_unread_value(prove: Any, kernel: Any, body: Any) -> None:
    text = (
        "for i in pl.range(3):\n    t = pl.load(x, [i * 16, 0], [16, 64])\npl.store(t, [n % 4 * 16, 0], out)"
    )
    after = prove("ConvertToSSA", kernel(source(text, GM, INCORE)), ["SSAForm"])
    assert body(after).splitlines()[:2] == [
        f"t__ssa_v0: {TILE} = pl.tile.create([16, 64], dtype=pl.FP32, target_memory=pl.Mem.Vec)",
        "for i, (t__iter_v0,) in pl.range(3, init_values=(t__ssa_v0,)):",
    ]


def test_the_unread_value_stands_in_the_arm_that_needs_it(prove: Any, kernel: Any, body: Any) -> None:
    text = (
        "if n > 2:\n    t = pl.load(x, [0, 0], [16, 64])\n"
        "if n > 2:\n    pl.store(t, [16, 0], out)"
    )  # fmt: skip
    after = prove("ConvertToSSA", kernel(source(text, GM, INCORE)), ["SSAForm"])
    arm = flatten(after["main"].body)[0]
    assert isinstance(arm, IfStmt) and arm.else_body is not None
    made = flatten(arm.else_body)[0]
    assert isinstance(made, AssignStmt) and made.value.op.name == "tile.create"  # type: ignore[attr-defined]


def test_peeled_accumulation_keeps_its_form(prove: Any, kernel: Any, body: Any) -> None:
    text = (
        "for k in pl.range(0, 64, 16):\n"
        "    l = pl.move(pl.load(a, [0, k], [16, 16], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Left)\n"
        "    r = pl.move(pl.load(c, [k, 0], [16, 16], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)\n"
        "    if k == 0:\n        acc = pl.matmul(l, r)\n    else:\n        acc = pl.matmul_acc(acc, l, r)\n"
        "pl.store(acc, [0, 0], out)"
    )
    params = (
        "a: pl.Tensor[[16, 64], pl.FP16], c: pl.Tensor[[64, 16], pl.FP16], "
        "out: pl.InOut[pl.Tensor[[16, 16], pl.FP32]]"
    )
    before = kernel(source(text, params, INCORE))
    after = prove.step(_convert, before, ["SSAForm"])
    from pypto_core.testing import random_inputs

    given = random_inputs(before["main"], 3)
    prove.same(prove.outputs(before, given), prove.outputs(after, given))
    printed = body(after)
    assert "pl.tile.create([16, 16], dtype=pl.FP32, target_memory=pl.Mem.Acc)" in printed
    assert "pl.tile.matmul_acc(acc__iter_v0, l, r)" in printed


def test_a_written_tensor_goes_on_from_what_it_was_before_the_loop(
    prove: Any, kernel: Any, body: Any
) -> None:
    text = (
        "for i in pl.range(4):\n    y = pl.store(pl.load(x, [0, 0], [16, 64]), [i * 16, 0], out)\n"
        "pl.store(pl.load(y, [0, 0], [16, 64]), [16, 0], out)"
    )
    after = prove("ConvertToSSA", kernel(source(text, GM, INCORE)), ["SSAForm"])
    assert "for i, (y__iter_v0,) in pl.range(4, init_values=(out,)):" in body(after)


def test_a_tensor_that_can_not_be_made_up_is_refused() -> None:
    n, made = b.scalar("n"), b.tensor("made", (16, 16))
    part = AssignStmt(made, b.raw_op("tensor.create", [b.dims(16, 16)], made.type))
    function = b.kernel("k", [n], [b.loop(2, lambda i: [part]), b.do(b.op("tensor.dim", made, 0))])
    with pytest.raises(UserError) as caught:
        convert_to_ssa(function)
    assert caught.value.diagnostics[0].code == "PT332"
    assert caught.value.diagnostics[0].remedy == "assign 'made' before it"


def test_extents_are_those_of_the_value_and_not_of_the_name(prove: Any, kernel: Any, run_pass: Any) -> None:
    """``u`` is computed from ``t``, which was loaded when ``rows`` was another number."""
    text = (
        "rows = n\nt = pl.load(x, [0, 0], [16, 64], valid_shape=[rows, 64])\nrows = rows + 1\nu = pl.add(t, 1.0)\n"
        "v = pl.load(x, [0, 0], [16, 64], valid_shape=[rows, 64])\npl.store(u, [0, 0], out)\npl.store(v, [16, 0], out)"
    )
    after = run_pass("ConvertToSSA")(kernel(source(text, GM, INCORE)))
    verify_or_raise(after, ["SSAForm", "UseAfterDef", "AssignTypeSymmetry"])
    extents: dict[str, str] = {}
    for stmt in walk_stmts(after["main"].body):
        if isinstance(stmt, AssignStmt) and isinstance(stmt.var.type, TileType):
            dim = stmt.var.type.valid_shape[0]
            assert isinstance(dim, Var)
            extents[stmt.var.name_hint] = dim.name_hint
    assert extents == {"t": "rows__ssa_v0", "u": "rows__ssa_v0", "v": "rows__ssa_v1"}
    import numpy as np

    x, out = np.ones((64, 64), np.float32), np.zeros((64, 64), np.float32)
    got = prove.outputs(after, {"x": x, "out": out, "n": 5})["out"]
    assert (got[:5] == 2).all() and (got[5:16] == 0).all()
    assert (got[16:22] == 1).all() and (got[22:] == 0).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            (
                "rows = n\nt = pl.load(x, [0, 0], [16, 64], valid_shape=[rows, 64])\nfor i in pl.range(n):\n"
                "    rows = rows + 1\n    t = pl.load(x, [0, 0], [16, 64], valid_shape=[rows, 64])\n"
                "pl.store(t, [0, 0], out)"
            ),
            "valid extent 0 of 't' differs between two trips of the loop",
        ),
        (
            (
                "rows = n\nt = pl.load(x, [0, 0], [16, 64], valid_shape=[rows, 64])\nif n > 4:\n"
                "    rows = rows + 1\n    t = pl.load(x, [0, 0], [16, 64], valid_shape=[rows, 64])\n"
                "pl.store(t, [0, 0], out)"
            ),
            "valid extent 0 of 't' differs between the two branches",
        ),
        (
            (
                "for i in pl.range(2):\n    rows = n + i\n"
                "    t = pl.load(x, [0, 0], [16, 64], valid_shape=[rows, 64])\npl.store(t, [0, 0], out)"
            ),
            "'t' is used after this branch or loop, but its valid extent is only known inside",
        ),
    ],
)
def test_extents_that_no_type_can_say_are_refused(kernel: Any, text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        convert_to_ssa(kernel(source(text, GM, INCORE))["main"])
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("PT334", message)
    assert found.span.is_valid and "pl.set_validshape" in found.remedy


def test_slots_in_types_follow_the_names(kernel: Any, run_pass: Any, body: Any) -> None:
    text = (
        "s = n\ns = s + 1\n"
        't: pl.Tile[[16, 64], pl.FP32, pl.MemRef("buf", slots=2)[s % 2], pl.Mem.Vec] = pl.load(x, [0, 0], [16, 64])\n'
        "pl.store(t, [0, 0], out)"
    )
    after = run_pass("ConvertToSSA")(kernel(source(text, GM, INCORE)))
    assert 'pl.MemRef("buf", slots=2)[s__ssa_v1 % 2]' in body(after)


# -- what is kept


def test_comments_and_notes_stay(kernel: Any, run_pass: Any, body: Any) -> None:
    text = (
        "# counts\na = n\n# goes round\nfor i in pl.range(m, attrs={'hint': 3}):\n    # grows\n    a = a + i\n"
        "# done\nreturn a"
    )
    printed = short(body(run_pass("ConvertToSSA")(kernel(source(text)))))
    assert printed == (
        "# counts\na__ssa_v0 = n\n# goes round\n"
        'for i, (a__iter_v0,) in pl.range(m, init_values=(a__ssa_v0,), attrs={"hint": 3}):\n'
        "    # grows\n    a__ssa_v1 = a__iter_v0 + i\n    a__rv_v0 = pl.yield_(a__ssa_v1)\n# done\nreturn a__rv_v0"
    )


def test_a_scope_waits_for_tasks_named_before_it(kernel: Any, run_pass: Any, body: Any) -> None:
    """The dependency is the task of the scope before, though the scope binds the same name."""
    text = (
        "with pl.at(level=pl.Level.CORE_GROUP) as tid:\n    pl.store(pl.load(x, [0, 0], [16, 64]), [0, 0], out)\n"
        "first = tid\n"
        "with pl.at(level=pl.Level.CORE_GROUP, deps=[first]) as last:\n"
        "    pl.store(pl.load(x, [0, 0], [16, 64]), [16, 0], out)\n"
        "first = last\n"
        "with pl.at(level=pl.Level.CORE_GROUP, deps=[first]):\n"
        "    pl.store(pl.load(x, [0, 0], [16, 64]), [32, 0], out)"
    )
    after = run_pass("ConvertToSSA")(kernel(source(text, GM)))
    assert holds(after, "SSAForm")
    printed = body(after)
    assert '"manual_dep_edges": [first__ssa_v0]}) as last' in printed
    assert '"manual_dep_edges": [first__ssa_v1]}):' in printed


def test_statements_that_occur_twice_are_told_apart(prove: Any) -> None:
    n, a = b.scalar("n"), b.scalar("a")
    from pypto_core.ir import add, lt

    inner = b.loop(2, lambda i: [AssignStmt(a, add(a, i))])
    twice = b.branch(lt(a, 9), [inner, AssignStmt(a, add(a, 1))])
    function = b.function("main", [n], [AssignStmt(a, n), twice, inner, twice, b.ret(a)], returns=[b.INDEX])
    before = b.program(function)
    after = prove.step(_convert, before, ["SSAForm"])
    for value in range(12):
        prove.same(prove.outputs(before, {"n": value}), prove.outputs(after, {"n": value}))

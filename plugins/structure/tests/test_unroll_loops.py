"""UnrollLoops: trips in a row, constants for the loop variable, slots and carries."""

from __future__ import annotations

import re
from textwrap import dedent, indent
from typing import Any

import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import AssignStmt, ForKind, add, mul
from pypto_core.testing import build as b
from pypto_plugin_structure.unroll_loops import unroll_loops

NM = "n: pl.Scalar[pl.INDEX], m: pl.Scalar[pl.INDEX]"
GM = "x: pl.Tensor[[64, 64], pl.FP32], out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]]"


def source(text: str, params: str = NM, kind: str = "") -> str:
    return f"@pl.function({kind})\ndef main({params}):\n{indent(dedent(text).strip(), '    ')}\n"


def short(text: str) -> str:
    return text.replace(": pl.Scalar[pl.INDEX]", "")


def test_trips_in_a_row_with_constants(prove: Any, kernel: Any, body: Any) -> None:
    text = """
        a = n
        # trips
        for i in pl.unroll(1, 6, 2):
            for j in pl.unroll(i - 1):
                a = a + i * (j + 1)
            a = a - i
        return a
        """
    after = prove("UnrollLoops", kernel(source(text)), ["UnrollResolved"])
    assert short(body(after)) == (
        "a = n\n# trips\na = a - 1\na = a + 3\na = a + 6\na = a - 3\n"
        "a = a + 5\na = a + 10\na = a + 15\na = a + 20\na = a - 5\nreturn a"
    )


def test_bounds_may_be_variables_that_hold_a_number(prove: Any, kernel: Any, body: Any) -> None:
    after = prove(
        "UnrollLoops", kernel(source("k = 2\na = n\nfor i in pl.unroll(k + 1):\n    a = a + m\nreturn a"))
    )
    assert short(body(after)) == "k = 2\na = n\na = a + m\na = a + m\na = a + m\nreturn a"


def test_no_trip_leaves_its_comment_to_what_follows(kernel: Any, run_pass: Any, body: Any) -> None:
    text = "a = n\n# never\nfor i in pl.unroll(0):\n    a = i\n# done\nreturn a"
    assert short(body(run_pass("UnrollLoops")(kernel(source(text))))) == "a = n\n# never\n# done\nreturn a"


def test_a_slot_that_the_trip_chooses(prove: Any, kernel: Any, body: Any) -> None:
    """One variable has one type, so the trips differ by the value of the loop variable until SSA tells them apart."""
    text = """
        for i in pl.unroll(2):
            t: pl.Tile[[16, 64], pl.FP32, pl.MemRef("b", slots=2)[i % 2], pl.Mem.Vec] = pl.load(x, [0, 0], [16, 64])
            pl.store(t, [i * 16, 0], out)
        """
    before = kernel(source(text, GM, "type=pl.FunctionType.InCore"))
    after = prove("UnrollLoops", before, ["UnrollResolved"])
    assert short(body(after)).splitlines()[0::3] == ["i = 0", "i = 1"]
    final = body(prove.chain(before))
    assert 'pl.MemRef("b", slots=2)[0]' in final and 'pl.MemRef("b", slots=2)[1]' in final
    assert "i" not in [line.split(":")[0].strip() for line in final.splitlines()]


def test_what_a_trip_assigned_is_read_by_the_next_and_after(prove: Any, kernel: Any, run_pass: Any) -> None:
    """The first trip's else branch reads what nothing has assigned: nothing enters it."""
    text = """
        for i in pl.unroll(3):
            if i == 0:
                a = n
            else:
                a = a * 2 + i
        return a
        """
    program = kernel(source(text))
    for name in ("UnrollLoops", "ConvertToSSA", "Simplify"):
        program = run_pass(name)(program)
        # ((n * 2) + 1) * 2 + 2
        assert prove.outputs(program, {"n": 5, "m": 0}) == {"returned 0": 24}


def test_carries_of_a_loop_built_by_hand(prove: Any) -> None:
    """Swapped carries: both are handed on at once."""
    n, m = b.scalar("n"), b.scalar("m")
    loop = b.loop(
        3, lambda i, p, q: [b.give(add(q, i), mul(p, 2))], carries={"p": n, "q": m}, kind=ForKind.Unroll
    )
    function = b.function("main", [n, m], [loop, b.ret(*loop.return_vars)], returns=[b.INDEX, b.INDEX])
    after = prove("UnrollLoops", b.program(function), ["UnrollResolved"], [{"n": 5, "m": 11}])
    # (5, 11) → (11, 10) → (11, 22) → (24, 22)
    assert prove.outputs(after, {"n": 5, "m": 11}) == {"returned 0": 24, "returned 1": 22}


def test_an_unrolled_branch_body(prove: Any, kernel: Any) -> None:
    """The loop is a whole region."""
    text = """
        a = n
        if m > 1:
            for i in pl.unroll(2):
                a = a + i
        else:
            for i in pl.unroll(0):
                a = i
        return a
        """
    prove.chain(kernel(source(text)), inputs=[{"n": 1, "m": 0}, {"n": 1, "m": 4}])


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("for i in pl.unroll(n):\n    a = i", "PT320", "the stop of a loop to unroll must be a constant"),
        ("for i in pl.unroll(m, 5):\n    a = i", "PT320", "the start of a loop to unroll must be a constant"),
        (
            "for i in pl.unroll(150000):\n    a = i\n    b = a",
            "PT321",
            "unrolling this loop makes 150000 trips of 2 statements each",
        ),
    ],
)
def test_refused(kernel: Any, text: str, code: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        unroll_loops(kernel(source(text))["main"])
    (found,) = caught.value.diagnostics
    assert (found.code, found.message, found.span.begin_line) == (code, message, 3)
    assert found.remedy.startswith("use pl.range")


def test_a_step_of_nought() -> None:
    n = b.scalar("n")
    loop = b.loop(3, lambda i: [AssignStmt(n, i)], step=0, kind=ForKind.Unroll)
    with pytest.raises(UserError, match="a loop's step can't be 0"):
        unroll_loops(b.function("f", [n], [loop]))


def test_other_loops_are_the_same_objects(kernel: Any) -> None:
    function = kernel(source("a = n\nfor i in pl.range(3):\n    a = a + i\nreturn a"))["main"]
    assert unroll_loops(function) is function


def test_no_variable_belongs_to_the_loops_of_two_trips(prove: Any, kernel: Any, body: Any) -> None:
    """Else the loops would have other names once the text is read and printed again."""
    text = """
        a = n
        for i in pl.unroll(2):
            for j, (c,) in pl.range(2, init_values=(a,)):
                for k, (d,) in pl.range(i + 1, init_values=(c,)):
                    e = pl.yield_(d + k)
                f = pl.yield_(e)
            if f > m:
                g = pl.yield_(f)
            else:
                g = pl.yield_(m)
            a = g + i
        return a
        """
    before = kernel(source(text))
    inputs = [{"n": n, "m": m} for n in (-3, 0, 5) for m in (-1, 2, 40)]
    printed = body(prove("UnrollLoops", before, ["UnrollResolved"], inputs))
    for name in ("j", "k", "c", "d", "e", "f", "g"):
        assert {f"{name}", f"{name}_1"} <= set(re.findall(r"\w+", printed)), name
    prove.chain(before, inputs=inputs)


def test_what_is_read_behind_the_loop_stays_one_variable(prove: Any, kernel: Any, run_pass: Any) -> None:
    text = """
        for i in pl.unroll(3):
            a = n + i
            for j, (c,) in pl.range(2, init_values=(a,)):
                f = pl.yield_(c * 2)
        return f + a
        """
    after = run_pass("UnrollLoops")(kernel(source(text)))
    for n in (-3, 0, 7):  # of the last trip: a is n + 2, and f four times that
        assert prove.outputs(after, {"n": n, "m": 0})["returned 0"] == 5 * (n + 2)

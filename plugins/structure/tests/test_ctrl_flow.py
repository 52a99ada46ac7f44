"""CtrlFlowTransform on small programs: nesting, flags, loops that count by themselves, early returns."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import Any

import attrs
import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import BreakStmt, ContinueStmt, ReturnStmt, WhileStmt, flatten, walk_stmts
from pypto_plugin_structure.ctrl_flow import ctrl_flow_transform

NM = "n: pl.Scalar[pl.INDEX], m: pl.Scalar[pl.INDEX]"
GM = "x: pl.Tensor[[64, 64], pl.FP32], out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]"
INPUTS = [{"n": n, "m": m} for n in range(-1, 9, 2) for m in range(1, 9, 2)]


def source(text: str, params: str = NM, kind: str = "") -> str:
    return f"@pl.function({kind})\ndef main({params}):\n{indent(dedent(text).strip(), '    ')}\n"


def short(text: str) -> str:
    """Printed statements without the annotations of scalars."""
    return text.replace(": pl.Scalar[pl.INDEX]", "").replace(": pl.Scalar[pl.BOOL]", "")


EXACT = {
    "continue": (
        """
        a = n
        for i in pl.range(m):
            if i == n:
                continue
            a = a + i
        return a
        """,
        """
        a = n
        for i in pl.range(m):
            if not i == n:
                a = a + i
        return a
        """,
    ),
    "break": (
        """
        a = n
        # the search
        for i in pl.range(2, m, 3):
            if a > 7:
                break
            a = a + i
        return a
        """,
        """
        a = n
        # the search
        broken__tmp_v0 = False
        i = 2
        while not broken__tmp_v0 and i < m:
            if a > 7:
                broken__tmp_v0 = True
            else:
                a = a + i
            i = i + 3
        return a
        """,
    ),
    "downwards": (
        """
        a = n
        for i in pl.range(m, 0, -2):
            a = a + i
            if a > 9:
                break
        return a
        """,
        """
        a = n
        broken__tmp_v0 = False
        i = m
        while not broken__tmp_v0 and i > 0:
            a = a + i
            if a > 9:
                broken__tmp_v0 = True
            i = i + -2
        return a
        """,
    ),
    "a step known only when it runs": (
        """
        a = n
        for i in pl.range(m, n, a * 2 + 1):
            a = a + 1
            if a > 7:
                break
        return a
        """,
        """
        a = n
        broken__tmp_v0 = False
        step__tmp_v0 = a * 2 + 1
        i = m
        while not broken__tmp_v0 and (step__tmp_v0 > 0 and i < n or step__tmp_v0 < 0 and i > n):
            a = a + 1
            if a > 7:
                broken__tmp_v0 = True
            i = i + step__tmp_v0
        return a
        """,
    ),
    "a flag where no branch can take the rest": (
        """
        a = n
        while a < 10:
            if a > m:
                if a == 5:
                    a = a + 3
                    continue
                a = a + 1
            a = a + 2
        return a
        """,
        """
        a = n
        while a < 10:
            skip__tmp_v0 = False
            if a > m:
                if a == 5:
                    a = a + 3
                    skip__tmp_v0 = True
                else:
                    a = a + 1
            if not skip__tmp_v0:
                a = a + 2
        return a
        """,
    ),
    "a loop that carries": (
        """
        a = n
        for i, (c,) in pl.range(m, init_values=(a,)):
            if i == 2:
                continue
            if i == 4:
                break
            d = c + i
            r = pl.yield_(d)
        return r
        """,
        """
        a = n
        broken__tmp_v0 = False
        i = 0
        for (c,) in pl.while_(init_values=(a,)):
            pl.cond(not broken__tmp_v0 and i < m)
            c__out_v0 = c
            if not i == 2:
                if i == 4:
                    broken__tmp_v0 = True
                else:
                    d = c + i
                    c__out_v0 = d
            i = i + 1
            r = pl.yield_(c__out_v0)
        return r
        """,
    ),
    "results of a branch that is left": (
        """
        a = n
        for i in pl.range(4):
            if a > 3:
                r = pl.yield_(a)
            else:
                if a == 2:
                    continue
                r = pl.yield_(m)
            a = r + 1
        return a
        """,
        """
        a = n
        for i in pl.range(4):
            skip__tmp_v0 = False
            if a > 3:
                r = a
            else:
                if a == 2:
                    skip__tmp_v0 = True
                else:
                    r = m
            if not skip__tmp_v0:
                a = r + 1
        return a
        """,
    ),
    "an early return": (
        """
        if n > 2:
            # found
            return n
        b = m + 1
        return b
        """,
        """
        if n > 2:
            # found
            result__out_v0 = n
        else:
            b = m + 1
            result__out_v0 = b
        return result__out_v0
        """,
    ),
    "one variable returned everywhere": (
        """
        a = n
        if a > 2:
            return a
        a = a + m
        return a
        """,
        """
        a = n
        if not a > 2:
            a = a + m
        return a
        """,
    ),
    "a return out of nested loops": (
        """
        a = n
        for i in pl.range(m):
            for j in pl.range(a):
                if j > 3:
                    return a
                a = a + 1
            a = a + i
        return a + 1
        """,
        """
        returned__tmp_v0 = False
        a = n
        broken__tmp_v0 = False
        i = 0
        while not broken__tmp_v0 and i < m:
            broken__tmp_v1 = False
            stop__tmp_v0 = a
            j = 0
            while not broken__tmp_v1 and j < stop__tmp_v0:
                if j > 3:
                    result__out_v0 = a
                    returned__tmp_v0 = True
                    broken__tmp_v0 = True
                    broken__tmp_v1 = True
                else:
                    a = a + 1
                j = j + 1
            if not broken__tmp_v0:
                a = a + i
            i = i + 1
        if not returned__tmp_v0:
            result__out_v0 = a + 1
            returned__tmp_v0 = True
        return result__out_v0
        """,
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_form(prove: Any, kernel: Any, body: Any, name: str) -> None:
    text, want = EXACT[name]
    after = prove("CtrlFlowTransform", kernel(source(text)), ["StructuredCtrlFlow"], INPUTS)
    assert short(body(after)) == dedent(want).strip()


def test_a_condition_that_reads_is_not_asked_after_the_break(prove: Any, kernel: Any, body: Any) -> None:
    """The break keeps the read within the tensor: asking again would leave it."""
    text = """
        k = n
        while pl.read(x, [k, 0]) < 9.0:
            k = k + 1
            if k == 64:
                break
        pl.store(pl.load(x, [0, 0], [16, 64]), [k % 4 * 16, 0], out)
        """
    before = kernel(source(text, GM, "type=pl.FunctionType.InCore"))
    after = prove("CtrlFlowTransform", before, ["StructuredCtrlFlow"])
    assert "while go__tmp_v0:" in body(after)
    prove.chain(before)


def test_a_division_is_not_made_after_the_break(prove: Any, kernel: Any) -> None:
    text = """
        d = n
        a = m
        while 60 // d > 3:
            d = d - 1
            a = a + d
            if d == 0:
                break
        return a
        """
    prove.chain(kernel(source(text)), inputs=[{"n": n, "m": 1} for n in (1, 4, 20)])


def test_what_nothing_reaches_goes(kernel: Any, run_pass: Any, body: Any) -> None:
    text = """
        a = n
        for i in pl.range(m):
            if a > 3:
                continue
            else:
                break
            a = a + 1
        return a
        """
    printed = body(run_pass("CtrlFlowTransform")(kernel(source(text))))
    assert "a + 1" not in printed and "broken__tmp_v0" in printed


def test_many_exits_do_not_nest_without_end(prove: Any, kernel: Any) -> None:
    lines = ["a = n", "for i in pl.range(m):"]
    for k in range(40):
        lines += [f"    if a % 43 == {k}:", "        " + ("continue" if k % 3 else "break"), "    a = a + i"]
    before = kernel(source("\n".join([*lines, "return a"])))
    after = prove("CtrlFlowTransform", before, ["StructuredCtrlFlow"], INPUTS)
    assert _depth(after["main"].body) < 20
    prove.chain(before, inputs=INPUTS)


def _depth(body: Any) -> int:
    from pypto_core.ir import regions

    return 1 + max((_depth(r) for s in flatten(body) for r in regions(s)), default=0)


def test_stores_before_an_early_return_happen(prove: Any, kernel: Any) -> None:
    text = """
        if n > 3:
            pl.store(pl.load(x, [0, 0], [16, 64]), [0, 0], out)
            return
        pl.store(pl.load(x, [16, 0], [16, 64]), [0, 0], out)
        """
    from pypto_core.testing import random_inputs

    before = kernel(source(text, GM, "type=pl.FunctionType.InCore"))
    for n in (2, 5):
        prove.chain(before, inputs=[random_inputs(before["main"], dims={"n": n})])


def test_nothing_to_do_gives_the_same_object(kernel: Any) -> None:
    function = kernel(source("a = n\nwhile a < m:\n    a = a + 1\nreturn a"))["main"]
    assert ctrl_flow_transform(function) is function


def test_no_exit_is_left(kernel: Any, run_pass: Any) -> None:
    after = run_pass("CtrlFlowTransform")(kernel(source(EXACT["a return out of nested loops"][0])))["main"]
    stmts = list(walk_stmts(after.body))
    assert not [s for s in stmts if isinstance(s, BreakStmt | ContinueStmt)]
    assert [s for s in stmts if isinstance(s, ReturnStmt)] == [stmts[-1]]


@pytest.mark.parametrize(
    ("head", "way", "word", "line"),
    [
        ("for i in pl.parallel(4):", "return a", "return", 5),
        ("for i in pl.parallel(4):", "for j in pl.range(2):\n            return a", "return", 6),
    ],
)
def test_trips_that_all_run_can_not_be_left(kernel: Any, head: str, way: str, word: str, line: int) -> None:
    text = f"a = n\n{head}\n    if a > i:\n        {way}\nreturn n"
    with pytest.raises(UserError) as caught:
        ctrl_flow_transform(kernel(source(text).replace("\n    a = n", "\n    a = n", 1))["main"])
    (found,) = caught.value.diagnostics
    assert found.code == "PT323"
    assert found.message == f"'{word}' can't leave a parallel loop, whose trips all run"
    assert found.span.begin_line == line + 1
    assert "pl.range" in found.remedy


@attrs.define
class Hints:
    """Takes the place of the pass context."""

    found: list[tuple[str, str, dict[str, Any]]] = attrs.field(factory=list)

    def hint(self, code: str, message: str, span: Any, *, facts: dict[str, Any], remedy: str) -> None:
        self.found.append((code, message, facts))


def test_a_pipeline_that_is_left_says_that_it_is_none_any_more(kernel: Any) -> None:
    text = "a = n\nfor i in pl.pipeline(4, stage=2):\n    a = a + i\n    if a > m:\n        break\nreturn a"
    hints = Hints()
    after = ctrl_flow_transform(kernel(source(text))["main"], hints)
    assert any(isinstance(s, WhileStmt) for s in walk_stmts(after.body))
    ((code, message, facts),) = hints.found
    assert (code, message) == ("PH-ST-001", "a pipeline loop with an exit becomes a while loop")
    assert facts == {"dropped": "pipeline_stages", "function": "main"}

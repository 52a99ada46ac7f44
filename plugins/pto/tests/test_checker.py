"""The checker: what it accepts, and forty ways of breaking a module that it refuses for the right reason."""

from __future__ import annotations

import pytest
from pto_text import (
    ACC,
    GOOD,
    HALF,
    HEAD,
    LEFT,
    STATIC,
    VP,
    V,
    checked,
    filled,
)

from pypto_core.diagnostics import Severity
from pypto_plugin_pto.checker import Report, check_text
from pypto_plugin_pto.checker.tiletypes import canonical


@pytest.mark.parametrize("lines", list(GOOD.values()), ids=list(GOOD))
def test_what_the_assembler_accepts_is_accepted(lines: str) -> None:
    report = checked(lines)
    assert report.findings == (), report.findings
    assert (report.level, report.arch) == (2, "a3")


# (lines, code, words of the message, the text that the place shows)
BROKEN: dict[str, tuple[str, str, str, str]] = {
    "a comma is missing": ("pto.tadd ins(%t %u : V, V) outs(%u : V)", "PTO-101", "':' is expected", "%u"),
    "a stray character": ("pto.tadd ins(%t, %u ; V, V) outs(%u : V)", "PTO-101", "unexpected character", ";"),
    "outs is missing": ("pto.tabs ins(%t : V)", "PTO-101", "'outs' is expected", "return"),
    "something behind an operation": ("pto.barrier <PIPE_V> 3", "PTO-101", "more than the operation", "3"),
    "no such instruction": (
        "pto.tplus ins(%t, %u : V, V) outs(%u : V)",
        "PTO-102",
        "no instruction 'pto.tplus'",
        "pto.tplus",
    ),
    "no such operation": (
        "%x = arith.plus %c0, %c1 : index",
        "PTO-102",
        "no operation 'arith.plus'",
        "arith.plus",
    ),
    "the old name of the accumulating product": (
        "pto.tmatmul_acc ins(%c, %l, %r : ACC, LEFT, RIGHT) outs(%c : ACC)",
        "PTO-102",
        "no instruction",
        "pto.tmatmul_acc",
    ),
    "too few operands": (
        "pto.tadd ins(%t : V) outs(%u : V)",
        "PTO-103",
        "takes (tile, tile), not (tile)",
        "%t",
    ),
    "a scalar in place of a tile": (
        "pto.tadd ins(%t, %arg1 : V, f32) outs(%u : V)",
        "PTO-103",
        "not (tile, scalar)",
        "%t",
    ),
    "an unknown attribute": (
        "pto.tadd ins(%t, %u : V, V) outs(%u : V) {speed = 1}",
        "PTO-103",
        "no attribute 'speed'",
        "1",
    ),
    "an attribute in the wrong place": (
        "pto.tcvt ins(%t : V) outs(%h : F16) {rmode = #pto<round_mode RINT>}",
        "PTO-101",
        "more than the operation",
        "{",
    ),
    "an unknown rounding": (
        "pto.tcvt ins(%t {rmode = #pto<round_mode UP>} : V) outs(%h : F16)",
        "PTO-103",
        "no value",
        "#pto<round_mode UP>",
    ),
    "results that are not there": (
        "%x = pto.tabs ins(%t : V) outs(%u : V)",
        "PTO-103",
        "has 0 results, 1 are named",
        "%x",
    ),
    "a number out of range": ("%x = arith.constant 300 : i8", "PTO-103", "no number of type i8", "300"),
    "an unsigned constant": ("%x = arith.constant 7 : ui32", "PTO-103", "without a sign", "ui32"),
    "an unknown memory": (
        "%x = pto.alloc_tile valid_row = %c16 valid_col = %c64 : !pto.tile_buf<ub, 16x64xf32, valid=?x?>",
        "PTO-104",
        "no memory 'ub'",
        "!pto.tile_buf<ub",
    ),
    "keys in another order": (
        "%x = pto.alloc_tile : !pto.tile_buf<loc=vec, rows=16, dtype=f32, cols=64>",
        "PTO-104",
        "in this order",
        "!pto.tile_buf",
    ),
    "more valid than there is": (
        "%x = pto.alloc_tile : !pto.tile_buf<vec, 16x64xf32, valid=17x64>",
        "PTO-104",
        "valid extent 17",
        "!pto.tile_buf",
    ),
    "a view by rank": (
        "%x = pto.make_tensor_view %arg0, shape = [%c16], strides = [%c1] : !pto.tensor_view<1xf16>",
        "PTO-110",
        "'%arg0' is used as",
        "%arg0",
    ),
    "rows that are no multiple of 32 bytes": (
        "%x = pto.alloc_tile : !pto.tile_buf<vec, 16x4xf32>",
        "PTO-105",
        "16 bytes",
        "!pto.tile_buf",
    ),
    "a column that is no multiple of 32 bytes": (
        "%x = pto.alloc_tile : !pto.tile_buf<vec, 4x1xf32, blayout=col_major>",
        "PTO-105",
        "a column takes 16 bytes",
        "!pto.tile_buf",
    ),
    "rows that are no whole boxes": (
        "%x = pto.alloc_tile : !pto.tile_buf<mat, 24x32xf16, blayout=col_major, slayout=row_major>",
        "PTO-105",
        "24 rows",
        "!pto.tile_buf",
    ),
    "columns that are no whole boxes": (
        "%x = pto.alloc_tile : !pto.tile_buf<acc, 16x24xf32, blayout=col_major, slayout=row_major, fractal=1024>",
        "PTO-105",
        "24 columns",
        "!pto.tile_buf",
    ),
    "a valid extent that is not given": (
        "%x = pto.alloc_tile valid_row = %c16 : V",
        "PTO-106",
        "'valid_col' is needed",
        "pto.alloc_tile",
    ),
    "a valid extent given twice": (
        "%x = pto.alloc_tile valid_row = %c16 valid_col = %c64 : STATIC",
        "PTO-106",
        "'valid_row' is 16 by the type",
        "%c16",
    ),
    "elements that differ": (
        "pto.tadd ins(%t, %h : V, F16) outs(%u : V)",
        "PTO-106",
        "elements differ",
        "pto.tadd",
    ),
    "a column in an element-wise instruction": (
        "pto.tadd ins(%col, %col : COL, COL) outs(%col : COL)",
        "PTO-106",
        "stored by rows",
        "pto.tadd",
    ),
    "a product of the wrong memories": (
        "pto.tmatmul ins(%r, %l : RIGHT, LEFT) outs(%c : ACC)",
        "PTO-106",
        "multiplies left by right",
        "pto.tmatmul",
    ),
    "another accumulator than the result": (
        "pto.tmatmul.acc ins(%d, %l, %r : ACC, LEFT, RIGHT) outs(%c : ACC)",
        "PTO-106",
        "the accumulator %d",
        "%d",
    ),
    "no way between memories": (
        "pto.tmov ins(%c : ACC) outs(%l : LEFT)",
        "PTO-106",
        "no way from acc to left",
        "pto.tmov",
    ),
    "an offset that is no index": (
        "pto.textract ins(%m, %arg3, %c0 : MAT, i32, index) outs(%l : LEFT)",
        "PTO-106",
        "offsets are of type index",
        "i32",
    ),
    "padding without a value": ("pto.tfillpad ins(%t : V) outs(%u : V)", "PTO-106", "pad is not 0", V[:20]),
    "a window that differs from its tile": (
        "%w = pto.subview %t[%c0, %c0] sizes [16, 32] : V -> !pto.tile_buf<vec, 16x32xf32, pad=1>",
        "PTO-106",
        "pad is 1 here",
        "!pto.tile_buf<vec",
    ),
    "a window outside of its tile": (
        "%w = pto.subview %t[%c0, %c64] sizes [16, 32] : V -> HALF",
        "PTO-106",
        "leaves the 64",
        "%c64",
    ),
    "a window with other valid extents": (
        "%w = pto.subview %t[%c0, %c0] sizes [16, 32] valid [%c2, %c32] : V -> HALF",
        "PTO-106",
        "says 16 where the valid extent %c2 is 2",
        HALF[:20],
    ),
    "a reshape to other bytes": (
        "%f = pto.treshape %t : V -> HALF",
        "PTO-106",
        "keeps memory and bytes",
        HALF[:20],
    ),
    "extents set on a window": (
        """%w = pto.subview %t[%c0, %c0] sizes [16, 64] valid [%arg2, %arg2] : V -> V
        pto.set_validshape %w, %c2, %c2 : V""",
        "PTO-106",
        "comes from 'pto.subview'",
        "%w",
    ),
    "a loop that stands still": (
        "scf.for %i = %c0 to %c64 step %c0 {\n}",
        "PTO-106",
        "above 0, not 0",
        "%c0",
    ),
    "a window of other size than stated": (
        "%x = pto.partition_view %view, offsets = [%c0, %c0], sizes = [%c2, %c64] : TV -> PV",
        "PTO-106",
        "says 16 where the size is 2",
        "%c2",
    ),
    "a buffer with an address among others": (
        "%x = pto.alloc_tile addr = %a0 valid_row = %c16 valid_col = %c64 : V",
        "PTO-107",
        "every buffer has an address",
        "pto.alloc_tile",
    ),
    "too many slots": (
        "%x = pto.alloc_multi_tile valid_row = %c16 valid_col = %c64 : !pto.multi_tile_buf<V, count=17>",
        "PTO-108",
        "2 to 16 slots, not 17",
        "!pto.multi_tile_buf",
    ),
    "a slot that is not there": (
        "%x = pto.multi_tile_get %ring[%c2] : RING -> V",
        "PTO-108",
        "no slot 2 among 2",
        "%c2",
    ),
    "a slot of another type": (
        "%x = pto.multi_tile_get %ring[%c1] : RING -> VP",
        "PTO-108",
        "the type that the ring states",
        VP[:20],
    ),
    "a name that nothing defines": (
        "pto.tabs ins(%nothing : V) outs(%u : V)",
        "PTO-109",
        "before anything defines it",
        "%nothing",
    ),
    "a name that is defined later": (
        "%x = arith.addi %y, %c0 : index\n%y = arith.addi %c1, %c0 : index",
        "PTO-109",
        "'%y' is used before",
        "%y",
    ),
    "a name of an ended region": (
        "scf.if %yes {\n%q = arith.addi %c0, %c1 : index\n}\n%x = arith.addi %q, %c0 : index",
        "PTO-109",
        "region that has ended",
        "%q",
    ),
    "a name defined twice": ("%c0 = arith.constant 1 : index", "PTO-109", "'%c0' is defined twice", "%c0"),
    "a type that the value does not have": (
        "%x = arith.addi %arg3, %c0 : index",
        "PTO-110",
        "'%arg3' is used as index and is i32",
        "%arg3",
    ),
    "a number of another type carried": (
        "%n = scf.for %i = %c0 to %c64 step %c1 iter_args(%x = %c0) -> (index) {\nscf.yield %arg3 : i32\n}",
        "PTO-110",
        "yields a value of type i32",
        "scf.yield",
    ),
    "an element type the machine does not add": (
        "%x = pto.alloc_tile : BF16\npto.tadd ins(%x, %x : BF16, BF16) outs(%x : BF16)",
        "PTO-111",
        "takes no bf16 elements on a3",
        "!pto.tile_buf<vec, 16x64xbf16>",
    ),
    "a transfer without types": (
        "pto.comm.tput(%win, %win)",
        "PTO-101",
        "',' or ':' is expected",
        ")",
    ),
    "a transfer with a type too few": (
        "pto.comm.tput(%win, %win : PV)",
        "PTO-103",
        "2 operands and 1 types",
        "pto.comm.tput",
    ),
    "all cores without their kind": (
        "pto.syncall() mode = #pto.mode<hard>",
        "PTO-101",
        "'core_type' is expected",
        "return",
    ),
    "an event of two parts": (
        "pto.record_event[#pto.op<TLOAD>, #pto.event<EVENT_ID0>]",
        "PTO-103",
        "two operations and an event",
        "pto.record_event",
    ),
    "another element in a unary instruction": (
        "pto.texp ins(%t : V) outs(%h : F16)",
        "PTO-106",
        "elements differ: f32, f16",
        "pto.texp",
    ),
    "tiles side by side that are too wide": (
        "pto.tconcat ins(%t, %u : V, V) outs(%u : V)",
        "PTO-106",
        "16x64 beside 16x64 is not 16x64",
        V[:20],
    ),
    "a place of an extreme that is no integer": (
        "pto.trowargmax ins(%t, %u : V, V) outs(%col : COL)",
        "PTO-106",
        "a place is a number of",
        "!pto.tile_buf",
    ),
    "a column over other rows": (
        (
            "%x = pto.alloc_tile : !pto.tile_buf<vec, 8x64xf32>\n"
            "pto.trowexpand ins(%col : COL) outs(%x : !pto.tile_buf<vec, 8x64xf32>)"
        ),
        "PTO-106",
        "a value per row: 8, not 16",
        "!pto.tile_buf",
    ),
    "results that are not yielded": (
        "%z = scf.if %yes -> (index) {\nscf.yield %c0 : index\n} else {\n}",
        "PTO-112",
        "does not yield its results",
        "scf.if",
    ),
}


def test_there_are_forty_of_them() -> None:
    assert len(BROKEN) >= 40
    assert checked("").ok


@pytest.mark.parametrize(("lines", "code", "message", "shown"), list(BROKEN.values()), ids=list(BROKEN))
def test_a_broken_module_is_refused_for_the_right_reason(
    lines: str, code: str, message: str, shown: str
) -> None:
    report = checked(lines)
    errors = report.errors
    if code == "PTO-107":
        # Every other buffer is now the one without an address.
        assert {e.code for e in errors} == {code} and len(errors) == 11
    else:
        assert [e.code for e in errors] == [code], [(e.code, e.message) for e in errors]
    first = errors[0]
    assert message in first.message
    line = first.span.line_text()
    assert line is not None
    assert line[first.span.begin_column - 1 :].startswith(shown), (line, first.span)


WHOLE = {
    "no closing brace": (HEAD + "    return\n", "PTO-112", "never closed"),
    "no return": (HEAD + "  }\n}\n", "PTO-112", "does not end with 'return'"),
    "no module": ("// nothing\n", "PTO-112", "no module"),
    "no text of this kind": ("hello\n", "PTO-101", "'module' is expected"),
    "something behind the return": (
        HEAD + "    return\n    pto.barrier <PIPE_V>\n  }\n}\n",
        "PTO-112",
        "nothing may follow",
    ),
}


@pytest.mark.parametrize(("text", "code", "message"), list(WHOLE.values()), ids=list(WHOLE))
def test_broken_structure(text: str, code: str, message: str) -> None:
    errors = check_text(filled(text), "k.pto").errors
    assert code in [e.code for e in errors]
    assert any(message in e.message for e in errors)


def test_several_faults_are_all_reported_in_order() -> None:
    report = checked(
        """pto.tplus ins(%t, %u : V, V) outs(%u : V)
        %x = pto.what %c0
        %y = arith.addi %x, %c0 : index
        scf.for %i = %c0 to %c64 step %c1 {
        pto.tabs ins(%nothing : V) outs(%u : V)
        }"""
    )
    assert [e.code for e in report.errors] == ["PTO-102", "PTO-102", "PTO-109"]
    lines = [e.span.begin_line for e in report.errors]
    assert lines == sorted(lines) and lines[1] == lines[0] + 1


def test_levels_can_be_demanded() -> None:
    assert checked("", level=2).ok
    wrong = checked("", level=3)
    assert {e.code for e in wrong.errors} == {"PTO-107"} and wrong.level == 3


ADDRESSES = [("left", 512, LEFT), ("acc", 512, ACC), ("vec", 32, V)]


@pytest.mark.parametrize(("memory", "multiple", "kind"), ADDRESSES)
def test_addresses_are_aligned(memory: str, multiple: int, kind: str) -> None:
    def report(address: int) -> Report:
        text = f"""module {{
  func.func @k() {{
    %c = arith.constant 16 : index
    %a = arith.constant {address} : i64
    %x = pto.alloc_tile addr = %a valid_row = %c valid_col = %c : {kind}
    return
  }}
}}
"""
        return check_text(text)

    assert report(multiple).ok and report(0).ok and report(multiple).level == 3
    for address in (multiple - 16, -multiple):
        [error] = report(address).errors
        assert error.code == "PTO-106" and f"in {memory} is a multiple of {multiple}" in error.message


def test_the_machine_decides_which_elements_are_taken() -> None:
    lines = BROKEN["an element type the machine does not add"][0]
    assert not checked(lines, arch="a3").ok
    assert checked(lines, arch="a5").ok


def test_both_ways_of_writing_a_type_are_one_type() -> None:
    short = "!pto.tile_buf<vec, 16x64xf32, valid=?x?>"
    assert canonical(short) == canonical(V) != canonical(VP)
    assert canonical(STATIC) == canonical("!pto.tile_buf<vec, 16x64xf32>")
    # Left has the order of its machine.
    assert canonical(LEFT) == canonical(LEFT.replace("blayout=row_major", "blayout=col_major"))
    assert checked(f"pto.tadd ins(%t, %u : {short}, V) outs(%u : {short})").ok


def test_addf_is_warned_of() -> None:
    report = checked("%x = arith.addf %arg1, %arg1 : f32")
    assert report.ok
    [warning] = report.findings
    assert (warning.code, warning.severity) == ("PTO-113", Severity.WARNING)


def test_the_text_of_january_is_refused() -> None:
    text = """module {
  func.func @k(%arg0: !pto.ptr<f32>) {
    %c = arith.constant 32 : index
    %v = pto.make_tensor_view %arg0, shape = [%c, %c] strides = [%c, %c] : !pto.tensor_view<2xf32>
    return
  }
}
"""
    [error] = check_text(text).errors
    assert error.message == "',' is expected here, not 'strides'"
    assert (error.span.begin_line, error.span.begin_column) == (4, text.splitlines()[3].index("strides") + 1)


def test_xdsl_finds_nothing_more_in_good_modules() -> None:
    pytest.importorskip("xdsl")
    for name, lines in GOOD.items():
        if name in ("the generic form", "locations"):
            continue
        report = checked(lines, types=True)
        assert report.ok, (name, report.findings)


def test_xdsl_judges_what_this_checker_does_not_know() -> None:
    """A truncation to a wider type."""
    pytest.importorskip("xdsl")
    lines = "%x = arith.trunci %arg3 : i32 to i64"
    assert checked(lines).ok
    [error] = checked(lines, types=True).errors
    assert error.code == "PTO-114" and error.message.startswith("xDSL: ")


def test_xdsl_reads_the_lines_of_the_module() -> None:
    """What xDSL can't even read is shown where it stands."""
    pytest.importorskip("xdsl")
    from pypto_plugin_pto.checker.lexer import Source
    from pypto_plugin_pto.checker.second_opinion import verify

    text = "module {\n  func.func @k() {\n    %x = arith.constant : index\n    return\n  }\n}\n"
    [finding] = verify(text, Source(text, "k.pto"), [])
    assert finding.span.begin_line == 3

"""Modules that were written by this plugin and then damaged: each is refused, for the right reason.

Each damage is one substitution in the text of a kernel. Which ones change nothing that a checker can see (an
instruction left out, two operands of one type exchanged) is not listed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from pypto_plugin_pto.checker import Report, check_text

KERNELS: dict[str, tuple[str, str, str]] = {
    # name → parameters, body, planner
    "matmul": (
        "a: pl.Tensor[[64, 256], pl.FP16], w: pl.Tensor[[256, 64], pl.FP16], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]",
        """
        acc = pl.create_tile([64, 64], pl.FP32, target_memory=pl.Mem.Acc)
        for k, (c,) in pl.range(0, 256, 64, init_values=(acc,)):
            x = pl.load(a, [0, k], [64, 64], target_memory=pl.Mem.Mat)
            y = pl.load(w, [k, 0], [64, 64], target_memory=pl.Mem.Mat)
            l = pl.tile.extract(x, 0, 0, [64, 64], target_memory=pl.Mem.Left)
            r = pl.move(y, target_memory=pl.Mem.Right)
            d = pl.tile.matmul_acc(c, l, r, k == 0)
            q = pl.yield_(d)
        out = pl.store(q, [0, 0], out)
        return out
        """,
        "pypto",
    ),
    "softmax": (
        "a: pl.Tensor[[32, 64], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]",
        """
        x = pl.load(a, [0, 0], [32, 64], valid_shape=[32, n])
        t = pl.create_tile([32, 64], pl.FP32)
        y = pl.tile.fillpad(x, pad_value=pl.PadValue.min)
        m = pl.row_max(y, t)
        e = pl.exp(pl.row_expand_sub(y, m))
        s = pl.row_sum(e, t)
        z = pl.row_expand_div(e, s)
        h = pl.cast(z, pl.FP16)
        f = pl.cast(h, pl.FP32)
        g = pl.tile.cmps(f, 0.5, cmp_type=2)
        v = pl.tile.sels(g, f, t, 0.0)
        out = pl.store(v, [0, 0], out)
        return out
        """,
        "ptoas",
    ),
    "ring": (
        "a: pl.Tensor[[512, 64], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[512, 128], pl.FP32]]",
        """
        k = 0
        for i in pl.range(4):
            t: pl.Tile[[64, 64], pl.FP32, pl.MemRef("ring", slots=2)[i % 2], pl.Mem.Vec] = pl.load(a, [k, 0], [64, 64])
            w = pl.tile.slice(pl.add(t, t), [16, 32], [n, 32])
            out = pl.store(pl.exp(w), [0, 0], out)
            k = k + n
        if k > 3:
            k = k // n
        else:
            k = 7
        x = pl.load(a, [k, 0], [64, 64])
        out = pl.store(pl.reshape(x, [32, 128]), [0, 0], out)
        return out
        """,
        "ptoas",
    ),
}

# kernel, what is replaced (once), by what, code of the finding
DAMAGE: dict[str, tuple[str, str, str, str]] = {
    "a view is missing": ("softmax", r"    %a_view = .*\n", "", "PTO-109"),
    "a window is missing": ("softmax", r"    %a_p = .*\n", "", "PTO-109"),
    "a buffer is missing": ("softmax", r"    %m = pto\.alloc_tile.*\n", "", "PTO-109"),
    "a constant is missing": ("softmax", r"    %c32_index = .*\n", "", "PTO-109"),
    "the ring is missing": ("ring", r"    %ring_mb = .*\n", "", "PTO-109"),
    "the slot is missing": ("ring", r"      %t = pto\.multi_tile_get.*\n", "", "PTO-109"),
    "the return is missing": ("softmax", r"    return\n", "", "PTO-112"),
    "a yield is missing": ("ring", r"      scf\.yield .*\n", "", "PTO-112"),
    "a line stands twice": ("softmax", r"(    %a_p = .*\n)", r"\1\1", "PTO-109"),
    "two lines are exchanged": ("softmax", r"(    %a_p = .*\n)(    pto\.tload.*\n)", r"\2\1", "PTO-109"),
    "a name is defined twice": ("matmul", r"%x = pto\.alloc_tile", "%y = pto.alloc_tile", "PTO-109"),
    "a name of the loop is used behind it": (
        "ring",
        r"(\n    return)",
        r"\n    %late = arith.addi %i, %i : index\1",
        "PTO-109",
    ),
    "the other result is used": (
        "ring",
        r"offsets = \[%\w+, %c0_index\], sizes = \[%c64_index, %c64_index\](.*\n    pto\.tload)",
        r"offsets = [%ring_mb, %c0_index], sizes = [%c64_index, %c64_index]\1",
        "PTO-110",
    ),
    "left and right are exchanged": (
        "matmul",
        r"pto\.tmatmul ins\((%\w+), (%\w+) : (.*?>), (.*?>)\)",
        r"pto.tmatmul ins(\2, \1 : \4, \3)",
        "PTO-106",
    ),
    "left and right are exchanged in name only": (
        "matmul",
        r"pto\.tmatmul ins\((%\w+), (%\w+) :",
        r"pto.tmatmul ins(\2, \1 :",
        "PTO-110",
    ),
    "another accumulator": ("matmul", r"(pto\.tmatmul\.acc ins\()%\w+", r"\1%l", "PTO-106"),
    "the accumulator is left out": (
        "matmul",
        r"pto\.tmatmul\.acc ins\(%\w+, (.*?) : .*?>, ",
        r"pto.tmatmul.acc ins(\1 : ",
        "PTO-103",
    ),
    "an operand too many": (
        "softmax",
        r"pto\.texp ins\((%\w+) : (.*?>)\)",
        r"pto.texp ins(\1, \1 : \2, \2)",
        "PTO-103",
    ),
    "a type too many": (
        "softmax",
        r"pto\.texp ins\((%\w+) : (.*?>)\)",
        r"pto.texp ins(\1 : \2, \2)",
        "PTO-103",
    ),
    "two results": (
        "softmax",
        r"(pto\.texp .*)outs\((%\w+) : (.*?>)\)",
        r"\1outs(\2, \2 : \3, \3)",
        "PTO-103",
    ),
    "no result": ("softmax", r"(pto\.texp .*) outs\(.*\)", r"\1", "PTO-101"),
    "rows become columns": (
        "softmax",
        r"(pto\.trowmax .*outs\(.*)rows=32, cols=1,(.*)col_major",
        r"\1rows=1, cols=32,\2row_major",
        "PTO-106",
    ),
    "columns in place of rows": ("softmax", r"pto\.trowmax", "pto.tcolargmax", "PTO-106"),
    "operands of a broadcast": (
        "softmax",
        r"(pto\.trowexpandsub .*outs\(.*)rows=32, cols=64",
        r"\1rows=16, cols=64",
        "PTO-106",
    ),
    "another element type": (
        "softmax",
        r"(pto\.texp ins\(%\w+ : !pto\.tile_buf<loc=vec, dtype=)f32",
        r"\1f16",
        "PTO-106",
    ),
    "an element type that the machine does not take": (
        "softmax",
        r"pto\.tcvt ins\((%\w+) \{.*?\} : ",
        r"pto.tabs ins(\1 : ",
        "PTO-106",
    ),
    "a mask of floats": (
        "softmax",
        r"(pto\.tsels ins\([^:]*: !pto\.tile_buf<loc=vec, dtype=)ui8",
        r"\1f32",
        "PTO-106",
    ),
    "another width in global memory": (
        "softmax",
        r"(pto\.tload .*!pto\.partition_tensor_view<32x\?x)f32",
        r"\1f16",
        "PTO-106",
    ),
    "another extent in global memory": (
        "softmax",
        r"(%out_p = .*partition_tensor_view<)32x",
        r"\1",
        "PTO-103",
    ),
    "a size that the type does not say": (
        "softmax",
        r"(%out_p = .*sizes = \[)%c32_index",
        r"\1%c64_index",
        "PTO-106",
    ),
    "a tile without alignment": ("softmax", r"(%x = .*)cols=64", r"\1cols=6", "PTO-105"),
    "a tile in no memory": ("softmax", r"(%x = .*)loc=vec", r"\1loc=ub", "PTO-104"),
    "a fractal that there is not": ("matmul", r"(%x = .*)fractal=512", r"\1fractal=256", "PTO-104"),
    "boxes of another size": ("matmul", r"(%acc = .*)fractal=1024", r"\1fractal=32", "PTO-110"),
    "padding is not told": ("softmax", r"(pto\.tfillpad .*)pad=3(.*)", r"\1pad=0\2", "PTO-106"),
    "an address too few": ("matmul", r"(pto\.alloc_tile) addr = %\w+", r"\1", "PTO-107"),
    "an address too many": (
        "ring",
        r"(    %ring_mb = pto\.alloc_multi_tile)",
        r"    %a = arith.constant 0 : i64\n\1 addr = %a",
        "PTO-107",
    ),
    "an odd address": ("matmul", r"(%c0_i64 = arith\.constant) 0", r"\1 8", "PTO-106"),
    "a negative address": ("matmul", r"(%c0_i64 = arith\.constant) 0", r"\1 -512", "PTO-106"),
    "an address of another type": ("matmul", r"addr = %c0_i64", "addr = %c0_index", "PTO-110"),
    "a valid extent is missing": ("softmax", r"(%x = pto\.alloc_tile) valid_row = %\w+", r"\1", "PTO-106"),
    "a ring of one": ("ring", r"(%ring_mb = .*)count=2", r"\1count=1", "PTO-108"),
    "a slot that is not there": ("ring", r"(multi_tile_get %ring_mb\[)%\w+", r"\1%c64_index", "PTO-108"),
    "a slot of another type": ("ring", r"(multi_tile_get .* -> .*)cols=64", r"\1cols=32", "PTO-108"),
    "a window of other columns": ("ring", r"(pto\.subview .*sizes \[16, )32", r"\g<1>64", "PTO-106"),
    "a window in another memory": (
        "ring",
        r"(pto\.subview .*-> !pto\.tile_buf<loc=)vec",
        r"\1mat",
        "PTO-106",
    ),
    "a reshape of other bytes": ("ring", r"(pto\.treshape .*-> .*)rows=32", r"\1rows=64", "PTO-106"),
    "a step of nothing": ("ring", r"(scf\.for .*step )%c1_index", r"\1%c0_index", "PTO-106"),
    "a bound of another type": ("ring", r"(scf\.for .* to )%\w+", r"\1%ring_mb", "PTO-110"),
    "a carried number of another type": ("ring", r"(iter_args\(.*\) -> \()index", r"\1i32", "PTO-110"),
    "nothing is carried": ("ring", r"(scf\.for .*) -> \(index\)", r"\1 -> ()", "PTO-103"),
    "a result that nobody names": ("ring", r"%\w+ = (scf\.for)", r"\1", "PTO-103"),
    "a condition that is no truth": ("ring", r"scf\.if %\w+", "scf.if %c64_index", "PTO-110"),
    "a branch without the other": ("ring", r"    \} else \{\n(.*\n)*?    \}\n", "    }\n", "PTO-112"),
    "a brace too few": ("ring", r"    \}\n", "", "PTO-112"),
    "a comparison of no kind": ("softmax", r"#pto<cmp lt>", "#pto<cmp below>", "PTO-103"),
    "a rounding of no kind": ("softmax", r"#pto<round_mode \w+>", "#pto<round_mode up>", "PTO-103"),
    "an attribute of no kind": ("softmax", r"\{rmode = ", "{fast = true, rmode = ", "PTO-103"),
    "an operation of January": ("softmax", r", strides =", " strides =", "PTO-101"),
    "the memory of January": ("softmax", r"(%y = .*)loc=vec", r"\1loc=ub", "PTO-104"),
    "a semicolon": ("softmax", r"(pto\.texp .*)", r"\1;", "PTO-101"),
    "a word too many": ("softmax", r"(pto\.texp .*)", r"\1 fast", "PTO-101"),
    "an instruction of no kind": ("softmax", r"pto\.texp ", "pto.texpp ", "PTO-102"),
    "arithmetic of no kind": ("ring", r"arith\.remsi", "arith.modsi", "PTO-102"),
    "arithmetic of two types": ("ring", r"(arith\.remsi %\w+, %\w+ : )index", r"\1i32", "PTO-110"),
    "the text ends": ("matmul", r"    pto\.tstore(.*\n)*", "", "PTO-112"),
}


@pytest.fixture(scope="module")
def texts(write: Callable[..., str]) -> dict[str, str]:
    return {name: write(params, body, planner=planner) for name, (params, body, planner) in KERNELS.items()}


@pytest.mark.parametrize(("kernel", "what", "by", "code"), list(DAMAGE.values()), ids=list(DAMAGE))
def test_a_damaged_module_is_refused_for_the_right_reason(
    texts: dict[str, str], kernel: str, what: str, by: str, code: str
) -> None:
    text = texts[kernel]
    damaged, count = re.subn(what, by, text, count=1)
    assert count == 1 and damaged != text, "the damage hits nothing: " + text
    first = check_text(damaged, "k.pto").errors[:1]
    assert [e.code for e in first] == [code], (first, damaged)
    assert first[0].span.is_valid


def test_whatever_happens_to_a_text_there_is_a_report(texts: dict[str, str]) -> None:
    """Characters, tokens and lines taken out, doubled and exchanged at random: findings, never a fault."""
    rng = random.Random(20260810)
    refused = 0
    for text in texts.values():
        tokens = re.findall(r"[%@#!\"]?[\w.]+|\s+|.", text)
        for _ in range(60):
            pieces: list[Any] = {0: list(text), 1: list(tokens), 2: text.splitlines(True)}[rng.randrange(3)]
            for _ in range(rng.randint(1, 3)):
                a, z = rng.randrange(len(pieces)), rng.randrange(len(pieces))
                kind = rng.randrange(4)
                if kind == 0:
                    del pieces[a]
                elif kind == 1:
                    pieces.insert(a, pieces[z])
                elif kind == 2:
                    pieces[a], pieces[z] = pieces[z], pieces[a]
                else:
                    pieces[a] = rng.choice(
                        ["<", ">", "{", "}", '"', "9" * 40, "-", "é", "\n", "%", "²", "0x", "%9"]
                    )
            report = check_text("".join(pieces), "k.pto", types=False)
            assert isinstance(report, Report)
            refused += not report.ok
    assert refused > 120

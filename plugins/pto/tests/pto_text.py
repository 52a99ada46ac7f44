"""Modules that the checker accepts, and the parts they and the broken ones are written from."""

from __future__ import annotations

from typing import Any

from pypto_plugin_pto.checker import Report, check_text


def tile(memory: str, dtype: str, shape: str, layout: str, *, valid: str = "?x?", fractal: int = 512) -> str:
    """A tile type in its long form."""
    (rows, cols), (v_row, v_col) = shape.split("x"), valid.split("x")
    blayout, slayout = layout.split()
    return (
        f"!pto.tile_buf<loc={memory}, dtype={dtype}, rows={rows}, cols={cols}, v_row={v_row}, v_col={v_col}, "
        f"blayout={blayout}, slayout={slayout}, fractal={fractal}, pad=0>"
    )


ROWS = "row_major none_box"
V = tile("vec", "f32", "16x64", ROWS)
VP = V.replace("pad=0", "pad=1")
F16 = tile("vec", "f16", "16x64", ROWS)
STATIC = tile("vec", "f32", "16x64", ROWS, valid="16x64")
HALF = tile("vec", "f32", "16x32", ROWS, valid="16x32")
COL = tile("vec", "f32", "16x1", "col_major none_box")
MAT = tile("mat", "f16", "32x32", "col_major row_major")
LEFT = tile("left", "f16", "32x32", "row_major row_major")
RIGHT = tile("right", "f16", "32x32", "row_major col_major")
ACC = tile("acc", "f32", "32x32", "col_major row_major", fractal=1024)
BF16 = "!pto.tile_buf<vec, 16x64xbf16>"
RING = f"!pto.multi_tile_buf<{V}, count=2>"
PV, TV = "!pto.partition_tensor_view<16x64xf32>", "!pto.tensor_view<?x?xf32>"

HEAD = """module attributes {pto.target_arch = "a2a3"} {
  func.func @k(%arg0: !pto.ptr<f32>, %arg1: f32, %arg2: index, %arg3: i32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %a0 = arith.constant 0 : i64
    %a8 = arith.constant 4096 : i64
    %yes = arith.cmpi slt, %arg2, %c2 : index
    %view = pto.make_tensor_view %arg0, shape = [%c16, %c64], strides = [%c64, %c1] {layout = #pto.layout<nd>} : TV
    %win = pto.partition_view %view, offsets = [%c0, %c0], sizes = [%c16, %c64] : TV -> PV
    %t = pto.alloc_tile valid_row = %c16 valid_col = %c64 : V
    %u = pto.alloc_tile valid_row = %c16 valid_col = %c64 : V
    %p = pto.alloc_tile valid_row = %c16 valid_col = %c64 : VP
    %h = pto.alloc_tile valid_row = %c16 valid_col = %c64 : F16
    %col = pto.alloc_tile valid_row = %c16 valid_col = %c1 : COL
    %m = pto.alloc_tile valid_row = %c32 valid_col = %c32 : MAT
    %l = pto.alloc_tile valid_row = %c32 valid_col = %c32 : LEFT
    %r = pto.alloc_tile valid_row = %c32 valid_col = %c32 : RIGHT
    %c = pto.alloc_tile valid_row = %c32 valid_col = %c32 : ACC
    %d = pto.alloc_tile valid_row = %c32 valid_col = %c32 : ACC
    %ring = pto.alloc_multi_tile valid_row = %c16 valid_col = %c64 : RING
"""
TAIL = """    return
  }
}
"""
NAMES = {"RING": RING, "STATIC": STATIC, "HALF": HALF, "F16": F16, "COL": COL, "MAT": MAT, "LEFT": LEFT, "RIGHT": RIGHT,
         "ACC": ACC, "BF16": BF16, "VP": VP, "PV": PV, "TV": TV, "V": V}  # fmt: skip


def filled(text: str) -> str:
    """The text with the short names of types written out."""
    import re

    return re.sub(r"\b(" + "|".join(NAMES) + r")\b", lambda m: NAMES[m[1]], text)


def module(lines: str) -> str:
    body = "".join(f"    {line.strip()}\n" for line in lines.strip().splitlines())
    return filled(HEAD + body + TAIL)


def checked(lines: str, **options: Any) -> Report:
    return check_text(module(lines), "k.pto", **options)


GOOD = {
    "move data": "pto.tload ins(%win : PV) outs(%t : V)\npto.tstore ins(%t : V) outs(%win : PV)",
    "elementwise": "pto.tadd ins(%t, %u : V, V) outs(%u : V)\npto.tadds ins(%t, %arg1 : V, f32) outs(%u : V)",
    "multiply": """pto.tmov ins(%m : MAT) outs(%l : LEFT)
        pto.textract ins(%m, %c0, %c0 : MAT, index, index) outs(%r : RIGHT)
        pto.tmatmul ins(%l, %r : LEFT, RIGHT) outs(%c : ACC)
        pto.tmatmul.acc ins(%c, %l, %r : ACC, LEFT, RIGHT) outs(%c : ACC)""",
    "windows": """%w = pto.subview %t[%c0, %c32] sizes [16, 32] valid [%c16, %c32] : V -> HALF
        %f = pto.treshape %t : V -> STATIC
        pto.set_validshape %t, %c2, %arg2 : V""",
    "rings": """%k = arith.remsi %arg2, %c2 : index
        %s = pto.multi_tile_get %ring[%k] : RING -> V
        pto.tload ins(%win : PV) outs(%s : V)""",
    "loops": """%n = scf.for %i = %c0 to %c64 step %c16 iter_args(%x = %c0) -> (index) {
        %y = arith.addi %x, %i : index
        scf.yield %y : index
        }
        %z = scf.if %yes -> (index) {
        scf.yield %n : index
        } else {
        scf.yield %c0 : index
        }
        %e = scf.while (%b = %z) : (index) -> (index) {
        %go = arith.cmpi slt, %b, %c64 : index
        scf.condition(%go) %b : index
        } do {
        ^bb0(%b2: index):
        %b3 = arith.addi %b2, %c1 : index
        scf.yield %b3 : index
        }
        scf.for %i = %c0 to %e step %c1 {
        }""",
    "names of ended regions are free again": """scf.if %yes {
        %q = arith.addi %c0, %c1 : index
        } else {
        %q = arith.addi %c1, %c1 : index
        }""",
    "an operation over several lines": """pto.tadd ins(%t, %u : V, V)
        outs(%u : V)""",
    "casts and comparisons": """pto.tcvt ins(%t {rmode = #pto<round_mode RINT>} : V) outs(%h : F16)
        %x = arith.index_cast %arg3 : i32 to index
        %y = arith.extsi %arg3 : i32 to i64
        %s = arith.select %yes, %x, %c0 : index""",
    "locations": """pto.tadd ins(%t, %u : V, V) outs(%u : V) loc("a b.py":3:7)
        %q = arith.addi %c0, %c1 : index loc(unknown)""",
    "the generic form": '"pto.ttri"(%arg3, %t) {upperOrLower = 1 : i32} : (i32, V) -> ()',
    "scalars in memory": """%x = pto.load_scalar %arg0[%c0] : !pto.ptr<f32> -> f32
        pto.store_scalar %x, %arg0[%c1] : !pto.ptr<f32>, f32
        %g = pto.tgetval ins(%t, %c0 : V, index) outs : f32
        pto.tsetval ins(%c1, %g : index, f32) outs(%t : V)""",
    "barriers": """pto.barrier <PIPE_ALL>
        pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
        pto.fence.barrier_all #pto.fence_scope<gm>
        pto.cmo.cacheinvalid %win single_cache_line : PV""",
    "other chips": """pto.comm.tput(%win, %win, buf(%t) : PV, PV, V) {atomic = 0 : i32}
        pto.comm.tget(%win, %win, buf(%t, %u) : PV, PV, V, V)
        %done = pto.comm.ttest(%arg0, %arg3 : !pto.ptr<f32>, i32) {cmp = 0 : i32} -> i1
        pto.syncall() mode = #pto.mode<hard>, core_type = #pto.core<aiv>
        pto.record_event[#pto.op<TLOAD>, #pto.op<TVEC>, #pto.event<EVENT_ID0>]
        pto.wait_event[#pto.op<TLOAD>, #pto.op<TVEC>, #pto.event<EVENT_ID0>]
        %ctx = pto.make_prefetch_async_context(%arg0 : !pto.ptr<f32>) -> !pto.async_context
        %session = pto.get_prefetch_async_session %ctx : !pto.async_context -> !pto.async_session""",
    "pipes between cores": """pto.tpush_to_aiv(%c : ACC) {split = 0}
        %x = pto.tpop_from_aic {split = 0} -> STATIC
        %y = pto.tpop_from_aic(%c16, %arg2) {split = 0} -> V
        pto.tfree_from_aic {split = 0}
        %b = pto.import_reserved_buffer {name = "n", peer_func = @f} -> i32
        pto.aic_initialize_pipe {dir_mask = 1} (c2v_consumer_buf = %b : i32, v2c_consumer_buf = %b : i32)""",
}

"""What instructions demand of their operands beyond their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from pypto_core.ir import LINE_BYTES, round_up
from pypto_plugin_pto.checker import elements
from pypto_plugin_pto.checker.lexer import Fault, Token
from pypto_plugin_pto.checker.state import State
from pypto_plugin_pto.checker.tiletypes import (
    TileFields,
    element_bits,
    element_bytes,
    is_tile,
    is_window,
    tile_fields,
    window_shape,
)

RULE = "PTO-106"

_MOVES = frozenset(
    {("mat", "left"), ("mat", "right"), ("mat", "bias"), ("mat", "scaling"), ("vec", "vec"), ("acc", "mat"),
     ("acc", "vec"), ("vec", "mat")}
)  # fmt: skip
_EXTRACTIONS = frozenset(
    {("vec", "vec"), ("mat", "left"), ("mat", "right"), ("acc", "mat"), ("acc", "vec"), ("mat", "mat"),
     ("vec", "mat"), ("mat", "vec")}
)  # fmt: skip
_ELEMENTWISE = frozenset(
    ["tadd", "tsub", "tmul", "tdiv", "tmax", "tmin", "tand", "tor", "tshl", "tshr", "tfmod", "trem", "txor"]
)
# One tile, perhaps a scalar and a scratch tile.
_ONE_TILE = (
    "tabs", "texp", "tsqrt", "tneg", "tnot", "trelu", "tlog", "trecip", "trsqrt", "tadds", "tsubs", "tmuls", "tmaxs",
    "tmins", "tfmods", "tands", "tors", "tshls", "tshrs", "tlrelu", "trems", "txors",
)  # fmt: skip
_PLACES = frozenset({"i32", "ui32", "i16", "ui16"})
_PADDING = frozenset({"tfillpad", "tfillpad_inplace", "tfillpad_expand"})


@attrs.frozen
class _Operation:
    """An instruction with its operands taken apart."""

    name: str
    state: State
    token: Token
    inputs: Sequence[Token]
    input_types: Sequence[Token]
    output: Token
    output_type: Token

    def tile(self, index: int) -> TileFields:
        """The tile type of an input; -1 is the output."""
        return tile_fields(self.output_type if index < 0 else self.input_types[index])

    def refuse(self, message: str, token: Token | None = None, remedy: str = "") -> Fault:
        return Fault(RULE, f"'pto.{self.name}': {message}", token or self.token, remedy)


def check(
    name: str,
    state: State,
    token: Token,
    inputs: Sequence[Token],
    input_types: Sequence[Token],
    output: Token,
    output_type: Token,
    attributes: dict[str, Token],
) -> None:
    """Raise Fault for operands that the instruction does not take."""
    operation = _Operation(name, state, token, inputs, input_types, output, output_type)
    rule = _RULES.get(name)
    if rule is not None:
        rule(operation)
    elif is_window(output_type.text) and name not in ("mscatter",):
        raise operation.refuse("writes a tile, not a window of global memory", output_type)
    _check_elements(operation)
    if name.endswith(".acc") and inputs[0].text != output.text:
        raise operation.refuse(
            f"the accumulator {inputs[0].text} has to be what is written, {output.text}", inputs[0]
        )


def _check_elements(op: _Operation) -> None:
    if op.state.arch is None:
        return
    first = next((t for t in op.input_types if is_tile(t.text)), op.output_type)
    if not is_tile(first.text):
        return
    dtype = tile_fields(first).dtype
    if not elements.known(dtype, op.state.arch):
        raise Fault("PTO-111", f"{op.state.arch} has no {dtype} elements", first, "--arch a5 has them")
    accepted = elements.accepted(op.name, op.state.arch)
    if accepted is not None and dtype not in accepted:
        raise Fault(
            "PTO-111",
            f"'pto.{op.name}' takes no {dtype} elements on {op.state.arch}",
            first,
            "it takes " + ", ".join(sorted(accepted)),
        )


def _elementwise(op: _Operation) -> None:
    tiles = [op.tile(0), op.tile(1), op.tile(-1)]
    if len({t.dtype for t in tiles}) != 1:
        raise op.refuse(f"elements differ: {', '.join(t.dtype for t in tiles)}")
    for tile in tiles:
        if tile.blayout != "row_major" and not tile.boxed:
            raise op.refuse(
                "takes tiles that are stored by rows",
                remedy="view a column [M, 1] as the row [1, M] with pto.treshape",
            )
    known = {t.valid for t in tiles if None not in t.valid}
    if len(known) > 1:
        raise op.refuse(
            f"valid extents differ: {' and '.join(f'{a}x{b}' for a, b in sorted(known, key=str))}"
        )


def _same_elements(op: _Operation, *inputs: int) -> None:
    """The result holds elements like those of the inputs, whose numbers are given."""
    kinds = {op.tile(at).dtype for at in (*inputs, -1)}
    if len(kinds) != 1:
        raise op.refuse(f"elements differ: {', '.join(op.tile(at).dtype for at in (*inputs, -1))}")


def _unary(op: _Operation) -> None:
    _same_elements(op, 0)
    known = {t.valid for t in (op.tile(0), op.tile(-1)) if None not in t.valid}
    if len(known) > 1:
        raise op.refuse(
            f"valid extents differ: {' and '.join(f'{a}x{b}' for a, b in sorted(known, key=str))}"
        )


def _reduction(op: _Operation) -> None:
    """A value per row or column, which for the place of an extreme is an integer."""
    source, target = op.tile(0), op.tile(-1)
    by_rows = op.name.startswith("trow")
    if "arg" not in op.name:
        _same_elements(op, 0)
    elif target.dtype not in _PLACES:
        raise op.refuse(
            f"a place is a number of {' or '.join(sorted(_PLACES))}, not {target.dtype}", op.output_type
        )
    have, want = (target.rows, source.rows) if by_rows else (target.cols, source.cols)
    if not _as_many(target, have, want):
        what = "row" if by_rows else "column"
        raise op.refuse(f"gives a value per {what}: {want}, not {have}", op.output_type)


def _as_many(line: TileFields, have: int, want: int) -> bool:
    """Whether a line of values has room for so many and no more: its storage is whole blocks of 32 bytes."""
    return have in (want, round_up(want, LINE_BYTES // element_bytes(line.dtype)))


def _spread(op: _Operation) -> None:
    source, target = op.tile(0), op.tile(-1)
    _same_elements(op, 0)
    have, want = (source.rows, target.rows) if op.name == "trowexpand" else (source.cols, target.cols)
    if not _as_many(source, have, want):
        what = "row" if op.name == "trowexpand" else "column"
        raise op.refuse(f"spreads a value per {what}: {want}, not {have}", op.input_types[0])


def _combined(op: _Operation) -> None:
    """A tile and a value per row or column; the result is like the tile."""
    _same_elements(op, 0, 1)
    target = op.tile(-1)
    if target.shape not in (op.tile(0).shape, op.tile(1).shape):
        raise op.refuse(f"neither operand has the {target.rows}x{target.cols} of the result", op.output_type)


def _selection(op: _Operation) -> None:
    chosen = (1, 2) if op.name == "tsel" else (1,)
    _same_elements(op, *chosen)
    if not op.tile(0).dtype.lstrip("u").startswith("i"):
        raise op.refuse(f"a mask holds bits of integers, not {op.tile(0).dtype}", op.input_types[0])


def _comparison(op: _Operation) -> None:
    kinds = [op.tile(at).dtype for at, kind in enumerate(op.input_types) if is_tile(kind.text)]
    if len(set(kinds)) != 1:
        raise op.refuse(f"elements differ: {', '.join(kinds)}")


def _side_by_side(op: _Operation) -> None:
    left, right, target = op.tile(0), op.tile(1), op.tile(-1)
    _same_elements(op, 0, 1)
    if not left.rows == right.rows == target.rows or left.cols + right.cols > target.cols:
        raise op.refuse(
            f"{left.rows}x{left.cols} beside {right.rows}x{right.cols} is not {target.rows}x{target.cols}",
            op.output_type,
        )


def _product(op: _Operation) -> None:
    """Left times right into acc, with an accumulator ahead of them or a bias behind."""
    first = 1 if op.name.endswith(".acc") else 0
    left, right, out = op.tile(first), op.tile(first + 1), op.tile(-1)
    places = (left.location, right.location, out.location)
    if places != ("left", "right", "acc"):
        raise op.refuse(f"multiplies left by right into acc, not {places[0]} by {places[1]} into {places[2]}")
    if left.cols != right.rows or left.rows != out.rows or right.cols != out.cols:
        raise op.refuse(
            f"{left.rows}x{left.cols} times {right.rows}x{right.cols} is not {out.rows}x{out.cols}",
            op.output_type,
        )
    wanted = "i32" if left.dtype == "i8" else "f32"
    if left.dtype != right.dtype and not left.dtype.startswith("f8"):
        raise op.refuse(f"elements of both operands are equal, not {left.dtype} and {right.dtype}")
    if out.dtype != wanted:
        raise op.refuse(f"products of {left.dtype} add up in {wanted}, not {out.dtype}", op.output_type)
    if op.name.endswith(".bias") and op.tile(2).location != "bias":
        raise op.refuse(f"the bias lies in bias, not in {op.tile(2).location}", op.input_types[2])


def _move(op: _Operation) -> None:
    source, target = op.tile(0), op.tile(-1)
    way = (source.location, target.location)
    if way not in _MOVES or (way == ("vec", "mat") and op.state.arch == "a3"):
        raise op.refuse(f"there is no way from {way[0]} to {way[1]}")
    if source.shape != target.shape:
        raise op.refuse(
            f"both tiles have one shape, not {source.rows}x{source.cols} and {target.rows}x{target.cols}",
            op.output_type,
        )
    if way == ("acc", "mat") and target.fractal != 512:
        raise op.refuse(f"a tile in mat has boxes of 512 bytes, not {target.fractal}", op.output_type)


def _offsets(op: _Operation) -> None:
    for kind in op.input_types[1:3]:
        if kind.text != "index":
            raise op.refuse(
                f"offsets are of type index, not {kind.text}", kind, "convert with arith.index_cast"
            )


def _extract(op: _Operation) -> None:
    _offsets(op)
    source, target = op.tile(0), op.tile(-1)
    if (source.location, target.location) not in _EXTRACTIONS:
        raise op.refuse(f"there is no way from {source.location} to {target.location}")
    if source.location != "acc" and source.dtype != target.dtype:
        raise op.refuse(f"elements differ: {source.dtype} and {target.dtype}")
    _fits(op, target, source, "the window is larger than the tile")
    _inside(op, target, source)


def _insert(op: _Operation) -> None:
    _offsets(op)
    source, target = op.tile(0), op.tile(-1)
    _fits(op, source, target, "the tile is larger than what it is put into")
    _inside(op, source, target)


def _fits(op: _Operation, small: TileFields, large: TileFields, message: str) -> None:
    if small.rows > large.rows or small.cols > large.cols:
        raise op.refuse(f"{message}: {small.rows}x{small.cols} and {large.rows}x{large.cols}", op.output_type)


def _inside(op: _Operation, small: TileFields, large: TileFields) -> None:
    """A window at a constant place ends within the tile."""
    for axis, what in enumerate(("row", "column")):
        at = op.state.constant(op.inputs[1 + axis])
        if at is not None and (at < 0 or at + small.shape[axis] > large.shape[axis]):
            raise op.refuse(
                f"a window of {small.shape[axis]} at {what} {at} leaves the {large.shape[axis]} there are",
                op.inputs[1 + axis],
            )


def _pad(op: _Operation) -> None:
    source, target = op.tile(0), op.tile(-1)
    if target.pad == 0:
        raise op.refuse("the result says what it is padded with: pad is not 0", op.output_type)
    if op.name != "tfillpad_expand" and source.shape != target.shape:
        raise op.refuse("both tiles have one shape", op.output_type)
    if op.name == "tfillpad_expand":
        _fits(op, source, target, "the tile is larger than what it grows into")
    if target.location == "mat" and op.name == "tfillpad" and source != target:
        raise op.refuse("in mat both tiles have one type, padding included", op.output_type)


def _load(op: _Operation) -> None:
    if not is_window(op.input_types[0].text):
        raise op.refuse("reads a window of global memory", op.input_types[0])
    target = op.tile(-1)
    if target.location not in ("vec", "mat"):
        raise op.refuse(f"reaches vec or mat, not {target.location}", op.output_type)
    _, dtype = window_shape(op.input_types[0].text)
    if element_bits(dtype) != element_bits(target.dtype):
        raise op.refuse(f"elements of {dtype} are not as wide as those of {target.dtype}", op.output_type)


def _store(op: _Operation) -> None:
    if not is_window(op.output_type.text):
        raise op.refuse("writes a window of global memory", op.output_type)
    source = op.tile(0)
    if source.location not in ("vec", "mat", "acc"):
        raise op.refuse(f"reads vec, mat or acc, not {source.location}", op.input_types[0])
    extents, dtype = window_shape(op.output_type.text)
    if source.location == "acc":
        allowed = {"f32": ("f32", "f16", "bf16"), "i32": ("i32",)}.get(source.dtype)
        if allowed is not None and dtype not in allowed:
            raise op.refuse(
                f"an accumulator of {source.dtype} is stored as {', '.join(allowed)}, not {dtype}"
            )
    elif element_bits(dtype) != element_bits(source.dtype):
        raise op.refuse(f"elements of {source.dtype} are not as wide as those of {dtype}", op.output_type)
    _counts(op, source, extents)


def _counts(op: _Operation, source: TileFields, extents: tuple[int | None, ...]) -> None:
    if None in extents or None in source.valid or not extents:
        return
    window = 1
    for extent in extents:
        window *= extent or 0
    held = (source.valid[0] or 0) * (source.valid[1] or 0)
    if window != held:
        raise op.refuse(f"the tile holds {held} elements, the window {window}", op.output_type)


_LINES = [
    f"t{line}{what}" for line in ("row", "col") for what in ("sum", "max", "min", "prod", "argmax", "argmin")
]
_MIXES = ("add", "sub", "mul", "div", "max", "min", "expdif")

_RULES: dict[str, Callable[[_Operation], None]] = {
    **dict.fromkeys(_ONE_TILE, _unary),
    **dict.fromkeys(_LINES, _reduction),
    **dict.fromkeys(("trowexpand", "tcolexpand"), _spread),
    **dict.fromkeys([f"t{line}expand{mix}" for line in ("row", "col") for mix in _MIXES], _combined),
    **dict.fromkeys(("tsel", "tsels"), _selection),
    **dict.fromkeys(("tcmp", "tcmps"), _comparison),
    "tconcat": _side_by_side,
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    **dict.fromkeys(("tmatmul", "tmatmul.acc", "tmatmul.bias", "tgemv", "tgemv.acc", "tgemv.bias"), _product),
    **dict.fromkeys(_PADDING, _pad),
    "tmov": _move,
    "textract": _extract,
    "tinsert": _insert,
    "tload": _load,
    "tstore": _store,
}

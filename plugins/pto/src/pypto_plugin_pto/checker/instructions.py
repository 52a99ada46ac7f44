"""Instructions of the form ``pto.name ins(...) outs(...)``: what each takes, as a table."""

from __future__ import annotations

import attrs

from pypto_plugin_pto.checker.arithmetic import is_float, is_integer
from pypto_plugin_pto.checker.cursor import Cursor
from pypto_plugin_pto.checker.lexer import Fault, Token
from pypto_plugin_pto.checker.state import Reading, State
from pypto_plugin_pto.checker.tiletypes import is_tile, is_window, tile_fields

OPERAND = "PTO-103"


@attrs.frozen
class Form:
    """What an instruction takes: kinds of its inputs (``t`` tile or window, ``s`` scalar), attributes.

    ``inside``: the attributes stand in ``ins(...)``, ahead of the types.
    """

    inputs: tuple[str, ...]
    attributes: tuple[str, ...] = ()
    inside: bool = False


FORMS: dict[str, Form] = {}


def _add(names: str, inputs: str, attributes: str = "", *, inside: bool = False) -> None:
    form = Form(tuple(inputs.split()), tuple(attributes.split()), inside)
    FORMS.update(dict.fromkeys(names.split(), form))


_add("tabs texp tsqrt tneg tnot trelu tlog trecip", "t", "precisionType")
_add("tcolmax tcolmin tcolprod tcolexpand trowexpand tget_scale_addr", "t")
_add("tfillpad tfillpad_inplace tfillpad_expand", "t", "padValue")
_add("tadd tsub tmul tmax tmin tand tor tshl tshr tfmod tconcat tgatherb", "tt")
_add("tdiv", "tt", "precisionType")
_add("tpartadd tpartmul tpartmax tpartmin", "tt")
_add("tcolexpandadd tcolexpandsub tcolexpandmul tcolexpanddiv tcolexpandmax tcolexpandmin tcolexpandexpdif", "tt",
     "precisionType")  # fmt: skip
_add("tmatmul tgemv", "tt", "accPhase")
_add("tmov.fp", "tt", "reluPreMode accToVecMode")
_add("tadds tsubs tmuls tmaxs tmins tfmods tands tors tshls tshrs tlrelu", "ts")
_add("tdivs", "ts st", "precisionType")
_add("texpands", "s")
_add("taddc tsubc", "ttt")
_add("tmatmul.acc tmatmul.bias tgemv.acc tgemv.bias", "ttt", "accPhase")
_add("taddsc tsubsc", "tst")
_add("trowsum trowmax trowmin trowprod trowargmax trowargmin tcolargmax tcolargmin ttrans", "tt")
_add("trsqrt", "tt t", "precisionType")
_add("trowexpandadd trowexpandsub trowexpandmul trowexpanddiv trowexpandmax trowexpandmin trowexpandexpdif",
     "tt ttt", "precisionType")  # fmt: skip
_add("tsort32", "tt ttt")
_add("trem txor tprelu", "ttt", "precisionType")
_add("trems txors", "tst")
_add("tsel", "tttt")
_add("tsels", "ttts")
_add("tmatmul.mx", "tttt", "accPhase")
_add("tmatmul.mx.acc tmatmul.mx.bias", "ttttt", "accPhase")
_add("tmov", "t", "reluPreMode accToVecMode")
_add("tstore", "t", "atomicType stPhase reluPreMode")
_add("tload", "t", "layout")
_add("textract tinsert", "tss", "accToVecMode reluPreMode")
_add("tci", "s st", "descending")
_add("tcmp", "tt", "cmpMode", inside=True)
_add("tcmps", "ts", "cmpMode", inside=True)
_add("tcvt", "t tt", "rmode sat_mode", inside=True)
_add("tcolsum", "t tt", "isBinary", inside=True)
_add("trandom", "ssssss", "rounds", inside=True)
_add("ttri", "s", "upperOrLower", inside=True)
_add("mscatter", "tt", "coalesce scatterAtomicOp scatterOob scatterConflict")
_add("mgather", "tt ttt", "coalesce gatherOob")

_VALUES: dict[str, tuple[str, frozenset[str]]] = {
    "cmpMode": ("cmp", frozenset(["eq", "ne", "lt", "le", "gt", "ge"])),
    "rmode": (
        "round_mode",
        frozenset(["NONE", "RINT", "ROUND", "FLOOR", "CEIL", "TRUNC", "ODD", "CAST_RINT"]),
    ),
    "layout": ("layout", frozenset(["nd", "dn", "nz", "mx_a_zz", "mx_b_nn"])),
    "atomicType": ("atomic_type", frozenset(["atomic_none", "atomic_add", "atomic_max", "atomic_min"])),
    "maskPattern": (
        "mask_pattern",
        frozenset(["P0101", "P1010", "P0001", "P0010", "P0100", "P1000", "P1111"]),
    ),
}


def nearest(name: str) -> str:
    """A hint at the instruction that was perhaps meant."""
    from difflib import get_close_matches  # needed for unknown names only

    from pypto_plugin_pto.checker.special import READERS

    near = get_close_matches(name, sorted({*FORMS, *READERS}), n=1, cutoff=0.75)
    return f"did you mean pto.{near[0]}?" if near else ""


def check_attribute_values(given: dict[str, Token]) -> None:
    """Refuse values that an attribute with a fixed set of them does not have."""
    for name, token in given.items():
        rule = _VALUES.get(name)
        if rule is None or token.kind != "attribute":
            continue
        what, members = rule
        inner = token.text.partition("<")[2].rstrip(">").strip()
        words = inner.split()
        value = words[-1] if words else ""
        if value not in members or (len(words) > 1 and words[0] != what):
            raise Fault(
                OPERAND, f"'{name}' has no value {token.text}", token, "one of " + ", ".join(sorted(members))
            )


def _attributes(cursor: Cursor, name: str, form: Form) -> dict[str, Token]:
    given = cursor.attributes()
    for key, token in given.items():
        if key not in form.attributes:
            raise Fault(
                OPERAND,
                f"'pto.{name}' has no attribute '{key}'",
                token,
                f"it has {', '.join(form.attributes) or 'none'}",
            )
    check_attribute_values(given)
    return given


def operands(cursor: Cursor) -> tuple[list[Token], list[Token], dict[str, Token]]:
    """``(%a, %b {attributes} : T, U)``."""
    cursor.expect("(")
    names = cursor.several(cursor.value)
    given = cursor.attributes()
    cursor.expect(":")
    types = cursor.several(cursor.type)
    cursor.expect(")")
    if len(names) != len(types):
        raise Fault(OPERAND, f"{len(names)} operands and {len(types)} types", names[0])
    return names, types, given


def read(name: str, state: State, token: Token) -> Reading:
    """An instruction of the table; its name is taken already."""
    from pypto_plugin_pto.checker import rules

    form, cursor = FORMS[name], state.cursor
    cursor.expect("ins")
    inputs, input_types, inside = operands(cursor)
    cursor.expect("outs")
    outputs, output_types, _ = operands(cursor)
    behind = _attributes(cursor, name, form) if not form.inside else {}
    _check_inside(name, form, inside)
    kinds = "".join("t" if is_tile(t.text) or is_window(t.text) else "s" for t in input_types)
    if kinds not in form.inputs:
        wanted = " or ".join("(" + ", ".join(_WORDS[k] for k in f) + ")" for f in form.inputs)
        have = ", ".join(_WORDS[k] for k in kinds)
        raise Fault(OPERAND, f"'pto.{name}' takes {wanted}, not ({have})", inputs[0])
    _check_scalars(input_types)
    if len(outputs) != 1 or not (is_tile(output_types[0].text) or is_window(output_types[0].text)):
        raise Fault(OPERAND, f"'pto.{name}' writes one tile or window", outputs[0])
    for kind in (*input_types, *output_types):
        if is_tile(kind.text):
            tile_fields(kind)
    rules.check(name, state, token, inputs, input_types, outputs[0], output_types[0], {**inside, **behind})
    pairs = zip([*inputs, *outputs], [*input_types, *output_types], strict=True)
    return Reading([(operand, kind.text) for operand, kind in pairs])


def _check_inside(name: str, form: Form, given: dict[str, Token]) -> None:
    for key, token in given.items():
        if not form.inside or key not in form.attributes:
            where = "stands behind outs(...)" if key in form.attributes else f"is none of 'pto.{name}'"
            raise Fault(OPERAND, f"the attribute '{key}' {where}", token)
    check_attribute_values(given)


def _check_scalars(types: list[Token]) -> None:
    for kind in types:
        if is_tile(kind.text) or is_window(kind.text) or is_integer(kind.text) or is_float(kind.text):
            continue
        if kind.text[:2] == "ui":
            raise Fault(
                OPERAND, f"a scalar operand has no sign, not {kind.text}", kind, f"use {kind.text[1:]}"
            )


_WORDS = {"t": "tile", "s": "scalar"}

"""Data that dumps did not write: one error comes out, soon, and nothing else."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import Any
from zlib import crc32

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    Add,
    AtomicType,
    ConstInt,
    DataType,
    Expr,
    TileType,
    TileView,
    Var,
    assert_structural_equal,
    scalar_type,
)
from pypto_core.text import Codec, dumps, loads
from tests.text.samples import every_statement

INDEX = scalar_type(DataType.INDEX)
BOOL = scalar_type(DataType.BOOL)
ONE = ConstInt(1)
HEADER = struct.Struct("<8sHIQ")


def index(name: str) -> Var:
    return Var(name, INDEX)


def same(node: Any) -> Any:
    """What is read back, which must equal what was stored, free variables aside, and print alike."""
    found = loads(dumps(node))
    assert_structural_equal(found, node, enable_auto_mapping=True, compare_memref=True)
    return found


# Data that was not written by dumps


def packed(document: Any) -> bytes:
    """A file with a right header around any document."""
    payload: bytes = msgpack.packb(document, use_bin_type=True)
    return HEADER.pack(b"\x89PYPTO\r\n", 1, crc32(payload), len(payload)) + payload


def document_of(node: Any) -> Any:
    return msgpack.unpackb(dumps(node)[HEADER.size :], raw=False)


def code_of(data: bytes) -> str:
    """The code of the error that reading gives; the class must be UserError itself."""
    with pytest.raises(UserError) as caught:
        loads(data)
    assert type(caught.value) is UserError
    assert len(caught.value.message) < 300
    code = caught.value.diagnostics[0].code
    assert code.startswith("PT55")
    return code


SMALL = every_statement()
DATA = dumps(SMALL)


def test_what_is_no_stored_program() -> None:
    for data in (
        b"",
        b"{}",
        b"\x80\x04\x95",
        b"# pypto.program: P\n",
        b"\x89PYPTO\n\n" + DATA[8:],
        bytes(100),
    ):
        assert code_of(data) == "PT550"


def test_another_version() -> None:
    assert code_of(DATA[:8] + b"\x02\x00" + DATA[10:]) == "PT551"


def test_every_truncation_is_noticed() -> None:
    for end in range(1, len(DATA)):
        assert code_of(DATA[:end]) in ("PT550", "PT552")
    assert code_of(DATA + b"\x00") == "PT552"


@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_every_changed_byte_is_noticed(position: int, change: int) -> None:
    data = bytearray(DATA)
    data[position] ^= change
    code_of(bytes(data))


def test_size_limit() -> None:
    small = Codec(Codec.kernel().table, max_bytes=100)
    with pytest.raises(UserError) as caught:
        small.loads(DATA)
    assert caught.value.diagnostics[0].code == "PT556"


def readable(data: bytes) -> None:
    """Either a node or the one error comes out, and soon."""
    start = time.perf_counter()
    try:
        loads(data)
    except UserError as error:
        assert type(error) is UserError
        assert error.diagnostics[0].code.startswith("PT55")
    assert time.perf_counter() - start < 5


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.integers(HEADER.size, len(DATA) - 1), st.integers(0, 255)), min_size=1, max_size=6)
)
def test_changed_bytes_under_a_right_checksum(changes: list[tuple[int, int]]) -> None:
    data = bytearray(DATA)
    for position, value in changes:
        data[position] = value
    payload = bytes(data[HEADER.size :])
    readable(HEADER.pack(b"\x89PYPTO\r\n", 1, crc32(payload), len(payload)) + payload)


@given(st.binary(max_size=200))
def test_any_bytes_under_a_right_header(payload: bytes) -> None:
    readable(HEADER.pack(b"\x89PYPTO\r\n", 1, crc32(payload), len(payload)) + payload)


JUNK = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-5, 60),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(),
        st.text(max_size=4),
        st.binary(max_size=4),
        st.sampled_from(["n", "e", "t", "MemorySpace", "span", "Var"]),
    ),
    lambda below: st.one_of(
        st.lists(below, max_size=4), st.dictionaries(st.text(max_size=3), below, max_size=2)
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, list):
        for i, item in enumerate(value):
            found += places(item, (*path, i))
    elif isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*path, key))
    return found


PLACES = places(document_of(SMALL))


@settings(max_examples=500)
@given(st.sampled_from(PLACES), JUNK)
def test_anything_anywhere_in_the_document(place: tuple[Any, ...], junk: Any) -> None:
    document = document_of(SMALL)
    if not place:
        document = junk
    else:
        holder = document
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = junk
    readable(packed(document))


@settings(max_examples=200)
@given(st.sampled_from([p for p in PLACES if p]), st.randoms(use_true_random=False))
def test_things_missing_doubled_or_moved(place: tuple[Any, ...], random: Any) -> None:
    document = document_of(SMALL)
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    if isinstance(holder, list):
        change: Callable[[], Any] = random.choice(
            [
                lambda: holder.pop(place[-1]),
                lambda: holder.append(holder[place[-1]]),
                lambda: random.shuffle(holder),
                lambda: holder.clear(),
            ]
        )
        change()
    else:
        del holder[place[-1]]
    readable(packed(document))


def rows(*classes: list[Any], order: list[int], root: int = -1) -> bytes:
    """A document of hand-made classes, each ``[name, fields, columns]``."""
    last = len(order) - 1 if root == -1 else root
    return packed({"classes": list(classes), "files": [], "spans": [[]] * 5, "rows": order, "root": last})


INDEX_ROW = ["ScalarType", ["dtype"], [[0x15]]]


def test_a_hand_made_document_reads() -> None:
    found = loads(rows(INDEX_ROW, ["Var", ["name_hint", "type"], [["x"], [0]]], order=[0, 1]))
    assert (found.name_hint, found.type) == ("x", INDEX)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        # A row that refers to itself, to a later one, before the first, to nothing.
        (rows(["Var", ["name_hint", "type"], [["x"], [0]]], order=[0]), "PT555"),
        (rows(["Neg", ["operand", "type"], [[0], [1]]], INDEX_ROW, order=[0, 1]), "PT554"),
        (rows(INDEX_ROW, ["Var", ["name_hint", "type"], [["x"], [-1]]], order=[0, 1]), "PT554"),
        (rows(INDEX_ROW, ["Var", ["name_hint", "type"], [["x"], [7]]], order=[0, 1]), "PT554"),
        (rows(INDEX_ROW, order=[0], root=3), "PT554"),
        (rows(INDEX_ROW, order=[0], root=-2), "PT554"),
        (rows(INDEX_ROW, order=[1]), "PT554"),
        (rows(INDEX_ROW, order=[-1]), "PT554"),
        # True is no row number, and a float is none either.
        (rows(INDEX_ROW, ["Var", ["name_hint", "type"], [["x"], [False]]], order=[0, 1]), "PT555"),
        (rows(INDEX_ROW, ["Var", ["name_hint", "type"], [["x"], [0.0]]], order=[0, 1]), "PT555"),
        # Classes and fields.
        (rows(["Exception", ["args"], [[1]]], order=[0]), "PT553"),
        (rows(["ConstInt", ["value", "evil"], [[1], [1]]], order=[0]), "PT553"),
        (rows(["ConstInt", [], []], order=[0]), "PT553"),
        (rows(["Var", ["name_hint", "type", "unique_id"], [["x"], [0], [1]]], order=[0]), "PT553"),
        # Values.
        (rows(["ConstInt", ["value"], [["1"]]], order=[0]), "PT555"),
        (rows(["ConstInt", ["value"], [[True]]], order=[0]), "PT555"),
        (rows(["ConstInt", ["value"], [[1, 2]]], order=[0]), "PT555"),
        (rows(["ConstInt", ["value", "dtype"], [[1], [0xFF]]], order=[0]), "PT555"),
        (rows(["ConstInt", ["value", "span"], [[1], [1]]], order=[0]), "PT554"),
        (rows(["ConstInt", ["value"], [[msgpack.ExtType(1, b"\x7f" * 1000)]]], order=[0]), "PT556"),
        (rows(["ConstInt", ["value"], [[msgpack.ExtType(2, b"\x7f")]]], order=[0]), "PT555"),
        (rows(["ArrayType", ["dtype", "extent"], [[0x12], [0]]], order=[0]), "PT555"),
        (rows(INDEX_ROW, ["AssignStmt", ["value", "var"], [[0], [0]]], order=[0, 1]), "PT555"),
        (rows(["SeqStmts", ["stmts"], [[0]]], order=[0]), "PT555"),
    ],
)
def test_hostile_documents(data: bytes, code: str) -> None:
    assert code_of(data) == code


@pytest.mark.parametrize("name", ["Node", "Type", "Expr", "Stmt", "ScopeStmt", "BinaryExpr", "UnaryExpr"])
def test_bases_are_no_classes_of_nodes(name: str) -> None:
    assert code_of(rows([name, [], []], order=[0])) == "PT553"


def option(value: Any) -> bytes:
    call = ["Call", ["op", "args", "kwargs", "type"], [[1], [[]], [["k", value]], [0]]]
    return rows(INDEX_ROW, ["Op", ["name"], [["x"]]], call, order=[0, 1, 2])


def test_options_that_are_no_options() -> None:
    assert loads(option(["t", 1, ["e", "AtomicType", 1]])).kwargs["k"] == (1, AtomicType.Add)
    deep: Any = 1
    for _ in range(40):
        deep = ["t", deep]
    assert code_of(option(deep)) == "PT556"
    assert code_of(option(["e", "Severity", 0])) == "PT553"
    assert code_of(option(["e", "AtomicType", True])) == "PT555"
    assert code_of(option(["n", 2])) == "PT554"
    assert code_of(option(["?"])) == "PT555"
    assert code_of(option([])) == "PT555"
    assert code_of(option({"a": 1})) == "PT555"
    twice = ["Call", ["op", "args", "kwargs", "type"], [[1], [[]], [["k", 1, "k", 2]], [0]]]
    assert code_of(rows(INDEX_ROW, ["Op", ["name"], [["x"]]], twice, order=[0, 1, 2])) == "PT555"


def test_deep_msgpack_is_refused() -> None:
    payload = b"\x91" * 100_000 + b"\xc0"
    assert code_of(HEADER.pack(b"\x89PYPTO\r\n", 1, crc32(payload), len(payload)) + payload) == "PT552"


def test_counts_that_promise_more_than_there_is_are_refused() -> None:
    for head in (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff"):
        assert code_of(HEADER.pack(b"\x89PYPTO\r\n", 1, crc32(head), len(head)) + head) == "PT552"


def tower(levels: int) -> tuple[list[int], list[int], list[int]]:
    """Two towers in which each level adds the one below to itself: small to store, endless to compare."""
    order, left, right = [0, 1, 1], [1, 2], [1, 2]
    for level in range(levels - 1):
        left += [3 + 2 * level, 4 + 2 * level]
    right = list(left)
    return order + [2] * (2 * levels), left, right


def test_shared_parts_that_are_endless_when_written_out_are_refused_soon() -> None:
    order, left, right = tower(60)
    add = ["Add", ["left", "right", "type"], [left, right, [0] * 120]]
    last = len(order)
    view = ["TileView", ["valid_shape"], [[[last - 1]]]]
    tile = ["TileType", ["shape", "dtype", "tile_view"], [[[last - 2]], [0x34], [last]]]
    start = time.perf_counter()
    data = rows(
        INDEX_ROW, ["Var", ["name_hint", "type"], [["x", "y"], [0, 0]]], add, view, tile, order=[*order, 3, 4]
    )
    assert code_of(data) == "PT556"
    # The same through a tuple of tuples, whose type is made on reading it.
    make = ["MakeTuple", ["elements"], [[[1, 1], *[[2 + i, 2 + i] for i in range(59)]]]]
    item = ["TupleGetItemExpr", ["tuple", "index"], [[61], [0]]]
    var = ["Var", ["name_hint", "type"], [["x"], [0]]]
    data = rows(INDEX_ROW, var, make, item, order=[0, 1, *[2] * 60, 3])
    assert code_of(data) == "PT556"
    assert time.perf_counter() - start < 5


def test_long_expressions_in_types_are_fine() -> None:
    n = index("n")
    size: Expr = n
    for _ in range(300):
        size = Add(size, n, INDEX)
    kind = TileType([size, 4], DataType.FP32, tile_view=TileView(valid_shape=[n, 4]))
    same(kind)

"""Feeds damaged files to the reader of stored programs.

Usage: fuzz_codec.py [--seconds N] [--seed N] [--keep FOLDER]. Real files are cut, flipped, spliced, rebuilt with wrong
lengths and counts, nested and blown up, most of them under a right checksum. Each either loads, to something that
stores and loads to an equal thing and that can be printed and verified without falling over, or is refused by one
UserError; both within bounds of time and memory. What breaks that is written to FOLDER, and the exit code is 1.

A case is told by seed and number alone: ``--seed S --only N`` runs it again.
"""

from __future__ import annotations

import argparse
import resource
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import msgpack

from pypto_core.diagnostics import DiagnosticError, UserError
from pypto_core.ir import Program, structural_equal
from pypto_core.language import loads_program
from pypto_core.testing import Feature, random_program
from pypto_core.text import dumps, loads, print_program
from pypto_core.verify import verify_properties

ROOT = Path(__file__).resolve().parent.parent
MAGIC, HEADER = b"\x89PYPTO\r\n", struct.Struct("<8sHIQ")
SECONDS_A_CASE, MEGABYTES = 5.0, 512
# msgpack's markers of arrays, maps, strings, binaries and extensions that state how long they are.
LENGTHS = (*range(0x80, 0xC0), *range(0xC4, 0xCA), *range(0xD4, 0xE0))
EDGES = (
    -1,
    0,
    1,
    2,
    127,
    128,
    255,
    256,
    65535,
    1 << 20,
    1 << 31,
    (1 << 32) - 1,
    1 << 62,
    (1 << 64) - 1,
    -(1 << 63),
)

Mutation = Callable[[Random, Sequence[bytes]], bytes]


def seeds() -> list[bytes]:
    """Stored programs to start from: the example kernels, and random ones with every feature."""
    programs: list[Program] = [
        loads_program(path) for path in sorted((ROOT / "examples" / "kernels").glob("*.py"))
    ]
    programs += [random_program(seed, 12, tuple(Feature)) for seed in range(6)]
    return [dumps(program, sources=i % 2 == 0) for i, program in enumerate(programs)]


def sealed(payload: bytes, version: int = 1) -> bytes:
    """A file around a payload whose header is right."""
    return HEADER.pack(MAGIC, version, crc32(payload), len(payload)) + payload


def payload_of(random: Random, files: Sequence[bytes]) -> bytearray:
    """What stands behind the header of one of the files."""
    return bytearray(random.choice(files)[HEADER.size :])


def document_of(random: Random, files: Sequence[bytes]) -> Any:
    """The same as plain data."""
    return msgpack.unpackb(bytes(payload_of(random, files)), raw=False)


# Mutations of bytes


def cut(random: Random, files: Sequence[bytes]) -> bytes:
    """The file ends early."""
    data = random.choice(files)
    return data[: random.randrange(len(data))]


def flip_anywhere(random: Random, files: Sequence[bytes]) -> bytes:
    """Some bits are wrong; the checksum notices."""
    data = bytearray(random.choice(files))
    for _ in range(random.randint(1, 8)):
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(data)


def header_fields(random: Random, files: Sequence[bytes]) -> bytes:
    """Version, checksum or length of the header is another."""
    payload = bytes(payload_of(random, files))
    fields = [MAGIC, 1, crc32(payload), len(payload)]
    at, most = random.choice(((1, 0xFFFF), (2, 0xFFFFFFFF), (3, (1 << 64) - 1)))
    fields[at] = random.choice([v & most for v in EDGES])
    return HEADER.pack(*fields) + payload


def flip_payload(random: Random, files: Sequence[bytes]) -> bytes:
    """Some bits are wrong under a right checksum."""
    payload = payload_of(random, files)
    for _ in range(random.randint(1, 6)):
        payload[random.randrange(len(payload))] ^= 1 << random.randrange(8)
    return sealed(bytes(payload))


def cut_payload(random: Random, files: Sequence[bytes]) -> bytes:
    """The document ends early under a right header."""
    payload = payload_of(random, files)
    return sealed(bytes(payload[: random.randrange(len(payload))]))


def splice(random: Random, files: Sequence[bytes]) -> bytes:
    """The beginning of one document and the end of another."""
    first, second = payload_of(random, files), payload_of(random, files)
    return sealed(bytes(first[: random.randrange(len(first))] + second[random.randrange(len(second)) :]))


def repeat_part(random: Random, files: Sequence[bytes]) -> bytes:
    """A piece of the document stands there twice, or not at all."""
    payload = payload_of(random, files)
    a, b = sorted(random.randrange(len(payload)) for _ in range(2))
    b = min(b, a + 64)
    return sealed(bytes(payload[:a] + payload[a:b] * random.choice((0, 2)) + payload[b:]))


def lengths(random: Random, files: Sequence[bytes]) -> bytes:
    """Something states another length than it has."""
    payload = payload_of(random, files)
    places = [i for i, byte in enumerate(payload) if byte in LENGTHS]
    for _ in range(random.randint(1, 3)):
        at = random.choice(places)
        payload[at] = random.choice(LENGTHS)
        wide = random.choice((b"", b"\xff", b"\xff\xff", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"))
        payload[at + 1 : at + 1 + random.choice((0, len(wide)))] = wide
    return sealed(bytes(payload))


def nested(random: Random, files: Sequence[bytes]) -> bytes:
    """Lists within lists, alone or in the place of something."""
    deep = (
        random.choice((b"\x91", b"\x92\xc0", b"\x81\xa1a")) * random.choice((10, 500, 2000, 100_000))
        + b"\xc0"
    )
    if random.random() < 0.5:
        return sealed(deep)
    payload = payload_of(random, files)
    at = random.randrange(len(payload))
    return sealed(bytes(payload[:at] + deep + payload[at + 1 :]))


# Mutations of the document


def places_of(value: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key) in a document."""
    found: list[tuple[Any, Any]] = []
    stack: list[Any] = [value]
    while stack:
        holder = stack.pop()
        pairs = (
            holder.items()
            if isinstance(holder, dict)
            else enumerate(holder)
            if isinstance(holder, list)
            else ()
        )
        for key, item in pairs:
            found.append((holder, key))
            stack.append(item)
    return found


def junk(random: Random, document: Any, depth: int = 0) -> Any:
    """A value of any kind, often one that stands elsewhere in the document."""
    kind = random.randrange(9 if depth < 3 else 7)
    if kind == 0:
        return random.choice(EDGES)
    if kind == 1:
        return random.randrange(60)
    if kind == 2:
        return random.choice(
            (None, True, False, 0.5, float("nan"), float("inf"), "", "n", "e", "t", "Var", b"x")
        )
    if kind == 3:
        return msgpack.ExtType(
            random.choice((0, 1, 2)), bytes(random.randrange(256) for _ in range(random.randrange(12)))
        )
    if kind == 4:
        return random.choice(("x" * 10_000, b"\x7f" * 200, "\x00", "\ud7ff", [[]] * 1000, [0] * 5000))
    if kind in (5, 6):
        holder, key = random.choice(places_of(document))
        return deepcopy(holder[key])  # a list within itself could not be written
    return [junk(random, document, depth + 1) for _ in range(random.randrange(5))]


def values(random: Random, files: Sequence[bytes]) -> bytes:
    """Some values are others."""
    document = document_of(random, files)
    for _ in range(random.randint(1, 3)):
        holder, key = random.choice(places_of(document))
        holder[key] = junk(random, document)
    return repacked(document)


def order(random: Random, files: Sequence[bytes]) -> bytes:
    """A list is shuffled, shortened, or longer than it was."""
    document = document_of(random, files)
    found = [
        holder[key] for holder, key in places_of(document) if isinstance(holder[key], list) and holder[key]
    ]
    items = random.choice(found)
    match random.randrange(4):
        case 0:
            random.shuffle(items)
        case 1:
            items.pop(random.randrange(len(items)))
        case 2:
            items.insert(random.randrange(len(items)), random.choice(items))
        case _:
            items *= random.choice((2, 50))
    return repacked(document)


def references(random: Random, files: Sequence[bytes]) -> bytes:
    """Numbers in the columns, references to rows among them, are a little off or far off."""
    document = document_of(random, files)
    numbers = [(h, k) for h, k in places_of(document["classes"]) if type(h[k]) is int]
    for _ in range(random.randint(1, 4)):
        holder, key = random.choice(numbers)
        holder[key] = random.choice(
            (holder[key] + 1, holder[key] - 1, random.randrange(len(document["rows"])), random.choice(EDGES))
        )
    return repacked(document)


def doubling(random: Random, files: Sequence[bytes]) -> bytes:
    """A short file of which each row holds the one before twice: it means an expression of 2**n nodes."""
    rows = random.choice((20, 60, 2000))
    cls, fields = random.choice((("Add", ["left", "right", "type"]), ("MakeTuple", ["elements"])))
    last = list(range(1, rows + 1))
    columns = [last, last, [0] * rows] if cls == "Add" else [[[i, i] for i in last]]
    classes: list[Any] = [
        ["ScalarType", ["dtype"], [[0x15]]],
        ["ConstInt", ["value"], [[1]]],
        [cls, fields, columns],
        ["TileType", ["shape", "dtype"], [[[rows + 1], [rows + 1]], [0x23, 0x23]]],
    ]
    sequence = [0, 1, *[2] * rows, *[3] * random.choice((0, 2))]
    classes = classes if len(sequence) > rows + 2 else classes[:3]
    document = {
        "classes": classes,
        "files": [],
        "spans": [[]] * 5,
        "rows": sequence,
        "root": len(sequence) - 1,
    }
    return repacked(document)


def repacked(document: Any) -> bytes:
    """A file around a document."""
    return sealed(msgpack.packb(document, use_bin_type=True, unicode_errors="surrogatepass") or b"")


MUTATIONS: tuple[Mutation, ...] = (
    cut, flip_anywhere, header_fields, flip_payload, cut_payload, splice, repeat_part, lengths, nested, values, values,
    order, references, references, doubling,
)  # fmt: skip


def case(files: Sequence[bytes], seed: int, number: int) -> tuple[str, bytes]:
    """One damaged file, and what was done to it."""
    random = Random(f"{seed}:{number}")
    while True:
        mutation = random.choice(MUTATIONS)
        try:
            return mutation.__name__, mutation(random, files)
        except (ValueError, TypeError, OverflowError, RecursionError, KeyError):
            continue  # msgpack can't write it, or the document has no such part


def check(data: bytes) -> str:
    """What becomes of a file: ``loaded`` or the code of the error. Raises AssertionError for anything else."""
    started = time.perf_counter()
    try:
        node = loads(data)
    except UserError as error:
        assert type(error) is UserError, f"a {type(error).__name__} instead of a UserError"
        assert len(error.diagnostics) == 1 and error.diagnostics[0].remedy, "not one error with a remedy"
        outcome = error.diagnostics[0].code
        assert outcome.startswith("PT55"), f"the code {outcome} is not one of the reader's"
    else:
        outcome = "loaded"
        try:
            _use(node)
        except DiagnosticError:
            outcome = "loaded, of no use"
    seconds = time.perf_counter() - started
    assert seconds < SECONDS_A_CASE, f"it took {seconds:.1f} seconds"
    return outcome


def _use(node: Any) -> None:
    again = loads(dumps(node))
    assert structural_equal(node, again, enable_auto_mapping=True, compare_memref=True), (
        "it stores as another thing"
    )
    print_program(node)
    if isinstance(node, Program):
        verify_properties(node)


def fuzz(
    files: Sequence[bytes], seed: int, seconds: float, cases: int | None = None, keep: Path | None = None
) -> tuple[Counter[str], list[str]]:
    """Runs cases until time or number is up; how they ended, and the failures."""
    ends: Counter[str] = Counter()
    failures: list[str] = []
    started = time.monotonic()
    for number in count():
        if time.monotonic() - started >= seconds or number == cases:
            break
        name, data = case(files, seed, number)
        try:
            ends[check(data)] += 1
        except Exception as error:
            failures.append(f"case {number} ({name}): {type(error).__name__}: {str(error)[:200]}")
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{seed}-{number}-{name}.bin").write_bytes(data)
    return ends, failures


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="run this case alone, and let it raise")
    parser.add_argument("--keep", type=Path, help="folder for files that were not handled")
    options = parser.parse_args()
    files = seeds()
    if options.only is not None:
        name, data = case(files, options.seed, options.only)
        print(f"{name}: {len(data)} bytes: {check(data)}")
        return 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ends, failures = fuzz(files, options.seed, options.seconds, keep=options.keep)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    total = sum(ends.values()) + len(failures)
    print(f"seed {options.seed}: {total} cases from {len(files)} files; memory grew by {grown} MB")
    for end, times in sorted(ends.items()):
        print(f"{times:8} {end}")
    if grown > MEGABYTES:
        failures.append(f"memory grew by {grown} MB, the limit is {MEGABYTES}")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""How fast programs are walked, copied, compared, printed and stored, and how that compares with xDSL.

Figures are per node (statements, expressions and functions, types left out) or per statement, over a parsed kernel of
10,000 statements with spans and comments. The comparison runs on a chain of scalar additions, one statement here and
one operation there, so that both sides hold the same program; it needs xdsl installed. Text is the shortest that each
side reads: types of results are deduced here and have to be written there. What it takes to read them here too is a
figure of its own, and so is reading to a program that is known to be valid, as here much of that is part of reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from io import StringIO
from typing import Any

from benchmarks.bench_language import kernel_text
from benchmarks.figures import Figure, best_of, best_of_both, growth

SIZES = (1000, 10_000, 50_000)
OPERATIONS = 2_000
REPEATS = 3
PEER_REPEATS = 5
PEER_CALLS = 4 * PEER_REPEATS
PEER_TARGETS = {"parse": 10, "parse and verify": 10, "clone": 10, "verify": 10}


def run() -> list[Figure]:
    """All figures; those with a peer only when it is installed."""
    from pypto_core.language import parse_program

    programs = [parse_program(kernel_text(size)) for size in SIZES]
    return [*_passes(programs[1]), *_by_statement(programs), *_peer()]


def _passes(program: Any) -> Iterator[Figure]:
    from pypto_core.ir import Mutator, deep_clone, structural_equal, structural_hash, walk

    function = next(iter(program))
    copy = deep_clone(function)[0]
    nodes = sum(1 for _ in walk(function))

    def per_node(name: str, work: Callable[[], object], target: float) -> Figure:
        value = best_of(work, repeat=3) / nodes * 1e6
        return Figure(name=name, value=value, unit="us/node", target=target, note=f"{nodes} nodes")

    yield per_node("rewrite that changes nothing", lambda: Mutator().visit(function), 5)
    yield per_node("clone", lambda: deep_clone(function), 15)
    yield per_node("structural equality", lambda: structural_equal(function, copy), 15)
    yield per_node("structural hash", lambda: structural_hash(function), 15)
    yield per_node("walk", lambda: sum(1 for _ in walk(function)), 5)


def _by_statement(programs: list[Any]) -> Iterator[Figure]:
    """What is done to whole programs, at three sizes: the worst time a statement, and how the time grows."""
    from pypto_core.ir import structural_hash
    from pypto_core.text import dumps, loads, print_program
    from pypto_core.verify import verify_properties

    stored = [dumps(program) for program in programs]
    fresh = [_copies(program, 2 * REPEATS) for program in programs]
    work: dict[str, tuple[float, Callable[[int], object]]] = {
        "print": (40, lambda i: print_program(programs[i])),
        "store": (25, lambda i: dumps(programs[i])),
        "load": (25, lambda i: loads(stored[i])),
        "verify": (25, lambda i: verify_properties(next(fresh[i]), ("SSAForm", "TypeChecked"))),
        "structural hash": (20, lambda i: structural_hash(programs[i])),
    }
    for name, (target, function) in work.items():
        seconds = [
            best_of(lambda i=i, f=function: f(i), repeat=REPEATS if size < SIZES[-1] else 1)  # type: ignore[misc]
            for i, size in enumerate(SIZES)
        ]
        each = [second / size * 1e6 for size, second in zip(SIZES, seconds, strict=True)]
        note = ", ".join(f"{value:.1f} at {size}" for size, value in zip(SIZES, each, strict=True))
        if name == "store":
            note += f"; {len(stored[0]) / SIZES[0]:.0f} bytes a statement"
        yield Figure(name=name, value=max(each), unit="us/statement", target=target, note=note)
        yield Figure(name=f"growth of {name} time", value=growth(SIZES, seconds), unit="exponent", target=1.2)


def _copies(program: Any, count: int) -> Iterator[Any]:
    """Programs that are alike. Verifiers remember what they found of a function, so each call gets another one."""
    from pypto_core.ir import Program, deep_clone

    function = next(iter(program))
    return iter([Program(program.name, [deep_clone(function)[0]]) for _ in range(count)])


def chain_text(length: int, kind: str = "") -> str:
    """A kernel of ``length`` scalar statements; ``kind`` is written on each."""
    lines = [
        "import pypto_core.language as pl",
        "@pl.program",
        "class Chain:",
        "    @pl.function",
        "    def f(self, a: pl.Scalar[pl.INT32]) -> pl.Scalar[pl.INT32]:",
        f"        v0{kind} = pl.const(1, pl.INT32)",
    ]
    lines += [f"        v{i}{kind} = v{i - 1} + a" for i in range(1, length)]
    return "\n".join([*lines, f"        return v{length - 1}", ""])


def peer_text(length: int) -> str:
    """The same in the textual form of MLIR."""
    lines = ["builtin.module {", "func.func @f(%a: i32) -> i32 {", "%v0 = arith.constant 1 : i32"]
    lines += [f"%v{i} = arith.addi %v{i - 1}, %a : i32" for i in range(1, length)]
    return "\n".join([*lines, f"func.return %v{length - 1} : i32", "}", "}"])


def _ours(length: int) -> dict[str, Callable[[], object]]:
    from pypto_core.ir import deep_clone, structural_equal
    from pypto_core.language import parse_program
    from pypto_core.text import print_program
    from pypto_core.verify import verify_properties

    text, annotated = chain_text(length), chain_text(length, ": pl.Scalar[pl.INT32]")
    program = parse_program(text)
    function = next(iter(program))
    copy = deep_clone(function)[0]
    fresh = _copies(program, PEER_CALLS)

    def verify(program: Any) -> object:
        return verify_properties(program, ("SSAForm", "TypeChecked"))

    return {
        "parse": lambda: parse_program(text),
        "parse with types written out": lambda: parse_program(annotated),
        "parse and verify": lambda: verify(parse_program(text)),
        "clone": lambda: deep_clone(function),
        "verify": lambda: verify(next(fresh)),
        "equality": lambda: structural_equal(function, copy),
        "print": lambda: print_program(program),
    }


def _theirs(length: int) -> dict[str, Callable[[], object]]:
    from xdsl.context import Context  # pyright: ignore[reportMissingImports]
    from xdsl.dialects import arith, builtin, func  # pyright: ignore[reportMissingImports]
    from xdsl.parser import Parser  # pyright: ignore[reportMissingImports]
    from xdsl.printer import Printer  # pyright: ignore[reportMissingImports]

    context: Any = Context()
    for dialect in (builtin.Builtin, arith.Arith, func.Func):
        context.load_dialect(dialect)
    text = peer_text(length)

    def parse() -> Any:
        return Parser(context, text).parse_module()

    module = parse()
    copy = module.clone()
    return {
        "parse": parse,
        "parse with types written out": parse,
        "parse and verify": lambda: parse().verify(),
        "clone": lambda: module.clone(),
        "verify": lambda: module.verify(),
        "equality": lambda: module.is_structurally_equivalent(copy),
        "print": lambda: Printer(StringIO()).print_op(module),
    }


def _peer() -> Iterator[Figure]:
    if find_spec("xdsl") is None:
        return
    ours, theirs = _ours(OPERATIONS), _theirs(OPERATIONS)
    for name, work in ours.items():
        mine, other = best_of_both(work, theirs[name], repeat=PEER_REPEATS)
        yield Figure(
            name=f"{name}, times faster than xDSL",
            value=other / mine,
            unit="times",
            target=PEER_TARGETS.get(name),
            better="higher",
            note=f"{mine / OPERATIONS * 1e6:.1f} us against {other / OPERATIONS * 1e6:.1f} us a statement",
        )

"""How fast programs are walked, copied, compared, printed and stored, and how that compares with xDSL.

Figures are per node (statements, expressions and functions, types left out) or per statement, over a parsed kernel of
10,000 statements with spans and comments. The comparison runs on a chain of scalar additions, one statement here and
one operation there, so that both sides hold the same program; it needs xdsl installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from io import StringIO
from typing import Any

from benchmarks.bench_language import kernel_text
from benchmarks.figures import Figure, best_of, growth

STATEMENTS = 10_000
OPERATIONS = 2_000
PEER_REPEATS = 4
PEER_TARGETS = {"parse": 10, "clone": 10, "verify": 10}


def run() -> list[Figure]:
    """All figures; those with a peer only when it is installed."""
    from pypto_core.language import parse_program

    program = parse_program(kernel_text(STATEMENTS))
    return [*_passes(program), *_text_and_bytes(program), *_growths(), *_peer()]


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


def _text_and_bytes(program: Any) -> Iterator[Figure]:
    from pypto_core.text import dumps, loads, print_program

    data = dumps(program)

    def per_statement(name: str, work: Callable[[], object], target: float, note: str = "") -> Figure:
        value = best_of(work, repeat=3) / STATEMENTS * 1e6
        return Figure(name=name, value=value, unit="us/statement", target=target, note=note)

    yield per_statement("print", lambda: print_program(program), 40)
    yield per_statement(
        "store", lambda: dumps(program), 25, f"{len(data) / STATEMENTS:.0f} bytes a statement"
    )
    yield per_statement("load", lambda: loads(data), 25)


def _growths() -> Iterator[Figure]:
    from pypto_core.language import parse_program
    from pypto_core.text import dumps, loads, print_program

    sizes = (1000, 3000, 9000)
    programs = [parse_program(kernel_text(size)) for size in sizes]
    work: dict[str, Callable[[Any], object]] = {
        "print": print_program,
        "store and load": lambda p: loads(dumps(p)),
    }
    for name, function in work.items():
        seconds = [best_of(lambda p=p, f=function: f(p), repeat=3) for p in programs]  # type: ignore[misc]
        yield Figure(name=f"growth of {name} time", value=growth(sizes, seconds), unit="exponent", target=1.2)


def chain_text(length: int) -> str:
    """A kernel of ``length`` scalar statements."""
    lines = [
        "import pypto_core.language as pl",
        "@pl.program",
        "class Chain:",
        "    @pl.function",
        "    def f(self, a: pl.Scalar[pl.INT32]) -> pl.Scalar[pl.INT32]:",
        "        v0: pl.Scalar[pl.INT32] = pl.const(1, pl.INT32)",
    ]
    lines += [f"        v{i}: pl.Scalar[pl.INT32] = v{i - 1} + a" for i in range(1, length)]
    return "\n".join([*lines, f"        return v{length - 1}", ""])


def peer_text(length: int) -> str:
    """The same in the textual form of MLIR."""
    lines = ["builtin.module {", "func.func @f(%a: i32) -> i32 {", "%v0 = arith.constant 1 : i32"]
    lines += [f"%v{i} = arith.addi %v{i - 1}, %a : i32" for i in range(1, length)]
    return "\n".join([*lines, f"func.return %v{length - 1} : i32", "}", "}"])


def _ours(text: str) -> dict[str, Callable[[], object]]:
    from pypto_core.ir import Program, deep_clone, structural_equal
    from pypto_core.language import parse_program
    from pypto_core.text import print_program
    from pypto_core.verify import verify_properties

    program = parse_program(text)
    function = next(iter(program))
    copy = deep_clone(function)[0]

    # Verifiers remember what they found of a function, so each call gets one that they have not seen.
    fresh = iter([Program("Chain", [deep_clone(function)[0]]) for _ in range(PEER_REPEATS + 1)])

    return {
        "parse": lambda: parse_program(text),
        "clone": lambda: deep_clone(function),
        "verify": lambda: verify_properties(next(fresh), ("SSAForm", "TypeChecked")),
        "equality": lambda: structural_equal(function, copy),
        "print": lambda: print_program(program),
    }


def _theirs(text: str) -> dict[str, Callable[[], object]]:
    from xdsl.context import Context  # pyright: ignore[reportMissingImports]
    from xdsl.dialects import arith, builtin, func  # pyright: ignore[reportMissingImports]
    from xdsl.parser import Parser  # pyright: ignore[reportMissingImports]
    from xdsl.printer import Printer  # pyright: ignore[reportMissingImports]

    context: Any = Context()
    for dialect in (builtin.Builtin, arith.Arith, func.Func):
        context.load_dialect(dialect)
    module: Any = Parser(context, text).parse_module()
    copy = module.clone()
    return {
        "parse": lambda: Parser(context, text).parse_module(),
        "clone": lambda: module.clone(),
        "verify": lambda: module.verify(),
        "equality": lambda: module.is_structurally_equivalent(copy),
        "print": lambda: Printer(StringIO()).print_op(module),
    }


def _peer() -> Iterator[Figure]:
    if find_spec("xdsl") is None:
        return
    ours, theirs = _ours(chain_text(OPERATIONS)), _theirs(peer_text(OPERATIONS))
    for name, work in ours.items():
        mine, other = best_of(work, repeat=PEER_REPEATS), best_of(theirs[name], repeat=PEER_REPEATS)
        yield Figure(
            name=f"{name}, times faster than xDSL",
            value=other / mine,
            unit="times",
            target=PEER_TARGETS.get(name),
            better="higher",
            note=f"{mine / OPERATIONS * 1e6:.1f} us against {other / OPERATIONS * 1e6:.1f} us a statement",
        )

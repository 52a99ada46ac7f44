"""Which names are read after a block, against every path that a small program can take."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.language.constants import assignments_of, constant_names
from pypto_core.language.lifetimes import Lifetimes

Event = tuple[str, str]
Path = tuple[Event, ...]
NAMES = ("a", "b", "c")
TRIPS = 2


def blocks_of(stmt: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks right below a statement."""
    return [part for part in (getattr(stmt, "body", []), getattr(stmt, "orelse", [])) if part]


def paths(stmts: list[ast.stmt]) -> Iterator[tuple[Path, str]]:
    """What happens on each way through a block, and how it ends: at its end, by a break, continue or return."""
    if not stmts:
        yield (), "end"
        return
    for events, how in through(stmts[0]):
        if how != "end":
            yield events, how
            continue
        for rest, last in paths(stmts[1:]):
            yield events + rest, last


def left(stmts: list[ast.stmt]) -> Iterator[tuple[Path, str]]:
    """The same with the event of leaving the block, which only its own end and jumps within the loop are."""
    mark = ("leave", str(id(stmts[0]))) if stmts else ("leave", "")
    for events, how in paths(stmts):
        yield (*events, mark) if how != "return" else events, how


def through(stmt: ast.stmt) -> Iterator[tuple[Path, str]]:
    if isinstance(stmt, ast.If):
        for branch in (stmt.body, stmt.orelse):
            for events, how in left(branch) if branch else [((), "end")]:
                yield (*reads(stmt.test), *events), how
    elif isinstance(stmt, ast.For):
        yield from trips(stmt, TRIPS, reads(stmt.iter))
    elif isinstance(stmt, ast.With):
        yield from left(stmt.body)
    elif isinstance(stmt, ast.Return):
        yield reads(stmt.value), "return"
    elif isinstance(stmt, ast.Break | ast.Continue):
        yield (), type(stmt).__name__.lower()
    else:
        assert isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Name)
        yield (*reads(stmt.value), ("set", stmt.targets[0].id)), "end"


def trips(loop: ast.For, count: int, so_far: Path) -> Iterator[tuple[Path, str]]:
    yield so_far, "end"
    if count == 0:
        return
    assert isinstance(loop.target, ast.Name)
    for events, how in left(loop.body):
        whole = (*so_far, ("set", loop.target.id), *events)
        if how == "return":
            yield whole, how
        elif how == "break":
            yield whole, "end"
        else:
            yield from trips(loop, count - 1, whole)


def reads(node: ast.expr | None) -> Path:
    return () if node is None else tuple(("read", n.id) for n in ast.walk(node) if isinstance(n, ast.Name))


def read_after(path: Path, at: int) -> set[str]:
    """Names read after an event before they are set again."""
    found: set[str] = set()
    known: set[str] = set()
    for kind, name in path[at + 1 :]:
        if kind == "read" and name not in known:
            found.add(name)
        elif kind == "set":
            known.add(name)
    return found


@st.composite
def bodies(draw: st.DrawFn, depth: int = 2, in_loop: bool = False) -> list[str]:
    """The lines of a block."""
    name = st.sampled_from(NAMES)
    lines: list[str] = []
    kinds = ["set", "set", "set", *(["if", "for", "with"] if depth else []), *(["jump"] if in_loop else [])]
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(kinds))
        if kind == "set":
            lines.append(f"{draw(name)} = {draw(name)}")
        elif kind == "jump":
            lines.append(draw(st.sampled_from(["break", "continue", f"return {draw(name)}"])))
            break
        else:
            head = {
                "if": f"if {draw(name)}:",
                "for": f"for {draw(name)} in {draw(name)}:",
                "with": "with scope:",
            }
            inner = draw(bodies(depth=depth - 1, in_loop=in_loop or kind == "for"))
            lines += [head[kind], *("    " + line for line in inner)]
            if kind == "if" and draw(st.booleans()):
                lines += [
                    "else:",
                    *("    " + line for line in draw(bodies(depth=depth - 1, in_loop=in_loop))),
                ]
    return lines


@settings(max_examples=150)
@given(bodies())
def test_names_read_later_are_those_that_some_path_reads(lines: list[str]) -> None:
    text = "def f():\n" + "".join(f"    {line}\n" for line in [*lines, "return a"])
    [function] = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    observed: dict[str, set[str]] = {}
    for path, _ in paths(function.body):
        for at, (kind, block) in enumerate(path):
            if kind == "leave":
                observed.setdefault(block, set()).update(read_after(path, at))
    found = Lifetimes.of(function)
    jumps = (
        any(word in text for word in ("break", "continue", "    return b", "    return c"))
        or text.count("return") > 1
    )
    for block, names in observed.items():
        said = found.block_of[int(block)].read_later - {"scope"}
        assert names <= said, (text, names, said)
        if not jumps:
            assert names == said, (text, names, said)


def constants(text: str, *fixed: str) -> set[str]:
    [function] = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    Lifetimes.of(function)
    return set(constant_names(assignments_of(function), frozenset(fixed)))


def test_names_that_may_stand_for_a_constant() -> None:
    once = "def f(p):\n    x = p\n    for i in p:\n        y = 1\n    with p:\n        z = 1\n"
    assert constants(once) == {"p", "x", "y", "z"}
    assert constants("def f():\n    x = 1\n    x = 2\n") == {"x"}
    either = "def f(p):\n    if p:\n        x = 1\n    else:\n        x = 2\n"
    assert constants(either) == {"p"} and constants(either, "p") == {"p", "x"}
    mixed = "def f(p):\n    x = 1\n    if p:\n        x = 2\n"
    assert constants(mixed) == {"p"} and constants(mixed, "p") == {"p", "x"}
    assert constants("def f(p):\n    x = 1\n    for i in p:\n        x = 2\n") == {"p"}
    assert constants("def f(p):\n    for i in p:\n        p = 2\n") == set()
    assert constants("def f():\n    a, (b, c) = 1, (2, 3)\n    d: int = 4\n") == {"a", "b", "c", "d"}


def test_names_that_decided_branches_set() -> None:
    """``p`` is a number, ``x`` an array, ``LIMIT`` comes from around the function."""
    for test in ("p > 1", "p > LIMIT and x.dtype == LIMIT", "x.shape[0] % (p + 1) == 0", "not p", "q"):
        text = f"def f(x, p):\n    q = p * 2\n    n = 1\n    if {test}:\n        n = n + q\n"
        assert "n" in constants(text, "p"), test
        assert "n" not in constants(text), test  # p is a parameter of the program
    for test in ("x[0] > 1", "g(p)", "v > 1", "w", "p > 1 and v"):
        lines = [
            "v = g(x)",
            "for w in x:",
            "    pass",
            "n = 1",
            f"if {test}:",
            "    n = 2",
        ]
        text = "def f(x, p):\n" + "".join(f"    {line}\n" for line in lines)
        assert "n" not in constants(text, "p"), test
    nested = "def f(x, p):\n    n = 1\n    if x[0] > 1:\n        if p:\n            n = 2\n"
    assert "n" not in constants(nested, "p")
    parameter = "def f(p, q):\n    if q:\n        p = 3\n"
    assert "p" in constants(parameter, "q") and "p" not in constants(parameter, "p")


def test_looking_through_deep_nesting_takes_no_time() -> None:
    lines = ["    " * (depth + 1) + f"for i{depth} in a:" for depth in range(18)]
    text = "\n".join(["def f(a):", *lines, "    " * 19 + "b = a"])
    assert constants(text) == {"a", "b"}

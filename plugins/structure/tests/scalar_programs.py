"""Random programs over four integers, as text: every kind of control flow, every way out of it.

``careful`` programs assign every variable at the start, so that each of them has defined behaviour. Others may read
what was not assigned on the way there.
"""

from __future__ import annotations

from random import Random

import attrs

NAMES = ("a", "b", "c", "d")
HEAD = "@pl.function\ndef main(n: pl.Scalar[pl.INDEX], m: pl.Scalar[pl.INDEX])"


@attrs.define
class Writer:
    rng: Random
    budget: int
    lines: list[str] = attrs.field(factory=list)
    loops: list[str] = attrs.field(factory=list)
    count: int = 0
    exits: bool = True
    unroll: bool = False
    known: list[str] = attrs.field(factory=list)

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 1) + text)

    def atom(self) -> str:
        pool = [*self.known, "n", "m", *self.loops, str(self.rng.randrange(5))]
        return self.rng.choice(pool)

    def value(self) -> str:
        form = self.rng.choice(
            ["{} + {}", "{} - {}", "pl.min({}, {})", "pl.max({}, {})", "{}", "({} * 3 + {}) % 7"]
        )
        text = form.format(self.atom(), self.atom())
        return text if any(name in text for name in (*NAMES, "n", "m", *self.loops)) else f"n + {text}"

    def condition(self) -> str:
        word = self.rng.choice(["<", "==", ">=", "!="])
        text = f"({self.value()}) % {self.rng.randrange(2, 4)} {word} {self.rng.randrange(3)}"
        if self.rng.random() < 0.2:
            text = f"{text} {self.rng.choice(['and', 'or'])} {self.value()} < 3"
        return text

    def block(self, depth: int, in_loop: bool) -> None:
        for _ in range(self.rng.randrange(1, 5)):
            if self.statement(depth, in_loop):
                return

    def statement(self, depth: int, in_loop: bool) -> bool:
        """Write one; whether nothing may follow."""
        self.budget -= 1
        draw = self.rng.random()
        if depth < 4 and self.budget > 0 and draw < 0.55:
            if draw < 0.30:
                self.branch(depth, in_loop)
            elif draw < 0.47:
                self.counted(depth)
            else:
                self.while_loop(depth)
            return False
        if self.exits and draw > 0.86 and depth:
            word = self.rng.choice(["break", "continue", "return"]) if in_loop else "return"
            self.put(depth, self.returned() if word == "return" else word)
            return True
        self.assign(depth, self.rng.choice(NAMES), self.value())
        return False

    def assign(self, depth: int, name: str, value: str) -> None:
        self.put(depth, f"{name} = {value}")
        if name not in self.known:
            self.known.append(name)

    def returned(self) -> str:
        return "return " + ", ".join(name if name in self.known else "n" for name in NAMES[:3])

    def branch(self, depth: int, in_loop: bool) -> None:
        self.put(depth, f"if {self.condition()}:")
        self.block(depth + 1, in_loop)
        if self.rng.random() < 0.5:
            self.put(depth, "else:")
            self.block(depth + 1, in_loop)

    def counted(self, depth: int) -> None:
        name = f"i{self.count}"
        self.count += 1
        low = self.rng.randrange(2)
        step = self.rng.choice([1, 1, 2])
        if self.unroll and self.rng.random() < 0.4:
            self.put(depth, f"for {name} in pl.unroll({low}, {low + self.rng.randrange(4)}, {step}):")
            outer, self.exits = self.exits, False
            self.inside(depth, name)
            self.exits = outer
            return
        stop = self.rng.choice(["3", "n", "pl.min(a, 3)", "2", "m - 1"])
        if self.rng.random() < 0.15:
            self.put(depth, f"for {name} in pl.range({stop}, {low}, -{step}):")
        else:
            self.put(depth, f"for {name} in pl.range({low}, {stop}, {step}):")
        self.inside(depth, name)

    def inside(self, depth: int, name: str) -> None:
        self.loops.append(name)
        self.block(depth + 1, True)
        self.loops.pop()

    def while_loop(self, depth: int) -> None:
        """A loop that ends: its counter is touched by nothing else."""
        name = f"w{self.count}"
        self.count += 1
        self.put(depth, f"{name} = 0 + n - n")
        self.put(depth, f"while {name} < {self.rng.choice(['3', 'n', '2'])} and ({self.condition()}):")
        self.put(depth + 1, f"{name} = {name} + 1")
        self.block(depth + 1, True)


def scalar_program(seed: int, *, careful: bool = True, exits: bool = True, unroll: bool = False) -> str:
    """The text of a program that returns three of its integers."""
    rng = Random(seed)
    writer = Writer(rng, rng.randrange(6, 22), exits=exits, unroll=unroll)
    for name in NAMES if careful else NAMES[:1]:
        writer.assign(0, name, f"n + {rng.randrange(4)}")
    for _ in range(rng.randrange(2, 6)):
        writer.statement(0, False)
    index = "pl.Scalar[pl.INDEX]"
    writer.put(0, writer.returned())
    return "\n".join([f"{HEAD} -> tuple[{index}, {index}, {index}]:", *writer.lines, ""])

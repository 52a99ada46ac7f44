"""Random hosts: scopes in loops and branches that write, compute and hand on tensors, through the whole pipeline."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

T = "pl.Tensor[[32, 64], pl.FP32]"
PASSES = ("OutlineIncoreScopes", "ConvertTensorToTileOps", "OptimizeOrchTensors", "FuseCreateAssembleToSlice")


class Host:
    """Writes a host function over a few tensors of one shape."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.lines: list[str] = []
        self.tensors = ["a", "out", "both"]
        self.written = ["out", "both"]
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def value(self, rows: str = ":") -> str:
        """An expression over windows of known tensors."""
        x, y = (f"{self.pick.choice(self.tensors)}[{rows}, :]" for _ in range(2))
        return self.pick.choice(
            (f"pl.neg({x})", f"pl.add({x}, {y})", f"pl.mul({x}, 0.5)", f"pl.maximum(pl.abs({x}), {y})")
        )

    def window(self, counter: str | None) -> str:
        row = f"{counter} * 8" if counter is not None else str(self.pick.choice((0, 8, 16, 24)))
        return f"{row}:{row} + 8"

    def scope(self, depth: int, counter: str | None, new: bool) -> None:
        """A kernel: parts of tensors, or all of a new one."""
        form = self.pick.randrange(4)
        if form == 0 and counter is None:
            self.put(depth, "for core in pl.spmd(4):")
            counter = "core"
        else:
            hint = f', name_hint="{self.name()}"' if self.pick.random() < 0.3 else ""
            task = f" as {self.name()}" if self.pick.random() < 0.2 else ""
            self.put(depth, f"with pl.at(level=pl.Level.CORE_GROUP{hint}){task}:")
        if new and form == 1:
            made = self.name()
            self.put(depth + 1, f"{made} = {self.value()}")
            if depth == 0:
                self.tensors.append(made)
            else:
                self.put(depth + 1, f"{self.pick.choice(self.written)}[0:8, :] = {made}[8:16, :]")
            return
        for _ in range(self.pick.randint(1, 3)):
            rows = self.window(counter)
            self.put(depth + 1, f"{self.pick.choice(self.written)}[{rows}, :] = {self.value(rows)}")

    def statement(self, depth: int = 0, counter: str | None = None) -> None:
        form = self.pick.randrange(8)
        if form == 0 and depth < 2:
            name = self.name()
            loop = self.pick.choice(("range(4)", "range(1, 3)", "parallel(4)", "range(n)"))
            self.put(depth, f"for {name} in pl.{loop}:")
            for _ in range(self.pick.randint(1, 2)):
                self.statement(depth + 1, name)
        elif form == 1 and depth < 2:
            self.put(depth, f"if n > {self.pick.randint(0, 4)}:")
            self.statement(depth + 1, counter)
            if self.pick.random() < 0.5:
                self.put(depth, "else:")
                self.statement(depth + 1, counter)
        elif form == 2 and depth == 0:
            name = self.name()
            self.put(depth, f"{name} = pl.create_tensor([32, 64], dtype=pl.FP32)")
            self.put(depth, "with pl.at(level=pl.Level.CORE_GROUP):")
            self.put(depth + 1, f"{name}[:, :] = {self.value()}")
            self.tensors.append(name)
            self.written.append(name)
        elif form == 3 and depth == 0 and len(self.tensors) > 3:
            self.put(depth, f"out = pl.assemble(out, {self.tensors[-1]}, [0, 0])")
        else:
            self.scope(depth, counter, new=True)

    def program(self, kit: Any, length: int) -> Any:
        for _ in range(length):
            self.statement()
        params = f"a: {T}, n: pl.Scalar[pl.INDEX], out: pl.InOut[{T}], both: pl.InOut[{T}]"
        return kit.main(params, "\n".join(self.lines) + "\nreturn out, both", f"tuple[{T}, {T}]")


def inputs(seed: int) -> dict[str, Any]:
    """Random tensors and a number of trips that keeps windows inside."""
    import numpy as np

    rng = np.random.default_rng(seed)
    found: dict[str, Any] = {k: rng.standard_normal((32, 64), dtype=np.float32) for k in ("a", "out", "both")}
    return found | {"n": seed % 5}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), length=st.integers(1, 8))
def test_random_hosts(kit: Any, seed: int, length: int) -> None:
    program = Host(seed).program(kit, length)
    kit.prove(kit.front(program), *PASSES, holds=["SplitIncoreOrch", "IncoreTileOps"], inputs=inputs(seed))


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_hosts_through_the_whole_pipeline(kit: Any, seed: int) -> None:
    kit.everywhere(Host(seed).program(kit, 6), inputs=inputs(seed))

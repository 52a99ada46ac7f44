"""How fast kernels are read: text to program, a statement at a time."""

from __future__ import annotations

import ast

from benchmarks.figures import Figure, best_of, growth

HEAD = """import pypto_core.language as pl


@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.InCore)
    def kern(
        a: pl.Tensor[[65536, 64], pl.FP32],
        b: pl.Tensor[[65536, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[65536, 64], pl.FP32]],
    ) -> pl.Tensor[[65536, 64], pl.FP32]:
"""
TILE = "pl.Tile[[64, 64], pl.FP32, pl.Mem.Vec]"


def kernel_text(statements: int) -> str:
    """A kernel of about so many statements: blocks of two loads, arithmetic, a scalar and a store, all annotated."""
    lines = [HEAD]
    count = 0
    block = 0
    while count + 8 <= statements:
        n = f"_{block}"
        lines.append(
            f"        i{n}: pl.Scalar[pl.INDEX] = {block} * 64\n"
            f"        ta{n}: {TILE} = pl.tile.load(a, [i{n}, 0], [64, 64], [64, 64], target_memory=pl.Mem.Vec)\n"
            f"        tb{n}: {TILE} = pl.tile.load(b, [i{n} + 64, 0], [64, 64], [64, 64], target_memory=pl.Mem.Vec)\n"
            f"        s{n}: {TILE} = pl.tile.add(ta{n}, tb{n})\n"
            f"        m{n}: {TILE} = pl.tile.muls(s{n}, 2.0)\n"
            f"        e{n}: {TILE} = pl.tile.exp(m{n})\n"
            f"        d{n}: {TILE} = pl.tile.sub(e{n}, s{n})\n"
            f"        out{n}: pl.Tensor[[65536, 64], pl.FP32] = pl.tile.store(d{n}, [i{n}, 0], out)\n"
        )
        count += 8
        block += 1
    lines.append("        return out\n")
    return "".join(lines)


def run() -> list[Figure]:
    """Seconds and microseconds a statement at three sizes, and how the time grows."""
    from pypto_core.language import parse_program

    text = kernel_text(2000)
    whole = best_of(lambda: parse_program(text), repeat=5)
    tree = best_of(lambda: ast.parse(text), repeat=5) / 2000 * 1e6
    sizes = (1000, 10_000, 50_000)
    seconds: list[float] = []
    for size in sizes:
        longer = kernel_text(size)
        seconds.append(best_of(lambda t=longer: parse_program(t), repeat=5 if size < 10_000 else 1))  # type: ignore[misc]
    each = [second / size * 1e6 for size, second in zip(sizes, seconds, strict=True)]
    shown = ", ".join(f"{value:.0f} at {size}" for size, value in zip(sizes, each, strict=True))
    return [
        Figure(name="parse, 2000 statements", value=whole, unit="s", target=0.3),
        Figure(
            name="parse",
            value=max(each),
            unit="us/statement",
            target=150,
            note=f"{shown}; ast.parse alone takes {tree:.0f}",
        ),
        Figure(name="growth of parse time", value=growth(sizes, seconds), unit="exponent", target=1.15),
    ]

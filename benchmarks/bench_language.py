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

    sizes = (500, 2000, 8000)
    seconds: list[float] = []
    for size in sizes:
        text = kernel_text(size)
        seconds.append(best_of(lambda text=text: parse_program(text), repeat=5 if size < 8000 else 3))  # type: ignore[misc]
    text = kernel_text(2000)
    tree = best_of(lambda: ast.parse(text), repeat=5)
    return [
        Figure(name="parse, 2000 statements", value=seconds[1], unit="s", target=0.3),
        Figure(
            name="parse",
            value=seconds[1] / 2000 * 1e6,
            unit="us/statement",
            target=150,
            note=f"of which ast.parse {tree / 2000 * 1e6:.0f}",
        ),
        Figure(name="growth of parse time", value=growth(sizes, seconds), unit="exponent", target=1.15),
    ]

# ruff: noqa: I002 - kernel files are written without it
"""A rotating buffer that the author declared, above the program and inside of an annotation."""

import pypto.language as pl

ring = pl.MemRef(slots=2)


@pl.program
class DeclaredSlots:
    @pl.function(type=pl.FunctionType.InCore)
    def main(
        self,
        a: pl.Tensor[[256, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[256, 64], pl.FP32]],
    ) -> pl.Tensor[[256, 64], pl.FP32]:
        for i in pl.range(4):
            x: pl.Tile[[64, 64], pl.FP32, ring[i % 2], pl.Mem.Vec] = pl.tile.load(a, [i * 64, 0], [64, 64])
            y: pl.Tile[[64, 64], pl.FP32, pl.MemRef("scratch"), pl.Mem.Vec] = pl.tile.exp(x)
            out = pl.tile.store(y, [i * 64, 0], out)
        return out

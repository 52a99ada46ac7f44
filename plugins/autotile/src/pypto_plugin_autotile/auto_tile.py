"""AutoTileMatmulL0: matrix products that are larger than L0 become loops over tiles that fit."""

from __future__ import annotations

from pypto_core.ir import Function, Program, map_functions
from pypto_core.run import PassContext
from pypto_plugin_autotile.hints import Hints
from pypto_plugin_autotile.machine import Machine
from pypto_plugin_autotile.recognise import pipelines_to_mark
from pypto_plugin_autotile.rewrite import tile_products
from pypto_plugin_autotile.split_k import tile_split_k_chains


def auto_tile_matmul_l0(program: Program, ctx: PassContext) -> Program:
    """Tile every matmul, matmul_acc and matmul_bias of the program's kernels; the same object when none needs it.

    Three steps for each function: chains that split K by hand are cut into windows, L0 pipelines written by hand are
    looked at for a second accumulator, then every product is tiled where it stands. Hints go to the context's log.

    Raises UserError for an operand that was placed in L0 by hand and is larger than L0.
    """
    machine, hints = Machine.of(ctx), Hints()

    def change(function: Function) -> Function:
        if not function.is_incore:
            return function
        function = tile_split_k_chains(function, machine, hints)
        return tile_products(function, machine, hints, pipelines_to_mark(function, machine))

    changed = map_functions(program, change)
    hints.log(ctx)
    return changed

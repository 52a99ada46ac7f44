"""The bias of one output window: the whole row, or a window of it loaded again from where the row came from."""

from __future__ import annotations

from pypto_core.ir import Call, Expr, MemorySpace, Var
from pypto_plugin_autotile.emit import Emitter, dims, shifted
from pypto_plugin_autotile.match import literal_pair, tile_type
from pypto_plugin_autotile.plan import Plan


def emit_bias(out: Emitter, plan: Plan, name: str, column: Expr | int, width: int) -> Var:
    """The bias of ``width`` columns from ``column`` on, in the bias table.

    A row in Mat is moved there. Of its columns a new load is made, as no single row can be cut from a boxed tile.
    """
    bias = plan.product.bias
    assert bias is not None
    if tile_type(bias).memory_space is MemorySpace.Bias:
        return bias
    if width == plan.N:
        return out.move(name, bias, MemorySpace.Bias)
    assert plan.bias_load is not None
    load = plan.bias_load.value
    assert isinstance(load, Call)
    offsets = literal_pair(load.args[1])
    assert offsets is not None
    window = dims(1, width)
    args = (load.args[0], dims(offsets[0], shifted(offsets[1], column)), window, window)
    part = out.let(f"{name}_mat", "tile.load", args, load.kwargs, load.attrs)
    return out.move(name, part, MemorySpace.Bias)

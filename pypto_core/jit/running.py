"""Run a compiled kernel on arrays of any library: what it writes is in the caller's arrays afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pypto_core.contract import RunResult, entry_function
from pypto_core.host import Host
from pypto_core.ir import ParamDirection, Program, base_name
from pypto_core.jit.arrays import as_numpy, is_array


def execute(
    program: Program, entry: str, given: Mapping[str, Any], host: Host, engine: str, world_size: int = 1
) -> Any:
    """Run ``entry`` and give what it returns: nothing, one value or a tuple.

    ``given``: arrays and numbers by parameter; outputs that are left out are made. A returned tensor that is an
    argument is the caller's own object, others are numpy arrays. Without a return statement the outputs that were left
    out are returned. Raises UserError: PT832 for an output that can't be written in place, PT705 when there is no such
    engine, and whatever the engine refuses.
    """
    written = _written(program, entry)
    inputs = {
        name: as_numpy(value, name, writable=name in written) if is_array(value) else value
        for name, value in given.items()
    }
    options = {} if world_size == 1 else {"world_size": world_size}
    result = host.engine(engine).load()(program, inputs, entry, **options)
    for name, value in result.outputs.items():
        if name in inputs:
            inputs[name][...] = value
    return _returned(result, given)


def _written(program: Program, entry: str) -> frozenset[str]:
    function = entry_function(program, entry)
    pairs = zip(function.params, function.param_directions, strict=True)
    return frozenset(base_name(var.name_hint) for var, way in pairs if way is not ParamDirection.In)


def _returned(result: RunResult, given: Mapping[str, Any]) -> Any:
    made = {id(value): name for name, value in result.outputs.items()}
    values = [given.get(made.get(id(value), ""), value) for value in result.returns]
    if not result.returns:
        values = [value for name, value in result.outputs.items() if name not in given]
    return None if not values else values[0] if len(values) == 1 else tuple(values)

"""Whether two programs do the same: both are run on the same inputs and their results compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from pypto_core.contract import RunResult, entry_function
from pypto_core.ir import Function, Program
from pypto_core.testing.inputs import random_inputs

if TYPE_CHECKING:
    from pypto_core.host import Host

ENGINE = "values"


def assert_same_behaviour(
    before: Program | Function,
    after: Program | Function,
    inputs: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    rtol: float = 0.0,
    atol: float = 0.0,
    dims: Mapping[str, int] | None = None,
    entry: str | None = None,
    host: Host | None = None,
    engine: str = ENGINE,
    engine_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> RunResult:
    """Run both and raise AssertionError at the first result that differs; returns the results of ``before``.

    ``inputs``: by parameter name; random ones made with ``seed`` and ``dims`` (see :func:`random_inputs`) when None.
    ``rtol``, ``atol``: how far floats may be apart, by default not at all; integers, and which elements are NaN,
    have to agree always. ``entry``: function to run; ``host``: where the engines come from, the installed plugins when
    None. ``engine``: what runs ``after``, with ``engine_options`` (``"bytes"`` for a planned program: ``backend`` and
    ``addressed``); ``before`` is run by ``values`` always. ``options`` go to both.

    Raises UserError, saying what to install, when no plugin brings an engine.
    """
    if host is None:
        from pypto_core.host import load_host

        host = load_host()
    reference, other = host.engine(ENGINE).load(), host.engine(engine).load()
    if inputs is None:
        inputs = random_inputs(entry_function(before, entry), seed, dims)
    want = reference(before, inputs, entry, host=host, **options)
    have = other(after, inputs, entry, host=host, **options, **(engine_options or {}))
    if set(want.outputs) != set(have.outputs):
        raise AssertionError(f"outputs differ: {sorted(want.outputs)} before, {sorted(have.outputs)} after")
    for name, expected in want.outputs.items():
        _compare(f"output '{name}'", expected, have.outputs[name], rtol, atol)
    if len(want.returns) != len(have.returns):
        raise AssertionError(f"{len(want.returns)} values are returned before, {len(have.returns)} after")
    for index, (expected, found) in enumerate(zip(want.returns, have.returns, strict=True)):
        _compare(f"returned value {index}", expected, found, rtol, atol)
    return want


def _compare(what: str, expected: Any, found: Any, rtol: float, atol: float) -> None:
    import numpy as np

    if type(expected) is not type(found):
        raise AssertionError(f"{what} is a {type(expected).__name__} before, a {type(found).__name__} after")
    if expected is None:
        return
    if type(expected) is tuple and len(cast("tuple[Any, ...]", expected)) == len(found):
        for one, other in zip(cast("tuple[Any, ...]", expected), found, strict=True):
            _compare(what, one, other, rtol, atol)
        return
    a: Any = np.asarray(cast(Any, expected))
    b: Any = np.asarray(found)
    if a.shape != b.shape or a.dtype != b.dtype:
        raise AssertionError(f"{what} is {a.dtype}{list(a.shape)} before, {b.dtype}{list(b.shape)} after")
    wrong = ~same_elements(a, b, rtol, atol)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        apart = np.abs(a.astype(np.float64) - b.astype(np.float64))[wrong]
        raise AssertionError(
            f"{what} differs in {int(wrong.sum())} of {wrong.size} elements: at {list(place)} it is {a[place]} "
            f"before and {b[place]} after; at most {float(np.nanmax(apart, initial=0.0)):.6g} apart"
        )


def same_elements(a: Any, b: Any, rtol: float = 0.0, atol: float = 0.0) -> Any:
    """Element by element, whether two arrays of one type are equal bit by bit, both NaN, or within the tolerance."""
    import numpy as np

    kind = a.dtype
    if kind.kind in "biuO" or kind.name in ("int4", "uint4"):
        return a == b
    bits = np.dtype(f"u{kind.itemsize}")
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    same = np.ascontiguousarray(a).view(bits).reshape(a.shape) == np.ascontiguousarray(b).view(bits).reshape(
        b.shape
    )
    both_nan = np.isnan(wide_a) & np.isnan(wide_b)
    if not rtol and not atol:
        return same | both_nan
    with np.errstate(invalid="ignore"):
        near = np.abs(wide_a - wide_b) <= atol + rtol * np.abs(wide_a)
    return same | both_nan | (near & np.isfinite(wide_a) & np.isfinite(wide_b))

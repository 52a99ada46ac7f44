"""Every operator of the kernel has a recipe or a named reason for having none: there is no third case."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.diagnostics import UserError
from pypto_core.host import distribution_for
from pypto_core.ir import FunctionType
from pypto_core.ops import builtin_registry
from pypto_core.run import PassContext
from pypto_core.testing import build as b
from pypto_plugin_pto.catalogue import recipes
from pypto_plugin_pto.elsewhere import reasons
from pypto_plugin_pto.write import function_lines, recipes_of

OPERATORS = sorted(op.name for op in builtin_registry())
A = b.tensor("a", (32, 32))


def test_every_operator_has_a_recipe_or_a_reason_and_none_has_both() -> None:
    assert {name.partition(".")[0] for name in OPERATORS} == {"array", "prefetch", "system", "tensor", "tile"}
    assert sorted([*recipes(), *reasons()]) == OPERATORS


def refused(name: str) -> Any:
    ctx = PassContext()
    call = b.let("x", b.raw_op(name, [], b.INDEX))
    with pytest.raises(UserError) as error:
        function_lines(b.function("k", [A], [call], kind=FunctionType.InCore), ctx, recipes_of(ctx))
    [diagnostic] = error.value.diagnostics
    return diagnostic


@pytest.mark.parametrize("name", list(reasons()))
def test_what_is_left_of_another_stage_says_what_to_do(name: str) -> None:
    reason, diagnostic = reasons()[name], refused(name)
    assert diagnostic.code == "PTO-001"
    assert diagnostic.message == f"'{name}' can't be written as PTO text: {reason.text}"
    facts = dict(diagnostic.facts)
    assert (facts["operator"], facts["function"]) == (name, "k")
    assert reason.remedy in diagnostic.remedy
    if reason.by:
        # A pass that is known, in a distribution that is known.
        assert facts["replaced by"] == f"{reason.by}, of {distribution_for('pass', reason.by)}"
        assert distribution_for("pass", reason.by) is not None
        assert diagnostic.remedy.startswith(f"run the pass {reason.by} before")


def test_what_works_on_tensors_is_what_a_kernel_may_not_keep() -> None:
    """The verifier of kernels and this table agree on it."""
    from pypto_core.verify import verify_properties

    for name, reason in reasons().items():
        if not name.startswith("tensor.") or name.replace("tensor.", "tile.") not in OPERATORS:
            continue
        program = b.program(b.kernel("k", [A], [b.let("x", b.raw_op(name, [A], A.type))]))
        assert reason.by == "ConvertTensorToTileOps"
        assert list(verify_properties(program, ["IncoreTileOps"])), name


def test_an_operator_of_nobody_says_how_to_bring_a_recipe() -> None:
    diagnostic = refused("acme.swish")
    assert diagnostic.code == "PTO-001"
    assert diagnostic.message == "there is no recipe that writes 'acme.swish' as PTO text"
    assert dict(diagnostic.facts) == {"operator": "acme.swish", "function": "k"}
    assert "OpEmitter('pto', 'acme.swish', recipe)" in diagnostic.remedy


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
@pytest.mark.parametrize("backend", ["910b", "a5"])
def test_what_a_pass_replaces_is_written(write: Any, backend: str, planner: str) -> None:
    """The table says that sines have no instruction; with the pass it names, kernels with sines are written."""
    params = "a: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
    body = "x = pl.load(a, [0, 0], [64, 64])\nout = pl.store(pl.add(pl.sin(x), pl.cos(x)), [0, 0], out)\nreturn out\n"
    text = write(params, body, backend=backend, planner=planner)
    # A polynomial each, after the angle is brought near 0.
    assert text.count("pto.tmul ") >= 2 * 4 and "pto.tcvt" in text
    assert "pto.tsin" not in text and "pto.tcos" not in text

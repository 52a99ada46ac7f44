"""Random programs: whatever is written passes the checker, at both levels and on both machines."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pypto_core.diagnostics import UserError
from pypto_core.host import Host, load_host
from pypto_core.ir import Program
from pypto_core.run import Pipeline, compile
from pypto_core.testing import ALL_FEATURES, Feature, programs
from pypto_plugin_pto.checker import check_text

VECTOR = [f for f in ALL_FEATURES if f is not Feature.MATMUL]
# Instructions of the vector unit that some machine does not have for integers; the generator does not ask which.
NOT_TAKEN = "PTO-002"
MIXED = "PTO-017"


@cache
def host() -> Host:
    return load_host()


def check(program: Program, backend: str, planner: str) -> None:
    """Compile and check; programs that the machine can't run are none of ours."""
    try:
        compiled: Any = compile(program, backend=backend, planner=planner, goal="pto", host=host())
    except UserError as error:
        code = error.diagnostics[0].code
        assert code in (NOT_TAKEN, MIXED), error
        assume(False)
        raise
    assert isinstance(compiled.pipeline, Pipeline)
    [artifact] = compiled.artifacts
    report = check_text(str(artifact.data), artifact.name)
    assert report.findings == (), (report.findings, artifact.data)
    assert report.level in (None, 2 if planner == "ptoas" else 3)


_MACHINES = st.tuples(st.sampled_from(["910b", "a5"]), st.sampled_from(["pypto", "ptoas"]))


@settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(programs(20, VECTOR), _MACHINES)
def test_vector_programs(program: Program, machine: tuple[str, str]) -> None:
    check(program, *machine)


@settings(max_examples=15, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(programs(12, [Feature.LOOPS, Feature.CARRIES, Feature.DYNAMIC], always=[Feature.MATMUL]), _MACHINES)
def test_programs_with_products(program: Program, machine: tuple[str, str]) -> None:
    check(program, *machine)

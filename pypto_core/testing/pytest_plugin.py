"""The conformance kits as a pytest plugin: what is under test, and what it is tried on.

Installed with the kernel, so that a suite runs in any package::

    # tests/test_conformance.py
    from pypto_core.testing.backend_suite import *

    PYPTO_BACKEND = "acme1"

or on anything that is installed, without a file at all::

    pytest --pyargs pypto_core.testing.pass_suite --pypto-pass AcmePad

``PYPTO_PASS`` may also be several names. A pass brings programs of its own as ``PYPTO_PROGRAMS``, a function without
arguments that gives an iterable of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from pypto_core.contract import Backend, Pass
    from pypto_core.host import Host
    from pypto_core.ir import Program

pytest.register_assert_rewrite("pypto_core.testing.backend_suite", "pypto_core.testing.pass_suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--pypto-backend`` and ``--pypto-pass``."""
    group = parser.getgroup("pypto", "conformance of pypto plugins")
    group.addoption("--pypto-backend", help="name of the backend under test")
    group.addoption("--pypto-pass", help="name of the pass under test")


def _asked(node: Any, option: str, variable: str) -> tuple[str, ...]:
    """What a test's module or the command line names as being under test."""
    names = getattr(node.module, variable, None) or node.config.getoption(option)
    if not names:
        raise pytest.UsageError(f"say what is under test: {variable} in the module, or {option} NAME")
    return (names,) if isinstance(names, str) else tuple(names)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each kernel, planner and program that the suites run through."""
    names = metafunc.fixturenames
    if "pypto_sample" in names:
        from pypto_core.host import load_host
        from pypto_core.testing.corpus import samples

        backend = load_host().backend(_asked(metafunc, "--pypto-backend", "PYPTO_BACKEND")[0])
        metafunc.parametrize("pypto_sample", samples(backend), ids=lambda sample: sample.name)
    if "pypto_planner" in names:
        from pypto_core.host import load_host

        metafunc.parametrize("pypto_planner", list(load_host().planners))
    if "pypto_pass" in names:
        asked = _asked(metafunc, "--pypto-pass", "PYPTO_PASS")
        metafunc.parametrize("pypto_pass", asked, indirect=True, scope="module")
    if "pypto_program" in names:
        found = programs(getattr(cast(Any, metafunc.module), "PYPTO_PROGRAMS", None))
        metafunc.parametrize("pypto_program", found, ids=lambda program: program.name)


@cache
def programs(own: Callable[[], Iterable[Program]] | None = None) -> tuple[Program, ...]:
    """Programs of the author, the corpus of the first backend, and random ones of every feature: the same each time."""
    return tuple(_programs(own))


def _programs(own: Callable[[], Iterable[Program]] | None) -> Iterator[Program]:
    from pypto_core.host import load_host
    from pypto_core.testing.corpus import samples
    from pypto_core.testing.features import ALL_FEATURES, SSA_FEATURES
    from pypto_core.testing.generator import random_program

    if own is not None:
        yield from own()
    for backend in list(load_host().backends.values())[:1]:
        yield from (sample.program for sample in samples(backend))
    for seed in range(6):
        yield random_program(seed, 25, ALL_FEATURES if seed % 2 else SSA_FEATURES)


@pytest.fixture(scope="session")
def pypto_host() -> Host:
    """Everything installed."""
    from pypto_core.host import load_host

    return load_host()


@pytest.fixture(scope="module")
def pypto_backend(request: pytest.FixtureRequest, pypto_host: Host) -> Backend:
    """The backend under test."""
    return pypto_host.backend(_asked(request.node, "--pypto-backend", "PYPTO_BACKEND")[0])


@pytest.fixture(scope="module")
def pypto_pass(request: pytest.FixtureRequest, pypto_host: Host) -> Pass:
    """The pass under test."""
    return pypto_host.find_pass(request.param)


@pytest.fixture(scope="module")
def pypto_programs(request: pytest.FixtureRequest) -> tuple[Program, ...]:
    """All programs that a pass is tried on."""
    return programs(getattr(cast(Any, request).module, "PYPTO_PROGRAMS", None))


@pytest.fixture(scope="module")
def pypto_engine(request: pytest.FixtureRequest, pypto_host: Host) -> Callable[..., Any]:
    """Runs programs; a test that needs it is skipped where no simulator is installed."""
    if "values" not in pypto_host.engines:
        pytest.skip("no plugin brings the engine 'values': install pypto-plugin-simulator")
    return pypto_host.engine("values").load()

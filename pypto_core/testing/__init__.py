"""Kits for tests: builders of hand-written programs and a generator of random ones.

Imported name by name, so that using the builders does not load what the generator needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypto_core.testing import build as build
    from pypto_core.testing.behaviour import assert_same_behaviour as assert_same_behaviour
    from pypto_core.testing.behaviour import same_elements as same_elements
    from pypto_core.testing.features import ALL_FEATURES as ALL_FEATURES
    from pypto_core.testing.features import PLAIN_FEATURES as PLAIN_FEATURES
    from pypto_core.testing.features import SSA_FEATURES as SSA_FEATURES
    from pypto_core.testing.features import Feature as Feature
    from pypto_core.testing.generator import random_program as random_program
    from pypto_core.testing.inputs import numpy_type as numpy_type
    from pypto_core.testing.inputs import random_array as random_array
    from pypto_core.testing.inputs import random_inputs as random_inputs
    from pypto_core.testing.kernels import KernelKit as KernelKit
    from pypto_core.testing.strategies import programs as programs

_HOMES = {
    "ALL_FEATURES": "pypto_core.testing.features",
    "Feature": "pypto_core.testing.features",
    "PLAIN_FEATURES": "pypto_core.testing.features",
    "SSA_FEATURES": "pypto_core.testing.features",
    "assert_same_behaviour": "pypto_core.testing.behaviour",
    "programs": "pypto_core.testing.strategies",
    "KernelKit": "pypto_core.testing.kernels",
    "numpy_type": "pypto_core.testing.inputs",
    "random_array": "pypto_core.testing.inputs",
    "random_inputs": "pypto_core.testing.inputs",
    "random_program": "pypto_core.testing.generator",
    "same_elements": "pypto_core.testing.behaviour",
}

__all__ = [
    "ALL_FEATURES",
    "PLAIN_FEATURES",
    "SSA_FEATURES",
    "Feature",
    "KernelKit",
    "assert_same_behaviour",
    "build",
    "numpy_type",
    "programs",
    "random_array",
    "random_inputs",
    "random_program",
    "same_elements",
]


def __getattr__(name: str) -> Any:
    if name == "build":
        return import_module("pypto_core.testing.build")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)

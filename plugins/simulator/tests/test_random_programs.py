"""Programs that nobody wrote: they run, always the same way, and printing them changes nothing."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from pypto_core.contract import entry_function
from pypto_core.host import load_host
from pypto_core.language import parse
from pypto_core.testing import ALL_FEATURES, assert_same_behaviour, random_inputs, random_program
from pypto_core.text import print_program
from pypto_plugin_simulator import plugin
from pypto_plugin_simulator.values import run


@pytest.mark.parametrize("seed", range(40))
def test_reading_back_the_printed_program(seed: int) -> None:
    host = load_host(entry_points=[], extra_plugins=[plugin])
    program = random_program(seed, features=ALL_FEATURES)
    result = assert_same_behaviour(program, parse(print_program(program)), seed=seed, host=host)
    assert result.outputs


def test_results_depend_on_the_inputs_alone() -> None:
    for seed in range(10):
        program = random_program(seed)
        function = entry_function(program)
        one, two, other = (run(program, random_inputs(function, s)) for s in (seed, seed, seed + 1000))
        for name, array in one.outputs.items():
            assert array.tobytes() == two.outputs[name].tobytes()
        assert any(not np.array_equal(a, other.outputs[n]) for n, a in one.outputs.items())


def test_the_hooks_do_not_load_numpy() -> None:
    code = (
        "import sys; import pypto_plugin_simulator.plugin as p; "
        "p.pypto_plugin(); p.pypto_executors(); p.pypto_engines(); p.pypto_codes(); "
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

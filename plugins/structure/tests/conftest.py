"""What every pass of this plugin has to keep to, checked on one program or along the chain of passes."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pypto_core.contract import PassScope, entry_function
from pypto_core.host import Host, load_host
from pypto_core.ir import Function, Program, assert_structural_equal, map_functions
from pypto_core.language import parse, parse_program
from pypto_core.testing import random_inputs, same_elements
from pypto_core.text import print_program
from pypto_core.verify import STRUCTURAL, verify_or_raise
from pypto_plugin_structure import passes, plugin

Transform = Callable[[Program], Program]

CHAIN = (
    ("InlineFunctions", ("InlineFunctionsEliminated",)),
    ("UnrollLoops", ("InlineFunctionsEliminated", "UnrollResolved")),
    ("CtrlFlowTransform", ("UnrollResolved", "StructuredCtrlFlow")),
    ("ConvertToSSA", ("StructuredCtrlFlow", "SSAForm")),
    ("Simplify", ("SSAForm", "AssignTypeSymmetry")),
    ("NormalizeStmtStructure", ("SSAForm", "NormalizedStmtStructure")),
    ("FlattenCallExpr", ("SSAForm", "NormalizedStmtStructure", "NoNestedCalls", "AssignTypeSymmetry")),
    ("Simplify", ("SSAForm", "NormalizedStmtStructure", "NoNestedCalls")),
)
"""The passes in their order, and what has to hold after each."""


def transform_of(name: str) -> Transform:
    """A pass as a function on programs."""
    found = next(p for p in passes.PASSES if p.name == name)
    body = found.load()
    if found.scope is PassScope.PROGRAM:
        return lambda program: body(program, None)
    return lambda program: map_functions(program, lambda function: body(function, None))


class Prover:
    """Runs passes and checks what they promise; executes with the installed engine."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.engine = host.engine("values").load()

    def outputs(self, program: Program, inputs: Any) -> dict[str, Any]:
        """What a run writes and returns."""
        result = self.engine(program, inputs, None, host=self.host, max_steps=100_000)
        return {**result.outputs, **{f"returned {i}": value for i, value in enumerate(result.returns)}}

    def same(self, want: dict[str, Any], have: dict[str, Any]) -> None:
        """Bit by bit."""
        assert want.keys() == have.keys()
        for name, expected in want.items():
            a, b = np.asarray(expected), np.asarray(have[name])
            assert a.dtype == b.dtype and a.shape == b.shape, name
            assert same_elements(a, b).all(), name

    def step(
        self, transform: Transform, before: Program, holds: Iterable[str], *, read_back: bool = True
    ) -> Program:
        """The program after a pass: its properties hold, a second run changes nothing, its text reads back."""
        after = transform(before)
        verify_or_raise(after, (*STRUCTURAL, *holds), after="the pass")
        assert transform(after) is after, "a second run changed something"
        if not read_back:
            return after
        text = print_program(after)
        if after is not before:
            assert print_program(transform(before)) == text, "two runs differ"
        again = parse_program(text)
        assert_structural_equal(again, after)
        assert print_program(again) == text, "the text is not what is printed of the program that it is"
        return after

    def __call__(
        self, name: str, program: Program, holds: Iterable[str] = (), inputs: Iterable[Any] = ()
    ) -> Program:
        """One pass, with the behaviour compared on the given inputs, else on random ones."""
        after = self.step(transform_of(name), program, holds)
        for given in [*inputs] or [random_inputs(entry_function(program))]:
            self.same(self.outputs(program, given), self.outputs(after, given))
        return after

    def chain(self, program: Program, seed: int = 0, inputs: Iterable[Any] = ()) -> Program:
        """All passes one after the other; behaviour is compared after each, text after all and in some of the runs."""
        given = [*inputs] or [random_inputs(entry_function(program), seed)]
        want = [self.outputs(program, i) for i in given]
        for at, (name, holds) in enumerate(CHAIN):
            read_back = seed % 4 == 0 or at == len(CHAIN) - 1
            after = self.step(transform_of(name), program, holds, read_back=read_back)
            if after is not program:
                for i, expected in zip(given, want, strict=True):
                    self.same(expected, self.outputs(after, i))
            program = after
        return program


@pytest.fixture(scope="session")
def prove() -> Prover:
    """``prove(pass name, program, properties)`` and ``prove.chain(program)``."""
    from pypto_plugin_simulator import plugin as simulator

    return Prover(load_host(entry_points=[], extra_plugins=[plugin, simulator]))


def _kernel(text: str) -> Program:
    found = parse(text)
    return found if isinstance(found, Program) else Program("p", (found,))


@pytest.fixture(scope="session")
def kernel() -> Callable[[str], Program]:
    """A program from the text of a function or program."""
    return _kernel


def _body(program: Program | Function, name: str = "main") -> str:
    """The statements of a function as text, without its head."""
    function = program if isinstance(program, Function) else program[name]
    lines = print_program(function).splitlines()
    at = next(i for i, line in enumerate(lines) if line.lstrip().startswith("def "))
    return "\n".join(line[4:] for line in lines[at + 1 :]).strip()


@pytest.fixture(scope="session")
def body() -> Callable[..., str]:
    """The printed statements of a function."""
    return _body


@pytest.fixture(scope="session")
def run_pass() -> Callable[[str], Transform]:
    """A pass by name, as a function on programs."""
    return transform_of


@pytest.fixture(scope="session")
def scalar_programs() -> ModuleType:
    """The generator of programs over integers."""
    path = Path(__file__).with_name("scalar_programs.py")
    spec = importlib.util.spec_from_file_location("scalar_programs", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["scalar_programs"] = module
    spec.loader.exec_module(module)
    return module

"""Every example computes what numpy says, as written and as compiled for both machines under every planner.

The folder ``cases`` holds further programs of the same form: together they use every construct and operator that the
page docs/reference/coverage.md says is covered.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pypto_core.diagnostics import UserError
from pypto_core.host import load_host
from pypto_core.ir import Program
from pypto_core.language import parse_program
from pypto_core.run import compile
from pypto_core.text import print_program

HERE = Path(__file__).resolve().parent
FOLDERS = (HERE.parents[1] / "examples" / "kernels", HERE / "cases")
FILES = {path.stem: path for folder in FOLDERS for path in sorted(folder.glob("*.py"))
         if "def golden" in path.read_text(encoding="utf-8")}  # fmt: skip
NAMES = tuple(FILES)
MACHINES = ("910b", "a5")
PLANNERS = ("pypto", "dsa_rp", "ptoas")
ON_BYTES = (("910b", "pypto"), ("a5", "dsa_rp"))
"""Where the memory that was planned is executed too, byte by byte."""
PLACED = {"pypto": "AllocatedMemoryAddr", "dsa_rp": "AllocatedMemoryAddr", "ptoas": "HasMemRefs"}


@cache
def example(name: str) -> tuple[ModuleType, Program]:
    """A file and the program in it."""
    spec = importlib.util.spec_from_file_location(f"pypto_example_{name}", FILES[name])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if hasattr(module, "program"):
        return module, module.program()
    [program] = [value for value in vars(module).values() if isinstance(value, Program)]
    return module, program


def compare(module: ModuleType, program: Program, engine: str = "values", **options: Any) -> None:
    """Run the program and hold its outputs against numpy's."""
    arrays = module.inputs(np.random.default_rng(11))
    if hasattr(module, "RANKS"):
        options["world_size"] = module.RANKS
    outputs: Any = load_host().engine(engine).load()(program, arrays, **options).outputs
    wanted = module.golden(**arrays)
    assert wanted
    for name, expected in wanted.items():
        found = outputs[name].astype(np.float64)
        assert found.shape == expected.shape and np.isfinite(found).all()
        error = np.abs(found - expected.astype(np.float64)).max()
        assert error <= module.TOLERANCE, f"{name} is off by {error}"
        assert np.abs(expected.astype(np.float64)).max() / 4 > module.TOLERANCE, (
            "a tolerance that proves nothing"
        )


@pytest.mark.parametrize("name", NAMES)
def test_as_written(name: str) -> None:
    module, program = example(name)
    compare(module, program)


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", NAMES)
def test_as_compiled(name: str, machine: str, planner: str) -> None:
    module, program = example(name)
    mixed: tuple[str, ...] = getattr(module, "MIXED", ())
    refused: tuple[str, str] | None = getattr(module, "REFUSED", None)
    goal = PLACED[planner] if mixed or refused else "pto"
    compiled = compile(program, backend=machine, planner=planner, goal=goal)
    kernels = sorted(f.name for f in compiled.program if f.is_incore)
    assert mixed or refused or [a.name for a in compiled.artifacts] == [f"{kernel}.pto" for kernel in kernels]
    compare(module, compiled.program)
    if mixed or (machine, planner) in ON_BYTES:
        compare(module, compiled.program, "bytes", backend=load_host().backend(machine))
    if refused:  # it runs, and the assembler's text has no words for it: which, and what instead, is said
        with pytest.raises(UserError) as error:
            compile(program, backend=machine, planner=planner)
        [found] = error.value.diagnostics
        assert (found.code, refused[1] in found.message, bool(found.remedy)) == (refused[0], True, True)
    if (machine, planner) in ON_BYTES:
        for stage in compiled.stages:
            text = print_program(stage.program)
            assert print_program(parse_program(text)) == text, stage.step.instance
    if mixed:
        with pytest.raises(
            UserError, match=f"kernel '{mixed[0]}' mixes operators of the cube and of the vector core"
        ) as caught:
            compile(program, backend=machine, planner=planner)
        [found] = caught.value.diagnostics
        sides = dict(found.facts)
        assert "tile.matmul" in str(sides["cube"]) and "tile.exp" in str(sides["vector"])

"""Kernels of integers compute what Python does with the same text, whatever of it was decided while they were read."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.host import load_host
from pypto_core.run import PassContext

NAMES = ("a", "b", "c", "d")
HEAD = """import pypto_core.language as pl
LIMIT = 3

@pl.jit.incore
def kern(out: pl.InOut[pl.Tensor], p: int, q: pl.Scalar[pl.INDEX], flag: bool = True):
    n, _ = out.shape
"""
_numbers = itertools.count()


@st.composite
def values(draw: st.DrawFn) -> str:
    """An integer expression over what is defined."""
    one = st.sampled_from([*NAMES, "p", "q", "n", "LIMIT", "1", "2"])
    form = draw(st.sampled_from(["{x}", "{x} + {y}", "{x} - {y}", "{x} * 2", "{x} % 5 + {y}", "-{x}"]))
    return form.format(x=draw(one), y=draw(one))


@st.composite
def conditions(draw: st.DrawFn) -> str:
    """A condition, often one that is known when the kernel is read."""
    one = st.sampled_from([*NAMES, "p", "q", "n"])
    known = ["flag", "p > 1", "q == 2", "n > LIMIT", "p > 0 and q > 0"]
    return draw(st.sampled_from([*known, f"{draw(one)} < {draw(one)}", f"{draw(one)} > 1"]))


@st.composite
def bodies(draw: st.DrawFn, depth: int = 2) -> list[str]:
    """The lines of a block, the same for Python and the kernel but for the word of its loops."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["set", "set", "set", "choose", *(["if", "if", "for"] if depth else [])]))
        if kind == "choose":
            one = f"e{draw(st.integers(0, 9))}"
            lines += [f"if {draw(conditions())}:", f"    {one} = {draw(values())}"]
            lines += ["else:", f"    {one} = {draw(values())}", f"{draw(st.sampled_from(NAMES))} = {one}"]
            continue
        if kind == "set":
            lines.append(f"{draw(st.sampled_from(NAMES))} = {draw(values())}")
            continue
        inner = ["    " + line for line in draw(bodies(depth=depth - 1))]
        if kind == "for":
            lines += [f"for i{depth} in RANGE({draw(st.integers(1, 3))}):", *inner]
            continue
        lines += [f"if {draw(conditions())}:", *inner]
        if draw(st.booleans()):
            lines += ["else:", *("    " + line for line in draw(bodies(depth=depth - 1)))]
    return lines


def python_answer(body: str, p: int, q: int, flag: bool) -> list[int]:
    names: dict[str, Any] = {"p": p, "q": q, "flag": flag, "n": 4, "LIMIT": 3}
    exec(body.replace("RANGE", "range"), names)
    return [names[name] for name in NAMES]


def kernel_of(folder: Path, body: str) -> Any:
    """The kernel with this body, from a file as kernels are."""
    path = folder / f"kernel_{next(_numbers)}.py"
    lines = [*body.replace("RANGE", "pl.range").splitlines()]
    lines += [f"pl.write(out, [{i}, 0], pl.cast({name}, pl.INT32))" for i, name in enumerate(NAMES)]
    path.write_text(HEAD + "".join(f"    {line}\n" for line in [*lines, "return out"]))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kern


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


@settings(max_examples=60)
@given(
    body=bodies(),
    starts=st.lists(st.sampled_from(["0", "1", "p", "q + 1", "LIMIT"]), min_size=4, max_size=4),
    p=st.integers(-2, 4),
    q=st.integers(-2, 4),
    flag=st.booleans(),
)
def test_the_kernel_computes_what_python_does(
    folder: Path, body: list[str], starts: list[str], p: int, q: int, flag: bool
) -> None:
    first = [f"{name} = {start}" for name, start in zip(NAMES, starts, strict=True)]
    text = "\n".join([*first, *body])
    wanted = python_answer(text, p, q, flag)
    kern = kernel_of(folder, text)
    out = np.zeros((4, 1), np.int32)
    host = load_host()
    read = host.engine("values").load()(kern.specialise(out, p, q, flag), [out], "kern")
    assert read.outputs["out"][:, 0].tolist() == wanted
    with PassContext(host=host, backend=next(iter(host.backends.values())), verification="basic"):
        kern(out, p, q, flag)
    assert out[:, 0].tolist() == wanted

"""What a shell offers after the tab key."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pypto_core.host import load_host


def offered(*words: str) -> set[str]:
    variables = {
        **os.environ,
        "_PYPTO_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["pypto", *words]),
        "COMP_CWORD": str(len(words)),
    }
    code = "from pypto_core.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False
    )
    return {line.partition(",")[2] for line in done.stdout.splitlines()}


@pytest.mark.parametrize("word", ["comp", "repo", "prof"])
def test_commands(word: str) -> None:
    assert {"compile", "report", "profile"} & offered(word) == {
        name for name in ("compile", "report", "profile") if name.startswith(word)
    }


def test_options_and_their_values() -> None:
    assert "--planner" in offered("compile", "--pl")
    assert offered("compile", "--backend", "9") == {n for n in load_host().backends if n.startswith("9")}
    assert offered("compile", "--planner", "") == set(load_host().planners)

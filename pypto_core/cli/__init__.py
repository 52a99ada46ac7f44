"""The command line ``pypto``: one file per command, loaded when the command runs.

Besides ``main`` it has what a plugin's command needs to take the same options as the built-in ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypto_core.cli.choices import make_context as make_context
    from pypto_core.cli.choices import parse_options as parse_options
    from pypto_core.cli.choices import target_options as target_options
    from pypto_core.cli.choices import worker_options as worker_options
    from pypto_core.cli.run import load_arrays as load_arrays

__all__ = ["load_arrays", "main", "make_context", "parse_options", "target_options", "worker_options"]

_HOMES = {
    "load_arrays": "pypto_core.cli.run",
    "make_context": "pypto_core.cli.choices",
    "parse_options": "pypto_core.cli.choices",
    "target_options": "pypto_core.cli.choices",
    "worker_options": "pypto_core.cli.choices",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:  # loaded when used: the command line itself starts without them
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line.

    Exit codes: 0 done, 1 a check did not hold, 2 a mistake in the input or on the command line, 3 a fault of the
    compiler, 130 interrupted.
    """
    from pypto_core.cli.app import run

    return run(args)

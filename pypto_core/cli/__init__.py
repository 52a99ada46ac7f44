"""The command line ``pypto``: one file per command, loaded when the command runs."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line.

    Exit codes: 0 done, 1 a check did not hold, 2 a mistake in the input or on the command line, 3 a fault of the
    compiler, 130 interrupted.
    """
    from pypto_core.cli.app import run

    return run(args)

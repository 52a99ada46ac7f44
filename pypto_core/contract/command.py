"""A command that a plugin adds to the command line."""

from __future__ import annotations

from typing import Any

import attrs

from pypto_core.contract.passes import load_reference


@attrs.frozen
class Command:
    """A subcommand by name.

    ``load`` is ``"module:name"`` of a click command; it is imported when the command runs or its own help is
    asked for, while ``help`` is the line that the list of commands shows without importing anything.
    """

    name: str
    load: str
    help: str

    def load_command(self) -> Any:
        """The click command, importing its module."""
        return load_reference(self.load, f"command {self.name}")

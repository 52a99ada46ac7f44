"""A part of the report on a compilation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from pypto_core.contract.passes import load_reference


@attrs.frozen
class ReportSection:
    """A titled part that some plugin can add to every report.

    ``render`` is a callable ``(compiled) -> str`` or ``"module:name"`` of one; what it returns is of type
    ``media``, and an empty text leaves the section out. Sections stand in the order of their names.
    """

    name: str
    title: str
    render: Callable[[Any], str] | str
    media: str = "text/markdown"

    def load(self) -> Callable[[Any], str]:
        """The rendering function, importing its module when it was given by name."""
        return load_reference(self.render, f"report section {self.name}")

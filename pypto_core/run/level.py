"""How much is verified while a pipeline runs."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping

from pypto_core.diagnostics import UserError

VARIABLE = "PYPTO_VERIFY_LEVEL"


class VerificationLevel(enum.Enum):
    """What a pipeline checks by itself; the values are those of the public API."""

    NONE = 0
    """Nothing beyond what is needed to plan."""
    BASIC = 1
    """The input, and after each pass what it claims to have made and the structural properties."""
    ROUNDTRIP = 2
    """BASIC, and that the program after each pass reads back from its printed text as the same."""

    @classmethod
    def of(cls, value: VerificationLevel | str) -> VerificationLevel:
        """A level, or the level of that name in any case. Raises UserError (PT818) for any other name."""
        if isinstance(value, cls):
            return value
        found = cls.__members__.get(str(value).strip().upper())
        if found is None:
            names = ", ".join(name.lower() for name in cls.__members__)
            raise UserError(
                f"there is no verification level '{value}'", code="PT818", remedy=f"use one of: {names}"
            )
        return found


def level_from_environment(env: Mapping[str, str] | None = None) -> VerificationLevel:
    """The level that ``PYPTO_VERIFY_LEVEL`` names (none, basic, roundtrip), BASIC when it is unset or empty."""
    text = (os.environ if env is None else env).get(VARIABLE, "")
    return VerificationLevel.of(text) if text else VerificationLevel.BASIC

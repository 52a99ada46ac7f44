"""The conformance suite of backends, on this one."""

from __future__ import annotations

from pypto_core.testing.backend_suite import *  # noqa: F403

PYPTO_BACKEND = "a5"

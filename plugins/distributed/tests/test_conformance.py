"""The conformance suite of passes, on those of this plugin."""

from __future__ import annotations

from pypto_core.testing.pass_suite import *  # noqa: F403

PYPTO_PASS = ("LowerRemoteTransfers",)

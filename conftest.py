"""Settings that every test of the kernel and of the plugins shares."""

from __future__ import annotations

import os

from hypothesis import settings

# A developer's own selection of plugins must not decide what the tests see.
os.environ.pop("PYPTO_PLUGINS", None)

# Nor must what an earlier run left behind; tests of the cache give it a folder of their own.
os.environ["PYPTO_CACHE"] = "off"

# Every pass that runs in a test has its result printed, parsed again and compared.
os.environ.setdefault("PYPTO_VERIFY_LEVEL", "roundtrip")

# The time of one example says more about the machine's load than about the code.
settings.register_profile("pypto", deadline=None, print_blob=True)
settings.load_profile("pypto")

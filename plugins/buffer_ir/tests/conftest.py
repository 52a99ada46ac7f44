from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pypto_core.host import load_host
from pypto_core.ops import using_registry

# The helpers beside the tests are plain modules; no package, as every plugin has a folder of this name.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _operators():
    """The operators on buffers are known while a test runs."""
    with using_registry(load_host().ops):
        yield

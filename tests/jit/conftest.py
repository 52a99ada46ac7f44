"""One machine for all calls, and the language as kernels import it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pypto_core.host import load_host
from pypto_core.run import PassContext


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    """The first installed machine, as a context of the caller chooses it."""
    host = load_host()
    with PassContext(backend=next(iter(host.backends.values())), host=host):
        yield

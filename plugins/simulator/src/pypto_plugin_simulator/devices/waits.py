"""What somebody waits for that another device has to give."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from pypto_core.diagnostics import Span


@attrs.frozen(eq=False)
class Wait:
    """``ready``: whether it is there. ``told``: what to say of the wait when nothing can end it."""

    ready: Callable[[], bool]
    told: Callable[[], Mapping[str, object]]
    span: Span

"""Pages for the codes of this plugin's errors."""

from __future__ import annotations

from pypto_core.contract import CodePage

PAGES: tuple[CodePage, ...] = ()
"""One page per code."""

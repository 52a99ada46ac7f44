"""Instruments that watch the IR between passes."""

from __future__ import annotations

from pypto.pypto_core.passes.instruments import make_roundtrip_instrument

__all__ = ["make_roundtrip_instrument"]

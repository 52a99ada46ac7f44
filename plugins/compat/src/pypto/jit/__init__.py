"""``jit``: kernels compiled for the arguments of each call, with the settings of :class:`pypto.runtime.RunConfig`."""

from __future__ import annotations

from pypto.jit.decorator import JITFunction, jit

__all__ = ["JITFunction", "jit"]

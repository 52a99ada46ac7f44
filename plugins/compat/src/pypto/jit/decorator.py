"""``jit``: kernels compiled for the arguments of each call, with the settings of :class:`pypto.runtime.RunConfig`."""

from __future__ import annotations

from pypto.runtime import default_config
from pypto_core.jit import Jit
from pypto_core.jit import JitFunction as JITFunction

jit = Jit(default_config)

__all__ = ["JITFunction", "jit"]

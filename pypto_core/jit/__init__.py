"""Kernels that are written once and compiled for the arguments of each call: ``@pl.jit`` and its cache."""

from pypto_core.jit.compiled import CompiledKernel
from pypto_core.jit.config import HasJitConfig, JitConfig
from pypto_core.jit.family import Jit, jit
from pypto_core.jit.function import JitFunction

__all__ = ["CompiledKernel", "HasJitConfig", "Jit", "JitConfig", "JitFunction", "jit"]

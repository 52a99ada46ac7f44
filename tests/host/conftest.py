"""Plugins made up on the spot, and entry points that lead to them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import attrs
import pytest

from pypto_core.host import PluginInfo, hookimpl


@attrs.frozen
class FakeEntryPoint:
    """An entry point whose module is ready, or raises when it is loaded."""

    name: str
    result: Any
    distribution: str
    version: str = "1.2.3"

    @property
    def value(self) -> str:
        return f"{self.name}.plugin"

    @property
    def dist(self) -> SimpleNamespace:
        return SimpleNamespace(name=self.distribution, version=self.version)

    def load(self) -> Any:
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


def make_module(name: str, requires_api: str = ">=1,<2", **hooks: Any) -> ModuleType:
    """A plugin module; each keyword is a hook with what it returns (or a function to call)."""
    module = ModuleType(f"{name}.plugin")

    def define(hook: str, result: Any) -> None:
        def body() -> Any:
            return result() if callable(result) else result

        body.__name__, body.__module__ = hook, module.__name__
        setattr(module, hook, hookimpl(body))

    define("pypto_plugin", PluginInfo(name=name, summary=f"what {name} does", requires_api=requires_api))
    for hook, result in hooks.items():
        define(hook, result)
    return module


@pytest.fixture
def plugin_module() -> Callable[..., ModuleType]:
    """Make a plugin module."""
    return make_module


@pytest.fixture
def installed() -> Callable[..., FakeEntryPoint]:
    """Make an entry point: of a module, or of a plugin with these hooks when only a name is given."""

    def make(
        name: str, result: Any = None, distribution: str = "", version: str = "1.2.3", **hooks: Any
    ) -> FakeEntryPoint:
        module = make_module(name, **hooks) if result is None else result
        return FakeEntryPoint(name, module, distribution or f"pypto-plugin-{name}", version)

    return make

"""Constructors with PyPTO's arguments that stand for the kernel's node classes.

``ir.Var("x", type, span)`` builds a node of the kernel, and ``isinstance(x, ir.Var)``, ``type(x) == ir.Var``,
dictionaries keyed by class and ``match`` treat the constructor as the class. Only ``type(x) is ir.Var`` does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class NodeFacade(type):
    """The type of the constructors: see the module."""

    kernel: type
    build: Callable[..., Any] | None
    instances: tuple[type, ...]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """A node of the kernel; TypeError for a class without instances of its own."""
        if cls.build is None:
            raise TypeError(f"{cls.__name__} has no instances of its own: use one of its subclasses")
        return cls.build(*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.instances)

    def __getattr__(cls, name: str) -> Any:
        """What the class of the kernel has, methods among them: ``ir.MemRef.may_alias(a, b)``."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(cls.kernel, name)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(kernel_class(subclass), cls.kernel)

    def __eq__(cls, other: object) -> bool:
        return isinstance(other, type) and kernel_class(other) is cls.kernel

    def __hash__(cls) -> int:
        return hash(cls.kernel)

    def __repr__(cls) -> str:
        return f"<pypto.ir.{cls.__name__}>"


def kernel_class(cls: type) -> type:
    """The class of the kernel that a constructor stands for; any other class is itself."""
    return cls.kernel if isinstance(cls, NodeFacade) else cls


def facade(kernel: type, build: Callable[..., Any] | None = None, *, also: tuple[type, ...] = ()) -> Any:
    """The constructor for a class of the kernel; without ``build`` it only serves as a class.

    ``also``: classes whose objects pass as instances, as PyPTO derives them from this one.
    """
    members = {
        "kernel": kernel,
        "instances": (kernel, *also),
        "build": None if build is None else staticmethod(build),
        "__match_args__": getattr(kernel, "__match_args__", ()),
        "__doc__": (build and build.__doc__) or kernel.__doc__,
        "__module__": "pypto.ir",
    }
    return NodeFacade(kernel.__name__, (), members)

"""The names of :mod:`pypto.backend`, under which the compiled core has them."""

from __future__ import annotations

from pypto.backend import (
    Backend,
    BackendHandler,
    BackendType,
    get_backend_instance,
    get_backend_type,
    get_buffer_elementwise_recipe_names,
    is_backend_configured,
    reset_for_testing,
    set_backend_type,
)

__all__ = [
    "Backend",
    "BackendHandler",
    "BackendType",
    "get_backend_instance",
    "get_backend_type",
    "get_buffer_elementwise_recipe_names",
    "is_backend_configured",
    "reset_for_testing",
    "set_backend_type",
]

"""The recipes of the built-in operators, as the plugin registers them."""

from __future__ import annotations

from functools import cache

from pypto_core.contract import OpEmitter
from pypto_plugin_pto.emission import TARGET_NAME, OwnRecipe
from pypto_plugin_pto.recipes import (
    crossing,
    elementwise,
    matmul,
    memory,
    queries,
    reductions,
    sorting,
    views,
)


@cache
def recipes() -> dict[str, OwnRecipe]:
    """Operator → recipe, sorted."""
    table: dict[str, OwnRecipe] = {}
    for family in (crossing, elementwise, matmul, memory, queries, reductions, sorting, views):
        table |= family.RECIPES
    return dict(sorted(table.items()))


def emitters() -> tuple[OpEmitter, ...]:
    """One row per operator."""
    return tuple(OpEmitter(TARGET_NAME, name, recipe) for name, recipe in recipes().items())

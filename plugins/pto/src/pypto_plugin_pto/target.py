"""The target ``pto``: what has to hold of a program before it can be written."""

from __future__ import annotations

from pypto_core.contract import Target

TARGET_NAME = "pto"

GOALS = (
    "SplitIncoreOrch",
    "IncoreTileOps",
    "TileOps2D",
    "NoNestedCalls",
    "StructuredCtrlFlow",
    "PipelineResolved",
    "TileMemoryInferred",
    "AccToGmStoreValid",
    "HasMemRefs",
)
"""Needed whatever the planner."""


def goals(capabilities: frozenset[str]) -> tuple[str, ...]:
    """The properties that a program needs, addresses included where the assembler does not give them."""
    return GOALS if places_buffers(capabilities) else (*GOALS, "AllocatedMemoryAddr")


def places_buffers(capabilities: frozenset[str]) -> bool:
    """Whether the assembler decides where buffers lie, which is its level 2."""
    return "planner:ptoas" in capabilities


TARGET = Target(
    TARGET_NAME,
    "PTO text, one module per device function",
    goals,
    "pypto_plugin_pto.write:emit",
    "pypto_plugin_pto.checker.artifact:check_artifact",
)

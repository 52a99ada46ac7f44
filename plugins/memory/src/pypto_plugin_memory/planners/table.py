"""The planners of this plugin."""

from __future__ import annotations

from pypto_core.contract import Planner

_HERE = "pypto_plugin_memory.planners"

PLANNERS = (
    Planner(
        "pypto", "tiles share buffers first, then buffers lie one behind the other", plan=f"{_HERE}.pack:plan"
    ),
    Planner("dsa_rp", "a search over addresses that avoids waits between pipes", plan=f"{_HERE}.dsa:plan"),
    Planner("ptoas", "the assembler assigns addresses", assigns_addresses=False),
)

"""The report on a compilation: one HTML file that needs no network."""

from pypto_core.report.diffs import DiffRow, side_by_side, unified
from pypto_core.report.render import render_report
from pypto_core.report.stages import StageText, find_stage, stage_texts

__all__ = [
    "DiffRow",
    "StageText",
    "find_stage",
    "render_report",
    "side_by_side",
    "stage_texts",
    "unified",
]

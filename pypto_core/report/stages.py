"""The program after each pass, as text."""

from __future__ import annotations

import attrs

from pypto_core.diagnostics import Diagnostic, UserError
from pypto_core.run import Compiled
from pypto_core.text import print_program

INPUT = "input"


@attrs.frozen
class StageText:
    """A program after one step. ``number`` counts from 1, 0 is the input. ``changed``: whether the text is another."""

    number: int
    instance: str
    text: str = attrs.field(repr=False)
    changed: bool = False
    seconds: float = 0.0
    verify_seconds: float = 0.0
    diagnostics: tuple[Diagnostic, ...] = ()


def stage_texts(compiled: Compiled) -> tuple[StageText, ...]:
    """The input and then every step. A program that a pass handed on unchanged is printed once."""
    previous = print_program(compiled.source)
    found = [StageText(0, INPUT, previous)]
    for stage in compiled.stages:
        text = print_program(stage.program) if stage.changed else previous
        found.append(
            StageText(
                number=stage.step.number,
                instance=stage.step.instance,
                text=text,
                changed=text != previous,
                seconds=stage.seconds,
                verify_seconds=stage.verify_seconds,
                diagnostics=stage.diagnostics,
            )
        )
        previous = text
    return tuple(found)


def find_stage(stages: tuple[StageText, ...], name: str) -> StageText:
    """The stage of an instance, of a pass (its last run), or of a number. Raises UserError (PT863)."""
    if name.isdigit():
        matching = [stage for stage in stages if stage.number == int(name)]
    else:
        matching = [s for s in stages if s.instance.lower() == name.lower()]
        matching = matching or [s for s in stages if s.instance.partition("#")[0].lower() == name.lower()]
    if not matching:
        raise UserError(
            f"no step of this compilation is called '{name}'",
            code="PT863",
            facts={"steps": ", ".join(f"{s.number} {s.instance}" for s in stages)},
            remedy="give one of these names or numbers",
        )
    return matching[-1]

"""``pypto diff``: the program after one pass beside the program after another."""

from __future__ import annotations

import shutil
from pathlib import Path

import attrs
import click
from rich.text import Text

from pypto_core.cli.choices import make_wishes, parse_options, solver_options, target_options
from pypto_core.cli.output import console, emit_json, json_option
from pypto_core.host import load_host
from pypto_core.report import DiffRow, find_stage, side_by_side, stage_texts
from pypto_core.run import compile

_MARKS = {"same": " ", "changed": "|", "removed": "<", "added": ">"}
_STYLES = {"changed": "yellow", "removed": "red", "added": "green"}


@click.command("diff")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("before", metavar="[BEFORE]", default="input")
@click.argument("after", metavar="[AFTER]", required=False)
@target_options
@solver_options
@click.option("--goal", "-g", default="pto", show_default=True, help="A target, or a property to reach.")
@click.option("--all", "everything", is_flag=True, help="Show equal lines too.")
@click.option("--width", type=click.IntRange(min=40), help="Columns of the whole; by default the terminal's.")
@json_option
def command(
    file: Path,
    before: str,
    after: str | None,
    backend: str | None,
    planner: str | None,
    options: tuple[str, ...],
    allow_rerun: tuple[str, ...],
    solver_budget: int,
    goal: str,
    everything: bool,
    width: int | None,
    as_json: bool,
) -> int:
    """Show what changed between two steps of compiling FILE, side by side.

    BEFORE and AFTER are passes, instances (Simplify#2) or numbers of steps; `input`, or 0, is the program as written.
    By default from the input to the last step. Exit code 1 when they differ.
    """
    host = load_host()
    compiled = compile(
        file,
        host=host,
        wishes=make_wishes(host, allow_rerun, solver_budget),
        backend=backend,
        planner=planner,
        goal=goal,
        emit=False,
        **parse_options(options),
    )
    stages = stage_texts(compiled)
    one, other = find_stage(stages, before), find_stage(stages, after or str(len(stages) - 1))
    rows = side_by_side(one.text, other.text, None if everything else 3)
    differ = one.text != other.text
    if as_json:
        emit_json(
            {
                "before": {"number": one.number, "instance": one.instance},
                "after": {"number": other.number, "instance": other.instance},
                "rows": [attrs.asdict(row) for row in rows] if differ else [],
            }
        )
        return int(differ)
    out = console()
    if not differ:
        out.print(f"{one.number} {one.instance} and {other.number} {other.instance} are the same")
        return 0
    columns = width or shutil.get_terminal_size((160, 24)).columns
    side = (columns - 3) // 2
    out.print(_line(f"{one.number} {one.instance}", " ", f"{other.number} {other.instance}", side))
    for row in rows:
        for text in _wrapped(row, side):
            out.print(Text(text.rstrip(), style=_STYLES.get(row.kind, "")))
    return 1


def _wrapped(row: DiffRow, side: int) -> list[str]:
    """A row as lines of the terminal; nothing is cut off."""
    if row.kind == "skipped":
        return [f"… {row.left}"]
    left, right = _chunks(row.left, side), _chunks(row.right, side)
    count = max(len(left), len(right))
    left += [""] * (count - len(left))
    right += [""] * (count - len(right))
    return [_line(a, _MARKS[row.kind], b, side) for a, b in zip(left, right, strict=True)]


def _chunks(text: str, side: int) -> list[str]:
    return [text[at : at + side] for at in range(0, max(1, len(text)), side)]


def _line(left: str, mark: str, right: str, side: int) -> str:
    return f"{left:<{side}} {mark} {right}"

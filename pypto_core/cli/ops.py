"""``pypto ops``: the operators that kernels can use."""

from __future__ import annotations

from typing import Any

import click

from pypto_core.cli.output import console, emit_json, json_option, table
from pypto_core.host import load_host
from pypto_core.ops import FromOption, OpDef, Param


@click.command("ops")
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List operators; NAME is one operator (tile.matmul) or a family (tile)."""
    host = load_host()
    chosen = list(host.operators.values())
    if name is not None:
        chosen = [op for op in chosen if op.name == name or op.namespace == name]
        if not chosen:
            host.ops[name]
    if as_json:
        rows = [{**_row(op), "distribution": host.operators.origin(op.name).distribution} for op in chosen]
        emit_json(rows)
        return
    console().print(
        table(
            ("operator", "parameters", "operands in", "result in", "summary"),
            [(op.name, _signature(op), _inputs(op), _output(op), op.summary) for op in chosen],
        )
    )


def _parameter(param: Param) -> str:
    if param.required:
        return param.name
    default = getattr(param.default, "name", param.default)
    return f"{param.name}={default}"


def _signature(op: OpDef) -> str:
    return "(" + ", ".join(_parameter(p) for p in op.params) + ")"


def _inputs(op: OpDef) -> str:
    if op.memory is None:
        return ""
    return ", ".join("|".join(s.name for s in spaces) if spaces else "any" for spaces in op.memory.inputs)


def _output(op: OpDef) -> str:
    rule = op.memory.output if op.memory is not None else None
    if rule is None:
        return ""
    if isinstance(rule, FromOption):
        return rule.option
    return rule if isinstance(rule, str) else rule.name


def _row(op: OpDef) -> dict[str, Any]:
    return {
        "name": op.name,
        "summary": op.summary,
        "parameters": [
            {"name": p.name, "kind": p.kind.value, "required": p.required, "operand": p.is_operand}
            for p in op.params
        ],
        "inputs": _inputs(op) or None,
        "output": _output(op) or None,
        "reuses": op.memory.reuses if op.memory is not None else None,
        "view_of": op.memory.view_of if op.memory is not None else None,
        "core": op.core.name if op.core is not None else None,
        "effects": {str(i): e.name for i, e in op.effects.items()},
    }

"""Comparing programs, and saying in PyPTO's words where and why two of them differ."""

from __future__ import annotations

import re
from typing import Any

from pypto.ir.text import python_print
from pypto_core import ir as kernel
from pypto_core.diagnostics import UserError
from pypto_core.ir import Node, Type


def structural_equal(a: Any, b: Any, enable_auto_mapping: bool = False) -> bool:
    """Whether two nodes or types are equal up to the names of what they define; MemRefs in types don't count."""
    return kernel.structural_equal(a, b, enable_auto_mapping=enable_auto_mapping)


def assert_structural_equal(a: Any, b: Any, enable_auto_mapping: bool = False) -> None:
    """Raise a ValueError that says where and why two nodes differ: the path, both sides, and after ``Reason:`` why."""
    try:
        kernel.assert_structural_equal(a, b, enable_auto_mapping=enable_auto_mapping)
    except UserError as error:
        facts = dict(error.diagnostics[0].facts)
        if "Reason" not in facts:
            raise
        path = error.message.removeprefix("structures differ at ").removeprefix(".")
        left, right = (_shown(node, path, facts[side]) for node, side in ((a, "left"), (b, "right")))
        # Statements and values are numbered by themselves: body[0], where the kernel says body.stmts[0].
        raise UserError(
            f"Structural equality assertion failed at: {_LISTS.sub('[', path) or '<root>'}\n"
            f"Left-hand side:\n{left}\nRight-hand side:\n{right}\n"
            f"Reason: {_reason(facts['Reason'])}",
            code="PT410",
        ) from None


def _shown(node: Any, path: str, otherwise: str) -> str:
    """The text of what a path leads to; ``otherwise`` where it is no node or type."""
    for name, index in _STEPS.findall(path):
        if name:
            node = getattr(node, name)
        else:
            node = node[int(index) if index.isdigit() else index.strip("'")]
    text = python_print(node, concise=True) if isinstance(node, Node | Type) else otherwise
    return "\n".join(f"  {line}" for line in text.strip().splitlines())


def _reason(text: str) -> str:
    """Why two nodes differ, with the kind of difference in front: ``Integer value mismatch (1 != 2)``."""
    for pattern, template in _REASONS:
        if found := pattern.fullmatch(text):
            return template.format(*found.groups())
    return text


_STEPS = re.compile(r"(?:^|\.)(\w+)|\[([^\]]+)\]")
_LISTS = re.compile(r"\.(?:stmts|values)\[")
_REASONS = tuple(
    (re.compile(pattern), template)
    for pattern, template in (
        (r"constant (-?\d+): \S+ is not (-?\d+): \S+", "Integer value mismatch ({0} != {1})"),
        (r"constant (\S+): \S+ is not (\S+): \S+", "Floating-point value mismatch ({0} != {1})"),
        (r"([A-Z]\w+) is not ([A-Z]\w+)", "Node type mismatch ({0} != {1})"),
        (r"(\d+) (\w+) are not (\d+)", "Vector size mismatch ({0} {1} != {2} {1})"),
        (r"(?:functions|keys) (.+) are not (.+)", "Map key mismatch ({0} != {1})"),
        (r"(free variables are .+)", "Variable pointer mismatch: {0}"),
        (r"(they stand for .+)", "Variable mapping mismatch: {0}"),
        (r"(.+) is not (.+)", "Value mismatch ({0} != {1})"),
    )
)

"""Who reads a variable, counted once for a whole function."""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs

from pypto_core.ir import DEFINE, MAP, NODES, Call, Function, IterArg, Type, Var, child_fields, map_nodes
from pypto_plugin_autotile.match import matrix_operands


@attrs.frozen
class Uses:
    """Reads of each variable, and how many of them are matrix operands of products.

    A loop's initial value is one read, at the loop. Definitions, types and what an iteration argument began with are
    no reads.
    """

    reads: Counter[Var]
    operands: Counter[Var]

    def only_operands(self, var: Var) -> bool:
        """Whether the variable is read, and by products alone."""
        return 0 < self.reads[var] == self.operands[var]


def count_uses(function: Function) -> Uses:
    """The reads in a function's body."""
    reads: Counter[Var] = Counter()
    operands: Counter[Var] = Counter()
    stack: list[Any] = [function.body]
    while stack:
        node = stack.pop()
        if isinstance(node, Var):
            reads[node] += 1
            continue
        cls = node.__class__
        if cls is Call:
            for position in matrix_operands(node):
                arg = node.args[position] if position < len(node.args) else None
                if isinstance(arg, Var):
                    operands[arg] += 1
        for field in child_fields(cls):
            value = field.get(node)
            kind = field.kind
            if field.role == DEFINE:
                if kind == NODES:
                    stack += [arg.init_value for arg in value if isinstance(arg, IterArg)]
            elif kind == NODES:
                stack += value
            elif kind == MAP:
                stack += map_nodes(value)
            elif value is not None and not isinstance(value, Type):
                stack.append(value)
    return Uses(reads, operands)

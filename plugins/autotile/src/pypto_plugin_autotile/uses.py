"""Who reads a variable, counted once for a whole function."""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs

from pypto_core.ir import DEFINE, NODES, Call, Function, IterArg, Type, Var, Visitor, child_fields, map_nodes
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
    counter = _Counter()
    counter.visit(function.body)
    return Uses(counter.reads, counter.operands)


class _Counter(Visitor):
    def __init__(self) -> None:
        self.reads: Counter[Var] = Counter()
        self.operands: Counter[Var] = Counter()

    def visit_children(self, node: Any) -> None:
        for field in child_fields(node.__class__):
            value = field.get(node)
            items = value if field.kind == NODES else map_nodes(value) if field.kind == "map" else (value,)
            for item in items:
                if item is None or isinstance(item, Type):
                    continue
                if field.role != DEFINE:
                    self.visit(item)
                elif isinstance(item, IterArg):
                    self.visit(item.init_value)

    def visit_var(self, var: Var) -> None:
        self.reads[var] += 1

    def visit_call(self, call: Call) -> None:
        for position in matrix_operands(call):
            if position < len(call.args):
                arg = call.args[position]
                if isinstance(arg, Var):
                    self.operands[arg] += 1
        self.visit_children(call)

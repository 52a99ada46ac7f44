"""Which function of a program a run begins with."""

from __future__ import annotations

from pypto_core.diagnostics import UserError
from pypto_core.ir import Call, Function, FunctionType, Program, Submit, is_orchestration_like, walk


def entry_function(program: Program | Function, entry: str | None = None) -> Function:
    """The function named ``entry``; without a name the only one, or the only one that no other calls.

    Of several that nobody calls, an orchestration function goes first. Raises UserError (PT530) when that leaves more
    than one, or none.
    """
    functions = {program.name: program} if isinstance(program, Function) else program.functions
    if entry is not None:
        if entry not in functions:
            raise UserError(
                f"there is no function '{entry}'",
                code="PT530",
                facts={"functions": ", ".join(functions)},
                remedy="choose one of these, or none where only one can be meant",
            )
        return functions[entry]
    called = {
        node.op.name
        for function in functions.values()
        for node in walk(function.body)
        if isinstance(node, Call | Submit)
    }
    roots = [f for f in functions.values() if f.name not in called]
    for choice in (
        [f for f in roots if is_orchestration_like(f.func_type)],
        [f for f in roots if f.func_type is not FunctionType.Inline],
        roots,
    ):
        if len(choice) == 1:
            return choice[0]
    raise UserError(
        "several functions could be the entry" if roots else "no function can be the entry",
        code="PT530",
        facts={"functions": ", ".join(f.name for f in roots or functions.values())},
        remedy="name it: --entry NAME, or entry='NAME' in Python",
    )

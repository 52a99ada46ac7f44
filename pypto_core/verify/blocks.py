"""NormalizedStmtStructure and NoRedundantBlocks: sequences are flat and a yield ends its region."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import Diagnostic
from pypto_core.ir import Program, SeqStmts, YieldStmt
from pypto_core.verify.rules import Rule, place, rule
from pypto_core.verify.scan import scan

_NORMAL = rule("NormalizedStmtStructure")
_BLOCKS = rule("NoRedundantBlocks")
_SINGLE, _NESTED, _YIELD = 1, 2, 3


def verify_normalized_stmt_structure(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find 1 sequences of one statement, 2 sequences in sequences, 3 yields before the end of a sequence."""
    return _check(program, _NORMAL)


def verify_no_redundant_blocks(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """The same findings as of NormalizedStmtStructure, as a rule that every program keeps."""
    return _check(program, _BLOCKS)


def _check(program: Program, which: Rule) -> Iterator[Diagnostic]:
    for function in program:
        for block in scan(function).sequences:
            yield from _block(block, function.name, which)


def _block(block: SeqStmts, function: str, which: Rule) -> Iterator[Diagnostic]:
    stmts = block.stmts
    facts = {"function": function}
    if len(stmts) == 1:
        yield which.error(
            _SINGLE,
            "a sequence holds a single statement",
            place(block.span, stmts[0].span),
            remedy="use the statement itself: pypto_core.ir.seq builds sequences right",
            facts=facts,
        )
    last = len(stmts) - 1
    for i, stmt in enumerate(stmts):
        cls = type(stmt)
        if cls is SeqStmts:
            yield which.error(
                _NESTED,
                "a sequence lies directly in another one",
                place(stmt.span, block.span),
                remedy="put its statements into the outer sequence: pypto_core.ir.seq builds sequences right",
                facts=facts,
            )
        elif cls is YieldStmt and i < last:
            yield which.error(
                _YIELD,
                "a yield is followed by other statements of its sequence",
                stmt.span,
                remedy="move the yield to the end of its region",
                facts=facts,
            )

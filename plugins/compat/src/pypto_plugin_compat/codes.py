"""Pages of what the diagnostic checks find."""

from __future__ import annotations

from pypto_core.contract import CodePage

_OFF = "`PassContext([], disabled_diagnostics=passes.DiagnosticCheckSet([passes.DiagnosticCheck.{}]))` turns it off."

PAGES = (
    CodePage(
        "PT411",
        "A variable that is never used",
        "Nothing reads the value, and computing it has no effect: it costs time for nothing, or the name of another "
        "variable was meant. Drop the assignment. A name that begins with `_` is left alone.\n\n"
        + _OFF.format("UnusedVariable"),
    ),
    CodePage(
        "PT412",
        "A result of a loop or branch that is never used",
        "What is carried and yielded under this name is not read behind the loop or branch. Leave it out of "
        "`init_values` and `pl.yield_`; otherwise it is kept.\n\n" + _OFF.format("UnusedControlFlowResult"),
    ),
    CodePage(
        "PT413",
        "A write into an output that is dropped",
        "A tensor operator such as `pl.assemble` gives a new value and leaves the parameter as it was. The new value "
        "is neither read nor returned, so that the caller never sees it: return it, or assign it to the parameter's "
        "name.\n\n" + _OFF.format("OutParamWriteDropped"),
    ),
    CodePage(
        "PH001",
        "Rows that are shorter than the machine moves well",
        "Loads and stores move rows of the innermost extent. Below a length that the backend gives, 512 bytes on the "
        "910B and 128 on the 950, a transfer costs as much as one of that length. Make the innermost extent of the "
        "tile larger: fewer, longer rows move the same data faster.\n\n"
        + _OFF.format("TileInnermostDimGranularity"),
    ),
)

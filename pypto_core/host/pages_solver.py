"""The pages behind the codes of the solver, of options, and of what verification finds: PT3xx and PT4xx."""

from __future__ import annotations

from pypto_core.contract import CodePage, Property, PropertyKind
from pypto_core.verify import CORE_PROPERTIES, PROPERTY_ORDER, property_code

SOLVER_PAGES = (
    CodePage(
        "PT301",
        "nothing makes a property that is needed",
        "A pass requires the property, or the goal is the property, and no pass that is installed and enabled makes "
        "it. The explanation names who needs it, and the package that would bring a pass that makes it, or why an "
        "installed plugin could not be loaded.\n\n"
        "When no plugin is installed that places tiles, say, `pypto compile kernel.py` ends here: the target wants "
        "`AllocatedMemoryAddr`. Install what the message names: of fixes joined by `or` one is enough, those joined by "
        "`and` are needed together. `pypto plugins` shows what is broken or blocked by "
        "`PYPTO_PLUGINS`, and `pypto pipeline --explain` what each step is for.",
    ),
    CodePage(
        "PT302",
        "no order of the passes reaches the goals",
        "Every goal can be made, but not all at once: some pass destroys what another still needs, or may run too few "
        "times. The facts listed are a minimal conflict: without any one of them a plan exists. One of them is wrong, "
        "most often an `invalidates` that is wider than the pass, or a missing effect. See `pypto passes NAME` for "
        "each pass named.",
    ),
    CodePage(
        "PT303",
        "order facts form a ring",
        "Plugins state that each of some passes comes before the next. The facts name who says each, and why the "
        "passes have to run; one of them has to be withdrawn. Prefer to say what a pass requires and makes: an order "
        "follows from that by itself.",
    ),
    CodePage(
        "PT309",
        "the search gave up",
        "The number of states that may be looked at is used up before any plan was found; no answer is given rather "
        "than a guess. (A plan that was found and is only not proved to be the cheapest is taken, with a note.) Name "
        "the passes that matter with `must`, install fewer plugins that destroy properties, or allow more states "
        "with `pypto pipeline --solver-budget N`.",
    ),
    CodePage(
        "PT310",
        "the options of a pass can't be read",
        "A pass with options is written `Name{option=value other=[1 2]}`. The option has to exist, and the value to "
        "be of the type of its default: a number, a word, `true` or `false`, a quoted string, a list in brackets. The "
        "message says which it is, and gives a value in the right form. `pypto passes NAME` lists the options of a "
        "pass.",
    ),
    CodePage(
        "PT311",
        "a plan has an empty step",
        "A plan is names separated by commas, such as `UnrollLoops,ConvertToSSA`. Two commas in a row, or one at an "
        "end, leave a step without a name.",
    ),
)

_VERIFICATION_PAGES = (
    CodePage(
        "PT400",
        "a property that should hold of the program does not",
        "The general code of verification, also for findings of properties that plugins bring. The sentence says "
        "what was found where, and the facts name the property, and the pass that ran when it stopped to hold. "
        "`pypto properties` says what a property means and which passes make and destroy it.",
    ),
    CodePage(
        "PT402",
        "there is no property of that name",
        "A property was asked for that neither the kernel nor an installed plugin defines. Names are written as in "
        "`pypto properties`, capitals included. A plugin's property has the plugin's name in front "
        "(`memory.PlanKept`), and is there when the plugin is.",
    ),
    CodePage(
        "PT410",
        "two structures differ",
        "A comparison of two programs found them unequal. The path leads to the first difference; the reason says "
        "what differs there: a field, a number of statements, a name that stands for two variables.",
    ),
    CodePage(
        "PT414",
        "an input is written",
        "A tensor whose parameter is plain (`out: pl.Tensor[[64, 64], pl.FP32]`) is an input, and the function stores "
        "into it, assigns to a part of it, or hands it to a function that writes it. On the machine that changes the "
        "caller's memory; but a run gives back outputs only, so that the array it was given stays as it was, and "
        "kernels that use the tensor before or after are not made to wait. Write `out: pl.Out[pl.Tensor[...]]`, or "
        '`pl.InOut[...]` when what was in it is read too. A warning: `disabled_diagnostics=["PT414"]` switches it '
        "off.",
    ),
)

_ALWAYS = (
    "This holds of every program, before and after every pass. When the kernel as written breaks it, the finding "
    "stands at the line to change. When it first fails after a pass, the pass is at fault: report it to whoever "
    "provides it, with the program."
)
_MADE = (
    "Passes make this property; what a finding means depends on when it appears. After a pass that says it makes it "
    "(PT801), the pass is at fault. Before a pass that requires it (PT802), the pipeline lacks a step: let the solver "
    "order the passes, or run the step that makes it first. After some other pass, that pass destroys it without "
    "saying so in its contract."
)
_FOREIGN = (
    "The kernel knows the name, so that its findings have a code of their own; a plugin whose passes make the "
    "property brings its meaning and its verifier. The finding's sentence says what was found."
)

# What to write instead, for properties that a kernel of one's own may break.
_REMEDIES = {
    "TypeChecked": "Give the values that a loop carries, or that the branches of an `if` assign, one type: the same "
    "shape, element type and memory on every path.",
    "BreakContinueValid": "Leave a `pl.range` or a `while`; the trips of `pl.parallel`, `pl.unroll` and of scopes on "
    "several cores all run. Guard the rest of the body with an `if` instead.",
    "UseAfterDef": "Assign the variable before the read, on the same path.",
    "OutParamNotShadowed": "Write into the output parameter, by `pl.store` or `pl.assemble`. A fresh tensor takes "
    "another name: `out = pl.create_tensor(...)` would leave the caller's tensor as it was.",
    "NoNestedInCore": "Take the inner `pl.at` away, or put its body into a function that the kernel has inlined.",
    "InOutUseValid": "Read what the call returned: after `y = self.fill(x)`, where `fill` writes its parameter, `x` "
    "is no longer what it was.",
    "PipelineLoopValid": "Write `pl.pipeline(..., stage=F)` for a pipelined loop and `pl.range` for any other.",
    "ArrayNotEscaped": "Arrays live within one function: pass their elements, or a tensor.",
    "ManualDepsOnSubmitOnly": "State dependencies where a task is submitted, with `pl.submit`; a plain call has none.",
    "AccToGmStoreValid": "Store the accumulator in an element type that its pipe writes, or convert it with `pl.cast`.",
    "AtomicAddDtypeValid": "Convert to an element type that the backend adds atomically, such as FP32.",
    "AllocatedMemoryAddr": "Where a memory is too small, make tiles smaller; `pypto memory FILE` shows who takes "
    "the room.",
}


def _property_page(name: str, known: Property | None) -> CodePage:
    code = property_code(name)
    more = "`pypto properties` lists the passes that make and destroy it."
    if known is None:
        return CodePage(code, f"the property {name} does not hold", f"{_FOREIGN} {more}")
    meaning = f"{name} says that {known.summary}. The finding shows a place where that is not so."
    advice = _ALWAYS if known.kind is PropertyKind.STRUCTURAL else _MADE
    parts = [meaning, _REMEDIES.get(name, ""), f"{advice} {more}"]
    return CodePage(code, f"the property {name} does not hold", "\n\n".join(part for part in parts if part))


_KNOWN = {entry.name: entry for entry in CORE_PROPERTIES}

VERIFICATION_PAGES = (
    *_VERIFICATION_PAGES,
    *(_property_page(name, _KNOWN.get(name)) for name in PROPERTY_ORDER),
)
"""The general pages, and one for each well-known property: the code of a finding says which property it is about."""

"""The pages of the manual that list things: made from what is installed, each time the manual is built.

mkdocs calls ``on_files`` (see mkdocs.yml); nothing is written into the source tree. ``reference_pages.py FOLDER``
writes the pages to a folder, to look at them.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from pypto_core.cli.app import cli
from pypto_core.contract import Pass, Property
from pypto_core.host import Host, load_host
from pypto_core.ops import FromOption, OpDef
from pypto_core.verify import property_code

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "diagnostics",
    "ir",
    "ops",
    "text",
    "language",
    "contract",
    "verify",
    "solver",
    "host",
    "run",
    "jobs",
    "report",
    "jit",
    "testing",
    "cli",
)

# The groups of codes: the name of a page, its title, and the codes that belong to it.
CODE_GROUPS: tuple[tuple[str, str, str], ...] = (
    ("language", "Language and operators", r"PT[012]\d\d"),
    ("solver", "Solver and options", r"PT3[01]\d"),
    ("passes", "Passes", r"PT3[2-9]\d|PT6\d\d|PH-.*|PH\d+"),
    ("verification", "Verification", r"PT4\d\d"),
    ("contracts", "Machines, stored programs, plugins", r"PT[57]\d\d"),
    ("running", "Running and the command line", r"PT8\d\d"),
    ("faults", "Faults of the compiler", r"PT9\d\d"),
    ("simulator", "Simulator", r"SIM-\d+"),
    ("pto", "Writing and checking PTO", r"PTO-\d+"),
    ("others", "Other plugins", r".*"),
)

# The beginning of a role in HTML: ``:class:`~pypto_core.ir.Var```.
ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):<code>~?")

EXIT_CODES = (
    (0, "all went well"),
    (1, "the command did its work, and the answer is no: results differ, a check found something, a race was found"),
    (2, "a mistake of the user: in the command line, in a kernel, in a file; nothing was written"),
    (3, "a fault of the compiler or of a plugin, to be reported"),
    (130, "interrupted by Ctrl-C"),
)  # fmt: skip


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages to those that are written by hand; called by mkdocs."""
    from mkdocs.structure.files import File  # pyright: ignore[reportMissingImports]  # there with the extra [docs]

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Docstrings name things by roles, which Markdown does not know: what is left of them goes; called by mkdocs."""
    return ROLE.sub("<code>", html)


def pages() -> dict[str, str]:
    """Markdown by path, relative to the folder of the manual."""
    host = load_host()
    if host.failed:
        reasons = ", ".join(f"{record.name}: {record.reason}" for record in host.failed)
        raise RuntimeError(f"the manual needs all plugins that are installed: {reasons}")
    made = {
        "hooks": _hooks(),
        "properties": _properties(host),
        "passes": _passes(host),
        "operators": _operators(host),
        "commands": _commands(),
        "machines": _machines(host),
        "codes": _codes(host),
        "plugins": _plugins(host),
        "api": _api(),
    }
    out = {f"reference/{name}.md": "\n".join(lines) + "\n" for name, lines in made.items()}
    for name, title, found in _code_groups(host):
        out[f"reference/codes/{name}.md"] = "\n".join(_code_page(host, title, found)) + "\n"
    for package in PACKAGES:
        out[f"reference/api/{package}.md"] = f"# pypto_core.{package}\n\n::: pypto_core.{package}\n"
    return out


def cell(text: object) -> str:
    """A text as the cell of a table: on one line, with nothing that ends the cell or begins HTML."""
    flat = re.sub(r"\s+", " ", str(text)).replace("|", "\\|")
    return flat.replace("<", "&lt;") if "`" not in flat else flat


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """The lines of a table."""
    names = list(head)
    yield "| " + " | ".join(names) + " |"
    yield "|" + "---|" * len(names)
    for row in rows:
        yield "| " + " | ".join(map(cell, row)) + " |"
    yield ""


def code(names: Iterable[str]) -> str:
    """Names as code, in order, with commas."""
    return ", ".join(f"`{name}`" for name in sorted(names))


def rst(text: str) -> str:
    """A docstring as Markdown: roles are code, and so is what stands in double backticks."""
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", inspect.cleandoc(text)).replace("``", "`")


def _hooks() -> Iterator[str]:
    specs = import_module("pypto_core.host.hookspecs")
    yield "# Hooks\n"
    yield rst(specs.__doc__ or "") + "\n"
    yield (
        "A plugin is found by its entry point in the group `pypto.plugins`. `from pypto_core.host import hookimpl, "
        "PluginInfo` is what its module needs. [Passes](../tutorial/first-pass.md) and "
        "[backends](../tutorial/first-backend.md) have tutorials, "
        "[operators](../how-to/operators.md) and [planners](../how-to/planner.md) have how-tos.\n"
    )
    for name, hook in vars(specs).items():
        if name.startswith("pypto_"):
            yield f"## {name}\n"
            yield f"    def {name}{inspect.signature(hook)}\n".replace("'", "")
            yield rst(hook.__doc__ or "") + "\n"


def _makers(host: Host, value: Property) -> tuple[list[str], list[str]]:
    """Names of the passes that make and that destroy a property."""
    contracts = [p.contract for p in host.passes.values()]
    made = [c.name for c in contracts if value.name in c.produces - c.requires]
    lost = [
        c.name
        for c in contracts
        if value.name in c.invalidates - c.produces
        or (value.disturbed(c.touches) and value.name not in c.produces)
    ]
    return made, lost


def _pass_links(names: Iterable[str]) -> str:
    return ", ".join(f"[{name}](passes.md#{name.lower()})" for name in sorted(names))


def _properties(host: Host) -> Iterator[str]:
    yield "# Properties\n"
    yield (
        "What passes can rely on. A *structural* property holds of every program and is checked around every pass. A "
        "*normal* one is made by some pass and kept until another destroys it. "
        "[How the solver uses them](../explanation/solver.md).\n"
    )
    for name, value in host.properties.items():
        made, lost = _makers(host, value)
        number = property_code(name)
        yield f"## {name}\n"
        yield f"{value.summary[:1].upper()}{value.summary[1:]}.\n"
        rows = [
            ("kind", value.kind.value),
            ("code of its findings", _code_link(number, "codes/") if number in host.codes else number),
            ("verifier", "yes" if value.verifier is not None else "none"),
            ("made by", _pass_links(made)),
            ("destroyed by", _pass_links(lost)),
            ("disturbed by", code(value.disturbed_by)),
            ("from", host.properties.origin(name).distribution),
        ]
        yield from table(("", ""), [row for row in rows if row[1]])


def _passes(host: Host) -> Iterator[str]:
    yield "# Passes\n"
    yield (
        "Every pass that the distributions of this repository bring, with its contract. Where a pass stands in a "
        "pipeline follows from these; `pypto pipeline --explain` shows it.\n"
    )
    rows = [
        (_pass_links([p.name]), p.summary, host.passes.origin(p.name).distribution)
        for p in host.passes.values()
    ]
    yield from table(("pass", "what it does", "from"), rows)
    for value in host.passes.values():
        yield from _pass(host, value)


def _property_links(names: Iterable[str]) -> str:
    return ", ".join(f"[{name}](properties.md#{name.lower().replace('.', '')})" for name in sorted(names))


def _pass(host: Host, value: Pass) -> Iterator[str]:
    contract = value.contract
    yield f"## {value.name}\n"
    yield f"{value.summary[:1].upper()}{value.summary[1:]}.\n"
    rows = [
        ("role", contract.role.value),
        ("works on", "the whole program" if value.scope.value == "program" else "one function at a time"),
        ("requires", _property_links(contract.requires)),
        ("makes", _property_links(contract.produces - contract.requires)),
        ("destroys", _property_links(contract.invalidates)),
        ("must not run once", _property_links(contract.forbids)),
        ("only with", code(contract.needs)),
        ("not with", code(contract.excludes)),
        ("effects", code(contract.touches)),
        ("options", f"`{value.spec()}`" if value.options is not None else ""),
        ("runs as", code(contract.runs) if len(contract.runs) > 1 else ""),
        ("second run", "" if value.idempotent else "may change more"),
        ("from", host.passes.origin(value.name).distribution),
    ]
    rows += [
        (f.relation.value, f"`{f.other}`: {f.reason}" if f.reason else f"`{f.other}`") for f in contract.order
    ]
    yield from table(("", ""), [row for row in rows if row[1]])


def _operators(host: Host) -> Iterator[str]:
    yield "# Operators\n"
    yield (
        "In kernels, `pl.add` stands for `tile.add` or `tensor.add`, whichever fits the operands; `pl.tile.add` is "
        "explicit. *In* and *out* are the memories of operands and result of operators on tiles. "
        "`pypto ops NAME` shows one.\n"
    )
    for family, group in groupby(host.operators.values(), key=lambda op: op.namespace):
        yield f"## {family}\n"
        yield from table(("operator", "in", "out", "meaning"), map(_operator, group))


def _operator(op: OpDef) -> tuple[str, ...]:
    shown = [p.name if p.required else f"{p.name}={getattr(p.default, 'name', p.default)}" for p in op.params]
    spaces = op.memory.inputs if op.memory is not None else ()
    inputs = ", ".join("/".join(s.name for s in allowed) if allowed else "any" for allowed in spaces)
    rule = op.memory.output if op.memory is not None else None
    output = rule.option if isinstance(rule, FromOption) else str(getattr(rule, "name", rule or ""))
    return f"`{op.name}({', '.join(shown)})`", inputs, output, op.summary


def _commands() -> Iterator[str]:
    yield "# Command line\n"
    yield "Every command has `--help` and `--json`. Data goes to the output, errors to the error stream.\n"
    yield "## Exit codes\n"
    yield from table(("code", "meaning"), EXIT_CODES)
    yield 'With `--json`, errors are JSON too: `{"errors": [...]}` with code, message, place, facts and remedy.\n'
    yield "## Completion\n"
    yield '    eval "$(_PYPTO_COMPLETE=bash_source pypto)"    # or zsh_source, fish_source\n'
    top = click.Context(cli, info_name="pypto", max_content_width=100, terminal_width=100)
    for name in cli.list_commands(top):
        found = cli.get_command(top, name)
        assert found is not None
        yield from _help(found, name, top)


def _help(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent, max_content_width=100, terminal_width=100)
    yield f"## {context.command_path}\n"
    yield "```text\n" + command.get_help(context).strip() + "\n```\n"
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _help(found, inner, context)


def _machines(host: Host) -> Iterator[str]:
    yield "# Machines, planners, targets and engines\n"
    for name, backend in host.backends.items():
        yield f"## Backend {name}\n"
        yield f"{backend.title}; also called {code(backend.aliases)}. From {host.backends.origin(name).distribution}.\n"
        yield from table(
            ("memory", "usable bytes", "physical bytes", "alignment"),
            [(m.space.name, m.capacity, m.physical, m.alignment) for m in backend.memories],
        )
        yield f"Features: {code(backend.features) or 'none'}.\n"
        figures = [*backend.cost_model.rows(), *backend.vector.rows()]
        rows = [(f"`{f.name}`", f"{f.value:g}", f.unit, f.meaning, f.source) for f in figures]
        yield from table(("figure", "value", "unit", "meaning", "source"), rows)
    kinds: tuple[tuple[str, Mapping[str, Any], Callable[[str], Any]], ...] = (
        ("Planners", host.planners, host.planners.origin),
        ("Targets", host.targets, host.targets.origin),
        ("Engines", host.engines, host.engines.origin),
    )
    for title, registry, origin in kinds:
        yield f"## {title}\n"
        rows = [(f"`{name}`", value.summary, origin(name).distribution) for name, value in registry.items()]
        yield from table(("name", "what it is", "from"), rows)


def _code_groups(host: Host) -> list[tuple[str, str, list[str]]]:
    """The pages of codes: name, title and the codes on it; no code is on two, and no page is empty."""
    left = list(host.codes)
    groups: list[tuple[str, str, list[str]]] = []
    for name, title, pattern in CODE_GROUPS:
        found = [c for c in left if re.fullmatch(pattern, c)]
        left = [c for c in left if c not in found]
        if found:
            groups.append((name, title, found))
    return groups


def _code_link(name: str, folder: str) -> str:
    group = next(group for group, _, pattern in CODE_GROUPS if re.fullmatch(pattern, name))
    return f"[{name}]({folder}{group}.md#{name.lower()})"


def _codes(host: Host) -> Iterator[str]:
    yield "# Errors and hints by code\n"
    yield (
        "Every error, warning and hint carries a code. `pypto explain CODE` shows its page, the same as here. "
        "[How to read one](../how-to/hints.md).\n"
    )
    for _, title, found in _code_groups(host):
        yield f"## {title}\n"
        rows = [
            (_code_link(c, "codes/"), host.codes[c].title, host.codes.origin(c).distribution) for c in found
        ]
        yield from table(("code", "meaning", "from"), rows)


def _code_page(host: Host, title: str, found: Iterable[str]) -> Iterator[str]:
    yield f"# {title}\n"
    for name in found:
        page = host.codes[name]
        yield f"## {name}: {page.title} {{ #{name.lower()} }}\n"
        yield page.text + "\n"


def _plugins(host: Host) -> Iterator[str]:
    yield "# Plugins\n"
    yield "What each distribution of this repository says of itself in its README. `pypto plugins` lists yours.\n"
    for path in sorted((ROOT / "plugins").glob("*/README.md")):
        title, _, text = path.read_text(encoding="utf-8").partition("\n")
        yield f"## {title.removeprefix('# ').strip()}\n"
        yield re.sub(r"^(#+) ", r"#\1 ", text.strip(), flags=re.MULTILINE) + "\n"


def _api() -> Iterator[str]:
    yield "# Python API\n"
    yield (
        "The packages of `pypto-core`, from the lowest layer to the highest; each imports only those before it. Public "
        "is what a package lists in its `__all__`.\n"
    )
    rows: list[tuple[str, str]] = []
    for name in PACKAGES:
        said = (import_module(f"pypto_core.{name}").__doc__ or "").strip().partition("\n\n")[0]
        rows.append((f"[`pypto_core.{name}`](api/{name}.md)", rst(said)))
    yield from table(("package", "what it is"), rows)


if __name__ == "__main__":
    for relative, content in pages().items():
        target = Path(sys.argv[1]) / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")

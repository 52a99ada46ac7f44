"""Options that several commands share: machine, planner, options of the compilation."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import click

from pypto_core.diagnostics import UserError
from pypto_core.host import Host, load_host, none_installed
from pypto_core.run import DEFAULT_PLANNER, PassContext, Wishes, compile
from pypto_core.solver import DEFAULT_NODE_BUDGET


def target_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--backend``, ``--planner`` and ``--option``."""
    for decorate in (
        click.option(
            "--option", "-O", "options", multiple=True, metavar="NAME=VALUE", help="Option for passes."
        ),
        click.option(
            "--planner", "-p", help="Memory planner; by default pypto.", shell_complete=_names("planners")
        ),
        click.option(
            "--backend",
            "-b",
            help="Machine; may be left out when one is installed.",
            shell_complete=_names("backends"),
        ),
    ):
        function = decorate(function)
    return function


def _names(registry: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """What a shell offers for an option whose values are registered things."""

    def offered(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        return [name for name in getattr(load_host(), registry) if name.startswith(incomplete)]

    return offered


def solver_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--allow-rerun`` and ``--solver-budget``."""
    for decorate in (
        click.option(
            "--solver-budget",
            type=click.IntRange(min=1),
            default=DEFAULT_NODE_BUDGET,
            show_default=True,
            help="States that the solver may open.",
        ),
        click.option("--allow-rerun", multiple=True, metavar="PASS", help="Let a pass run once more."),
    ):
        function = decorate(function)
    return function


def worker_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--jobs`` and ``--executor``."""
    for decorate in (
        click.option("--executor", metavar="dask://HOST:PORT", help="Have a cluster do the work."),
        click.option("--jobs", "-j", type=click.IntRange(min=1), help="Processes that share the work."),
    ):
        function = decorate(function)
    return function


def make_wishes(host: Host, allow_rerun: Iterable[str], solver_budget: int) -> Wishes:
    """What ``solver_options`` ask for; a pass that is named twice may run twice more."""
    counts = Counter(host.find_pass(name).name for name in allow_rerun)
    return Wishes(extra_runs=tuple(sorted(counts.items())), node_budget=solver_budget)


def parse_options(texts: Iterable[str]) -> dict[str, Any]:
    """``name=value`` pairs; values are true (yes, on), false (no, off), numbers or text, a bare name is true.

    Raises UserError (PT850) for anything else, and for the names of what a compilation is given otherwise.
    """
    out: dict[str, Any] = {}
    taken = inspect.signature(compile).parameters
    for text in texts:
        name, mark, value = text.partition("=")
        if name in taken and name != "options":
            raise UserError(
                f"'{name}' is not an option of passes",
                code="PT850",
                remedy="see how it is given with: pypto compile --help",
            )
        if not name.isidentifier():
            raise UserError(
                f"'{text}' is not an option",
                code="PT850",
                remedy="write it as name=value, e.g. -O enable_buffer_ir=false",
            )
        out[name] = _value(value) if mark else True
    return out


_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def make_context(
    host: Host, backend: str | None, planner: str | None, options: dict[str, Any]
) -> PassContext:
    """The context that the options ask for; the backend may be left out when only one is installed."""
    if backend is not None:
        chosen = host.backend(backend)
    elif len(host.backends) == 1:
        [chosen] = host.backends.values()
    elif not host.backends:
        raise none_installed("backend", host.health, "PT812")
    else:
        raise UserError(
            "several backends are installed and none is chosen",
            code="PT813",
            facts={"installed": ", ".join(host.backends)},
            remedy=f"say which one: --backend {next(iter(host.backends))}",
        )
    name = host.planner(planner).name if planner is not None else DEFAULT_PLANNER
    return PassContext(backend=chosen, planner=name, options=options, host=host)

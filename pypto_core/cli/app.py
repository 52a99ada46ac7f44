"""The group of commands, how errors end, and where plugins add commands."""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

from pypto_core.diagnostics import DiagnosticError, InternalError, UserError

# Name → (module, line of help): listing the commands imports none of them.
BUILTIN = {
    "backends": "machines that kernels can be compiled for",
    "cache": "compiled kernels that are kept between runs",
    "check-plugin": "does a plugin load, and do its backends and passes conform",
    "compile": "compile a kernel file and write what comes out",
    "diff": "the program after one pass beside the program after another",
    "explain": "the page behind a code, or what became of the kernels in a file",
    "new": "write a package for a pass or a backend",
    "ops": "operators of the language, with parameters and memory rules",
    "passes": "installed passes and what each needs, makes and destroys",
    "pipeline": "the order that the solver finds for the passes, with reasons",
    "plugins": "installed plugins, their versions and their health",
    "properties": "properties of programs that passes rely on",
    "report": "everything about one compilation in one HTML file",
    "run": "run a kernel on this computer and compare the results",
}


class LazyGroup(click.Group):
    """Commands by name; a plugin's command can't take the name of a built-in one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, sorted."""
        return sorted({*BUILTIN, *_plugin_lines()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        if cmd_name in BUILTIN:
            module = importlib.import_module(f"pypto_core.cli.{_module_name(cmd_name)}")
            return module.command
        found = _plugin_commands().get(cmd_name)
        return found.load_command() if found is not None else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in ``--help``; it imports no command, and no plugin that said before what it brings."""
        rows = {**_plugin_lines(), **BUILTIN}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(rows.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, with the nearest names when there is no such command."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches  # needed only for a mistyped command

            near = get_close_matches(args[0], self.list_commands(ctx), n=2)
            more = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"{error.format_message()}{more}{_absent_plugins()}", ctx) from None


def _module_name(command: str) -> str:
    return "compile_" if command == "compile" else command.replace("-", "_")


def _plugin_lines() -> dict[str, str]:
    from pypto_core.host.listing import command_lines  # a built-in command needs no list

    return command_lines()


def _plugin_commands() -> dict[str, Any]:
    from pypto_core.host import load_host  # the built-in commands that need no plugin start without it

    return dict(load_host().commands)


def _absent_plugins() -> str:
    """Plugins that are not loaded, one of which may have the command."""
    from pypto_core.host import Status, load_host  # needed only for a mistyped command

    absent = [f"{r.name} ({r.reason})" for r in load_host().health if r.status is not Status.OK]
    return f" Plugins that are not loaded: {', '.join(absent)}." if absent else ""


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="pypto-core", prog_name="pypto")
def cli() -> None:
    """Compile, explain and run tile kernels for Ascend NPUs, on any computer."""


def run(args: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code."""
    argv = list(sys.argv[1:] if args is None else args)
    try:
        result = cli.main(argv, prog_name="pypto", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        if "--json" in argv:
            _show(_misused(error, argv), as_json=True)
        else:
            error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        return 0
    except DiagnosticError as error:
        return _fail(error, argv)
    except OSError as error:
        return _fail(_refused_by_system(error), argv)
    except MemoryError as error:
        return _fail(_too_large(error), argv)
    except SystemExit:
        raise
    except BaseException as error:
        return _fail(_fault(error), argv)


def _fail(error: DiagnosticError, argv: Sequence[str]) -> int:
    _show(error, as_json="--json" in argv)
    return 3 if isinstance(error, InternalError) else 2


def _misused(error: click.ClickException, argv: Sequence[str]) -> DiagnosticError:
    """A command line that click refuses."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    # Some errors of the parser within a command do not say which.
    first = next((f" {word}" for word in argv[:1] if not word.startswith("-")), "")
    asked = context.command_path if context is not None else f"pypto{first}"
    return UserError(error.format_message(), code="PT859", remedy=f"see: {asked} --help")


def _refused_by_system(error: OSError) -> DiagnosticError:
    subject = f"'{error.filename}': " if error.filename is not None else ""
    return UserError(
        f"{subject}{error.strerror or error}",
        code="PT856",
        remedy="check that the path exists and that you may read or write it",
    )


def _too_large(error: MemoryError) -> DiagnosticError:
    return UserError(
        f"this computer has too little memory: {str(error) or 'an allocation failed'}",
        code="PT858",
        remedy="run the kernel on smaller tensors",
    )


def _fault(error: BaseException) -> DiagnosticError:
    """What nobody foresaw, in one sentence with the place in the code where it began."""
    *_, last = traceback.extract_tb(error.__traceback__)
    return InternalError(
        f"the command failed: {type(error).__name__}: {error}",
        code="PT915",
        facts={"at": f"{last.filename}:{last.lineno} in {last.name}"},
        remedy="report it, with the command line and the files that it was given",
    )


def _show(error: DiagnosticError, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"errors": error.to_json()}, indent=2))
        return
    from pypto_core.cli.output import error_console  # rich is not needed when all goes well

    error_console().print(error.render(), style="red" if isinstance(error, InternalError) else None)

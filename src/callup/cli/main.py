"""`callup`: the options of all commands, and the exit code of any."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
import typer.core

from callup import __version__
from callup.cli.commands import CONTEXT, Commands
from callup.cli.failures import explain
from callup.cli.session import Session
from callup.core import plugins

# Help is plain. Typer still loads rich to escape "[default: 0]" for HTML, which doubles the time and shows as "\\[".
typer.core.HAS_RICH = False


app = typer.Typer(
    name="callup",
    cls=Commands,
    rich_markup_mode=None,  # plain help loads in half the time
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"callup {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def callup(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", envvar="CALLUP_DEBUG", help="Show tracebacks.")] = False,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A Python file that adds methods; may be repeated. Also: CALLUP_PLUGINS."),
    ] = None,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Chooses which clients train in each round of federated learning. Start with: callup race"""
    context.obj.debug = debug
    for file in plugin or ():
        plugins.share(file)
    if context.invoked_subcommand is None:
        print(context.get_help())


def run(args: Sequence[str] | None = None) -> int:
    """The entry point: runs one command and turns whatever happens into an exit code."""
    session = Session(tuple(sys.argv[1:] if args is None else args))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show ★ shows ? and carries on
    try:
        command = typer.main.get_command(app)
        code = command.main(list(session.args), prog_name="callup", standalone_mode=False, obj=session)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as problem:
        return explain(problem, session.debug)
    return code if isinstance(code, int) else 0

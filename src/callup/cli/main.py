"""`callup`: the commands in one place."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
import typer.core
from typer.core import TyperGroup

from callup import __version__
from callup.cli import audit, flower, race, report, reproduce, resume, selftest, show, verify
from callup.cli import list as listing
from callup.cli import run as running
from callup.cli.failures import explain
from callup.cli.session import Session
from callup.core.errors import UsageError, suggest

# Help is plain. Typer still loads rich to escape "[default: 0]" for HTML, which doubles the time and shows as "\\[".
typer.core.HAS_RICH = False


class Commands(TyperGroup):
    """Tells a misspelt command what it may have meant."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise UsageError(f"no such command '{args[0]}'{suggest(args[0], self.commands)}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="callup",
    cls=Commands,
    rich_markup_mode=None,  # plain help loads in half the time
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("race")(race.race)
app.command("list")(listing.list_methods)
app.command("show")(show.show)
app.command("run")(running.run)
app.command("resume")(resume.resume)
app.command("verify")(verify.verify)
app.command("report")(report.report)
app.command("selftest")(selftest.selftest)
app.command("reproduce")(reproduce.reproduce)
app.command("audit")(audit.audit)
app.add_typer(flower.app, name="flower")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"callup {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def callup(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", envvar="CALLUP_DEBUG", help="Show tracebacks.")] = False,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Chooses which clients train in each round of federated learning. Start with: callup race"""
    context.obj.debug = debug
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

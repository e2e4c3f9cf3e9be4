"""The commands by name and in groups. A command's file is loaded only when it is asked for, so that help is instant."""

from __future__ import annotations

from importlib import import_module
from inspect import unwrap
from typing import Any, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from callup.core.errors import UsageError, suggest

# name: (where it is, one line of help)
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Compare methods": {
        "race": ("race:race", "Race selection methods on real data and write a report."),
        "compare": ("compare:compare", "Compare methods over paired seeds."),
        "reproduce": ("reproduce:reproduce", "Run published tables again and say what holds."),
        "list": ("list:list_methods", "List selectors, partitions, tasks and more."),
        "show": ("show:show", "Explain one method on one page."),
        "cite": ("cite:cite", "Print the papers of methods, or of a race, as BibTeX."),
    },
    "Know your federation": {
        "analyze": ("analyze:analyze", "Say how uneven a federation is."),
        "advise": ("advise:advise", "Say which method to take."),
        "audit": ("audit:audit", "Attack a federation's label statistics under each privacy mode."),
        "flower": ("flower:app", "Flower apps with clients chosen by Callup."),
    },
    "Run and look": {
        "run": ("run:run", "Run one federation as a TOML file describes it."),
        "resume": ("resume:resume", "Go on with a run or a race that was stopped."),
        "report": ("report:report", "Write the report of a run or a race as one HTML file."),
        "dashboard": ("dashboard:dashboard", "Follow a run in the browser while it goes on."),
        "top": ("top:top", "Follow a run in the terminal."),
        "why": ("why:why", "Say why a client was called or not."),
        "verify": ("verify:verify", "Check that a run is what its files say."),
    },
    "Methods of your own": {
        "new": ("new:new", "Write a selector to start from, and a test for it."),
        "validate": ("validate:validate", "Put a selector of your own to the rules that every method keeps."),
        "selftest": ("selftest:selftest", "Run the short battery in a few minutes."),
    },
}
COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}
CONTEXT = {"help_option_names": ["-h", "--help"]}


class Command(TyperCommand):
    """Shows what its arguments mean: typer before 0.21, which Flower asks for, loses that to click 8.5."""

    def format_arguments(self, ctx: Any, formatter: Any) -> None:
        """Nothing: typer lists them with the options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        hints = get_type_hints(unwrap(self.callback or Command), include_extras=True)
        for argument in self.params:
            if isinstance(argument, TyperArgument) and argument.help is None:
                argument.help = hints[str(argument.name)].__metadata__[0].help
        super().format_options(ctx, formatter)


class Commands(TyperGroup):
    """Loads the command that is asked for, and tells a misspelt one what it may have meant."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        found = getattr(import_module(f"callup.cli.{module}"), attribute)
        if not isinstance(found, typer.Typer):
            alone = typer.Typer(
                add_completion=False,
                rich_markup_mode=None,
                pretty_exceptions_enable=False,
                context_settings=CONTEXT,
            )
            alone.command(cmd_name, cls=Command)(found)
            found = alone
        command = typer.main.get_command(found)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise UsageError(f"no such command '{args[0]}'{suggest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        for group, entries in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(9), line) for name, (_, line) in entries.items()])

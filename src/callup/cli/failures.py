"""What went wrong, in one line and an exit code."""

from __future__ import annotations

import errno
import traceback
from typing import Any

import typer

from callup.cli.terminal import clean, say
from callup.core.errors import CallupError, suggest

BUG, USAGE, INPUT, FAILED, THRESHOLD, NO_ROOM, INTERRUPTED = 1, 2, 3, 4, 6, 7, 130

# The usage error of whichever click this typer carries: some versions bring their own copy.
_BadCommandLine: Any = typer.BadParameter.__mro__[1]


def explain(problem: BaseException, debug: bool = False) -> int:
    """Prints one line about the problem and returns the exit code it ends with."""
    if debug and not isinstance(problem, (KeyboardInterrupt, typer.Abort)):
        traceback.print_exception(problem)
    line, code = _line(problem)
    say(clean(line))
    return code


def _line(problem: BaseException) -> tuple[str, int]:
    if isinstance(problem, CallupError):
        return f"error: {problem}", problem.exit_code
    if isinstance(problem, _BadCommandLine):
        return f"error: {_usage(problem)}", USAGE
    if isinstance(problem, (KeyboardInterrupt, typer.Abort)):
        return "interrupted", INTERRUPTED
    if isinstance(problem, OSError) and problem.filename is not None:
        code = NO_ROOM if problem.errno in (errno.ENOSPC, errno.EDQUOT) else INPUT
        return f"error: {problem.filename}: {problem.strerror}", code
    if isinstance(problem, MemoryError):
        return "error: out of memory; try fewer --jobs", FAILED
    what = f"{type(problem).__name__}: {problem}"
    return f"error: this is a bug in callup ({what}); repeat with `callup --debug ...` and report the traceback", BUG


def _usage(problem: Any) -> str:
    """Click's own sentence, except for unknown options: its wording changes from version to version."""
    command = problem.ctx.command_path if problem.ctx is not None else "callup"
    option = getattr(problem, "option_name", None)
    if option is not None and type(problem).__name__ == "NoSuchOption" and problem.ctx is not None:
        known = [name for p in problem.ctx.command.params for name in p.opts if name.startswith("--")]
        return f"no such option '{option}' of {command}{suggest(option, known)}"
    if type(problem).__name__ == "NoSuchCommand" and problem.ctx is not None:
        wanted = problem.command_name
        return f"no such command '{wanted}' of {command}{suggest(wanted, problem.ctx.command.commands)}"
    message = problem.format_message().rstrip(".")
    return f"{message[:1].lower()}{message[1:]}; see: {command} --help"

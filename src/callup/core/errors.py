"""What can go wrong because of an input, each with the exit code a command ends with."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class CallupError(Exception):
    """A mistake with a remedy: the message says what, where and what to do; no traceback is needed."""

    exit_code = 4


class UsageError(CallupError, ValueError):
    """An unknown name, parameter or value in a call or on the command line."""

    exit_code = 2


class InputError(CallupError, ValueError):
    """Data or a configuration file that cannot be used as it is."""

    exit_code = 3


class MissingSignal(InputError):
    """A selector needs a fact that this runtime cannot supply."""


class ContractError(CallupError, RuntimeError):
    """A selector, filter or average broke its contract; the run stops rather than train the wrong clients."""


def suggest(word: str, known: Iterable[str]) -> str:
    """The end of a sentence: `; did you mean 'x'?` when a known word is close, else the list of known words."""
    words = sorted(known)
    close = difflib.get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; known: {', '.join(words)}" if words else ""

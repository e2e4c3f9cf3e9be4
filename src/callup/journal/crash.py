"""Named places at which a process may be told to die, so that a crash can be rehearsed exactly where it hurts.

`CALLUP_CRASH=after-append` kills the process the first time it gets there, `CALLUP_CRASH=after-append@3` the third
time. The kill is SIGKILL: nothing is flushed, no handler runs, as when the machine's owner pulls the process away.
"""

from __future__ import annotations

import os
import signal

from callup.core.errors import UsageError, suggest

VARIABLE = "CALLUP_CRASH"

POINTS = (
    "run-locked",
    "config-written",
    "journal-begun",
    "after-select",
    "after-train",
    "after-average",
    "after-update",
    "before-append",
    "half-append",
    "before-sync",
    "after-append",
    "half-event",
    "after-event",
    "snapshot-half",
    "snapshot-unsynced",
    "snapshot-unnamed",
    "snapshot-named",
    "snapshot-kept",
)
"""In the order in which a run passes them; those from `after-select` on are passed in every round."""

_passed: dict[str, int] = {}


def due(name: str) -> bool:
    """Whether the process is to die here, now."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return False
    place, at, times = wanted.partition("@")
    if place not in POINTS:
        raise UsageError(f"{VARIABLE}: no crash point '{place}'{suggest(place, POINTS)}")
    if at and not (times.isascii() and times.isdigit()):
        raise UsageError(f"{VARIABLE}: after '{place}@' comes a whole number, got '{times}'")
    if place != name:
        return False
    _passed[name] = _passed.get(name, 0) + 1
    return _passed[name] == int(times or 1)


def point(name: str) -> None:
    """Dies here if told so."""
    if due(name):
        die()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)

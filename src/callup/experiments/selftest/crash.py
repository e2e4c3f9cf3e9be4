"""Killed at any moment and started again, a run ends as if it had been left alone."""

from __future__ import annotations

import os
from pathlib import Path

from callup.experiments.crashes import drill
from callup.experiments.selftest.finding import Seen


def crash(folder: Path) -> Seen:
    """kill -9 at every named point once, and at random moments with torn logs and flipped bytes."""
    if not hasattr(os, "fork"):
        return Seen("this system cannot fork a process, so nothing was tried", 0, ("no fork",))
    tally = drill(folder, seeds=1, kills=10)
    cases = tally.named_kills + tally.random_kills
    missed = tuple(tally.diverged) + tuple(f"never reached {point}" for point in tally.unreached)
    sentence = (
        f"{tally.named_kills} kills at named points, {tally.random_kills} at random moments, {tally.torn_logs} "
        f"torn logs, {tally.flipped_snapshots} damaged snapshots: {len(tally.diverged)} histories differ"
    )
    return Seen(sentence, cases, missed, tally.plain())

"""`callup top RUN`: where a run stands, in the terminal, again and again."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from callup.cli.options import AsFormat, Format
from callup.cli.terminal import clean, is_terminal, print_json

_LOOK = 0.5


def top(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    once: Annotated[bool, typer.Option("--once", help="Say it once and end.")] = False,
    format: AsFormat = Format.table,
) -> None:
    """Follow a run in the terminal; ends when the run does, or with Ctrl-C."""
    from callup.dashboard.live_run import LiveRun
    from callup.dashboard.metrics import as_json
    from callup.dashboard.now import now, sentence

    live = LiveRun(folder)
    if format is Format.json:
        print_json({"success": True, **as_json(now(live))})
        return
    over, news = is_terminal(sys.stdout) and not once, True
    while True:
        one = now(live)
        line = clean(sentence(one).replace("\u202f", " "))
        if over:  # again and again: how long it has been silent is news too
            print(f"\r\x1b[K{line}", end="", flush=True)
        elif news:
            print(line, flush=True)
        if once or live.finished:
            break
        news = live.refresh()
        if not news:
            time.sleep(_LOOK)
    if over:
        print()
    for alert in one.alerts:
        print(clean(f"! {alert}"))

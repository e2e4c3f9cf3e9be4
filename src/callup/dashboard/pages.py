"""What the browser gets: the page, the part of it that changes, and a page for one client."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from callup.core.errors import CallupError, InputError
from callup.dashboard.live_run import LiveRun
from callup.dashboard.now import now
from callup.journal.why import Account, why
from callup.report import charts, guarding, lorenz, raster, styles
from callup.report.grouping import scenarios
from callup.report.measures import calls
from callup.report.rendering import rendered
from callup.report.reproduce import facts
from callup.simulation.run import Run

_OWN = Path(__file__).parent / "templates"
_RECENT = 12


def page(live: LiveRun, title: str, names: list[str], chosen: str) -> str:
    """The whole; its middle is asked for again by the script."""
    return rendered(
        "dashboard.html",
        _OWN,
        title=title,
        names=names,
        chosen=chosen,
        palettes=[*styles.PALETTE, styles.GREY],
        middle=Markup(middle(live, chosen)),  # made here, with everything in it escaped
    )


def middle(live: LiveRun, name: str) -> str:
    """The run as it is now."""
    run = live.run
    return rendered(
        "live.html",
        _OWN,
        now=now(live),
        folder=str(live.folder),
        name=name,
        recent=live.history[: -_RECENT - 1 : -1],
        **(_pictures(run) if run is not None and live.history else dict.fromkeys(_PICTURES)),
    )


_PICTURES = ("accuracy", "called", "lorenz", "guarded", "facts")


def _pictures(run: Run) -> Mapping[str, Any]:
    (scenario,) = scenarios([run])
    looks = styles.styles(scenario.methods)
    spreads = lorenz.spreads(scenario.methods, looks)
    (image,) = raster.images([run], scenario.rare_classes)
    return {
        "accuracy": charts.lines(scenario, looks, lambda r: r.accuracy, "Test accuracy by round", scenario.target),
        "called": raster.panel(run, scenario.rare_classes, image, "Clients called in each round"),
        "lorenz": lorenz.lorenz_chart(spreads, "Share of calls by share of clients") if spreads else None,
        "guarded": guarding.watched(scenario),
        "facts": facts(scenario),
    }


def client_page(live: LiveRun, name: str, client: str) -> str:
    """Everything the run says of one client."""
    run = live.run
    try:
        number = int(client)
        row = int(run.clients.index.rows(np.array([number]))[0]) if run is not None else -1
    except (ValueError, OverflowError, InputError):
        row = -1
    if run is None or row < 0:
        return rendered("client.html", _OWN, client=client, found=False, name=name)
    counts = calls(run) if live.history else None
    asked = [record for record in live.history if number in record.asked]
    failed = [(record.index, record.failed[str(number)]) for record in asked if str(number) in record.failed]
    labels = run.clients.all("label_counts")[row].astype(int).tolist() if "label_counts" in run.clients else None
    return rendered(
        "client.html",
        _OWN,
        client=number,
        found=True,
        name=name,
        size=float(run.clients.all("num_examples")[row]) if "num_examples" in run.clients else None,
        labels=labels,
        asked=[record.index for record in asked],
        used=sum(number in record.used for record in asked),
        failed=failed[-20:],
        more_often=int((counts > counts[row]).sum()) if counts is not None else 0,
        clients=len(run.clients),
        account=_account(live.folder, number),
        guard=[line for record in live.history for line in record.guard if f"client {number} " in line][-20:],
    )


def _account(folder: Path, client: int) -> Account | None:
    """Rounds and scores from the journal; None for a run that keeps none, or while its file is being written."""
    try:
        return why(folder, client)
    except (CallupError, OSError):
        return None

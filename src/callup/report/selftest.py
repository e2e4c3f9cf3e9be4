"""The page of the short battery: one line for each promise, and what was seen on this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from callup.report.rendering import rendered
from callup.simulation.store import versions


def write_selftest(folder: Path, trials: Sequence[Mapping[str, Any]]) -> Path:
    """`selftest.html` and `selftest.json` in this folder; the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = {**versions(), "held": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")}
    document = {"machine": facts, "trials": list(trials)}
    (folder / "selftest.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    page = rendered(
        "selftest.html",
        trials=trials,
        facts=facts,
        seconds=sum(trial["seconds"] for trial in trials),
    )
    path = folder / "selftest.html"
    path.write_text(page, encoding="utf-8")
    return path

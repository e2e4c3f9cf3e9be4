"""The page of the short battery: one line for each promise, and what was seen on this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from callup.experiments.selftest.finding import Finding
from callup.simulation.store import versions

_FOLDER = Path(__file__).parent / "templates"


def write_selftest(folder: Path, found: Sequence[Finding]) -> Path:
    """`selftest.html` and `selftest.json` in this folder; the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = {**versions(), "held": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")}
    document = {"machine": facts, "trials": [finding.plain() for finding in found]}
    (folder / "selftest.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    environment = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)
    page = environment.get_template("selftest.html").render(
        style=Markup((_FOLDER / "page.css").read_text(encoding="utf-8")),
        found=found,
        facts=facts,
        seconds=sum(finding.seconds for finding in found),
    )
    path = folder / "selftest.html"
    path.write_text(page, encoding="utf-8")
    return path

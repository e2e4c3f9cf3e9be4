"""The page about a federation's labels, and the sentences that the terminal prints as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from callup.report import holdings
from callup.report.rendering import rendered
from callup.report.wording import number, percent, plural
from callup.simulation.unevenness_study import Study

_MOST_ROWS = 40


@dataclass(frozen=True)
class Named:
    """A study, and what clients and classes are called."""

    study: Study
    names: Sequence[str]
    classes: Sequence[str]
    noised: Study | None = None
    """The same from counts with noise."""
    epsilon: float | None = None

    def client(self, client: int) -> str:
        return self.names[int(np.searchsorted(self.study.clients.ids, client))]

    @property
    def rare(self) -> list[int]:
        """Classes that Mavericks own."""
        return sorted({one.label for one in self.study.mavericks})


def headline(said: Named) -> list[str]:
    """What matters most, first."""
    one, lines = said.study, []
    lines.append(
        f"In the typical client {percent(one.typical_apart, 0)} of the samples would have to change class to look like "
        "all clients together."
    )
    if said.rare:
        owners = len({m.client for m in one.mavericks})
        whom = f"Mavericks: {plural(owners, 'client')} " + ("owns" if owners == 1 else "own")
        lines.append(f"{whom} {_classes(said, said.rare)}.")
    worst = max(one.classes, key=lambda view: view.missing)
    if worst.missing >= 0.01 and worst.samples:
        lines.append(
            f"Of {plural(len(one.clients), 'client')}, {one.k} drawn at random have no sample of class "
            f"{said.classes[worst.label]} in {percent(worst.missing, 0)} of the rounds."
        )
    usual = float(np.nanmean(one.random_qcid))
    lines.append(
        f"Class imbalance (QCID) of {one.k} random clients is {usual:.3g} in the mean; a group chosen for it has "
        f"{one.best_qcid:.3g}."
    )
    return lines


def problems(said: Named) -> list[str]:
    """What is odd about the data."""
    one, out = said.study, []
    if len(one.empty):
        some = ", ".join(said.client(client) for client in one.empty[:5].tolist())
        out.append(
            f"{plural(len(one.empty), 'client')} without a sample: {some}{', ...' if len(one.empty) > 5 else ''}"
        )
    unseen = [view.label for view in one.classes if not view.samples]
    if unseen:
        out.append(f"nobody has a sample of {_classes(said, unseen)}")
    return out


def numbers(one: Study) -> dict[str, float]:
    """The federation in eight numbers."""
    return {
        "median size": float(np.median(one.sizes)),
        "Gini of sizes": one.size_gini,
        "median distance (total variation)": one.typical_apart,
        "median Jensen–Shannon divergence, bit": float(np.nanmedian(one.divergence)),
        "median effective classes": float(np.median(one.effective)),
        "QCID, random groups": float(np.nanmean(one.random_qcid)),
        "QCID, best group found": one.best_qcid,
        "classes with Mavericks": float(len({m.label for m in one.mavericks})),
    }


def figures(one: Study) -> dict[str, str]:
    """The same as text."""
    return {name: f"{value:,.3g}" if value < 1000 else number(value, 0) for name, value in numbers(one).items()}


def write_analysis(path: Path, said: Named, source: str, command: str) -> Path:
    """One file that opens anywhere; written beside its place first."""
    one = said.study
    holders = np.array([view.holders for view in one.classes])
    views = sorted(one.classes, key=lambda view: (-view.missing, view.label))
    page = rendered(
        "analysis.html",
        said=said,
        source=source,
        command=command,
        headline=headline(said),
        problems=problems(said),
        figures=figures(one),
        noised=figures(said.noised) if said.noised else None,
        heat_map=holdings.heat_map(one.clients, said.classes, said.rare),
        histogram=holdings.histogram(one.apart, "total variation from all together", "Clients by distance"),
        misses=holdings.misses(holders, len(one.clients), one.k, said.classes, said.rare),
        views=views[:_MOST_ROWS],
        hidden=len(views[_MOST_ROWS:]),
        mavericks=one.mavericks[:_MOST_ROWS],
    )
    part = path.with_name(f".{path.name}.part")
    part.write_text(page, encoding="utf-8")
    return part.replace(path)


def _classes(said: Named, labels: Sequence[int]) -> str:
    some = ", ".join(said.classes[label] for label in labels[:5])
    return f"class {some}" if len(labels) == 1 else f"classes {some}{', ...' if len(labels) > 5 else ''}"

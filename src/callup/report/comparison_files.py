"""Comparisons as files for papers and spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from callup.report import measures
from callup.report.comparison import Comparison, shown
from callup.report.contest import Measure, as_good_as_best, by_seed
from callup.report.grouping import Scenario
from callup.report.reproduction import escaped

_FIELDS = (
    "scenario",
    "method",
    "against",
    "metric",
    "mean",
    "other",
    "difference",
    "low",
    "high",
    "seeds",
    "won",
    "verdict",
)


def plain(one: Comparison) -> dict[str, object]:
    """Values alone; an interval without ends has none."""
    gap = one.difference
    ends = (gap.low, gap.high) if gap.seeds > 1 else (None, None)
    row = (one.scenario, one.method, one.against, one.metric.key, one.mean, one.other, gap.mean, *ends)
    return dict(zip(_FIELDS, (*row, gap.seeds, one.won, one.verdict), strict=True))


def as_csv(found: Sequence[Comparison]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, _FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain(one) for one in found)
    return text.getvalue()


def as_latex(scenarios: Sequence[Scenario], names: Sequence[str], metric: Measure) -> str:
    """A row for each method, a column for each scenario: mean and deviation over seeds. Needs no package.

    Bold: the best, and all that the paired seeds cannot tell from it.
    """
    out = [r"\begin{tabular}{l" + "r" * len(scenarios) + "}", r"\hline"]
    out.append(" & ".join(["method", *(escaped(scenario.title) for scenario in scenarios)]) + r" \\ \hline")
    bold = [as_good_as_best(scenario, metric) for scenario in scenarios]
    for name in names:
        cells = [_cell(scenario, name, metric, name in best) for scenario, best in zip(scenarios, bold, strict=True)]
        out.append(" & ".join([escaped(name), *cells]) + r" \\")
    return "\n".join([*out, r"\hline", r"\end{tabular}", ""])


def _cell(scenario: Scenario, name: str, metric: Measure, bold: bool) -> str:
    method = next((method for method in scenario.methods if method.name == name), None)
    values = list(by_seed(scenario, method, metric).values()) if method else []
    mean, spread = measures.mean(values), measures.deviation(values)
    if mean is None:
        return "--"
    value = shown(metric, mean) + ("" if spread is None else f" $\\pm$ {shown(metric, spread)}")
    return rf"\textbf{{{value}}}" if bold else value

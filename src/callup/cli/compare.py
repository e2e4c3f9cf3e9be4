"""`callup compare RUNS METHOD [AGAINST]`: paired differences between methods, and a line that fails a build."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from callup.cli import completion
from callup.cli.failures import THRESHOLD
from callup.cli.options import AsFormat, Format
from callup.cli.terminal import clean, print_json, results, say, suggest_next
from callup.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from callup.report.comparison import Comparison
    from callup.report.contest import Measure
    from callup.report.grouping import Scenario


def compare(
    folder: Annotated[Path, typer.Argument(metavar="RUNS", help="The folder of a race, or of several runs.")],
    methods: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[METHOD [AGAINST]]",
            help="Nothing: everyone against random.",
            show_default=False,
            autocompletion=completion.selectors,
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="accuracy (the end), best, rounds, rounds@0.8, seconds, qcid or jain.")
    ] = "accuracy",
    fail_if: Annotated[
        str | None, typer.Option(metavar="RULE", help='End with code 6: "worse" for sure, or "worse>5%" in the mean.')
    ] = None,
    latex: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a LaTeX table.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the comparisons as CSV.")] = None,
    format: AsFormat = Format.table,
) -> None:
    """Compare methods over paired seeds: difference, interval, seeds won."""
    from callup.cli.folders import read_runs
    from callup.report.comparison import failing, metric_named, names
    from callup.report.comparison_files import as_csv, as_latex, plain
    from callup.report.grouping import scenarios

    measure, fails = metric_named(metric), failing(fail_if or "worse")
    found = scenarios(read_runs(folder)[0])
    pairs = _pairs(methods or [], names(found))
    comparisons = [one for scenario in found for one in _in(scenario, pairs, measure, bool(methods))]
    if not comparisons:
        raise InputError(f"{folder} holds no two methods to compare under {metric}")
    for path, text in ((csv, as_csv(comparisons)), (latex, as_latex(found, names(found), measure))):
        if path is not None:
            path.write_text(text, encoding="utf-8")
    failed = [one for one in comparisons if fail_if and fails(one)]
    if format is Format.json:
        print_json({"success": not failed, "metric": metric, "comparisons": [plain(one) for one in comparisons]})
    else:
        _print(comparisons)
        suggest_next(f"callup report {folder} --open")
    for one in failed:
        say(clean(f"{one.method} is worse than {one.against} in '{one.scenario}': {fail_if}"))
    if failed:
        raise typer.Exit(THRESHOLD)


def _pairs(methods: Sequence[str], known: Sequence[str]) -> list[tuple[str, str]]:
    if len(methods) > 2:
        raise UsageError(f"compare takes a method and another, got {len(methods)}; without any, everyone meets random")
    against = methods[1] if len(methods) == 2 else "random"
    return [(name, against) for name in methods[:1] or known if name != against]


def _in(scenario: Scenario, pairs: Sequence[tuple[str, str]], measure: Measure, named: bool) -> Iterator[Comparison]:
    """Where methods are named, a scenario without them is a mistake; where none is, those that are there meet."""
    from callup.report.comparison import compare as compared

    for one, other in pairs:
        try:
            yield compared(scenario, one, other, measure)
        except InputError:
            if named:
                raise


def _print(found: Sequence[Comparison]) -> None:
    from rich.table import Table
    from rich.text import Text

    from callup.report.comparison import shown

    console, measure = results(), found[0].metric
    unit = ", %" if "accuracy" in measure.key else ""
    for title in dict.fromkeys(one.scenario for one in found):
        console.print(Text(clean(f"{title} · {measure.key.replace('_', ' ')}{unit}"), "bold"))
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("method", "against"):
            table.add_column(name, no_wrap=True, overflow="ellipsis")
        for name in ("method's", "other's", "difference", "95 % interval", "seeds won"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for one in (one for one in found if one.scenario == title):
            gap = one.difference
            ends = "–" if one.seeds < 2 else f"{shown(measure, gap.low)} to {shown(measure, gap.high)}"
            difference = ("" if gap.mean < 0 else "+") + shown(measure, gap.mean)
            cells = (shown(measure, one.mean), shown(measure, one.other), difference, ends, f"{one.won} of {one.seeds}")
            style = {"better": "bold green", "worse": "bold red"}.get(one.verdict, "dim")
            table.add_row(clean(one.method), clean(one.against), *cells, Text(one.verdict, style))
        console.print(table)
        console.print()
    console.print("Intervals: paired bootstrap over seeds, each on its own; below three seeds all is unclear.")

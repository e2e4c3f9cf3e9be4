"""A table as it is shown: published, ours, verdict; every row says at which size it was run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from callup.experiments.metrics import Measured
from callup.experiments.reproduce.bounds import allowed
from callup.experiments.reproduce.claims import judged_claims
from callup.experiments.reproduce.measuring import Bench
from callup.experiments.reproduce.published import Published
from callup.experiments.reproduce.store import Results
from callup.experiments.reproduce.tables import Environment, Measure, Scale, Table, Way
from callup.experiments.reproduce.verdict import Pair, Verdict, at_full_size, scaled


@dataclass(frozen=True)
class Row:
    """One line; plain values only."""

    paper: str
    table: str
    measure: str
    unit: str
    environment: str
    method: str
    reading: str
    """How our run differs from the paper's words, where it does."""
    scale: str
    """`full`, or what was cut down; a dash where nothing was run."""
    published: str
    ours: str
    runs: int
    verdict: str
    why: str
    published_value: float | None = None
    published_std: float | None = None
    our_value: float | None = None
    our_std: float | None = None

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def rows_of(table: Table, scale: Scale, results: Results) -> list[Row]:
    """Every published row of the table against every reading of it, then the claims made in words."""
    bench = Bench(table, scale, results)
    rows = [row for printed in table.published for row in _rows(bench, printed)]
    for claim, ours, n, verdict, cut in judged_claims(bench):
        rows.append(
            Row(
                paper=table.paper,
                table=table.name,
                measure=claim.measure,
                unit="",
                environment=claim.environment,
                method=f"{claim.ahead} against {claim.behind}",
                reading="",
                scale=cut if n else "–",
                published=claim.text,
                ours=ours,
                runs=n,
                verdict=verdict.word,
                why=verdict.why,
            )
        )
    return rows


def _rows(bench: Bench, printed: Published) -> Iterator[Row]:
    measure = bench.measure(printed.measure)
    found = False
    for environment in bench.table.environments:
        if (environment.of or environment.name) != printed.environment:
            continue
        for way in bench.table.methods:
            if way.name == printed.method and (not way.only or environment.name in way.only):
                found = True
                yield _row(bench, printed, measure, environment, way)
    if not found:
        yield _shown(bench, printed, "", "", Measured(None, n=0), Verdict("not attempted", "no settings for it"))


def _row(bench: Bench, printed: Published, measure: Measure, environment: Environment, way: Way) -> Row:
    reading = "; ".join(filter(None, (environment.reading, way.reading)))
    cut = bench.cut(measure, environment, way)
    each = bench.each(measure, environment, way)
    ours = bench.pooled(measure, each)
    verdict = _contradiction(bench, printed, measure, environment)
    if verdict is None and (reason := bench.absent(measure, environment, way)):
        verdict = Verdict("not attempted", reason)
    if verdict is None and ours.n == 0:
        verdict = Verdict("not attempted", "not run yet")
    if verdict is None:
        pair = _pair(bench, printed, measure, environment, way, each)
        verdict = scaled(pair) if cut else at_full_size(printed, ours, pair)
    return _shown(bench, printed, reading, cut, ours, verdict, environment)


def _pair(
    bench: Bench,
    printed: Published,
    measure: Measure,
    environment: Environment,
    way: Way,
    each: dict[int, Measured],
) -> Pair | None:
    """The row beside the baseline of its own table and environment, on the seeds that both have."""
    if way.name == bench.table.baseline:
        return None
    base_row = next(
        (r for r in bench.table.published if r.place == (printed.measure, printed.environment, bench.table.baseline)),
        None,
    )
    base_way = next((w for w in bench.table.methods if w.name == bench.table.baseline), None)
    if base_row is None or base_way is None:
        return None
    base = bench.each(measure, environment, base_way)
    both = sorted(each.keys() & base.keys())
    return Pair(printed, base_row, [each[s] for s in both], [base[s] for s in both])


def _contradiction(bench: Bench, printed: Published, measure: Measure, environment: Environment) -> Verdict | None:
    """Only under the settings the paper states: another reading of the environment is judged by its values."""
    if environment.reading:
        return None
    for entry in bench.table.contradictions:
        if (entry.measure, entry.environment) != (printed.measure, printed.environment):
            continue
        if printed.method not in entry.methods:
            continue
        limit = allowed(entry, measure.factor)
        if limit is None:
            return Verdict("contradicts itself", entry.why)
        if limit.conflict(printed):
            return Verdict("contradicts itself", f"{limit.text(printed)}; {entry.why}")
    return None


def _shown(
    bench: Bench,
    printed: Published,
    reading: str,
    cut: str,
    ours: Measured,
    verdict: Verdict,
    environment: Environment | None = None,
) -> Row:
    sign = "> " if printed.censored else ""
    value = f"{sign}{printed.value:.{printed.digits}f}"
    digits = max(printed.digits, 1) if printed.value < 1000 else printed.digits
    return Row(
        *(bench.table.paper, bench.table.name, printed.measure, printed.unit),
        environment.name if environment else printed.environment,
        printed.method,
        reading,
        (cut or "full") if ours.n else "–",
        value if printed.std is None else f"{value} ± {printed.std:g}",
        ours.text(digits),
        ours.n,
        verdict.word,
        verdict.why,
        printed.value,
        printed.std,
        ours.value,
        ours.std,
    )

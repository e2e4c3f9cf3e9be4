"""What the stored cells of the quick check say of the rows that need no training. Nothing is run here."""

from pathlib import Path

import pytest

from callup.experiments.reproduce.finder import find_tables
from callup.experiments.reproduce.rows import rows_of
from callup.experiments.reproduce.store import Shelf

PAPERS = Path(__file__).parents[2] / "papers"
SHELF = Shelf(PAPERS, beside=True)
TEXT, SHARP = "exponent m, as the text says", "exponent 3.5 m, calibrated on the published QCID"


def verdicts(name, method, reading=""):
    """Verdict of each environment for a method, under one reading of it."""
    (table,) = find_tables(PAPERS, [f"fed-cbs/{name}"])
    rows = rows_of(table, table.scale("check"), SHELF.of("fed-cbs"))
    wanted = [row for row in rows if row.measure == "mean QCID" and row.method == method]
    chosen = [row for row in wanted if row.reading.endswith(reading)]
    assert all(row.scale == "full" and row.runs >= 2 for row in chosen)
    return {row.environment: row.verdict for row in chosen}


@pytest.mark.parametrize(
    ("name", "method", "reading", "verdict"),
    [
        ("table-1", "all", "", "reproduced"),
        ("table-1", "rand", "", "reproduced"),
        ("table-1", "Fed-CBS", TEXT, "not reproduced"),
        ("table-1", "Fed-CBS", SHARP, "reproduced"),
        ("table-6", "Fed-cucb+ (Astraea)", "", "reproduced"),
    ],
)
def test_dirichlet_federations(name, method, reading, verdict):
    assert verdicts(name, method, reading) == {f"alpha={alpha}": verdict for alpha in (0.1, 0.2, 0.5)}


@pytest.mark.parametrize(
    ("method", "reading", "verdict"),
    [
        ("all", "", "reproduced"),
        ("rand", "", "reproduced"),
        ("Fed-CBS", TEXT, "not reproduced"),
        ("Fed-CBS", SHARP, "reproduced"),
    ],
)
def test_clients_of_one_class(method, reading, verdict):
    fair = ("Case 1 3:1, 16 and 8", "Case 1 5:1", "Case 2 3:1", "Case 2 5:1")
    expected = {"Case 1 3:1": "contradicts itself", **dict.fromkeys(fair, verdict)}
    assert verdicts("table-3", method, reading) == expected

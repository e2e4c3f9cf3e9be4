"""From stored curves to the rows of a table, with curves short enough to read."""

import dataclasses

import pytest

from callup.experiments.metrics import Series
from callup.experiments.reproduce.cells import cells
from callup.experiments.reproduce.finder import find_tables
from callup.experiments.reproduce.rows import rows_of
from callup.experiments.reproduce.store import Done, Results

TABLE = """
title = "Curves by hand"
baseline = "rand"
[sources]
all = "made up"
[base]
task = "fashion14-mlp"
partition = "dirichlet:clients=10,alpha=0.5"
k = 2
rounds = 4
[[environments]]
name = "e"
[[environments]]
name = "other data"
of = "e"
dataset = "a substitute"
seed_of_nothing = 0
[[methods]]
name = "rand"
selector = "random"
[[methods]]
name = "new"
selector = "fed-cbs"
[[measures]]
name = "rounds"
metric = "rounds_to_reference"
options = { of = "best" }
references = { reference = "rand" }
[[measures]]
name = "saved"
metric = "round_reduction"
via = "rounds"
factor = 100.0
better = "higher"
references = { base = "rand" }
[[measures]]
name = "best"
metric = "best_accuracy"
factor = 100.0
better = "higher"
[[claims]]
text = "new is better"
measure = "best"
environment = "e"
ahead = "new"
behind = "rand"
[[claims]]
text = "and worse"
measure = "best"
environment = "e"
ahead = "rand"
behind = "new"
[scales.paper]
seeds = 2
[scales.small]
seeds = 2
note = "cut down"
settings = { rounds = 3 }
"""
HEAD = "measure,unit,dataset,environment,method,value,std,repeats,needs_training,censored,note\n"
ROWS = """rounds,,d,e,rand,4,,,yes,no,
rounds,,d,e,new,3,,,yes,no,
saved,%,d,e,new,50.0,,,yes,no,
best,%,d,e,new,70.0,1.0,,yes,no,
"""

# Two seeds of four rounds. Random is at its best in rounds 4 and 2; new gets there in rounds 2 and 1.
CURVES = {
    ("random", 0): (0.1, 0.2, 0.3, 0.6),
    ("random", 1): (0.1, 0.5, 0.4, 0.4),
    ("fed-cbs", 0): (0.1, 0.6, 0.6, 0.7),
    ("fed-cbs", 1): (0.5, 0.6, 0.6, 0.7),
}


@pytest.fixture
def table(tmp_path):
    folder = tmp_path / "papers" / "p"
    folder.mkdir(parents=True)
    (folder / "table-1.toml").write_text(TABLE.replace("seed_of_nothing = 0\n", 'availability = "uniform"\n'))
    (folder / "table-1.csv").write_text(HEAD + ROWS)
    (found,) = find_tables(tmp_path / "papers")
    return found


def stored(table, scale, folder):
    results = Results(folder)
    for cell in cells(table, table.scale(scale)):
        curve = CURVES[cell.settings.selector, cell.settings.seed]
        done = Done(Series(4, (1, 2, 3, 4), curve, (0.0,) * 4), 1.0)
        results.add("table-1", cell, done, "")
    return results


def test_rows_by_hand(table, tmp_path):
    rows = rows_of(table, table.scale("paper"), stored(table, "paper", tmp_path / "r"))
    by_place = {(row.measure, row.environment, row.method): row for row in rows}
    # (4 + 2) / 2 and (2 + 1) / 2.
    assert by_place["rounds", "e", "rand"].our_value == 3
    assert by_place["rounds", "e", "new"].our_value == 1.5
    # Seed by seed 1 - 2/4 and 1 - 1/2.
    assert by_place["saved", "e", "new"].our_value == pytest.approx(50)
    assert by_place["saved", "e", "new"].verdict == "reproduced"
    assert by_place["best", "e", "new"].ours == "70.0 ± 0.0"
    assert by_place["best", "e", "new"].verdict == "reproduced"
    # 1.5 is further from 3 than 5 %, half a digit and two errors of half of that: a full run is about the value.
    assert by_place["rounds", "e", "new"].verdict == "not reproduced"
    assert by_place["rounds", "e", "new"].why == "0.50 of rand, published 0.75"
    # The same curves on other data are never called a reproduction.
    assert by_place["best", "other data", "new"].verdict != "reproduced"
    assert by_place["best", "other data", "new"].scale == "on a substitute"
    assert by_place["rounds", "other data", "new"].verdict == "direction only"
    claims = [row for row in rows if " against " in row.method]
    assert [row.verdict for row in claims] == ["reproduced", "not reproduced"]


def test_every_row_of_a_scaled_run_says_so(table, tmp_path):
    rows = rows_of(table, table.scale("small"), stored(table, "small", tmp_path / "r"))
    assert {row.scale for row in rows} == {"cut down", "cut down; on a substitute"}
    assert "reproduced" not in {row.verdict for row in rows}
    assert [row.verdict for row in rows if " against " in row.method] == ["direction only", "not reproduced"]


def test_a_method_left_out_at_a_scale_is_not_run_and_says_why(table, tmp_path):
    scale = dataclasses.replace(table.scale("small"), without={"new": "too dear"})
    assert {cell.settings.selector for cell in cells(table, scale)} == {"random"}
    rows = rows_of(table, scale, stored(table, "small", tmp_path / "r"))
    new = [row for row in rows if row.method == "new"]
    assert {(row.verdict, row.why) for row in new} == {("not attempted", "too dear")}
    assert {cell.settings.selector for cell in cells(table, table.scale("paper"))} == {"random", "fed-cbs"}


def test_without_results_nothing_is_claimed(table, tmp_path):
    for scale in ("check", "small", "paper"):
        rows = rows_of(table, table.scale(scale), Results(tmp_path / "none"))
        assert {row.verdict for row in rows} == {"not attempted"}
        assert {row.runs for row in rows} == {0}

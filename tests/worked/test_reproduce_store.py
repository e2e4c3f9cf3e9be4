"""Cells and where they are kept: named by what matters, whole or not at all, never run twice."""

import dataclasses
import json
from pathlib import Path

import pytest

from callup.core.catalogue import SELECTORS
from callup.core.errors import InputError
from callup.experiments.metrics import Series
from callup.experiments.reproduce.cells import Cell, cells
from callup.experiments.reproduce.finder import find_tables
from callup.experiments.reproduce.store import Done, Results
from callup.simulation.settings import Settings

PAPERS = Path(__file__).parents[2] / "papers"
RUN = Settings(task="fashion14-mlp", partition="dirichlet:clients=10", selector="fed-cbs", rounds=3)
CURVE = Series(3, (1, 2, 3), (0.1, 0.25, 0.3333333), (1.0, 2.0, 3.0), ((0.5, None), (0.25, 1.0), (1.0, 0.0)), 0.0123456)


def test_the_name_hangs_on_what_results_hang_on():
    plain = Cell("run", RUN, 1.0)
    assert plain.key == Cell("run", RUN.but(scenario="x", target=0.5, workers=2, backend="torch"), 9.0).key
    changes = ({"seed": 1}, {"rounds": 4}, {"selector": "random"}, {"lost": 0.1}, {"local": {"epochs": 2}})
    assert len({plain.key, *(Cell("run", RUN.but(**change), 1.0).key for change in changes)}) == 1 + len(changes)


def test_picks_ignore_how_clients_would_train():
    assert Cell("picks", RUN, 1.0).key == Cell("picks", RUN.but(local={"epochs": 9}, average="mean"), 1.0).key
    assert Cell("picks", RUN, 1.0).key != Cell("run", RUN, 1.0).key


def test_a_raised_version_makes_old_results_old(monkeypatch):
    before, other = Cell("run", RUN, 1.0).key, Cell("run", RUN.but(selector="random"), 1.0).key
    card = SELECTORS.card("fed-cbs")
    monkeypatch.setitem(SELECTORS._cards, "fed-cbs", dataclasses.replace(card, version=card.version + 1))
    assert Cell("run", RUN, 1.0).key != before
    assert Cell("run", RUN.but(selector="random"), 1.0).key == other


def test_tables_that_show_the_same_runs_share_cells():
    one, six = find_tables(PAPERS, ["fed-cbs/table-1", "fed-cbs/table-6"])
    shared = {c.key for c in cells(one, one.scale("check"))} & {c.key for c in cells(six, six.scale("check"))}
    assert len(shared) == 3 * (5 + 12)  # three alphas; five seeds of one reading of Fed-CBS and twelve of the other


def test_a_cell_comes_back_as_it_was_but_for_five_digits_and_the_clock(tmp_path):
    cell = Cell("run", RUN.but(rare_classes=(1,)), 1.0)
    Results(tmp_path).add("table-1", cell, Done(CURVE, 12.34), "callup reproduce")
    (line,) = (tmp_path / "table-1.jsonl").read_text().splitlines()
    assert json.loads(line)["settings"]["selector"] == "fed-cbs"
    back = Results(tmp_path).get(cell)
    assert back.seconds == 12.3
    assert back.series.accuracy == (0.1, 0.25, 0.33333)
    assert back.series.index == CURVE.index
    assert back.series.qcid == 0.012346
    assert back.series.recall == ((None, None), (None, 1.0), (None, 0.0))  # of the rare class alone


def test_a_line_cut_off_is_run_again_and_leaves_nothing_behind(tmp_path):
    first, second = Cell("run", RUN, 1.0), Cell("run", RUN.but(seed=1), 1.0)
    Results(tmp_path).add("table-1", first, Done(CURVE, 1.0), "")
    whole = (tmp_path / "table-1.jsonl").read_bytes()
    (tmp_path / "table-1.jsonl").write_bytes(whole + whole[:40])
    again = Results(tmp_path)
    assert again.missing([first, second]) == [second]
    again.add("table-1", second, Done(CURVE, 1.0), "")
    assert (tmp_path / "table-1.jsonl").read_bytes().startswith(whole + b'{"key"')
    assert Results(tmp_path).missing([first, second]) == []


def test_a_damaged_line_in_the_middle_is_told(tmp_path):
    (tmp_path / "table-1.jsonl").write_text('{"key": "a"}\n')
    with pytest.raises(InputError, match=r"table-1.jsonl, line 1 is damaged .*delete the line and run again"):
        Results(tmp_path)

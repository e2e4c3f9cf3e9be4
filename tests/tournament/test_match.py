"""A match is the run itself: measuring it changes nothing, and clients' work is not the selector's."""

import time

import numpy as np

from callup.core.clients import Clients
from callup.core.selector import Selector
from callup.core.types import Feedback, Round, Selection
from callup.experiments.reproduce.cells import Cell
from callup.experiments.reproduce.pool import run_cell
from callup.experiments.reproduce.store import Results
from callup.experiments.tournament.match import SELECTION_SECONDS, Stopwatch, play_match
from callup.experiments.tournament.scores import final_accuracy
from callup.simulation.engine import simulate
from callup.simulation.settings import settings

RUN = {
    "task": "fashion14-mlp",
    "partition": "dirichlet:clients=12,alpha=0.2",
    "selector": "power-of-choice:d=6",
    "k": 3,
    "rounds": 5,
    "evaluate_every": 2,
    "lost": 0.2,
}


def test_it_is_the_run_that_simulate_makes():
    found, values = play_match(settings(**RUN))
    history = [record for record in simulate(**RUN).history if record.accuracy is not None]
    assert found.index == (2, 4, 5)
    assert found.accuracy == tuple(record.accuracy for record in history)
    assert found.validation == tuple(record.validation_accuracy for record in history)
    assert values[SELECTION_SECONDS] > 0


def test_validation_accuracy_comes_back_from_disk_for_matches_alone(tmp_path):
    results = Results(tmp_path)
    for kind in ("match", "run"):
        cell = Cell(kind, settings(**RUN), 1.0)
        results.add("w", cell, run_cell(cell), "")
    again = Results(tmp_path)
    match, run = (again.get(Cell(kind, settings(**RUN), 1.0)) for kind in ("match", "run"))
    assert match.series.accuracy == run.series.accuracy
    assert len(match.series.validation) == 3
    assert run.series.validation == ()


def test_a_run_that_goes_astray_is_a_result_too():
    """Replies that are not finite are set aside by the engine, so the model stays as it was and is tested as ever."""
    found, _ = play_match(settings(**{**RUN, "local": {"rate": 1e30}}))
    assert found.index == (2, 4, 5)
    assert final_accuracy(found) < 0.3


def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


class Busy(Selector):
    """Works for 0.02 s, asks clients who work for 0.3 s, and learns for 0.02 s."""

    def select(self, now, k):
        work(0.02)
        now.probe("loss", now.available)
        return Selection(now.available[:k])

    def update(self, feedback):
        work(0.02)


def test_the_stopwatch_stands_still_while_clients_answer():
    def probe(name, ids):
        work(0.3)
        return np.zeros(len(ids))

    busy = Busy()
    stopwatch = Stopwatch(busy)
    clients, rng = Clients(np.arange(4)), np.random.default_rng(0)
    assert busy.select(Round(1, np.arange(4), clients, rng, probe), 2).ids.tolist() == [0, 1]
    busy.update(Feedback(1, np.arange(2), {}, clients, rng=rng))
    # Processor time: at least the 0.04 s of its own, and far from the 0.34 s of all.
    assert 0.04 <= stopwatch.seconds < 0.2

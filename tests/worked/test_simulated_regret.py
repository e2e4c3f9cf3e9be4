"""Regret in a simulated run, against the definitions written out."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

import callup
from callup.simulation.engine import Engine
from callup.simulation.regret import play_for_utility, skewness_regret, true_utilities
from callup.simulation.settings import Settings

SMALL = Settings(partition="client-dirichlet:clients=8,alpha=0.5", k=2, rounds=3, local={"epochs": 1})


def test_utility_is_the_size_times_the_root_mean_square_loss() -> None:
    engine = Engine(SMALL)
    held = engine.world.backend.samples(5)
    logits = engine.world.backend.logits(engine.model, held.x).astype(np.float64)
    # The loss of each sample, one by one: log sum exp of the scores minus the score of the true class.
    losses = [math.log(sum(map(math.exp, row))) - row[label] for row, label in zip(logits, held.y, strict=True)]
    expected = len(losses) * math.sqrt(sum(loss**2 for loss in losses) / len(losses))
    assert math.isclose(true_utilities(engine.world, engine.model, np.array([5]))[0], expected, rel_tol=1e-5)


def test_first_round_misses_what_the_best_pair_would_have_had() -> None:
    run, regret = play_for_utility(SMALL)
    engine = Engine(SMALL)
    every = true_utilities(engine.world, engine.model, engine.world.clients.ids)
    # Eq. 3 and 4 over all pairs.
    best = max(math.hypot(every[i], every[j]) for i, j in combinations(range(8), 2))
    i, j = run.history[0].asked
    assert math.isclose(regret[0], best - math.hypot(every[i], every[j]), rel_tol=1e-5)
    assert (np.diff(regret) >= 0).all()
    assert run.history == callup.simulate(**SMALL.plain()).history  # looking does not change the run


def test_choosing_everybody_misses_nothing() -> None:
    assert np.allclose(play_for_utility(SMALL.but(selector="all"))[1], 0)


def test_skewness_regret_counts_half_for_everyone_but_the_best() -> None:
    run = callup.simulate(**SMALL.plain())
    counts = run.clients.all("label_counts")
    shares = counts / counts.sum(axis=1, keepdims=True)
    best = int(np.argmin(((shares - 0.1) ** 2).sum(axis=1)))
    expected = np.cumsum([0.5 * sum(client != best for client in record.asked) for record in run.history])
    np.testing.assert_allclose(skewness_regret(run), expected)

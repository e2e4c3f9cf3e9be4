"""Sampled Shapley values against exact ones: on made-up games, and on eight clients' models of one real round."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from callup.aggregation.workbench import ModelBench
from callup.analytics import shapley
from callup.analytics.game import Game
from callup.core.randomness import stream
from callup.core.types import Replies
from callup.partition.scheme import Shards
from callup.simulation.backends.choose import make_backend
from callup.simulation.task import TASKS


def random_game(seed, n):
    values = stream(seed, "worth").normal(size=1 << n)
    return Game(n, lambda group: float(values[sum(1 << k for k in group)]))


@pytest.mark.parametrize("seed", range(3))
def test_truncated_without_truncation_converges_to_exact(seed):
    game, n = random_game(seed, 5), 4000
    gains = np.zeros((120, 5))
    for row, order in enumerate(permutations(range(5))):
        for place, player in enumerate(order):
            gains[row, player] = game(order[: place + 1]) - game(order[:place])
    values = shapley.truncated(game, stream(seed, "orders"), orders=n, epsilon=0.0)
    # 4.9 standard errors, from the spread over all 120 orders: once in 1e6 for each of 15 values.
    error = np.abs(values - shapley.exact(game))
    assert (error <= 4.9 * gains.std(axis=0) / np.sqrt(n)).all()
    assert error.max() < 0.12
    assert abs(shapley.unshared(game, values)) < 1e-9  # nothing was left off


@pytest.mark.parametrize("seed", range(3))
def test_what_truncation_leaves_over_is_at_most_epsilon(seed):
    game = random_game(seed, 5)
    for epsilon in (0.01, 0.3):
        assert abs(shapley.unshared(game, shapley.truncated(game, stream(seed, "t"), 50, epsilon))) < epsilon
        assert abs(shapley.unshared(game, shapley.gtg(game, stream(seed, "g"), within=epsilon))) < epsilon


def rank_correlation(a, b):
    """Spearman's, on values without ties."""
    return float(np.corrcoef(np.argsort(np.argsort(a)), np.argsort(np.argsort(b)))[0, 1])


SIZES = np.array([20, 40, 80, 120, 200, 300, 450, 700])


def game_of_one_round(seed):
    """Eight clients, from 20 to 700 pictures, train from a first model; v is minus the loss of a group's average."""
    task = TASKS.make("fashion14-mlp").load()
    order = stream(seed, "deal").permutation(len(task.data.train.y))[: SIZES.sum()]
    shards = Shards(np.arange(8), tuple(np.split(order, np.cumsum(SIZES)[:-1])))
    local = replace(task.local, epochs=2, rate=0.05)
    backend = make_backend("auto", task.data, task.model, shards, local, seed, 1)
    start = backend.init()
    trained = backend.train(start, shards.ids, 1, local.rates(1, np.zeros(8)), ())
    replies = Replies(shards.ids, start, trained.models, SIZES, trained.local_steps)

    def average(rows):
        return np.average(trained.models[rows], axis=0, weights=SIZES[rows]).astype(np.float32)

    held_out = task.data.validation
    bench = ModelBench(replies, lambda model: backend.logits(model, held_out.x), held_out.y, average)
    return Game(8, lambda group: -bench.loss(np.array(sorted(group), np.intp)))


@pytest.mark.parametrize("seed", range(3))
def test_both_estimates_rank_eight_real_clients_as_exact_does(seed):
    """Clients that differ clearly. Among skewed clients of equal size near-ties flip, and the mean is below 0.95."""
    with threadpool_limits(1):  # many small products: threads would only wait for each other
        game, runs = game_of_one_round(seed), range(10)
        values = shapley.exact(game)
    assert game.evaluations == 256
    assert abs(shapley.unshared(game, values)) < 1e-12
    tmc = [shapley.truncated(game, stream(run, "tmc"), orders=400) for run in runs]
    gtg = [shapley.gtg(game, stream(run, "gtg")) for run in runs]
    for estimates in (tmc, gtg):
        # The smallest clients are all but equal, so one run may swap them; two neighbours swapped are 0.976.
        assert np.mean([rank_correlation(estimate, values) for estimate in estimates]) >= 0.95
        assert min(np.corrcoef(estimate, values)[0, 1] for estimate in estimates) >= 0.97

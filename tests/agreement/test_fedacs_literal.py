"""FedACS draws its pool in blocks and counts duels by sorting; both are what the loops in the paper do."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.selectors import fedacs as module

WINS = np.array([0.0, 6, 1, 0, 2, 0])
LOSSES = np.array([5.0, 1, 4, 0, 2, 1])
DRAWS = 2000


def literal_pool(rng, size):
    """Algorithm 1, lines 1-10, word for word."""
    everyone, pool = list(range(len(WINS))), []
    for _ in range(size):
        theta = {i: rng.beta(WINS[i] + 1, LOSSES[i] + 1) for i in everyone}
        leader = max(theta, key=theta.get)
        pool.append(leader)
        everyone.remove(leader)
    return tuple(sorted(pool))


def fast_pools(redraw):
    clients = Clients(np.arange(len(WINS)))
    made = selector(f"fedacs:pool=0.5,redraw={redraw}")
    made.start(clients, Plan(k=3), stream(0, "start"))
    made.wins_.set(clients.ids, WINS)
    made.losses_.set(clients.ids, LOSSES)
    now = Round(1, clients.ids, clients, stream(0, redraw))
    # A cohort as large as the pool is the pool.
    return Counter(tuple(sorted(made.select(now, 3).ids.tolist())) for _ in range(DRAWS))


def distance(a, b):
    """The two-sample chi-square statistic over the 20 possible pools, for samples of equal size."""
    pools = combinations(range(len(WINS)), 3)
    return sum((a[p] - b[p]) ** 2 / (a[p] + b[p]) for p in pools if a[p] + b[p])


@pytest.fixture(scope="module")
def literal():
    rng = stream(0, "literal")
    return Counter(literal_pool(rng, 3) for _ in range(DRAWS))


@pytest.mark.parametrize("block", [12, 1 << 18])  # two places, then one; all at once
def test_exact_redraw_is_the_loop_of_the_paper(literal, monkeypatch, block):
    monkeypatch.setattr(module, "_BLOCK", block)
    # Chi-square with 19 degrees of freedom exceeds 63.68 once in 1e6.
    assert distance(literal, fast_pools("exact")) < 63.68


def test_a_single_draw_is_another_law_and_would_be_noticed(literal):
    assert distance(literal, fast_pools("single")) > 80


def literal_duels(rounds, eta, history):
    """Algorithm 2, word for word; with a history, also against the last reward of who is not here this time."""
    wins, losses = dict.fromkeys(range(len(WINS)), 0.0), dict.fromkeys(range(len(WINS)), 0.0)
    step = eta / history if history else eta
    for t, (ids, rewards) in enumerate(rounds):
        reward = dict(zip(ids, rewards, strict=True))
        for i in ids:
            for j in ids:
                if reward[i] > reward[j]:
                    wins[i] += step
                    losses[j] += step
        past = {}
        for earlier_ids, earlier_rewards in rounds[max(0, t - history) : t]:
            past |= dict(zip(earlier_ids, earlier_rewards, strict=True))
        for i in ids:
            for j in past.keys() - set(ids):
                wins[i] += step * (reward[i] > past[j])
                losses[i] += step * (reward[i] < past[j])
    return list(wins.values()), list(losses.values())


@pytest.mark.parametrize("history", [0, 1, 4])
@pytest.mark.parametrize("seed", range(5))
def test_duels_are_the_loop_of_the_paper(seed, history):
    rng, clients = stream(seed, "duels"), Clients(np.arange(len(WINS)))
    made = selector(f"fedacs:eta=0.5,history={history}")  # a power of two: sums are exact in any order
    made.start(clients, Plan(k=3), stream(0, "start"))
    rounds = []
    for index in range(1, 16):
        ids = rng.permutation(len(WINS))[: rng.integers(2, 6)]
        vectors = rng.integers(0, 4, (len(ids), 1)).astype(float)  # few values: equals are common
        made.update(Feedback(index, ids, {"gradient": vectors}, clients))
        mean = sum(v[0] for v in vectors) / len(vectors)
        rounds.append((ids.tolist(), [round(-abs(v[0] - mean), 9) for v in vectors]))
    wins, losses = literal_duels(rounds, 0.5, history)
    assert made.wins_.get(clients.ids).tolist() == wins
    assert made.losses_.get(clients.ids).tolist() == losses

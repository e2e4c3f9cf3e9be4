"""By size: k draws with replacement among clients of 1, 2, 0 and 7 samples."""

import numpy as np
import pytest

import callup
from callup.core.verify import ask

IDS = np.array([3, 8, 11, 20])
SHARE = np.array([0.1, 0.2, 0.0, 0.7])
ROUNDS, K = 1500, 5


def times_drawn(sizes=(1, 2, 0, 7), k=K, rounds=ROUNDS, seed=0):
    """How often each client was drawn, one row a round."""
    clients = callup.Clients(IDS, num_examples=sizes)
    selector = callup.selector("by-size")
    selector.start(clients, callup.Plan(k), callup.stream(seed, "start"))
    out = np.zeros((rounds, len(IDS)))
    for index in range(1, rounds + 1):
        selection = ask(selector, callup.Round(index, IDS, clients, callup.stream(seed, index)), k)
        assert (np.diff(selection.weights) <= 0).all()  # most drawn first
        out[index - 1, np.searchsorted(IDS, selection.ids)] = selection.weights
    return out


@pytest.fixture(scope="module")
def times():
    return times_drawn()


def test_weights_are_multiplicities_and_add_up_to_k(times):
    assert (times.sum(axis=1) == K).all()
    assert (times == times.round()).all()


def test_each_draw_falls_in_proportion_to_size(times):
    # 7,500 draws; 6 standard deviations of each share: false alarm about 6e-9 in all.
    draws = ROUNDS * K
    assert (np.abs(times.sum(axis=0) / draws - SHARE) <= 6 * np.sqrt(SHARE * (1 - SHARE) / draws)).all()


def test_draws_are_independent(times):
    # All five fall on the largest client with chance 0.7^5, and once each draw is independent the variance of its
    # count is 5 x 0.7 x 0.3. Each bound is 6 standard deviations: false alarm about 4e-9 in all.
    chance = 0.7**5
    assert abs((times[:, 3] == 5).mean() - chance) < 6 * np.sqrt(chance * (1 - chance) / ROUNDS)
    variance, fourth = 1.05, 1.05 * (1 + 3 * (5 - 2) * 0.21)  # central moments of a binomial
    assert abs(times[:, 3].var() - variance) < 6 * np.sqrt((fourth - variance**2) / ROUNDS)


def test_a_client_without_samples_is_never_drawn(times):
    assert not times[:, 2].any()


class Edges:
    """A generator whose uniforms are the very edges between clients."""

    def random(self, k):
        return np.linspace(0, 0.5, k)

    def integers(self, *args, **kwargs):
        return callup.stream(0).integers(*args, **kwargs)


def test_not_even_a_draw_at_the_edge_falls_on_a_client_without_samples():
    clients = callup.Clients(IDS, num_examples=[0, 2, 0, 2])
    # 0 and 0.5 of 4 samples are where clients 3 and 11 would begin, had they any.
    chosen = callup.selector("by-size").select(callup.Round(1, IDS, clients, Edges()), 2)
    assert sorted(chosen.ids) == [8, 20]


def test_nobody_has_samples():
    # Equal chances of 1/4: bound of 6 standard deviations on 2,000 draws, false alarm about 8e-9 in all.
    drawn = times_drawn((0, 0, 0, 0), rounds=400).sum(axis=0)
    assert (np.abs(drawn - 500) <= 6 * np.sqrt(2000 * 0.25 * 0.75)).all()


def test_more_draws_than_clients():
    assert (times_drawn(k=50, rounds=20).sum(axis=1) == 50).all()


def test_equally_often_drawn_clients_come_in_random_order():
    clients = callup.Clients(IDS, num_examples=[1, 1, 1, 1])
    selector = callup.selector("by-size")
    firsts = []
    for index in range(1, 401):
        selection = selector.select(callup.Round(index, IDS, clients, callup.stream(1, index)), 2)
        if len(selection.ids) == 2:
            firsts.append(selection.ids[0] < selection.ids[1])
    # About 300 rounds with two clients, either first with chance 1/2: 6 standard deviations, false alarm 2e-9.
    assert abs(np.mean(firsts) - 0.5) < 6 * 0.5 / np.sqrt(len(firsts))

"""FedCM-TS: counts by hand, the law of the draw by integration."""

import math

import numpy as np
import pytest

import callup
from callup.core.verify import ask

CLIENTS = callup.Clients([2, 4, 6, 9])


def started(spec="fedcm-ts", clients=CLIENTS, seed=0):
    selector = callup.selector(spec)
    selector.start(clients, callup.Plan(1), callup.stream(seed, "start"))
    return selector


def thetas(selector, index, clients=CLIENTS):
    chosen = selector.select(callup.Round(index, clients.ids, clients, callup.stream(0, index)), len(clients))
    assert (np.diff(chosen.scores["theta"]) <= 0).all()
    return chosen.scores["theta"][np.argsort(chosen.ids)]


def told(selector, index, kept, clients=CLIENTS):
    signals = {"kept": np.array(list(kept.values()), float)}
    rng = callup.stream(7, index)
    selector.update(callup.Feedback(index, np.array(list(kept)), signals, clients, rng=rng))


def test_counts_by_hand():
    selector = started()
    told(selector, 1, {9: 1, 2: 0})
    told(selector, 2, {2: 1, 4: 0})
    told(selector, 3, {2: 1})
    np.testing.assert_array_equal(selector.alpha_.get(CLIENTS.ids), [3, 1, 1, 2])
    np.testing.assert_array_equal(selector.beta_.get(CLIENTS.ids), [2, 2, 1, 1])


def test_the_kept_client_leads_as_often_as_its_posterior_says():
    # Beta(2, 1) against Beta(1, 2): the integral of 2x (2x - x^2) over [0, 1] is 4/3 - 1/2 = 5/6.
    clients = callup.Clients([3, 5])
    selector = started(clients=clients)
    told(selector, 1, {3: 1, 5: 0}, clients)
    rounds = 1500
    leads = [
        selector.select(callup.Round(2, clients.ids, clients, callup.stream(1, draw)), 1).ids[0] == 3
        for draw in range(rounds)
    ]
    # 6 standard deviations: false alarm 2e-9.
    assert abs(np.mean(leads) - 5 / 6) < 6 * math.sqrt(5 / 36 / rounds)


def test_everybody_draws_anew_each_round():
    selector = started()
    assert (thetas(selector, 1) != thetas(selector, 2)).all()


def test_only_participants_draw_anew_when_the_text_is_followed():
    selector = started("fedcm-ts:refresh=participants")
    first = thetas(selector, 1)
    told(selector, 1, {6: 1, 4: 0})
    second = thetas(selector, 2)
    np.testing.assert_array_equal(first == second, [True, False, False, True])
    np.testing.assert_array_equal(thetas(selector, 3), second)


def test_what_participants_draw_does_not_hang_on_who_replied_first():
    one, two = (started("fedcm-ts:refresh=participants") for _ in range(2))
    told(one, 1, {6: 1, 4: 0, 9: 1})
    told(two, 1, {4: 0, 9: 1, 6: 1})
    np.testing.assert_array_equal(thetas(one, 2), thetas(two, 2))


def test_first_thetas_of_the_text_are_uniform():
    many = callup.Clients(range(4000))
    first = np.sort(thetas(started("fedcm-ts:refresh=participants", many), 1, many))
    # Kolmogorov's distance to the uniform law: above 0.052 with chance 2 exp(-2 x 4000 x 0.052^2) < 1e-9.
    ranks = np.arange(4000)
    assert max((first - ranks / 4000).max(), ((ranks + 1) / 4000 - first).max()) < 0.052


@pytest.mark.parametrize("refresh", ["all", "participants"])
@pytest.mark.parametrize(("ratio", "size"), [(0.2, 4), (0.4, 8), (0.6, 12)])
def test_round_1_names_exactly_the_sampling_ratio(refresh, ratio, size):
    clients = callup.Clients(range(20))
    selector = started(f"fedcm-ts:refresh={refresh}", clients)
    now = callup.Round(1, clients.ids, clients, callup.stream(0, 1))
    assert len(ask(selector, now, math.floor(ratio * 20)).ids) == size


def test_good_clients_are_found():
    # Ten of forty clients are always kept, the others never; who is called is told. After 100 rounds of five calls
    # the last 20 rounds should call good clients nearly always; by luck alone a call is good with chance 1/4, and 80
    # of 100 then has a chance far below 1e-9.
    clients = callup.Clients(range(40))
    selector = started(clients=clients)
    good = 0
    for index in range(1, 101):
        chosen = selector.select(callup.Round(index, clients.ids, clients, callup.stream(3, index)), 5).ids
        told(selector, index, {int(i): float(i < 10) for i in chosen}, clients)
        good += int((chosen < 10).sum()) if index > 80 else 0
    assert good >= 80

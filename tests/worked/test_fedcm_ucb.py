"""FedCM-UCB by hand: four clients, all called, so that every score can be read."""

import math

import numpy as np
import pytest

import callup
from callup.core.errors import MissingSignal
from callup.core.verify import ask

CLIENTS = callup.Clients([2, 4, 6, 9])


def started(spec="fedcm-ucb", clients=CLIENTS, seed=0):
    selector = callup.selector(spec)
    selector.start(clients, callup.Plan(4), callup.stream(seed, "start"))
    return selector


def scores(selector, index, clients=CLIENTS):
    """Mean and bonus of every client, by id."""
    chosen = selector.select(callup.Round(index, clients.ids, clients, callup.stream(0, index)), len(clients))
    order = np.argsort(chosen.ids)
    return chosen.scores["kept_rate"][order], chosen.scores["bonus"][order]


def told(selector, index, kept, clients=CLIENTS):
    signals = {"kept": np.array(list(kept.values()), float)}
    selector.update(callup.Feedback(index, np.array(list(kept)), signals, clients))


def bonus(t, reports):
    return math.sqrt(3 * math.log(t) / (2 * reports))


def test_first_means_are_coins_and_nobody_has_a_bonus_yet():
    mean, extra = scores(started(clients=callup.Clients(range(2000))), 1, callup.Clients(range(2000)))
    assert set(mean) == {0.0, 1.0}
    # 2,000 fair coins: 6 standard deviations are 134; false alarm 2e-9.
    assert abs(mean.sum() - 1000) <= 134
    assert not extra.any()  # ln 1 = 0


def test_three_rounds_by_hand():
    selector = started()
    coin = scores(selector, 1)[0]
    told(selector, 1, {9: 1, 2: 0})  # in the order the replies came
    told(selector, 2, {2: 1, 4: 0})
    # (a mu + r) / (a + 1), beginning with a = 1 and the coin.
    expected = [((coin[0] + 0) / 2 * 2 + 1) / 3, (coin[1] + 0) / 2, coin[2], (coin[3] + 1) / 2]
    mean, extra = scores(selector, 3)
    np.testing.assert_allclose(mean, expected, rtol=1e-12)
    np.testing.assert_allclose(extra, [bonus(3, 3), bonus(3, 2), bonus(3, 1), bonus(3, 2)], rtol=1e-12)


def test_the_highest_score_comes_first_and_lost_replies_teach_nothing():
    selector = started()
    for index in range(1, 30):
        selector.update(
            callup.Feedback(index, np.array([2, 6]), {"kept": np.array([1.0, 0.0])}, CLIENTS, failed={4: "no reply"})
        )
    # At t = 30 client 6 has mean <= 1/30 and bonus sqrt(3 ln 30 / 60) = 0.41; client 2 mean >= 29/30 and the same
    # bonus; 4 and 9 a bonus of sqrt(3 ln 30 / 2) = 2.26.
    chosen = selector.select(callup.Round(30, CLIENTS.ids, CLIENTS, callup.stream(0, 30)), 4).ids
    assert set(chosen[:2]) == {4, 9}
    assert chosen[2:].tolist() == [2, 6]


def test_only_participants_are_refreshed_when_the_text_is_followed():
    selector = started("fedcm-ucb:refresh=participants")
    coin = scores(selector, 1)[0]
    told(selector, 1, {2: 1, 4: 0})
    told(selector, 2, {2: 0})
    for later in (3, 50):
        mean, extra = scores(selector, later)
        # Client 2 was refreshed for round 3, client 4 for round 2; the others never.
        np.testing.assert_allclose(extra, [bonus(3, 3), bonus(2, 2), 0, 0], rtol=1e-12)
        np.testing.assert_allclose(mean, [(coin[0] + 1) / 3, coin[1] / 2, coin[2], coin[3]], rtol=1e-12)


@pytest.mark.parametrize("refresh", ["all", "participants"])
@pytest.mark.parametrize(("ratio", "size"), [(0.2, 4), (0.4, 8), (0.6, 12)])
def test_round_1_names_exactly_the_sampling_ratio_although_all_scores_tie(refresh, ratio, size):
    clients = callup.Clients(range(20))
    for seed in range(20):
        selector = started(f"fedcm-ucb:refresh={refresh}", clients, seed)
        now = callup.Round(1, clients.ids, clients, callup.stream(seed, 1))
        chosen = ask(selector, now, math.floor(ratio * 20))
        assert len(chosen.ids) == size
        # Whoever has a mean of 1 goes before anybody who has 0.
        assert (np.diff(chosen.scores["kept_rate"]) <= 0).all()


def test_a_newcomers_coin_does_not_hang_on_who_was_there_first():
    many = callup.Clients(range(40))
    small = started(clients=callup.Clients(range(10)))
    np.testing.assert_array_equal(scores(small, 1, many)[0], scores(started(clients=many), 1, many)[0])


def test_another_seed_tosses_other_coins():
    many = callup.Clients(range(40))  # equal by chance: 2^-40
    assert (scores(started(clients=many), 1, many)[0] != scores(started(clients=many, seed=1), 1, many)[0]).any()


def test_without_a_filter_there_is_nothing_to_learn_from():
    with pytest.raises(MissingSignal, match="no 'kept'"):
        started().update(callup.Feedback(1, np.array([2]), {}, CLIENTS))

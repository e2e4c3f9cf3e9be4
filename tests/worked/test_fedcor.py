"""FedCor by hand: when it measures, what it remembers, and whom it calls once it knows who moves together."""

import numpy as np
import pytest

import callup.testing
from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.core.errors import UsageError

CLIENTS = Clients([3, 4, 8, 9], num_examples=[10, 10, 20, 40])


class Losses:
    """A probe that answers from a table and keeps what was heard, as a runtime does."""

    def __init__(self, losses):
        self.losses, self.heard = losses, {}

    def __call__(self, name, ids):
        answers = np.array([self.losses[client] for client in ids.tolist()], float)
        self.heard[name] = (ids, answers)
        return answers


def started(spec, clients=CLIENTS, k=2, seed=0):
    made = selector(spec)
    made.start(clients, Plan(k), stream(seed, "start"))
    return made


def play(made, index, losses, k=2, clients=CLIENTS, available=None, reply=True):
    probe = Losses(losses)
    online = clients.ids if available is None else available
    chosen = made.select(Round(index, online, clients, stream(0, index), probe), k)
    ids, failed = (chosen.ids, {}) if reply else ([], dict.fromkeys(chosen.ids.tolist(), "no reply"))
    made.update(Feedback(index, ids, {}, clients, failed=failed, probed=probe.heard, notes=chosen.notes))
    return chosen


def level(value):
    return dict.fromkeys(CLIENTS.ids.tolist(), value)


def test_measured_are_random_rounds_and_those_after_them():
    made = started("fedcor:warm_up=2,interval=3,steps=1")
    measured = [play(made, index, level(1 / index)).notes["measured"] for index in range(1, 13)]
    # Random: 1, 2, then 5, 8 and 11. Each is measured before and after.
    assert [index for index, was in enumerate(measured, start=1) if was] == [1, 2, 3, 5, 6, 8, 9, 11, 12]
    # Changes of rounds 1, 2, 5, 8 and 11.
    assert made.records_ == 5
    assert made.rounds_[:5].tolist() == [1, 2, 5, 8, 11]


def test_changes_by_hand():
    made = started("fedcor:warm_up=4,memory=2,steps=1")
    play(made, 1, {3: 2.0, 4: 1.0, 8: 5.0, 9: 4.0})
    play(made, 2, {3: 1.5, 4: np.nan, 8: 5.5, 9: 3.0})
    # Round 1 moved 3 by -0.5, 8 by +0.5 and 9 by -1; client 4 kept silent.
    expected = np.array([[-0.5, np.nan], [np.nan, np.nan], [0.5, np.nan], [-1.0, np.nan]])
    np.testing.assert_array_equal(made.changes_.get(CLIENTS.ids), expected)
    play(made, 3, {3: 1.25, 4: 0.5}, available=np.array([3, 4]))
    # Round 2 moved 3 by -0.25. Of 4 the loss before round 2 is not known, and what it was before round 1 does not help.
    expected[0, 1] = -0.25
    np.testing.assert_array_equal(made.changes_.get(CLIENTS.ids), expected)
    play(made, 4, {3: 1.0, 4: 0.25, 8: 1.0, 9: 1.0})
    # Round 3 takes the place of round 1, which is forgotten for everyone.
    expected[:, 0] = [-0.25, -0.25, np.nan, np.nan]
    np.testing.assert_array_equal(made.changes_.get(CLIENTS.ids), expected)
    assert made.rounds_.tolist() == [3, 2]


def test_two_picks_by_hand():
    # One dimension: 3 stands at 2, 4 and 8 at 1, 9 at 0. Noise 1. Shares 1/8, 1/8, 1/4, 1/2: sum_i p_i x_i = 5/8.
    # Scores: 3 has variance 4: 5/8 * 2 * 2 / (4 + 1) = 1/2. 4 and 8 have 1: 5/8 / 2 = 5/16. 9 has none: 0.
    # Given 3, all shrink by 1 - 4/5: 8 and 4 have variance 1/5: 5/8 * 1/5 * sqrt(1/5) / (6/5) = 0.0466.
    made = started("fedcor:warm_up=1,dimensions=1,noise=1,decay=0.5")
    made.fits_ = 1
    made.places_.set(CLIENTS.ids, np.array([[2.0], [1.0], [1.0], [0.0]]))
    chosen = made.select(Round(2, CLIENTS.ids, CLIENTS, stream(0), Losses(level(1.0))), 4)
    assert chosen.ids[0] == 3
    assert set(chosen.ids[1:3].tolist()) == {4, 8}
    assert chosen.ids[3] == 9
    shrunk = 5 / 8 * (1 / 5) * np.sqrt(1 / 5) / (6 / 5)
    np.testing.assert_allclose(chosen.scores["gain"][:2], [0.5, shrunk], rtol=1e-9)


def test_discounts_fall_with_every_call_and_begin_again_after_a_measured_round():
    made = started("fedcor:warm_up=2,interval=4,decay=0.5,steps=1")
    rng = stream(0, "losses")
    for index in range(1, 4):
        play(made, index, dict(zip(CLIENTS.ids.tolist(), rng.normal(size=4), strict=True)))
    assert made.fits_ > 0
    assert made.discount_.get(CLIENTS.ids).tolist() == [1, 1, 1, 1]  # round 3 was the one after the warm-up
    expected = dict.fromkeys(CLIENTS.ids.tolist(), 1.0)
    for index, reply in ((4, True), (5, False)):  # asked is asked, replied or not
        for client in play(made, index, {}, reply=reply).ids.tolist():
            expected[client] *= 0.5
    assert made.discount_.get(CLIENTS.ids).tolist() == list(expected.values())
    play(made, 6, level(3.0))  # random: who is called does not matter
    assert made.discount_.get(CLIENTS.ids).tolist() == list(expected.values())
    play(made, 7, {3: 1.0, 4: 2.0, 8: 0.5, 9: 0.0})
    assert made.discount_.get(CLIENTS.ids).tolist() == [1, 1, 1, 1]


def test_one_of_each_block_once_it_is_known_who_moves_together():
    # Twelve clients in three blocks; the losses of a block move together.
    clients = Clients(np.arange(12) * 2, num_examples=np.ones(12))
    made, rng, loss = started("fedcor:warm_up=25", clients, 3), stream(1, "blocks"), np.zeros(12)
    for index in range(1, 27):
        play(made, index, dict(zip(clients.ids.tolist(), loss.tolist(), strict=True)), 3, clients)
        loss = loss + np.repeat(rng.normal(size=3), 4) + 0.02 * rng.normal(size=12)
    for index in (27, 28, 29):
        chosen = play(made, index, {}, 3, clients)
        assert {client // 8 for client in chosen.ids.tolist()} == {0, 1, 2}


def test_one_client_that_lies_about_its_loss_does_not_hide_the_others():
    clients = Clients(np.arange(13), num_examples=np.ones(13))
    made, rng, loss = started("fedcor:warm_up=25", clients, 3), stream(1, "blocks"), np.zeros(12)
    for index in range(1, 27):
        lie = {12: 1e30 * (-1) ** index}
        play(made, index, dict(zip(range(12), loss.tolist(), strict=True)) | lie, 3, clients)
        loss = loss + np.repeat(rng.normal(size=3), 4) + 0.02 * rng.normal(size=12)
    honest = np.arange(12)
    chosen = made.select(Round(27, honest, clients, stream(0)), 3)
    assert {client // 4 for client in chosen.ids.tolist()} == {0, 1, 2}


def test_without_any_change_heard_clients_are_drawn_at_random():
    made = started("fedcor:warm_up=1")
    silence = level(np.nan)
    seen = set()
    for index in range(1, 10):
        seen.add(tuple(play(made, index, silence).ids.tolist()))
    assert made.fits_ == 0
    assert len(seen) > 1


def test_a_newcomer_begins_at_a_place_of_its_own_and_leavers_are_forgotten():
    made = started("fedcor:warm_up=3,steps=1")
    for index in range(1, 5):
        play(made, index, {3: index**2, 4: 1.0, 8: -index, 9: 2.0**index})
    others = Clients([3, 4, 77], num_examples=[1, 1, 1])
    made.roster(others, stream(0, "roster"))
    for memory in (made.places_, made.discount_, made.last_, made.changes_):
        assert set(memory.ids.tolist()) <= {3, 4}
    assert len(play(made, 5, {}, 3, others).ids) == 3


def test_every_check_passes_also_when_places_decide():
    # The usual settings spend the rounds of the checks in the warm-up.
    callup.testing.check_selector(lambda: selector("fedcor:warm_up=2,interval=3,steps=5,dimensions=3"))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("fedcor:warm_up=0", "warm_up must be at least 1, got 0"),
        ("fedcor:interval=1", "interval must be at least 2, got 1"),
        ("fedcor:decay=0", "decay must be above 0 and at most 1, got 0"),
        ("fedcor:noise=0", "noise must be above 0 and finite, got 0"),
    ],
)
def test_bad_settings_are_named(spec, said):
    with pytest.raises(UsageError, match=said):
        selector(spec)

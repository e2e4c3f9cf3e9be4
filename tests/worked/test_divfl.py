"""DivFL by hand: gradients on a line, so that every distance can be read off."""

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.core.errors import InputError

# Three near 0, two near 10, one at 40.
GRADIENTS = {2: -1.0, 5: 0.0, 6: 1.5, 11: 10.0, 14: 11.0, 30: 40.0}
CLIENTS = Clients(list(GRADIENTS))


class Answers:
    """A probe that answers from a table and keeps what was heard, as a runtime does."""

    def __init__(self, gradients=GRADIENTS):
        self.gradients, self.heard = gradients, {}

    def __call__(self, name, ids):
        answers = np.array([[self.gradients[client]] for client in ids.tolist()], float)
        self.heard[name] = (ids, answers)
        return answers

    @property
    def asked(self):
        return [ids.tolist() for ids, _ in self.heard.values()]


def started(spec="divfl", clients=CLIENTS):
    made = selector(spec)
    made.start(clients, Plan(2), stream(0, "start"))
    return made


def pick(made, index, k, probe=None, available=CLIENTS.ids, seed=0, clients=CLIENTS):
    return made.select(Round(index, available, clients, stream(seed, index), probe or Answers()), k)


def learn(made, index, chosen, probe, replies=None, clients=CLIENTS):
    """The round comes to an end; whoever is in `replies` reports a gradient."""
    replies = replies or {}
    failed = {int(i): "no reply" for i in chosen.ids if i not in replies}
    signals = {"gradient": np.array([[value] for value in replies.values()], float).reshape(-1, 1)}
    made.update(Feedback(index, list(replies), signals, clients, failed=failed, probed=probe.heard))


def test_three_places_by_hand():
    # Sums of distances: 2 is at 67.5, 5 at 1 + 1.5 + 10 + 11 + 40 = 63.5, 6 at 2.5 + 1.5 + 8.5 + 9.5 + 38.5 = 60.5, 11
    # at 11 + 10 + 8.5 + 1 + 30 = 60.5 too, 14 at 62.5 and 30 at 178.5.
    # After 6, client 30 saves 38.5, 14 saves 7.5 + 9.5 + 9.5 and 11 saves three times 8.5: 30 is next. Then 11 saves
    # 8.5 + 8.5, 14 the same 7.5 + 9.5, and 5 saves 3.
    # After 11, client 30 saves 30, 5 saves 10 + 10 + 7 = 27, 2 saves 11 + 9 + 6 and 6 three times 8.5: 30, then 5.
    found = {tuple(pick(started(), 1, 3, seed=seed).ids.tolist()) for seed in range(80)}
    # Ties fall any way; the rarest has a chance of 1/4 and is missing with (3/4)^80 = 1e-10.
    assert found == {(6, 30, 11), (6, 30, 14), (11, 30, 5)}


def test_who_stands_for_whom():
    # 6 for 2, 5 and itself; 30 for itself; 11 or 14 for both.
    seed = next(seed for seed in range(40) if pick(started(), 1, 1, seed=seed).ids[0] == 6)
    chosen = pick(started("divfl:weigh_groups=true"), 1, 3, seed=seed)
    assert chosen.weights.tolist() == [3, 1, 2]
    assert chosen.weights.sum() == len(CLIENTS)
    assert pick(started(), 1, 3).weights is None


def test_everyone_is_asked_once_and_then_only_participants_are_refreshed():
    made, probe = started(), Answers()
    chosen = pick(made, 1, 2, probe)
    assert probe.asked == [CLIENTS.ids.tolist()]
    learn(made, 1, chosen, probe, {6: 1.25})
    assert made.rows_.get(CLIENTS.ids)[:, 0].tolist() == [-1, 0, 1.25, 10, 11, 40]
    quiet = Answers()
    pick(made, 2, 2, quiet)
    assert quiet.asked == []


def test_select_learns_nothing():
    made = started()
    pick(made, 1, 2)
    assert len(made.rows_.ids) == 0


def test_a_client_is_asked_when_it_is_first_there():
    made, probe = started(), Answers()
    learn(made, 1, pick(made, 1, 1, probe, np.array([2, 5])), probe)
    later = Answers()
    pick(made, 2, 1, later, np.array([2, 5, 30]))
    assert later.asked == [[30]]


def test_whoever_is_away_is_to_be_served_too():
    made, probe = started(), Answers()
    learn(made, 1, pick(made, 1, 2, probe), probe)
    # Online are 5, 14 and 30, at 63.5, 62.5 and 178.5 from all six: 14. Then 30 saves 29, but 5 saves 11 for itself, 11
    # for client 2 and 8 for client 6. Were it for those online alone, 30 would save 29 and 5 only 11.
    assert pick(made, 2, 2, available=np.array([5, 14, 30])).ids.tolist() == [14, 5]


def test_silence_is_asked_again_and_called_only_to_fill():
    made, probe = started(), Answers(GRADIENTS | {5: np.nan, 6: np.nan})
    chosen = pick(made, 1, 5, probe)
    assert set(chosen.ids[:4].tolist()) == {2, 11, 14, 30}
    assert chosen.ids[4] in (5, 6)
    assert chosen.scores["known"].tolist() == [1, 1, 1, 1, 0]
    learn(made, 1, chosen, probe)
    again = Answers()
    pick(made, 2, 1, again)
    assert again.asked == [[5, 6]]


def test_every_round_asks_everyone_available():
    made = started("divfl:ask=every-round")
    assert [str(ask) for need in made.needs for ask in need.any_of] == ["gradient@probe"]
    for index in (1, 2):
        probe = Answers({client: value + index for client, value in GRADIENTS.items()})
        chosen = pick(made, index, 2, probe, np.array([5, 14, 30]))
        assert probe.asked == [[5, 14, 30]]
        made.update(Feedback(index, chosen.ids, {}, CLIENTS, probed=probe.heard))
    assert made.rows_.get(np.array([5, 14, 30]))[:, 0].tolist() == [2, 13, 42]


def test_never_asks_nobody_and_calls_strangers_first():
    made = started("divfl:ask=never")
    assert made.needs.names() == ["update"]
    probe = Answers()
    known = {2: -1.0, 5: 0.0, 11: 10.0, 30: 40.0}
    made.update(Feedback(1, list(known), {"update": np.array([[value] for value in known.values()])}, CLIENTS))
    chosen = pick(made, 2, 3, probe)
    assert probe.asked == []
    assert set(chosen.ids[:2].tolist()) == {6, 14}
    # Of those known: 2 is at 1 + 11 + 41 = 53, 5 at 1 + 10 + 40 = 51, 11 at 11 + 10 + 30 = 51, 30 at 111.
    assert chosen.ids[2] in (5, 11)
    assert pick(made, 2, 1).ids[0] in (6, 14)


def test_equal_gradients_are_told_apart_by_the_seed():
    same = Answers(dict.fromkeys(GRADIENTS, 3.0))
    assert len({tuple(pick(started(), 1, 3, same, seed=seed).ids.tolist()) for seed in range(10)}) > 1
    every = pick(started("divfl:weigh_groups=true"), 1, 6, same)
    assert every.weights.tolist() == [1] * 6  # each stands at least for itself


def test_one_enormous_gradient_does_not_blur_the_others():
    # Client 30 lies. It is far from everybody and takes one place; the other goes where it would have gone.
    made = started()
    chosen = pick(made, 1, 3, Answers(GRADIENTS | {30: 1e30}))
    assert 30 in chosen.ids
    rest = [client for client in chosen.ids.tolist() if client != 30]
    assert {2, 5, 6} & set(rest)
    assert {11, 14} & set(rest)


def test_leavers_are_forgotten():
    made, probe = started(), Answers()
    learn(made, 1, pick(made, 1, 1, probe), probe)
    made.roster(Clients([5, 99]), stream(0, "roster"))
    assert made.rows_.ids.tolist() == [5]


def test_gradients_of_another_length_are_refused():
    made, probe = started(), Answers()
    learn(made, 1, pick(made, 1, 1, probe, np.array([2, 5])), probe)
    with pytest.raises(InputError, match="divfl: clients sent vectors of 1 numbers before, now of 2"):
        pick(made, 2, 1, lambda name, ids: np.zeros((len(ids), 2)))

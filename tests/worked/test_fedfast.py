"""FedFast by hand: three obvious groups of label counts, one client of each."""

import numpy as np
import pytest

from callup import Clients, Plan, Round, selector, stream
from callup.core.errors import InputError

# Mostly class 0, mostly class 1, and a hoard of both: any k-means with three groups finds these.
GROUPS = {"zero": [3, 9, 14, 20], "one": [5, 8], "hoard": [11]}
COUNTS = {3: [50, 1], 9: [52, 0], 14: [49, 2], 20: [51, 1], 5: [1, 48], 8: [0, 50], 11: [400, 390]}
CLIENTS = Clients(list(COUNTS), label_counts=list(COUNTS.values()))


def started(k=3, clients=CLIENTS, seed=0):
    made = selector("fedfast")
    made.start(clients, Plan(k), stream(seed, "start"))
    return made


def pick(made, k, seed, available=CLIENTS.ids, clients=CLIENTS):
    return made.select(Round(1, available, clients, stream(seed, "round")), k).ids.tolist()


def group_of(client):
    return next(name for name, members in GROUPS.items() if client in members)


@pytest.mark.parametrize("seed", range(20))
def test_one_of_each_group(seed):
    assert {group_of(client) for client in pick(started(seed=seed), 3, seed)} == {"zero", "one", "hoard"}


def test_everyone_in_a_group_is_equally_likely():
    made, rounds = started(), 3000
    called = [client for seed in range(rounds) for client in pick(made, 3, seed)]
    assert called.count(11) == rounds
    # Four clients at 1/4 and two at 1/2: each within 6 standard deviations, false alarm about 1e-8 in all.
    for name, chance in (("zero", 1 / 4), ("one", 1 / 2)):
        for client in GROUPS[name]:
            bound = 6 * np.sqrt(rounds * chance * (1 - chance))
            assert abs(called.count(client) - rounds * chance) < bound


def test_a_group_that_is_away_is_replaced_by_unused_clients():
    made, away = started(), np.array([3, 5, 8, 9, 14, 20])
    fills = set()
    for seed in range(60):
        chosen = pick(made, 3, seed, away)
        assert len(set(chosen)) == 3
        assert {group_of(client) for client in chosen[:2]} == {"zero", "one"}
        fills.add(chosen[2])
    # Every client online fills at times; one that fills in a sixth of rounds is missing with chance (5/6)^60 = 2e-5.
    assert fills == set(away.tolist())


def test_fewer_places_than_groups_leave_no_group_out_for_ever():
    made = started()
    seen = {group_of(pick(made, 1, seed)[0]) for seed in range(60)}
    assert seen == {"zero", "one", "hoard"}  # one missing: 3 (2/3)^60 = 8e-11


def test_more_places_than_groups_are_filled_after_the_groups():
    chosen = pick(started(), 5, 0)
    assert len(set(chosen)) == 5
    assert {group_of(client) for client in chosen[:3]} == {"zero", "one", "hoard"}


def test_equal_counts_make_one_group():
    clients = Clients(np.arange(6), label_counts=np.full((6, 3), 7))
    made = started(4, clients)
    assert len(made.centres_) == 1
    assert len({tuple(pick(made, 4, seed, clients.ids, clients)) for seed in range(10)}) > 1


def test_a_newcomer_joins_the_nearest_group():
    more = Clients([*COUNTS, 2, 30], label_counts=[*COUNTS.values(), [2, 45], [500, 300]])
    made = started()
    made.roster(more, stream(0, "roster"))
    assert made.group_.get(np.array([2, 30])).tolist() == made.group_.get(np.array([8, 11])).tolist()
    newcomers = {tuple(sorted(pick(made, 2, seed, np.array([2, 8, 11]), more))) for seed in range(40)}
    assert newcomers == {(2, 11), (8, 11)}  # never 2 with 8: they are of one group


def test_another_number_of_classes_is_refused():
    made = started()
    with pytest.raises(InputError, match="label_counts had 2 classes when the run began, now 3"):
        made.roster(Clients([100], label_counts=[[1, 2, 3]]), stream(0, "roster"))

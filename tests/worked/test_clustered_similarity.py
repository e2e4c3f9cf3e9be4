"""Clustered sampling by similarity: three directions, three urns, and all outcomes of small cases counted."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.core.errors import InputError
from callup.core.verify import ask

# Two clients to the right, two up, two to the left; at different lengths, which an angle does not see.
UPDATES = {3: [1, 0], 8: [50, 3], 5: [0, 2], 9: [0.1, 9], 1: [-7, 0], 12: [-1, -0.1]}
PAIRS = [{3, 8}, {5, 9}, {1, 12}]


def clients_of(sizes=None, ids=tuple(UPDATES)):
    return Clients(list(ids), num_examples=np.full(len(ids), 10) if sizes is None else sizes)


def started(clients, spec="clustered-similarity", updates=UPDATES):
    made = selector(spec)
    made.start(clients, Plan(3), stream(0, "start"))
    if updates:
        rows = np.array(list(updates.values()), float)
        made.update(Feedback(1, np.array(list(updates)), {"update": rows}, clients))
    return made


@pytest.mark.parametrize("linkage", ["pairs", "rows"])
def test_one_of_each_direction(linkage):
    # Six equal clients and three urns: a group of two fills one, k p_i = 1/2 each.
    clients = clients_of()
    made = started(clients, f"clustered-similarity:linkage={linkage}")
    seen = set()
    for seed in range(40):
        chosen = made.select(Round(2, clients.ids, clients, stream(seed)), 3)
        assert all(len(pair & set(chosen.ids.tolist())) == 1 for pair in PAIRS)
        assert chosen.weights.tolist() == [1, 1, 1]
        seen |= set(chosen.ids.tolist())
    assert seen == set(UPDATES)  # each is drawn in half of the rounds: one missing 6 (1/2)^40


@pytest.mark.parametrize("similarity", ["l1", "l2"])
def test_lengths_count_where_distances_do(similarity):
    # By distance 3 and 12 are nearest and fill an urn. Client 5 is nearer to them than to anyone else, so that no
    # other two clients are joined below the cut.
    clients = clients_of()
    made = started(clients, f"clustered-similarity:similarity={similarity}")
    together = set()
    for seed in range(60):
        chosen = set(_ids(made, clients, seed))
        assert len({3, 12} & chosen) == 1
        together |= {pair for pair in (frozenset([3, 8]), frozenset([5, 9])) if pair <= chosen}
    # Clients that point the same way are drawn together, as they are not by angle.
    assert together == {frozenset([3, 8]), frozenset([5, 9])}


def _ids(made, clients, seed):
    return made.select(Round(2, clients.ids, clients, stream(seed)), 3).ids.tolist()


class Lots:
    """A generator whose uniforms are given; the order of clients and ties come from a stream of their own."""

    def __init__(self, uniforms, seed):
        self.uniforms, self.stream = np.array(uniforms), stream(seed, "order")

    def random(self, k):
        assert k == len(self.uniforms)
        return self.uniforms

    def integers(self, *args, **kwargs):
        return self.stream.integers(*args, **kwargs)


@pytest.mark.parametrize(
    ("sizes", "k"),
    [
        ([2, 1, 1, 2, 1, 2], 2),  # groups are cut and poured over
        ([4, 0, 1, 1, 1, 1], 3),  # the first holds half: an urn of its own, and half of another
        ([1, 1, 1, 1, 1, 0], 4),
        ([5, 1, 0, 0, 0, 0], 3),  # more draws than clients with samples
    ],
)
def test_the_expected_weight_of_a_client_is_exactly_its_share_of_the_data(sizes, k):
    # Edges in an urn lie on multiples of 1/M: the middles of the M parts are all outcomes, equally likely.
    clients = clients_of(sizes)
    made = started(clients)
    parts = (np.arange(sum(sizes)) + 0.5) / sum(sizes)
    for seed in range(2):
        total, outcomes = np.zeros(len(sizes), int), 0
        for uniforms in product(parts, repeat=k):
            chosen = ask(made, Round(2, clients.ids, clients, Lots(uniforms, seed)), k)
            assert chosen.weights.sum() == k
            total[np.searchsorted(clients.ids, chosen.ids)] += chosen.weights.astype(int)
            outcomes += 1
        mean = [Fraction(int(t), outcomes * k) for t in total]
        assert mean == [Fraction(int(n), sum(sizes)) for n in clients.all("num_examples")]


def test_clients_never_seen_share_an_urn():
    clients = clients_of()
    seen = {client: UPDATES[client] for client in (3, 8, 5, 9)}
    made = started(clients, updates=seen)
    for seed in range(30):
        chosen = made.select(Round(2, clients.ids, clients, stream(seed)), 3)
        assert len({1, 12} & set(chosen.ids.tolist())) == 1
        assert chosen.notes["seen"] == 4
        assert chosen.scores["seen"].sum() == 2


def test_nobody_seen_yet_gives_any_two_clients():
    clients = clients_of()
    made = started(clients, updates=None)
    pairs = {tuple(sorted(_ids(made, clients, seed))) for seed in range(200)}
    assert len(pairs) > 10  # of 20 sets of three


def test_inside_an_urn_those_online_keep_their_proportions():
    # Client 8 is away: its urn gives client 3 always. Clients 5 and 9 share theirs one to three.
    clients = clients_of([20, 20, 10, 30, 20, 20])
    made, many = started(clients), 1000
    online, nines = np.array([1, 3, 5, 9, 12]), 0
    for seed in range(many):
        chosen = made.select(Round(2, online, clients, stream(seed, "away")), 3)
        assert 3 in chosen.ids
        nines += 9 in chosen.ids
    # 6 standard deviations about 3/4: false alarm 2e-9.
    assert abs(nines / many - 0.75) < 6 * np.sqrt(0.75 * 0.25 / many)


def test_an_urn_nobody_of_which_is_online_draws_by_size():
    # Pairs of 40 each. Online are 3, with 30, and 5, with 10: each is alone in its urn, and the urn of 1 and 12 draws
    # client 3 with chance 30/40.
    clients = clients_of([30, 10, 10, 30, 20, 20])
    made, many, threes = started(clients), 1000, 0
    for seed in range(many):
        chosen = made.select(Round(2, np.array([3, 5]), clients, stream(seed, "empty")), 3)
        assert chosen.notes["empty_urns"] == 1
        assert sorted(chosen.weights.tolist()) == [1, 2]
        threes += chosen.ids[0] == 3  # most drawn first
    # 6 standard deviations: false alarm 2e-9.
    assert abs(threes / many - 0.75) < 6 * np.sqrt(0.75 * 0.25 / many)
    alone = made.select(Round(2, np.array([3]), clients, stream(0)), 3)
    assert (alone.ids.tolist(), alone.weights.tolist()) == ([3], [3])


def test_the_last_update_counts_and_lost_replies_change_nothing():
    clients = clients_of()
    made = started(clients)
    made.update(Feedback(2, [], {}, clients, failed={3: "no reply"}))
    assert made.updates_.get(np.array([3])).tolist() == [[1, 0]]
    # Now 3 points up, exactly as 5 does. Together with 9 they would be too heavy, so 9 and 8 share the last urn.
    made.update(Feedback(3, [3], {"update": np.array([[0.0, 5.0]])}, clients))
    for seed in range(30):
        chosen = set(_ids(made, clients, seed))
        assert [len(urn & chosen) for urn in ({3, 5}, {8, 9}, {1, 12})] == [1, 1, 1]


def test_leavers_are_forgotten_and_newcomers_are_unseen():
    made = started(clients_of())
    made.roster(Clients([3, 100], num_examples=[1, 1]), stream(0, "roster"))
    assert made.updates_.ids.tolist() == [3]


def test_updates_of_another_length_are_refused():
    clients = clients_of()
    made = started(clients)
    with pytest.raises(InputError, match="clustered-similarity: clients sent vectors of 2 numbers before, now of 3"):
        made.update(Feedback(2, [3], {"update": np.zeros((1, 3))}, clients))

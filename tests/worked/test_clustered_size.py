"""Clustered sampling by size: all outcomes of a small case counted, each exactly as likely as every other."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import callup
from callup.analytics.urns import Urns, drawn, poured
from callup.core.verify import ask


class Lots:
    """A generator whose uniforms are given; ties are broken by a stream of their own."""

    def __init__(self, uniforms):
        self.uniforms, self.stream = np.array(uniforms), callup.stream(0, "ties")

    def random(self, k):
        assert k == len(self.uniforms)
        return self.uniforms

    def integers(self, *args, **kwargs):
        return self.stream.integers(*args, **kwargs)


def outcomes(sizes, k):
    """How often each client is drawn, in every outcome. An urn's edges lie on multiples of 1/M, so the middles of the
    M parts of each uniform, in all combinations, are all outcomes, and all are equally likely."""
    clients = callup.Clients(np.arange(len(sizes)) * 5 + 2, num_examples=sizes)
    parts = (np.arange(sum(sizes)) + 0.5) / sum(sizes)
    for uniforms in product(parts, repeat=k):
        selection = ask(callup.selector("clustered-size"), callup.Round(1, clients.ids, clients, Lots(uniforms)), k)
        times = np.zeros(len(sizes), int)
        times[np.searchsorted(clients.ids, selection.ids)] = selection.weights
        assert times.sum() == k
        yield times


@pytest.mark.parametrize(
    ("sizes", "k"),
    [
        ([4, 3, 2, 1], 2),  # an urn of 5: client 0 and half of client 1; the rest
        ([1, 2, 3, 4], 3),  # the order of ids is not the order of size
        ([7, 1, 0, 1], 3),  # client 0 holds more than two thirds: two urns are its own
        ([2, 2, 2], 3),
        ([3, 2], 4),  # more draws than clients
    ],
)
def test_the_expected_weight_of_a_client_is_exactly_its_share_of_the_data(sizes, k):
    every = np.array(list(outcomes(sizes, k)))
    mean = [Fraction(int(total), len(every) * k) for total in every.sum(axis=0)]
    assert mean == [Fraction(size, sum(sizes)) for size in sizes]


def test_the_largest_are_poured_first():
    # n = (1, 3, 2, 4) and k = 2: masses 8, 6, 4, 2 in the order of size into urns of 10. The first urn holds 8 of
    # client 3 and 2 of client 1; the second 4 of client 1, 4 of client 2 and 2 of client 0.
    found = {}
    for times in outcomes([1, 3, 2, 4], 2):
        found[tuple(times.tolist())] = found.get(tuple(times.tolist()), 0) + 1
    assert found == {
        (0, 1, 0, 1): 8 * 4,
        (0, 0, 1, 1): 8 * 4,
        (1, 0, 0, 1): 8 * 2,
        (0, 2, 0, 0): 2 * 4,
        (0, 1, 1, 0): 2 * 4,
        (1, 1, 0, 0): 2 * 2,
    }


def test_no_client_is_drawn_far_from_its_share():
    # 7 of 9 samples, 3 draws: 2 1/3 expected, so 2 or 3. Independent draws would give 0 to 3.
    assert {times[0] for times in outcomes([7, 1, 0, 1], 3)} == {2, 3}


def test_the_variance_is_below_that_of_independent_draws():
    sizes, k = np.array([4, 3, 2, 1]), 3
    shares = sizes / sizes.sum()
    independent = k * shares * (1 - shares)  # of a multinomial
    clustered = np.array(list(outcomes(sizes.tolist(), k))).var(axis=0)
    assert (clustered <= independent + 1e-12).all()
    assert clustered.sum() < 0.75 * independent.sum()


def test_urns_by_hand():
    # Algorithm 1 for n = (5, 3, 1) and k = 3: masses 15, 9, 3 into three urns of 9.
    urns = poured(np.array([15.0, 9.0, 3.0]), np.full(3, 9.0))
    assert list(zip(*(part.tolist() for part in urns), strict=True)) == [
        (0, 0, 9.0),
        (0, 1, 6.0),
        (1, 1, 3.0),
        (1, 2, 6.0),
        (2, 2, 3.0),
    ]


def test_rows_without_mass_and_urns_without_room_are_passed_over():
    urns = poured(np.array([0.0, 2.0, 0.0, 2.0]), np.array([0.0, 3.0, 0.0, 1.0]))
    assert [part.tolist() for part in urns] == [[1, 3, 3], [1, 1, 3], [2.0, 1.0, 1.0]]


def test_an_urn_with_nothing_in_it_gives_nobody():
    urns = Urns(np.array([4, 7, 9]), np.array([0, 2, 2]), np.array([1.0, 0.0, 5.0]))
    assert drawn(urns, 4, callup.stream(0)).tolist() == [4, -1, 9, -1]


def test_draws_inside_an_urn_are_in_proportion():
    urns, many = Urns(np.array([0, 1, 2]), np.zeros(3, int), np.array([1.0, 2.0, 5.0])), 4000
    rng = callup.stream(0, "draws")
    counts = np.bincount([drawn(urns, 1, rng)[0] for _ in range(many)], minlength=3)
    expected = many * np.array([1, 2, 5]) / 8
    # Chi-square with 2 degrees of freedom exceeds 27.63 once in 1e6.
    assert ((counts - expected) ** 2 / expected).sum() < 27.63


def test_shares_are_of_those_available():
    clients = callup.Clients([1, 2, 3], num_examples=[1, 1, 1000])
    for seed in range(20):
        selection = callup.selector("clustered-size").select(
            callup.Round(1, np.array([1, 2]), clients, callup.stream(seed)), 2
        )
        # Two equal clients and two urns: each fills one.
        assert sorted(selection.ids.tolist()) == [1, 2]
        assert selection.weights.tolist() == [1, 1]


def test_nobody_has_samples():
    clients = callup.Clients([1, 2, 3], num_examples=[0, 0, 0])
    selection = callup.selector("clustered-size").select(callup.Round(1, clients.ids, clients, callup.stream(0)), 3)
    assert sorted(selection.ids.tolist()) == [1, 2, 3]

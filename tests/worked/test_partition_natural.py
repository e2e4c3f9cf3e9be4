"""Natural clients: who holds what is read off the data, so every case can be written out."""

from __future__ import annotations

import numpy as np
import pytest

from callup.core.errors import InputError, UsageError
from callup.core.randomness import stream
from callup.partition.scheme import PARTITIONS, Shards

OWNERS = np.array([40, 7, 7, 40, 12, 7, 40, 40])
LABELS = np.array([0, 1, 1, 0, 2, 0, 1, 2])


def split(spec: str, owners: np.ndarray | None = OWNERS, seed: int = 0) -> Shards:
    return PARTITIONS.make(spec).split(LABELS, 3, stream(seed, "partition"), owners)


def held(shards: Shards) -> list[list[int]]:
    return [rows.tolist() for rows in shards.rows]


def test_everybody_holds_their_own_in_the_order_of_owners() -> None:
    shards = split("natural")
    assert held(shards) == [[1, 2, 5], [4], [0, 3, 6, 7]]  # owners 7, 12 and 40
    assert shards.ids.tolist() == [0, 1, 2]
    assert shards.label_counts(LABELS, 3).tolist() == [[1, 2, 0], [0, 0, 1], [2, 1, 1]]


def test_owners_with_too_few_samples_are_left_out() -> None:
    assert held(split("natural:least=2")) == [[1, 2, 5], [0, 3, 6, 7]]
    assert held(split("natural:least=4")) == [[0, 3, 6, 7]]
    with pytest.raises(InputError, match="0 of 3 owners have at least 5 samples, too few for 1 clients"):
        split("natural:least=5")


def test_equal_sizes_are_drawn_from_ones_own() -> None:
    seen = set()
    for seed in range(60):
        seven, forty = held(split("natural:samples=2", seed=seed))
        assert len(seven) == len(forty) == 2 and {*seven} < {1, 2, 5} and {*forty} < {0, 3, 6, 7}
        seen.add((*seven, *forty))
    # 3 pairs of owner 7 times 6 of owner 40: a given one of the 18 is missed by 60 draws with chance (17/18)^60 = 0.03,
    # more than six of them with chance below 18 choose 7 times 0.03^7 < 1e-6.
    assert len(seen) >= 12


def test_so_many_owners_are_drawn_from_those_with_enough() -> None:
    cohorts = {str(held(split("natural:clients=2", seed=seed))) for seed in range(60)}
    # Three pairs of owners; one is missed by 60 draws with chance (2/3)^60 < 1e-10. Numbered by owner in each.
    assert cohorts == {"[[1, 2, 5], [4]]", "[[1, 2, 5], [0, 3, 6, 7]]", "[[4], [0, 3, 6, 7]]"}
    assert held(split("natural:clients=2,least=2")) == [[1, 2, 5], [0, 3, 6, 7]]
    with pytest.raises(InputError, match="2 of 3 owners have at least 2 samples, too few for 3 clients; lower clients"):
        split("natural:clients=3,least=2")


def test_data_without_owners_are_refused() -> None:
    with pytest.raises(UsageError, match="natural: these data do not say whose each sample is; use a task"):
        split("natural", owners=None)
    for wrong in (OWNERS[:-1], OWNERS.astype(float)):
        with pytest.raises(InputError, match="owners must be whole numbers, one for each of the 8 samples"):
            split("natural", wrong)


def test_other_schemes_do_not_look_at_owners() -> None:
    assert held(split("iid:clients=2")) == held(split("iid:clients=2", owners=None))

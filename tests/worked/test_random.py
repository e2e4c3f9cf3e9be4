"""Random: every ordered cohort is equally likely."""

from collections import Counter
from itertools import permutations

import numpy as np

from callup import Clients, Plan, Round, selector, stream


def test_every_ordered_pair_is_equally_likely():
    clients, chosen = Clients([3, 8, 20, 21, 1000]), selector("random")
    chosen.start(clients, Plan(k=2), stream(0, "start"))
    draws, now = 5000, Round(1, clients.ids, clients, stream(0, "pairs"))
    seen = Counter(tuple(chosen.select(now, 2).ids.tolist()) for _ in range(draws))
    # 5 * 4 = 20 ordered pairs. Chi-square with 19 degrees of freedom exceeds 63.68 once in 1e6.
    pairs = list(permutations(clients.ids.tolist(), 2))
    assert len(pairs) == 20
    expected = draws / 20
    assert sum((seen[pair] - expected) ** 2 / expected for pair in pairs) < 63.68


def test_only_the_available_are_drawn_and_all_of_them_when_k_is_large():
    clients, chosen = Clients(np.arange(10)), selector("random")
    now = Round(1, np.array([9, 2, 4]), clients, stream(0, "few"))
    assert sorted(chosen.select(now, 7).ids.tolist()) == [2, 4, 9]

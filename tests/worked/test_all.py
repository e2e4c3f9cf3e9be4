"""All: everyone who is available, whatever k says."""

import numpy as np

from callup import Clients, Round, selector, stream


def test_everyone_available_and_nobody_else():
    clients = Clients([5, 1, 40, 7])
    now = Round(1, np.array([40, 1, 7]), clients, stream(0, "all"))
    for k in (1, 3, 10):
        assert selector("all").select(now, k).ids.tolist() == [1, 7, 40]

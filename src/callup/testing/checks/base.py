"""What the checks share: the list they are added to, and the settings they start from."""

from __future__ import annotations

import numpy as np

from callup.core.index import Ids
from callup.core.randomness import client_uniforms, stream
from callup.core.selector import Selector
from callup.testing.driver import Who
from callup.testing.federation import Federation
from callup.testing.registry import Checks

selector_checks: Checks[Selector] = Checks()

N = 20
ROUNDS = range(1, 7)
SMALL = Federation.of(N)
SPARSE = Federation.of(N, sparse=True)


def _two_thirds(name: str) -> Who:
    def chosen(index: int, ids: Ids) -> Ids:
        there = client_uniforms(stream(0, name, index), ids) < 0.67
        return np.asarray(ids[there]) if there.any() else ids[:1]

    return chosen


most_online = _two_thirds("online")
most_reply = _two_thirds("reply")


def in_turn(index: int, ids: Ids) -> Ids:
    """Every second client in odd rounds, the others in even ones."""
    return np.asarray(np.sort(ids)[index % 2 :: 2])

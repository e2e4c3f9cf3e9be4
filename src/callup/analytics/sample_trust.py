"""What the number of a client's samples says of it: how far its update is to be trusted, and whether to ask at all."""

from __future__ import annotations

import numpy as np

from callup.core.clients import Clients
from callup.core.index import Ids

_LEAST = 1e-6
_EMPTY = 1e6  # the cost of a client without samples: asked only when nobody else is left


def trust(clients: Clients, ids: Ids, own: float) -> np.ndarray:
    """own n / (1 + own n): a small client is worth its samples, a large one as much as any other.

    own: how much clients differ beyond the luck of their samples. Where sizes are not told all are alike.
    """
    if "num_examples" not in clients:
        return np.ones(len(ids))
    n = clients.of("num_examples", ids)
    return np.asarray(np.maximum(own * n / (1 + own * n), _LEAST))


def emptiness(clients: Clients, ids: Ids) -> np.ndarray:
    """A cost that only a client without samples has."""
    if "num_examples" not in clients:
        return np.zeros(len(ids))
    return np.asarray(_EMPTY * (clients.of("num_examples", ids) <= 0))

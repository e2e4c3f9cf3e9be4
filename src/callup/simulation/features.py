"""What each simulated client would send as its fingerprint: a SimHash of its inputs, never of its labels."""

from __future__ import annotations

import numpy as np

from callup.analytics.simhash import votes
from callup.analytics.vector_hash import VectorHash
from callup.core.randomness import check_seed
from callup.partition.scheme import Shards

_BLOCK = 2048  # samples at a time


def fingerprints(x: np.ndarray, shards: Shards, bits: int = 64, seed: int = 0) -> np.ndarray:
    """One row of zeros and ones for each client, (clients, bits), from the samples it holds.

    The same as every client's own `VectorHash.fingerprint` with one key for all; each distinct word is hashed once.
    """
    table = x.reshape(len(x), -1)
    words = VectorHash(table.shape[1], key=f"fingerprints {check_seed(seed)}".encode())
    tokens = np.concatenate([words.tokens(table[at : at + _BLOCK]) for at in range(0, len(table), _BLOCK)])
    found, places = np.unique(tokens, return_inverse=True)
    rows = words.hashed(found, bits)
    places = places.reshape(tokens.shape)
    out = np.empty((len(shards), bits), np.uint8)
    for client, held in enumerate(shards.rows):
        distinct, counts = np.unique(places[held], return_counts=True)
        out[client] = votes(rows[distinct], counts.astype(np.float64))
    return out

"""What each simulated client would send as its fingerprint: a SimHash of its inputs, never of its labels."""

from __future__ import annotations

import numpy as np

from callup.analytics.simhash import keyed, votes
from callup.analytics.vector_hash import VectorHash
from callup.core.randomness import check_seed
from callup.partition.scheme import Shards
from callup.simulation.data.text.next_word import SPECIAL

_BLOCK = 2048  # samples at a time


def fingerprints(x: np.ndarray, shards: Shards, bits: int = 64, seed: int = 0) -> np.ndarray:
    """One row of zeros and ones for each client, (clients, bits), from the samples it holds.

    The same as every client's own fingerprint with one key for all; each distinct word is hashed once. The words of a
    text are its own, those of a picture are a `VectorHash`'s; either way a word weighs as much as it is frequent.
    """
    key = f"fingerprints {check_seed(seed)}".encode()
    table = x.reshape(len(x), -1)
    is_text = x.dtype.kind in "iu"
    places, rows = _text_words(table, key, bits) if is_text else _picture_words(table, key, bits)
    counted = table >= SPECIAL if is_text else np.ones(places.shape, bool)
    out = np.empty((len(shards), bits), np.uint8)
    for client, held in enumerate(shards.rows):
        distinct, counts = np.unique(places[held][counted[held]], return_counts=True)
        out[client] = votes(rows[distinct], counts.astype(np.float64))
    return out


def _picture_words(table: np.ndarray, key: bytes, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """For each sample the places of its words in a list of distinct ones, and the bits of each in the list."""
    words = VectorHash(table.shape[1], key=key)
    tokens = np.concatenate([words.tokens(table[at : at + _BLOCK]) for at in range(0, len(table), _BLOCK)])
    found, places = np.unique(tokens, return_inverse=True)
    return places.reshape(tokens.shape), words.hashed(found, bits)


def _text_words(table: np.ndarray, key: bytes, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """The same for texts, whose words are numbers already; a number stands for the word, and hashes as well as it."""
    found, places = np.unique(table, return_inverse=True)
    return places.reshape(table.shape), keyed(key)([int(word).to_bytes(8, "little") for word in found], bits)

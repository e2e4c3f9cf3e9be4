"""Fingerprints that outsiders cannot look up and that deny every single bit.

A SimHash with a public hash is open to trial: whoever guesses the data computes the same bits. With a key that only the
clients have, the server cannot try. And each bit may be a lie: turned with a chance that epsilon sets.
"""

from __future__ import annotations

import math
import secrets

import numpy as np

from callup.core.errors import InputError
from callup.core.types import check_k
from callup.privacy.modes import check_epsilon

_FINE = 1 << 53


def federation_key() -> bytes:
    """A key for `callup.analytics.simhash.keyed`; all clients have it, the server never does."""
    return secrets.token_bytes(32)


def flip_chance(bits: int, epsilon: float) -> float:
    """With which chance each bit is turned when all bits together cost epsilon: 1 / (1 + e^(epsilon / bits))."""
    return 1 / (1 + math.exp(check_epsilon(epsilon) / check_k(bits, "bits")))


def check_bits(fingerprint: np.ndarray) -> np.ndarray:
    """One row of zeros and ones."""
    bits = np.asarray(fingerprint)
    if bits.ndim != 1 or not len(bits) or not np.isin(bits, (0, 1)).all():
        raise InputError("a fingerprint is one row of zeros and ones")
    return bits


def randomised(fingerprint: np.ndarray, epsilon: float) -> np.ndarray:
    """Randomised response on every bit, from the system's secure randomness; to be drawn once for a data version.

    Two fingerprints may differ in all bits, so epsilon is shared out among them: it covers the client's whole data.
    With p the chance of a turn, differences between two clients shrink by (1 - 2 p)^2: more bits, more noise on each.
    """
    bits = check_bits(fingerprint)
    edge = flip_chance(len(bits), epsilon) * _FINE
    turns = np.array([secrets.randbelow(_FINE) < edge for _ in range(len(bits))])
    return np.where(turns, 1 - bits, bits).astype(np.uint8)

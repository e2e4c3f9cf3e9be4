"""Fingerprints of vectors: coarse values of a few coordinates become words, and the words a SimHash.

Cao et al., NCCB, Eq. 5. For pictures: of the inputs, never of labels.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from callup.analytics.simhash import keyed, votes
from callup.core.errors import InputError, UsageError
from callup.core.randomness import stream

_HIGHEST = 2.0**62


@dataclass(frozen=True)
class VectorHash:
    """Turns samples into words. Clients that share the key share the words, and nobody else can tell what they mean.

    Each sample gives `words` words. A word is made of `coordinates` coordinates, chosen at random once for all and cut
    into steps of length `step`. The default, for standardised data, is two standard deviations: coarse enough that
    samples of a kind share words.
    """

    dimensions: int
    key: bytes = b""
    words: int = 32
    coordinates: int = 8
    step: float = 2.0

    def __post_init__(self) -> None:
        for name in ("dimensions", "words", "coordinates"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} of a fingerprint must be at least 1, got {getattr(self, name)}")
        if not 0 < self.step < math.inf:
            raise UsageError(f"step of a fingerprint must be above 0 and finite, got {self.step:g}")
        keyed(self.key)  # a key that is too long is refused here

    @cached_property
    def drawn(self) -> tuple[np.ndarray, np.ndarray]:
        """For each word, which coordinates it looks at and its b_i ~ U[0, step)."""
        rng = self._stream("coordinates")
        size = min(self.coordinates, self.dimensions)
        places = np.stack([rng.choice(self.dimensions, size, replace=False) for _ in range(self.words)])
        return places, rng.uniform(0, self.step, places.shape)

    def levels(self, samples: np.ndarray) -> np.ndarray:
        """Eq. 5: h_i = floor((v_i - b_i) / step), (n, words, coordinates)."""
        table = np.asarray(samples).reshape(len(samples), -1)
        if table.shape[1] != self.dimensions:
            raise InputError(f"samples must have {self.dimensions} numbers each, got {table.shape[1]}")
        places, offsets = self.drawn
        levels = np.floor((table[:, places] - offsets) / self.step)
        if np.isnan(levels).any():
            raise InputError("samples must be numbers; one of them is not")
        return np.asarray(np.clip(levels, -_HIGHEST, _HIGHEST).astype(np.int64))

    def tokens(self, samples: np.ndarray) -> np.ndarray:
        """Each word as one whole number g(h), (n, words): other levels, or another word, give another number.

        g is a sum of levels times random odd numbers, modulo 2^64, so that different words hardly ever meet.
        """
        rng = self._stream("index")
        factors = rng.integers(2**63, size=self.drawn[0].shape, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        first = rng.integers(2**64, size=self.words, dtype=np.uint64)
        return np.asarray((self.levels(samples).view(np.uint64) * factors).sum(axis=2, dtype=np.uint64) + first)

    def hashed(self, tokens: np.ndarray, bits: int) -> np.ndarray:
        """The bits of each token, (n, bits)."""
        return keyed(self.key)([int(token).to_bytes(8, "little") for token in tokens], bits)

    def fingerprint(self, samples: np.ndarray, bits: int = 64) -> np.ndarray:
        """The fingerprint of one client's samples; a word weighs as much as it is frequent."""
        found, counts = np.unique(self.tokens(samples), return_counts=True)
        return votes(self.hashed(found, bits), counts.astype(np.float64))

    def _stream(self, purpose: str) -> np.random.Generator:
        secret = int.from_bytes(hashlib.blake2b(self.key, digest_size=16).digest(), "little")
        return stream(secret, "vector hash", purpose, self.dimensions)

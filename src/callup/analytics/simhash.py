"""SimHash: a few bits that say what a client's data is like, such that similar data gives similar bits.

Manku, Jain, Sarma, WWW 2007, as used by Cao et al., NCCB, Eq. 6 and 7. Nothing here looks at labels.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from callup.core.errors import InputError, UsageError

Hash = Callable[[Sequence[bytes], int], np.ndarray]
"""Tokens and a number of bits -> a row of zeros and ones for each token."""

_FEWEST, _MOST = 8, 256
_LONGEST_KEY = 64


def text_fingerprint(text: str, bits: int = 64, key: bytes = b"", stop_words: Collection[str] = ()) -> np.ndarray:
    """The fingerprint of a text: its words in lower case, each weighted by how often it occurs.

    Whoever does not know `key` cannot test which words a fingerprint fits.
    """
    counts = Counter(word for word in re.findall(r"\w+", text.lower()) if word not in stop_words)
    return simhash(counts, bits, keyed(key))


def simhash(weights: Mapping[str, float], bits: int = 64, hashed: Hash | None = None) -> np.ndarray:
    """The fingerprint of weighted tokens, (bits,) of 0 and 1; no tokens give zeros alone."""
    values = np.fromiter(weights.values(), np.float64, len(weights))
    if not (np.isfinite(values) & (values > 0)).all():
        raise InputError("the weight of a token must be above 0 and finite")
    rows = (hashed or keyed())([token.encode() for token in weights], bits)
    return votes(rows, values)


def votes(rows: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Every token votes with its weight for the bits it has set and against the others; a draw is 0.

    Eq. 6 and 7: v_j = sum_i (w_i if h_ij = 1 else -w_i), then 1 where v_j > 0.

    >>> votes(np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0]]), np.array([2.0, 1.0, 1.0]))
    array([1, 0, 0], dtype=uint8)
    """
    every = np.ones(len(rows)) if weights is None else weights
    return np.asarray(2 * (every @ rows) > every.sum()).astype(np.uint8)


def keyed(key: bytes = b"") -> Hash:
    """A hash that is the same in every process and, with a secret key, unknown to those outside.

    The first 8 bits are those of an 8-bit hash, so a shorter fingerprint of the same data is the start of a longer one.
    """
    if len(key) > _LONGEST_KEY:
        raise UsageError(f"a key has at most {_LONGEST_KEY} bytes, got {len(key)}")

    def rows(tokens: Sequence[bytes], bits: int) -> np.ndarray:
        if not _FEWEST <= bits <= _MOST:
            raise UsageError(f"bits must be between {_FEWEST} and {_MOST}, got {bits}")
        digests = b"".join(hashlib.blake2b(token, digest_size=_MOST // 8, key=key).digest() for token in tokens)
        table = np.frombuffer(digests, np.uint8).reshape(len(tokens), _MOST // 8)
        return np.unpackbits(table, axis=1, count=bits)

    return rows

"""Whole numbers modulo a prime: what shares and inner products are made of."""

from __future__ import annotations

import math
import secrets

import numpy as np

from callup.core.errors import InputError

MODULUS = 16_760_833
"""A prime of 24 bits, 1 modulo 2 * 8192, as the packing of ciphertexts wants it."""
CAP = math.isqrt(MODULUS - 1)
"""The most samples of one client: an inner product of two such rows is still below the modulus, so it is exact."""

_BYTES = 3


def uniform(count: int) -> np.ndarray:
    """Independent uniform numbers below the modulus, from the system's secure randomness."""
    found = np.empty(0, np.int64)
    while len(found) < count:
        # 24 random bits, thrown away in the one case in a thousand where they are not below the modulus.
        drawn = unpacked(secrets.token_bytes(_BYTES * (count - len(found) + count // 500 + 8)), checked=False)
        found = np.concatenate([found, drawn[drawn < MODULUS]])
    return found[:count]


def packed(numbers: np.ndarray) -> bytes:
    """Three bytes each, lowest first."""
    return np.asarray(numbers, "<u4").view(np.uint8).reshape(-1, 4)[:, :_BYTES].tobytes()


def unpacked(data: bytes, checked: bool = True) -> np.ndarray:
    """The numbers again; bytes that are not numbers below the modulus are refused."""
    if len(data) % _BYTES:
        raise InputError(f"a message holds {len(data)} bytes where numbers of {_BYTES} bytes each were expected")
    parts = np.frombuffer(data, np.uint8).reshape(-1, _BYTES).astype(np.int64)
    numbers = np.asarray(parts @ np.array([1, 1 << 8, 1 << 16]))
    if checked and (numbers >= MODULUS).any():
        raise InputError("a message holds a number that is not below the modulus")
    return numbers


def inner_products(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """All inner products of rows, modulo the prime; (N, B), (M, B) -> (N, M)."""
    total = np.zeros((len(left), len(right)), np.int64)
    for column in range(left.shape[1]):
        # One class at a time: a product of two has 48 bits, and sums are reduced before they overflow.
        total = (total + np.outer(left[:, column], right[:, column])) % MODULUS
    return total

"""Whole numbers modulo a prime: what shares and inner products are made of."""

from __future__ import annotations

import math
import secrets

import numpy as np

from callup.core.errors import InputError

PRIMES = (16_760_833, 16_580_609)
"""Primes of 24 bits, 1 modulo 2 * 8192, as the packing of ciphertexts wants them. Where clients are small the first is
enough; with both, numbers are known modulo their product."""
MODULUS = PRIMES[0]

_BYTES = 3


def cap(primes: tuple[int, ...] = PRIMES[:1]) -> int:
    """The most samples of one client: an inner product of two such rows is still below the modulus, so it is exact."""
    return math.isqrt(math.prod(primes) - 1)


CAP = cap()


def uniform(count: int, prime: int = MODULUS) -> np.ndarray:
    """Independent uniform numbers below the prime, from the system's secure randomness."""
    found = np.empty(0, np.int64)
    while len(found) < count:
        # 24 random bits, thrown away in the one case in a hundred or less where they are not below the prime.
        drawn = unpacked(secrets.token_bytes(_BYTES * (count - len(found) + count // 50 + 8)))
        found = np.concatenate([found, drawn[drawn < prime]])
    return found[:count]


def combined(residues: list[np.ndarray], primes: tuple[int, ...]) -> np.ndarray:
    """The number below the product of the primes that leaves these residues (Chinese remainders, one or two)."""
    if len(primes) == 1:
        return residues[0]
    first, second = primes
    lift = (residues[1] - residues[0]) % second * pow(first, -1, second) % second
    return np.asarray(residues[0] + first * lift)


def packed(numbers: np.ndarray) -> bytes:
    """Three bytes each, lowest first."""
    return np.asarray(numbers, "<u4").view(np.uint8).reshape(-1, 4)[:, :_BYTES].tobytes()


def unpacked(data: bytes) -> np.ndarray:
    """The numbers again."""
    if len(data) % _BYTES:
        raise InputError(f"a message holds {len(data)} bytes where numbers of {_BYTES} bytes each were expected")
    parts = np.frombuffer(data, np.uint8).reshape(-1, _BYTES).astype(np.int64)
    return np.asarray(parts @ np.array([1, 1 << 8, 1 << 16]))


def residues(data: bytes, classes: int, primes: tuple[int, ...]) -> np.ndarray:
    """One row for each prime, (primes, classes); numbers that are not below their prime are refused."""
    numbers = unpacked(data)
    if len(numbers) != classes * len(primes):
        raise InputError(f"a message holds {len(numbers)} numbers, not {len(primes)} times {classes} classes")
    rows = numbers.reshape(len(primes), classes)
    if (rows >= np.array(primes)[:, None]).any():
        raise InputError("a message holds a number that is not below the modulus")
    return rows


def inner_products(left: np.ndarray, right: np.ndarray, prime: int = MODULUS) -> np.ndarray:
    """All inner products of rows, modulo the prime; (N, B), (M, B) -> (N, M)."""
    total = np.zeros((len(left), len(right)), np.int64)
    for column in range(left.shape[1]):
        # One class at a time: a product of two has 48 bits, and sums are reduced before they overflow.
        total = (total + np.outer(left[:, column], right[:, column])) % prime
    return total

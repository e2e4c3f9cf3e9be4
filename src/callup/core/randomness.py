"""Randomness is handed in: a stream is addressed by (seed, path), never advanced by what others drew.

Two runs that share a seed share every stream whose path they both use, so changing the selector leaves data
order, availability and initial weights alone, and comparisons are paired.
"""

from __future__ import annotations

import hashlib

import numpy as np

from callup.core.errors import UsageError

_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_SHIFT_1, _SHIFT_2, _SHIFT_3, _LOW = (np.uint64(bits) for bits in (30, 27, 31, 12))
_BLOCK = 1 << 14  # ids hashed at a time: 128 kB, so that the many steps of a hash stay in the processor's cache


def check_seed(seed: int) -> int:
    """A seed is a whole number from 0 to 2**128 - 1."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= int(seed) < 2**128:
        raise UsageError(f"seed must be a whole number from 0 to 2**128 - 1, got {seed!r}")
    return int(seed)


def stream(seed: int, *path: str | int) -> np.random.Generator:
    """The generator at this address; the same seed and path give the same numbers in any process."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(check_seed(seed), spawn_key=_words(path))))


def client_uniforms(rng: np.random.Generator, ids: np.ndarray) -> np.ndarray:
    """One uniform in (0, 1) for each client id: a client keeps its number whoever else is present.

    Takes a single key from `rng`, then hashes every id with it, so losing one client does not reshuffle the rest.
    """
    key = next_key(rng)
    names = np.asarray(ids, np.int64).view(np.uint64)
    first = np.uint64(int(key) * int(_STEP) % 2**64)  # in Python, as numpy warns of a single number's overflow
    if len(names) <= _BLOCK:
        out = _hashed(names, key, first)
    else:
        out = np.empty(len(names))
        for at in range(0, len(names), _BLOCK):
            out[at : at + _BLOCK] = _hashed(names[at : at + _BLOCK], key, first)
    # The middle of each of 2**52 intervals: neither 0 nor 1 occurs, so log() is always finite. With 53 bits the half
    # is lost to rounding and 1 occurs.
    out += 0.5
    out *= 2.0**-52
    return out


def next_key(rng: np.random.Generator) -> np.uint64:
    """All that `client_uniforms` takes from a stream; who needs none of its numbers takes this instead."""
    return rng.integers(0, 2**64, dtype=np.uint64)


def _hashed(names: np.ndarray, key: np.uint64, first: np.uint64) -> np.ndarray:
    """52 bits for each name."""
    mixed = names + first
    shifted = np.empty_like(mixed)
    _splitmix(mixed, shifted)
    mixed ^= key
    _splitmix(mixed, shifted)
    mixed >>= _LOW
    return mixed.astype(np.float64)


def _splitmix(x: np.ndarray, shifted: np.ndarray) -> None:
    """The finaliser of SplitMix64, in place: every input bit reaches every output bit."""
    x += _STEP
    x ^= np.right_shift(x, _SHIFT_1, out=shifted)
    x *= _MIX_1
    x ^= np.right_shift(x, _SHIFT_2, out=shifted)
    x *= _MIX_2
    x ^= np.right_shift(x, _SHIFT_3, out=shifted)


def _words(path: tuple[str | int, ...]) -> tuple[int, ...]:
    """Each step of a path as four 32-bit words; strings and whole numbers never collide."""
    words: list[int] = []
    for step in path:
        if isinstance(step, str):
            text = f"s{step}"
        elif isinstance(step, (int, np.integer)) and not isinstance(step, bool):
            text = f"i{int(step)}"
        else:
            raise UsageError(f"a stream's path is made of words and whole numbers, got {step!r}")
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        words += [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)]
    return tuple(words)

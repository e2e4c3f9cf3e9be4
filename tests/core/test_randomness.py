"""Streams are addressed, independent and frozen; each client has a number of its own."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from callup.core.errors import UsageError
from callup.core.randomness import client_uniforms, stream

MASK = 2**64 - 1


def chi_square_limit(df: int, z: float = 4.75) -> float:
    """Wilson and Hilferty's quantile; z = 4.75 leaves one false alarm in a million, one-sided."""
    return df * (1 - 2 / (9 * df) + z * math.sqrt(2 / (9 * df))) ** 3


def chi_square(uniforms: np.ndarray, bins: int) -> float:
    counts = np.bincount((uniforms * bins).astype(int), minlength=bins)
    expected = len(uniforms) / bins
    return float(((counts - expected) ** 2 / expected).sum())


def splitmix(x: int) -> int:
    """SplitMix64's finaliser on Python's own whole numbers."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def unsplitmix(y: int) -> int:
    """The number that SplitMix64's finaliser turns into y."""

    def unshift(x: int, by: int) -> int:
        found = x
        for _ in range(64 // by):
            found = x ^ (found >> by)
        return found

    y = (unshift(y, 31) * pow(0x94D049BB133111EB, -1, 2**64)) & MASK
    y = (unshift(y, 27) * pow(0xBF58476D1CE4E5B9, -1, 2**64)) & MASK
    return (unshift(y, 30) - 0x9E3779B97F4A7C15) & MASK


def test_the_hash_runs_backwards() -> None:
    assert all(unsplitmix(splitmix(x)) == x for x in (0, 1, 12345, 2**63, MASK))


def test_streams_are_frozen() -> None:
    """A change here changes every published run: it needs a line in the changelog."""
    assert stream(0).integers(0, 2**63, 3).tolist() == [5874934615388537135, 2488343231644625808, 377914054924498012]
    assert stream(7, "select", 1).integers(0, 2**63, 2).tolist() == [1218847165568124532, 7504578209461538943]
    assert stream(2**128 - 1, "x").integers(0, 2**63, 2).tolist() == [1691466325308466285, 8117910086805416740]
    uniforms = client_uniforms(stream(7, "select", 1), np.array([0, 1, 10**12]))
    assert [u.hex() for u in uniforms] == ["0x1.fbccf2cacfc7dp-1", "0x1.a6e4df8673e69p-1", "0x1.aa368941a1e99p-1"]


def test_a_stream_is_the_same_wherever_it_is_opened() -> None:
    stream(3, "other").random(100)
    assert np.array_equal(stream(3, "a", 2).random(5), stream(3, "a", 2).random(5))
    assert np.array_equal(stream(3, "a", 2).random(5), stream(np.int64(3), "a", np.int32(2)).random(5))


def test_no_two_paths_collide() -> None:
    words: list[str | int] = ["1", 1, "s1", "i1", -1, "-1", "", "a", "b", "ab", 0, "0", 10**30]
    paths = [(), *itertools.product(words), *itertools.product(words, words)]
    firsts = {stream(5, *path).integers(0, 2**63) for path in paths}
    assert len(firsts) == len(paths)


def test_neighbouring_seeds_do_not_collide() -> None:
    seeds = [*range(2000), *(2**e for e in range(11, 128)), 2**128 - 1]
    assert len({stream(seed, "x").integers(0, 2**63) for seed in seeds}) == len(seeds)


@pytest.mark.parametrize("vary", ["round", "seed", "word"])
def test_first_draws_of_many_streams_are_uniform(vary: str) -> None:
    """One false alarm in a million."""
    make = {
        "round": lambda i: stream(1, "select", i),
        "seed": lambda i: stream(i, "select", 1),
        "word": lambda i: stream(1, f"client {i}"),
    }[vary]
    draws = np.array([make(i).random() for i in range(4000)])
    assert chi_square(draws, 50) < chi_square_limit(49)


def test_streams_are_uncorrelated() -> None:
    """Correlation of two independent samples of n has deviation 1/sqrt(n): beyond 5 of them, 6 in ten million."""
    n = 20_000
    draws = [stream(1, *path).random(n) for path in (("a",), ("b",), ("a", 1), ("a", "1"), ("a", 2))]
    for x, y in itertools.combinations([*draws, stream(2, "a").random(n)], 2):
        assert abs(np.corrcoef(x, y)[0, 1]) < 5 / math.sqrt(n)


@pytest.mark.parametrize("seed", [None, -1, 2**128, 1.5, True, "7"])
def test_bad_seeds_are_refused(seed: object) -> None:
    with pytest.raises(UsageError, match="seed must be a whole number from 0"):
        stream(seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [1.5, None, True, ("a",)])
def test_bad_paths_are_refused(step: object) -> None:
    with pytest.raises(UsageError, match="made of words and whole numbers"):
        stream(0, step)  # type: ignore[arg-type]


def test_a_client_uniform_is_two_splitmix_rounds() -> None:
    ids = [0, 1, 5, 2**31, 2**53 + 1, 2**63 - 1]
    key = int(stream(9, "k").integers(0, 2**64, dtype=np.uint64))
    by_hand = []
    for i in ids:
        mixed = splitmix(splitmix((i + key * 0x9E3779B97F4A7C15) & MASK) ^ key)
        by_hand.append(((mixed >> 12) + 0.5) / 2**52)
    assert client_uniforms(stream(9, "k"), np.array(ids)).tolist() == by_hand


@pytest.mark.parametrize("ids", [np.arange(200_000), 10**12 + 1024 * np.arange(200_000)], ids=["dense", "sparse"])
def test_client_uniforms_are_uniform(ids: np.ndarray) -> None:
    """One false alarm in a million for each of the three."""
    uniforms = client_uniforms(stream(4, "u"), ids)
    assert chi_square(uniforms, 256) < chi_square_limit(255)
    fine = uniforms * 256 % 1  # the bits below
    assert chi_square(fine, 256) < chi_square_limit(255)
    pairs = uniforms[:-1:2] // (1 / 16) * 16 + uniforms[1::2] // (1 / 16)  # neighbours together
    assert chi_square(pairs / 256, 256) < chi_square_limit(255)


def test_one_client_is_uniform_over_rounds() -> None:
    """One false alarm in a million."""
    draws = np.array([client_uniforms(stream(4, "select", t), np.array([17]))[0] for t in range(4000)])
    assert chi_square(draws, 50) < chi_square_limit(49)


def test_a_client_keeps_its_number_when_others_leave() -> None:
    everyone = np.array([3, 8, 10**12, 44, 5])
    whole = dict(zip(everyone.tolist(), client_uniforms(stream(1), everyone).tolist(), strict=True))
    for leaver in everyone:
        rest = np.sort(everyone[everyone != leaver])
        assert client_uniforms(stream(1), rest).tolist() == [whole[i] for i in rest.tolist()]


@pytest.mark.parametrize("extreme", [0, MASK])
def test_uniforms_never_reach_zero_or_one(extreme: int) -> None:
    """The client whose hash is all zeros or all ones, found by running the hash backwards."""

    def client(seed: int) -> int:
        key = int(stream(seed).integers(0, 2**64, dtype=np.uint64))
        return (unsplitmix(unsplitmix(extreme) ^ key) - key * 0x9E3779B97F4A7C15) & MASK

    seed = next(seed for seed in range(100) if client(seed) < 2**63)
    uniform = float(client_uniforms(stream(seed), np.array([client(seed)]))[0])
    assert uniform == (2.0**-53 if extreme == 0 else 1 - 2.0**-53)
    assert math.isfinite(-math.log(-math.log(uniform)))


def test_clients_draw_one_number_from_the_stream_however_many_they_are() -> None:
    few, many = stream(2), stream(2)
    client_uniforms(few, np.arange(3))
    client_uniforms(many, np.arange(3000))
    assert few.random() == many.random()

"""SimHash by hand, its keyed hash against hashlib, and fingerprints of vectors against plain loops."""

import hashlib
import math
from collections import Counter

import numpy as np
import pytest

from callup import stream
from callup.analytics.simhash import keyed, simhash, text_fingerprint, votes
from callup.analytics.vector_hash import VectorHash
from callup.core.errors import InputError, UsageError
from callup.partition.scheme import Shards
from callup.simulation.features import fingerprints


def bits_of(token, bits, key=b""):
    digest = hashlib.blake2b(token, digest_size=32, key=key).digest()
    return [int(b) for b in "".join(f"{byte:08b}" for byte in digest)[:bits]]


def far(a, b):
    return int((a != b).sum())


def test_three_words_by_hand():
    # "the" is 1001 as in the paper's Figure 2. Votes, with "the" counted twice:
    #   bit 1: +2 -1 -1 =  0 -> 0, a draw     bit 2: -2 +1 -1 = -2 -> 0
    #   bit 3: -2 +1 +1 =  0 -> 0, a draw     bit 4: +2 -1 +1 = +2 -> 1
    table = {b"the": [1, 0, 0, 1], b"cat": [0, 1, 1, 0], b"mat": [0, 0, 1, 1]}

    def stub(tokens, bits):
        assert bits == 4
        return np.array([table[token] for token in tokens])

    words = Counter(["the", "cat", "the", "mat"])
    assert simhash(words, 4, stub).tolist() == [0, 0, 0, 1]
    # Without the second "the" bit 1 is -1, bit 3 is +1 and bit 4 is +1.
    assert simhash(Counter(["the", "cat", "mat"]), 4, stub).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("seed", range(3))
def test_votes_are_their_definition(seed):
    rng = stream(seed, "votes")
    rows, weights = rng.integers(0, 2, (7, 16)), rng.integers(1, 5, 7).astype(float)
    for j, bit in enumerate(votes(rows, weights)):
        assert bit == (sum(w if row[j] else -w for row, w in zip(rows, weights, strict=True)) > 0)


@pytest.mark.parametrize("key", [b"", b"secret"])
@pytest.mark.parametrize("bits", [8, 13, 64, 256])
def test_the_hash_is_blake2b(bits, key):
    tokens = [b"cat", b"", "é".encode()]
    assert keyed(key)(tokens, bits).tolist() == [bits_of(token, bits, key) for token in tokens]


def test_one_word_is_its_own_hash_and_a_shorter_print_is_the_start_of_a_longer():
    assert text_fingerprint("Cat!", 64, b"k").tolist() == bits_of(b"cat", 64, b"k")
    text = "the cat sat on the mat"
    assert text_fingerprint(text, 16).tolist() == text_fingerprint(text, 64)[:16].tolist()


def test_words_are_counted_in_lower_case_and_stop_words_left_out():
    plain = text_fingerprint("cat cat mat")
    assert text_fingerprint("Cat, CAT; mat.").tolist() == plain.tolist()
    assert text_fingerprint("the cat on the cat on a mat", stop_words={"the", "on", "a"}).tolist() == plain.tolist()
    assert not text_fingerprint("...").any()  # nothing voted


def test_similar_texts_are_near_and_a_key_hides_which():
    words = [f"word{i}" for i in range(60)]
    text, near, other = " ".join(words), " ".join(words[:57]), " ".join(f"other{i}" for i in range(60))
    print_of = text_fingerprint(text)
    # Unrelated prints differ in half of 64 bits: 32, standard deviation 4. Three words of 60 flip few bits.
    assert far(print_of, text_fingerprint(near)) < 16
    assert 16 <= far(print_of, text_fingerprint(other)) <= 48  # four standard deviations: once in 16,000, seeds fixed
    assert 16 <= far(print_of, text_fingerprint(text, key=b"secret")) <= 48


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: text_fingerprint("a", 7), UsageError, "bits must be between 8 and 256, got 7"),
        (lambda: text_fingerprint("a", 257), UsageError, "bits must be between 8 and 256, got 257"),
        (lambda: text_fingerprint("a", key=b"x" * 65), UsageError, "at most 64 bytes, got 65"),
        (lambda: simhash({"a": 0.0}), InputError, "above 0"),
        (lambda: simhash({"a": math.nan}), InputError, "above 0"),
        (lambda: VectorHash(0), UsageError, "dimensions of a fingerprint must be at least 1, got 0"),
        (lambda: VectorHash(4, step=0), UsageError, "step of a fingerprint must be above 0 and finite, got 0"),
        (lambda: VectorHash(4, key=b"x" * 65), UsageError, "at most 64 bytes"),
        (lambda: VectorHash(4).fingerprint(np.zeros((2, 5))), InputError, "must have 4 numbers each, got 5"),
        (lambda: VectorHash(1).fingerprint(np.array([[math.nan]])), InputError, "must be numbers"),
    ],
)
def test_what_cannot_be_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_levels_are_equation_5():
    hasher = VectorHash(5, key=b"k", words=3, coordinates=2, step=0.5)
    places, offsets = hasher.drawn
    assert ((offsets >= 0) & (offsets < 0.5)).all()
    assert all(len(set(word)) == 2 and set(word) <= set(range(5)) for word in places.tolist())
    samples = stream(0, "samples").normal(size=(4, 5))
    levels = hasher.levels(samples)
    for n, word, i in np.ndindex(4, 3, 2):
        assert levels[n, word, i] == math.floor((samples[n, places[word, i]] - offsets[word, i]) / 0.5)


def test_words_meet_exactly_when_their_levels_do():
    hasher = VectorHash(6, words=8, coordinates=3, step=1.0)
    samples = stream(0, "words").normal(size=(300, 6))
    spelled = [(w, *word) for sample in hasher.levels(samples).tolist() for w, word in enumerate(map(tuple, sample))]
    tokens = hasher.tokens(samples).ravel().tolist()
    assert len(set(spelled)) == len(set(tokens)) == len(set(zip(spelled, tokens, strict=True))) > 100


def test_a_vector_fingerprint_by_plain_loops():
    hasher = VectorHash(6, key=b"k", words=4, coordinates=2, step=1.0)
    samples = stream(0, "loops").normal(size=(9, 6))
    total = [0] * 16
    for sample in hasher.tokens(samples).tolist():
        for token in sample:
            for j, bit in enumerate(bits_of(token.to_bytes(8, "little"), 16, b"k")):
                total[j] += 1 if bit else -1
    assert hasher.fingerprint(samples, 16).tolist() == [int(v > 0) for v in total]


def test_enormous_samples_have_a_fingerprint_too():
    assert VectorHash(2).fingerprint(np.array([[1e300, -1e300], [np.inf, 0.0]])).shape == (64,)


def test_simulated_clients_send_what_each_would_compute_alone():
    x = stream(0, "x").normal(size=(60, 2, 3)).astype(np.float32)
    shards = Shards(np.arange(3), (np.arange(10), np.arange(10, 35), np.array([3, 3, 59])))
    out = fingerprints(x, shards, 32, seed=5)
    alone = VectorHash(6, key=b"fingerprints 5")
    assert out.tolist() == [alone.fingerprint(x[rows], 32).tolist() for rows in shards.rows]
    assert set(np.unique(out)) == {0, 1}
    assert far(out, fingerprints(x, shards, 32, seed=6)) > 0


def test_clients_with_alike_samples_have_alike_fingerprints():
    # Two kinds of samples, ten clients of each, forty samples a client.
    rng = stream(0, "kinds")
    kind = np.repeat([0, 1], 400)
    x = rng.normal(size=(2, 30))[kind] + 0.5 * rng.normal(size=(800, 30))
    out = fingerprints(x, Shards(np.arange(20), tuple(np.arange(800).reshape(20, 40))), 64).astype(int)
    apart = np.abs(out[:, None] - out[None]).sum(axis=2)
    inside = apart[:10, :10][np.triu_indices(10, 1)]
    assert inside.max() < apart[:10, 10:].min()

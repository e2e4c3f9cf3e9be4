"""From texts to rows of words, on authors small enough to follow by hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from callup.analytics.simhash import keyed
from callup.core.errors import InputError, UsageError
from callup.partition.scheme import Shards
from callup.simulation.data.text.next_word import prepare
from callup.simulation.data.text.posts import Author, Post, writers
from callup.simulation.data.text.words import STOP_WORDS, split_words
from callup.simulation.features import fingerprints
from callup.simulation.task import Split


def test_words_of_a_text() -> None:
    text = "I DON’T know: it's Ann's e-mail, isn't it? 42 won 'quoted'"
    everything = ["i", "don't", "know", "it's", "ann's", "e", "mail", "isn't", "it", "42", "won", "quoted"]
    assert split_words(text, stop_words=True) == everything
    # "won" alone is a word of its own; in "won't" it is not.
    assert split_words(text, stop_words=False) == ["know", "ann's", "e", "mail", "42", "won", "quoted"]
    assert split_words("won't, who'd, they've; THE end", stop_words=False) == ["end"]
    assert all(word == word.lower() for word in STOP_WORDS)


def test_who_has_written_enough() -> None:
    read = 0

    def source() -> Iterator[Post]:
        nonlocal read
        read += 1
        yield from (
            Post("zoe", "last words", "2020-02-01"),
            Post("ann", "one two three four"),
            Post("bob", "five"),
            Post("zoe", "first", "2020-01-01"),
            Post("bob", "six seven"),
        )

    assert [(a.name, a.texts) for a in writers(source, 3, 1, "made up")] == [
        ("ann", ("one two three four",)),
        ("bob", ("five", "six seven")),
        ("zoe", ("first", "last words")),
    ]
    assert read == 2
    assert [a.name for a in writers(source, 3, 2, "made up")] == ["bob", "zoe"]
    assert [a.name for a in writers(source, 4, 1, "made up")] == ["ann"]
    with pytest.raises(InputError, match="made up: none of 3 authors wrote 5 words or more in 1 posts"):
        writers(source, 5, 1, "made up")


def author(name: str, *texts: str) -> Author:
    return Author(name, texts)


# Twenty words each at rows of 2: 2 words for the test, 2 for validation, 16 for training.
ANN = author(
    "ann", "red red red blue", "red blue red", "red red red", "blue red red red red red", "odd blue", "red new"
)
BOB = author(
    "bob",
    "green green red red",
    "red blue blue blue",
    "blue green green green",
    "red red red red",
    "red odd",
    "blue red",
)


def test_rows_by_hand() -> None:
    found = prepare([ANN, BOB], 100, 2, True, 10, "made up")
    data = found.data
    # The first four texts of each are for training. Ann: red 13, blue 3. Bob: red 7, green 5, blue 4.
    assert found.vocabulary == ("", "?", "red", "blue", "green")
    assert data.classes == 1 and data.owners is not None and data.owners.tolist() == [0] * 8 + [1] * 8
    # Ann's first text: nothing, red | red, red -> asks red, red | red, blue; her second begins afresh.
    assert data.train.x[:4].tolist() == [[0, 2], [2, 2], [0, 2], [3, 0]]
    assert data.train.y[:4].tolist() == [[2, 2], [2, 3], [2, 3], [2, 2]]
    # "odd blue": odd is unknown, so it is not asked, and it is what stands before blue.
    assert data.validation.x[0].tolist() == [0, 1] and data.validation.y[0].tolist() == [-1, 3]
    # "red new": a word that occurs in the test alone is unknown.
    assert data.test.x[0].tolist() == [0, 2] and data.test.y[0].tolist() == [2, -1]
    assert data.test.targets.tolist() == [2, 3, 2] and data.test.labels.tolist() == [0, 0]
    for split in (data.train, data.validation, data.test):
        assert not split.x.flags.writeable and not split.y.flags.writeable


def test_everybody_has_as_many_rows_as_the_poorest() -> None:
    rich = author("rich", *["many words of a kind here"] * 40)
    data = prepare([rich, ANN, rich], 100, 2, True, 10, "made up").data
    assert data.owners is not None and np.bincount(data.owners).tolist() == [8, 8, 8]
    assert len(data.validation) == len(data.test) == 3


def test_frequent_words_are_known_first_and_equals_by_the_alphabet() -> None:
    texts = author("ann", " ".join(["pear", "fig", "apple", "fig"] * 10))
    assert prepare([texts], 4, 2, True, 10, "made up").vocabulary == ("", "?", "fig", "apple")
    assert prepare([texts], 9, 2, True, 10, "made up").vocabulary == ("", "?", "fig", "apple", "pear")


def test_stop_words_are_left_out_before_words_are_counted() -> None:
    texts = author("ann", *["the house of the rising sun"] * 10)
    found = prepare([texts], 10, 3, False, 10, "made up")
    assert found.vocabulary == ("", "?", "house", "rising", "sun")
    assert len(found.data.train) == 8 and found.data.train.x[0].tolist() == [0, 2, 3]


def test_validation_rows_are_few_and_the_same_each_time() -> None:
    authors = [author(str(i), " ".join(f"w{(i * j) % 7}" for j in range(60))) for i in range(9)]
    every = prepare(authors, 50, 2, True, 1000, "made up").data.validation
    some, again = (prepare(authors, 50, 2, True, 5, "made up").data.validation for _ in range(2))
    assert len(every) == 27 and len(some) == 5
    assert np.array_equal(some.x, again.x) and np.array_equal(some.y, again.y)
    kept = {(*x, *y) for x, y in zip(some.x.tolist(), some.y.tolist(), strict=True)}
    assert kept <= {(*x, *y) for x, y in zip(every.x.tolist(), every.y.tolist(), strict=True)}


def test_what_cannot_be_made() -> None:
    with pytest.raises(InputError, match="'few' has 9 words left, too few for rows of 2"):
        prepare([ANN, author("few", "only nine words are here and that is too")], 10, 2, True, 10, "made up")
    with pytest.raises(UsageError, match="vocabulary must be above 2"):
        prepare([ANN], 2, 2, True, 10, "made up")


def test_split_tells_targets_and_labels() -> None:
    pictures = Split(np.zeros((3, 4), np.float32), np.array([2, 0, 1]))
    assert pictures.targets is pictures.y and pictures.labels is pictures.y


def test_fingerprint_of_texts_counts_words_by_hand() -> None:
    """Word 3 twice and word 4 once: every bit is that of word 3. Words 0 and 1 stand for none and do not vote."""
    x = np.array([[0, 3, 1, 1], [3, 0, 4, 1], [4, 4, 5, 0], [0, 1, 1, 0]])
    shards = Shards(np.arange(3), (np.array([0, 1]), np.array([2]), np.array([3])))
    bits = keyed(b"fingerprints 7")([number.to_bytes(8, "little") for number in (3, 4)], 32)
    got = fingerprints(x, shards, 32, seed=7)
    assert np.array_equal(got[0], bits[0]) and np.array_equal(got[1], bits[1]) and not got[2].any()


def test_like_texts_have_like_fingerprints() -> None:
    """Two authors of one topic and one of another; 100 words each, the topics share nothing.

    Unrelated fingerprints differ in half of 256 bits, with deviation 8; 96 is four deviations below, so a false alarm
    has odds of about 1 in 30,000 over seeds, and this seed is fixed.
    """
    rng = np.random.default_rng(0)
    law = 1 / np.arange(1, 31)
    topics = (2, 2, 50)
    x = np.stack([first + rng.choice(30, 100, p=law / law.sum()) for first in topics])
    one, two, other = fingerprints(x, Shards(np.arange(3), tuple(np.arange(3)[:, None])), 256, seed=1).astype(int)
    assert np.abs(one - two).sum() < 96 < np.abs(one - other).sum()

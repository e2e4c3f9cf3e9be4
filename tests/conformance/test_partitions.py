"""Registry times checks: every partition scheme, preset and choice of each parameter. No scheme is named here."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import numpy as np
import pytest

from callup.core.errors import CallupError, InputError, UsageError
from callup.core.randomness import stream
from callup.core.spec import field_types
from callup.partition.scheme import PARTITIONS, Shards
from callup.testing import variants

CARDS = PARTITIONS.cards()
FILE = Path(__file__).with_name("labels.csv")  # for schemes that read one
DEFAULTS = {card.name: card.name + f":file={FILE}" * ("file" in field_types(card.cls)) for card in CARDS}
SPECS = [spec.replace(card.name, DEFAULTS[card.name], 1) for card in CARDS for spec in variants(card)]
BY_FIELD = [(card.name, name, kind) for card in CARDS for name, kind in field_types(card.cls).items()]
NUMBERS = [(card, name) for card, name, kind in BY_FIELD if kind in (int, float)]

SHUFFLED = stream(7, "labels")
BALANCED = SHUFFLED.permutation(np.repeat(np.arange(10), 1000))
LOPSIDED = SHUFFLED.permutation(np.repeat(np.arange(10), np.arange(200, 2200, 200)))
LABELS = {"balanced": BALANCED, "lopsided": LOPSIDED}


def split(spec: str, labels: np.ndarray, seed: int = 0, **parameters: int) -> Shards:
    scheme = PARTITIONS.make(spec, **parameters)
    return scheme.split(labels, 10, stream(seed, "partition"), owners(labels))


def owners(labels: np.ndarray) -> np.ndarray:
    """A hundred people, for schemes that ask whose each sample is."""
    return np.arange(len(labels)) % 100


def check(spec: str, shards: Shards, labels: np.ndarray) -> None:
    np.testing.assert_array_equal(shards.ids, np.arange(len(shards)))
    assert shards.sizes.min() >= 1
    rows = np.concatenate(shards.rows)
    assert rows.dtype == np.int64
    assert rows.min() >= 0
    assert rows.max() < len(labels)
    if not PARTITIONS.make(spec).shares:
        assert len(np.unique(rows)) == len(rows), "a sample is held twice"
    np.testing.assert_array_equal(shards.label_counts(labels, 10).sum(axis=1), shards.sizes)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("spec", SPECS)
def test_every_client_holds_valid_samples_of_its_own(spec: str, labels: str) -> None:
    check(spec, split(spec, LABELS[labels]), LABELS[labels])


@pytest.mark.parametrize("spec", SPECS)
def test_the_generator_decides_and_nothing_else(spec: str) -> None:
    before, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002
    first, again, other = split(spec, BALANCED, 1), split(spec, BALANCED, 1), split(spec, BALANCED, 2)
    assert all(np.array_equal(a, b) for a, b in zip(first.rows, again.rows, strict=True))
    differs = any(not np.array_equal(a, b) for a, b in zip(first.rows, other.rows, strict=False))
    assert differs == PARTITIONS.make(spec).draws
    assert random.getstate() == before
    assert all(np.array_equal(a, b) for a, b in zip(np.random.get_state(), legacy, strict=True))  # noqa: NPY002


@pytest.mark.parametrize("spec", SPECS)
def test_labels_and_parameters_stay_as_they_are(spec: str) -> None:
    labels = BALANCED.astype(np.uint8)
    labels.setflags(write=False)
    scheme = PARTITIONS.make(spec)
    before = dataclasses.astuple(scheme)  # type: ignore[call-overload]
    shards = scheme.split(labels, 10, stream(1, "partition"), owners(labels))
    assert dataclasses.astuple(scheme) == before  # type: ignore[call-overload]
    # The type of the labels does not matter either.
    assert all(np.array_equal(a, b) for a, b in zip(shards.rows, split(spec, BALANCED, 1).rows, strict=True))
    with pytest.raises(dataclasses.FrozenInstanceError):
        scheme.clients = 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("clients", [1, 2, 60, 120, 1000])
def test_any_number_of_clients_works_or_is_refused_in_a_sentence(spec: str, clients: int) -> None:
    try:
        shards = split(spec, BALANCED, 3, clients=clients)
    except CallupError as refused:
        assert_a_sentence(refused)
    else:
        assert len(shards) == clients
        check(spec, shards, BALANCED)


@pytest.mark.parametrize("spec", SPECS)
def test_a_class_without_samples_works_or_is_refused_in_a_sentence(spec: str) -> None:
    labels = BALANCED[BALANCED != 4]
    try:
        shards = split(spec, labels)
    except CallupError as refused:
        assert_a_sentence(refused)
    else:
        check(spec, shards, labels)


@pytest.mark.parametrize("spec", SPECS)
def test_more_clients_than_samples_are_refused(spec: str) -> None:
    labels = np.arange(20) % 10
    if PARTITIONS.make(spec).shares:
        assert len(split(spec, labels, clients=120, samples=5)) == 120
        return
    with pytest.raises(CallupError) as refused:
        split(spec, labels, clients=1200)
    assert_a_sentence(refused.value)
    assert "clients" in str(refused.value)


@pytest.mark.parametrize(("card", "name"), NUMBERS)
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "many", None])
def test_numbers_that_make_no_sense_are_refused_by_name(card: str, name: str, value: object) -> None:
    with pytest.raises(UsageError, match=name) as refused:
        PARTITIONS.make(card, **{name: value})
    assert_a_sentence(refused.value)
    assert card in str(refused.value)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.empty(0, np.int64), "labels must be whole numbers"),
        (np.zeros((4, 2), np.int64), r"got int64 of shape \(4, 2\)"),
        (np.array([0.0, 1.0]), "got float64"),
        (np.array(["cat", "dog"]), "labels must be whole numbers"),
        (np.array([0, 10]), "labels of 10 classes run from 0 to 9, got 10"),
        (np.array([-1, 3]), "labels of 10 classes run from 0 to 9, got -1"),
    ],
)
@pytest.mark.parametrize("card", [card.name for card in CARDS])
def test_labels_that_make_no_sense_are_refused(card: str, labels: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        split(DEFAULTS[card], labels)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_card_says_what_it_is(card) -> None:  # type: ignore[no-untyped-def]
    assert card.paper
    assert card.summary.endswith("."), card.summary
    assert any(parameter.name == "clients" for parameter in card.parameters)


def assert_a_sentence(error: CallupError) -> None:
    text = str(error)
    assert 20 < len(text) < 240, text
    assert "\n" not in text

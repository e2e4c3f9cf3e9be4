"""The made-up federation that the checks play in: every signal, in every mood, and only what was declared."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

from callup.core.catalogue import SELECTORS
from callup.core.registry import Card
from callup.core.signals import SIGNALS, Needs
from callup.testing import Driver, Federation, variants
from callup.testing.compare import same
from callup.testing.federation import Mood, supplies


@dataclass
class Sample:
    kind: Literal["a", "b", "c"] = "b"
    also: Literal["x", "y"] | None = None
    on: bool = True
    d: int = 3


MOODS = typing.get_args(Mood)
WORLD = Federation.of(20)


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("mood", MOODS)
def test_every_signal_can_be_supplied(name: str, mood: Mood) -> None:
    """The right shape, finite, within the range of the vocabulary: Clients and Feedback take it."""
    world, signal = WORLD.like(mood), SIGNALS[name]
    if "profile" in signal.times:
        assert name in world.clients([name])
    else:
        values = world.fact(name, world.ids, 3)
        assert values.ndim == (1 if signal.shape == "number" else 2)
        assert len(values) == len(world.ids)
        assert np.isfinite(values).all()
        assert signal.lowest is None or values.min() >= signal.lowest


@pytest.mark.parametrize("name", [name for name in SIGNALS if "profile" not in SIGNALS[name].times])
def test_a_fact_hangs_on_the_client_alone(name: str) -> None:
    some = np.array([7, 2, 15])
    assert same(WORLD.fact(name, WORLD.ids, 3)[some], WORLD.with_ids(some).fact(name, some, 3))
    assert not same(WORLD.fact(name, some, 3), WORLD.fact(name, some, 4))


def test_columns_agree_with_each_other() -> None:
    clients = WORLD.clients(("num_examples", "label_counts", "label_gram", "global_counts"))
    counts = clients.all("label_counts")
    assert same(clients.all("num_examples"), counts.sum(axis=1))
    assert same(clients.all("label_gram"), counts @ counts.T)
    assert same(clients.all("global_counts"), counts.sum(axis=0))
    assert counts.min() >= 0
    assert same(counts, np.floor(counts))


def test_moods_are_what_they_say() -> None:
    def sizes(mood: Mood) -> np.ndarray:
        return WORLD.like(mood).clients(["num_examples"]).all("num_examples")

    def loss(mood: Mood) -> np.ndarray:
        return WORLD.like(mood).answers("loss", WORLD.ids, 1)

    assert len(np.unique(sizes("usual"))) > 5
    assert len(np.unique(sizes("ties"))) == len(np.unique(loss("ties"))) == 1
    assert not sizes("zeros").any()
    assert sizes("huge").min() >= 1e12
    assert loss("huge").min() >= 1e29
    assert (sizes("liar") >= 1e12).tolist() == [True] + [False] * 19
    assert np.isnan(loss("silent")).all()
    assert np.isnan(loss("half silent")).tolist() == [True, False] * 10
    assert WORLD.like("one class").clients(["label_counts"]).all("label_counts").shape == (20, 1)
    assert not WORLD.like("one label").clients(["label_counts"]).all("label_counts")[:, 1:].any()


def test_every_alternative_is_supplied_in_turn() -> None:
    needs = Needs.of(("label_counts|label_gram", "duration?", "loss@probe"))
    assert [[str(ask) for ask in asks] for asks in supplies(needs)] == [
        ["label_counts", "duration", "loss@probe"],
        ["label_gram", "duration", "loss@probe"],
        ["label_counts", "loss@probe"],
    ]
    assert supplies(Needs.of(())) == [[]]


def test_the_driver_hands_over_what_was_declared_and_no_more() -> None:
    selector = SELECTORS.make("random")
    driver = Driver(selector, WORLD, []).start()
    now = driver.now(1)
    assert list(now.clients.columns) == []
    for ask in (
        lambda: now.clients.all("latency"),
        lambda: "latency" in now.clients,
        lambda: now.probe("loss", now.available),
    ):
        with pytest.raises(AssertionError, match="without declaring it"):
            ask()
    told = driver.feedback(1, driver.select(1))
    for listen in (lambda: told.signals["loss"], lambda: told.signals.get("loss"), lambda: "loss" in told.signals):
        with pytest.raises(AssertionError, match=r"asks for 'loss' \(reply\) without declaring it"):
            listen()


def test_variants_are_the_default_the_presets_and_every_choice() -> None:
    card = Card("sample", Sample, presets={"deep": {"d": 9}})
    assert list(variants(card)) == [
        "sample",
        "sample:deep",
        "sample:kind=a",
        "sample:kind=c",
        "sample:also=x",
        "sample:also=y",
        "sample:on=False",
    ]

"""What a selector will be given in a federation whose clients do not all answer the same."""

from __future__ import annotations

import numpy as np
import pytest

import callup
from callup.core.signals import Ask
from callup.flower.greeting import Acquaintances, Card
from callup.flower.supply import settle, table

COUNTS = {"label_counts": np.array([3.0, 4.0]), "num_examples": np.array(7.0)}
SERVED = {"update", "train_loss", "duration", "local_steps"}


def met(*answers: set[str]) -> Acquaintances:
    cards = {client: Card(frozenset({*COUNTS, *more}), COUNTS, {}) for client, more in enumerate(answers)}
    return Acquaintances(cards=cards)


def names(asks: list[Ask]) -> set[str]:
    return {ask.signal.name for ask in asks}


@pytest.mark.parametrize(("second", "asked"), [({"loss"}, True), (set(), False)])
def test_what_is_optional_is_asked_if_all_answer_it_and_nobody_is_left_out(second: set[str], asked: bool) -> None:
    known = met({"loss"}, second)
    asks = settle(callup.selector("lineup:keepers"), known, SERVED)
    assert ("loss" in names(asks)) == asked
    clients, left_out = table(known.cards, asks, [])
    assert clients is not None and clients.ids.tolist() == [0, 1]
    assert left_out == {}


def test_a_newcomer_that_does_not_answer_it_ends_it_and_what_was_chosen_stays() -> None:
    selector = callup.selector("lineup:keepers")
    first = settle(selector, met({"loss"}, {"loss"}), SERVED)
    assert names(first) == {"label_counts", "num_examples", "update", "loss"}
    later = settle(selector, met({"loss"}, {"loss"}, set()), SERVED, first)
    assert names(later) == {"label_counts", "num_examples", "update"}
    assert names(settle(selector, met({"loss"}, {"loss"}), SERVED, later)) == names(later)


def test_what_is_needed_is_asked_of_those_who_answer_it_and_others_are_left_out() -> None:
    known = met({"loss_rms"}, set())
    asks = settle(callup.selector("oort"), known, SERVED)
    clients, left_out = table(known.cards, asks, [])
    assert clients is not None and clients.ids.tolist() == [0]
    assert left_out == {1: "answers no loss_rms"}

"""What passes between a runtime and a selector is checked where it is made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from callup.core.clients import Clients
from callup.core.errors import ContractError, InputError, MissingSignal, UsageError
from callup.core.randomness import stream
from callup.core.types import Feedback, Plan, Replies, Round, Selection, check_k

CLIENTS = Clients([2, 5, 9, 10**12], num_examples=[1, 2, 3, 4])


@pytest.mark.parametrize("k", [0, -1, 1.5, 2.0, True, "3", None, np.float64(2)])
def test_k_is_a_whole_number_of_at_least_one(k: Any) -> None:
    for attempt in (lambda: check_k(k), lambda: Plan(k)):
        with pytest.raises(UsageError, match="k must be a whole number of at least 1, got"):
            attempt()
    assert check_k(np.int16(3)) == 3


def test_a_plan_checks_its_parts() -> None:
    with pytest.raises(UsageError, match="rounds must be a whole number of at least 1, got 0"):
        Plan(3, 0)
    with pytest.raises(UsageError, match="classes must be a whole number of at least 1, got -2"):
        Plan(3, 10, -2)
    assert Plan(np.int64(3)) == Plan(3, None, None)


def test_a_round_sorts_who_is_available() -> None:
    given = np.array([9, 2])
    now = Round(1, given, CLIENTS, stream(0))
    assert now.available.tolist() == [2, 9]
    assert given.tolist() == [9, 2]
    with pytest.raises(ValueError, match="read-only"):
        now.available[0] = 5
    with pytest.raises(InputError, match="this runtime cannot probe clients, asked for 'loss' of 2 clients"):
        now.probe("loss", now.available)


@pytest.mark.parametrize(
    "index, available, sentence",
    [
        (0, [2], "round index must be a whole number of at least 1, got 0"),
        (1, [2, 2], "client 2 is available twice"),
        (1, [2, 3], "unknown client 3"),
        (1, [2.0], "available must be a flat list of whole numbers"),
        (1, None, "available must be a flat list of whole numbers, got None"),
    ],
)
def test_a_round_that_makes_no_sense_is_refused(index: int, available: Any, sentence: str) -> None:
    with pytest.raises((InputError, UsageError)) as caught:
        Round(index, available, CLIENTS, stream(0))
    assert sentence in str(caught.value)


def test_a_selection_takes_whole_ids_of_any_kind() -> None:
    assert Selection(np.array([5, 2], np.uint8)).ids.dtype == np.int64
    assert Selection([]).ids.tolist() == []
    assert Selection([5, 2], weights=[2, 1]).ids.tolist() == [5, 2]


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"ids": [1.0, 2.0]}, "a selection holds whole client ids, got float64"),
        ({"ids": [[1, 2]]}, "a selection holds whole client ids"),
        ({"ids": [True, False]}, "a selection holds whole client ids, got bool"),
        ({"ids": [4, 7, 4]}, "client 4 was selected twice; repeats belong in weights"),
        ({"ids": [4, 7], "weights": [1.0]}, "weights has shape (1,) for 2 selected clients"),
        ({"ids": [4, 7], "weights": [1.0, 0.0]}, "weights must be positive and finite"),
        ({"ids": [4, 7], "weights": [1.0, np.nan]}, "weights must be positive and finite"),
        ({"ids": [4, 7], "whole": True}, "leave whole out"),
        ({"ids": [4, 7], "scores": {"loss": [1.0, 2.0, 3.0]}}, "loss has shape (3,) for 2 selected clients"),
    ],
)
def test_a_selection_that_breaks_the_contract_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ContractError) as caught:
        Selection(**given)
    assert sentence in str(caught.value)


def test_a_missing_part_of_a_whole_shortens_the_step() -> None:
    parts = Selection([7, 4, 9, 1], weights=[0.4, 0.3, 0.2, 0.1], whole=True)
    assert parts.weights_of(np.array([1, 7])).tolist() == [0.1, 0.4]
    assert parts.step(np.array([1, 4, 7, 9]), 4) == 1.0
    assert parts.step(np.array([1, 4, 9]), 4) == pytest.approx(0.6)
    assert parts.step(np.array([1, 4, 9]), 8) == pytest.approx(0.6)  # no more were there to ask
    assert parts.step(np.array([], np.int64), 4) == 0.0
    # Four were asked so that three reply: three are enough, and of two the parts count by thirds.
    assert parts.step(np.array([1, 4, 9]), 3) == 1.0
    assert parts.step(np.array([4, 9]), 3) == pytest.approx(0.5 * 4 / 3)
    assert parts.step(np.array([4, 7]), 2) == 1.0
    assert Selection([7, 4], weights=[3.0, 1.0]).step(np.array([4]), 2) == 1.0
    assert Selection([7, 4]).step(np.array([4]), 2) == 1.0


def feedback(**changes: Any) -> Feedback:
    given = {"index": 3, "ids": [9, 2], "signals": {"loss": [0.5, -1.0]}, "clients": CLIENTS, **changes}
    return Feedback(**given)


def test_feedback_is_aligned_and_read_only() -> None:
    mine = np.array([0.5, 1.0])
    told = feedback(signals={"loss": mine, "gradient": np.ones((2, 3))}, failed={5: "no reply"})
    assert told.ids.tolist() == [9, 2]
    assert told.asked.tolist() == [2, 5, 9]
    for array in (told.ids, told.signals["loss"], told.signals["gradient"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    mine[0] = 2.0  # the caller's own array stays the caller's


def test_a_signal_that_was_not_supplied_is_named() -> None:
    with pytest.raises(MissingSignal, match="the replies of this round carry no 'duration'; known: loss"):
        feedback().signals["duration"]
    assert feedback().signals.get("duration") is None


def test_feedback_may_be_empty() -> None:
    told = feedback(ids=[], signals={"loss": [], "gradient": np.empty((0, 3))}, failed={2: "no reply"})
    assert told.asked.tolist() == [2]
    assert feedback(ids=[], signals={}).asked.tolist() == []


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"ids": [9, 9]}, "client 9 reported twice in round 3"),
        ({"ids": [9, 3]}, "unknown client 3"),
        ({"failed": {9: "x"}}, "client 9 is said to have both reported and failed in round 3"),
        ({"failed": {4: "x"}}, "unknown client 4"),
        ({"failed": {"a": "x"}}, "ids of failed clients must be a flat list of whole numbers"),
        ({"index": 0}, "round index must be a whole number of at least 1"),
        ({"signals": {"los": [1, 2]}}, "unknown signal 'los'; did you mean 'loss'?"),
        ({"signals": {"loss": [1.0]}}, "loss must hold one number for each of 2 clients, got shape (1,)"),
        ({"signals": {"loss": [[1.0], [2.0]]}}, "loss must hold one number for each of 2 clients"),
        ({"signals": {"gradient": [1.0, 2.0]}}, "gradient must hold one row for each of 2 clients"),
        ({"signals": {"loss": ["a", "b"]}}, "loss must be numbers"),
        ({"signals": {"loss": [1.0, np.nan]}}, "round 3, client 2: loss must be a finite number, got nan"),
        ({"signals": {"loss": [-np.inf, 1.0]}}, "round 3, client 9: loss must be a finite number, got -inf"),
        ({"signals": {"duration": [1.0, -1.0]}}, "client 2: duration must be a finite number of at least 0, got -1.0"),
        ({"signals": {"gradient": [[1.0, np.inf], [0, 0]]}}, "round 3, client 9: gradient must be a finite number"),
    ],
)
def test_feedback_that_makes_no_sense_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises((InputError, UsageError)) as caught:
        feedback(**changes)
    assert sentence in str(caught.value)


def test_replies_can_be_cut_to_some() -> None:
    start = np.array([1.0, 1.0])
    replies = Replies(
        np.array([2, 5, 9]),
        start,
        np.array([[1, 2], [3, 4], [5, 6.0]]),
        np.array([1, 2, 3]),
        np.array([4, 5, 6]),
        {"loss": np.array([7, 8, 9])},
    )
    cut = replies.only(np.array([True, False, True]))
    assert cut.ids.tolist() == [2, 9]
    assert cut.updates.tolist() == [[0, 1], [4, 5]]
    assert (cut.num_examples.tolist(), cut.local_steps.tolist()) == ([1, 3], [4, 6])
    assert cut.signals["loss"].tolist() == [7, 9]

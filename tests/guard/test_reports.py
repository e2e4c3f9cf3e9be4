"""Raw reports: everything a client may send, and what becomes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from callup.guard.record import Objection
from callup.guard.reports import Report, sorted_out

START = np.zeros(4, np.float32)
KNOWN, ASKED = np.arange(10), np.array([2, 3, 5])
FINE: dict[str, Any] = {
    "client": 3,
    "index": 7,
    "model": [1.0, 2.0, 3.0, 4.0],
    "num_examples": 20,
    "local_steps": 5,
    "signals": {"loss": 0.5, "accuracy": 0.9},
}


def sort(*reports: Report, wants: tuple[str, ...] = ("loss", "accuracy")) -> tuple[list[int], list[Objection]]:
    replies, found = sorted_out(reports, 7, ASKED, START, wants, KNOWN)
    return replies.ids.tolist(), found


def test_a_good_report_becomes_a_reply() -> None:
    replies, found = sorted_out([Report(**FINE)], 7, ASKED, START, ["loss"], KNOWN)
    assert not found
    assert replies.ids.tolist() == [3]
    assert replies.models.dtype == np.float32
    assert replies.models.tolist() == [[1, 2, 3, 4]]
    assert (replies.num_examples.tolist(), replies.local_steps.tolist()) == ([20], [5])
    assert replies.signals["loss"].tolist() == [0.5]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"model": [np.nan, 0, 0, 0]}, "not finite"),
        ({"model": [np.inf, 0, 0, 0]}, "not finite"),
        ({"model": [1.0, 2.0]}, "wrong shape"),
        ({"model": [1.0]}, "wrong shape"),  # would be spread over the whole model by numpy
        ({"model": [[1.0, 2.0, 3.0, 4.0]]}, "wrong shape"),
        ({"model": [[1.0, 2.0], [3.0]]}, "wrong shape"),
        ({"model": None}, "wrong shape"),
        ({"model": "abcd"}, "wrong shape"),
        ({"num_examples": -5}, "out of range"),
        ({"num_examples": 1e18}, "out of range"),
        ({"num_examples": np.nan}, "not finite"),
        ({"num_examples": "many"}, "wrong shape"),
        ({"num_examples": None}, "wrong shape"),
        ({"local_steps": -1}, "out of range"),
        ({"signals": {"loss": np.nan, "accuracy": 0.9}}, "not finite"),
        ({"signals": {"loss": -np.inf, "accuracy": 0.9}}, "not finite"),
        ({"signals": {"loss": 0.5, "accuracy": 1.5}}, "out of range"),
        ({"signals": {"loss": 0.5, "accuracy": -0.1}}, "out of range"),
        ({"signals": {"loss": [0.5], "accuracy": 0.9}}, "wrong shape"),
        ({"signals": {"loss": "0.5", "accuracy": 0.9}}, "wrong shape"),
        ({"signals": {"accuracy": 0.9}}, "wrong shape"),
        ({"signals": {}}, "wrong shape"),
        ({"index": 6}, "late"),
        ({"index": 8}, "late"),
        ({"index": "7"}, "late"),
        ({"index": None}, "late"),
        ({"client": 4}, "not asked"),
        ({"client": 99}, "unknown client"),
        ({"client": -1}, "unknown client"),
        ({"client": 2**70}, "unknown client"),
        ({"client": "3"}, "unknown client"),
        ({"client": "<script>"}, "unknown client"),
        ({"client": 3.0}, "unknown client"),
        ({"client": np.nan}, "unknown client"),
        ({"client": True}, "unknown client"),
        ({"client": None}, "unknown client"),
    ],
)
def test_a_bad_report_is_named(change: dict[str, Any], name: str) -> None:
    kept, found = sort(Report(**{**FINE, **change}))
    assert kept == []
    assert [objection.name for objection in found] == [name]


def test_bad_reports_do_not_touch_good_ones() -> None:
    bad = Report(**{**FINE, "client": 5, "model": [np.nan] * 4})
    kept, found = sort(bad, Report(**FINE), Report(**{**FINE, "client": 2}))
    assert kept == [3, 2]
    assert [objection.client for objection in found] == [5]


def test_the_first_of_several_replies_counts() -> None:
    kept, found = sort(Report(**FINE), Report(**{**FINE, "num_examples": 99}), Report(**FINE))
    assert kept == [3]
    assert [o.name for o in found] == ["duplicate", "duplicate"]
    assert not any(o.strike for o in found)  # networks repeat themselves too


def test_one_more_key_is_no_reason_to_lose_a_reply() -> None:
    kept, found = sort(Report(**{**FINE, "signals": {"loss": 0.5, "accuracy": 0.9, "mood": "fine"}}))
    assert (kept, found) == ([3], [])


def test_vectors_have_the_length_of_the_model() -> None:
    short = Report(**{**FINE, "signals": {"gradient": [1.0, 2.0]}})
    assert [o.name for o in sort(short, wants=("gradient",))[1]] == ["wrong shape"]
    whole = Report(**{**FINE, "signals": {"gradient": [1.0, 2.0, 3.0, 4.0]}})
    assert sort(whole, wants=("gradient",))[0] == [3]


def test_nobody_reported() -> None:
    replies, found = sorted_out([], 7, ASKED, START, ["loss"], KNOWN)
    assert (len(replies.ids), replies.models.shape, found) == (0, (0, 4), [])

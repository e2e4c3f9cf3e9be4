"""The table of clients: addressed by id, read-only, and plain about what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from callup.core.clients import Clients
from callup.core.errors import InputError, MissingSignal
from callup.core.index import Index, as_ids

SPARSE = np.array([10**12, 3, 70])


def test_rows_may_come_in_any_order() -> None:
    clients = Clients(SPARSE, num_examples=[5, 6, 7], features=[[5, 0], [6, 1], [7, 2]], colour=["r", "g", "b"])
    assert clients.ids.tolist() == [3, 70, 10**12]
    assert clients.all("num_examples").tolist() == [6, 7, 5]
    assert clients.of("num_examples", np.array([70, 10**12])).tolist() == [7, 5]
    assert clients.of("features", np.array([10**12, 3])).tolist() == [[5, 0], [6, 1]]
    assert clients.of("colour", np.array([70])).tolist() == ["b"]


def test_pairs_are_turned_both_ways() -> None:
    counts = np.array([[1, 2], [3, 4], [5, 6]])
    clients = Clients(SPARSE, label_gram=counts @ counts.T)
    assert clients.of("label_gram", np.array([70, 10**12])).tolist() == [[61.0, 17.0], [17.0, 5.0]]
    assert clients.all("label_gram")[0, 1] == 3 * 5 + 4 * 6


def test_a_total_belongs_to_nobody() -> None:
    clients = Clients(SPARSE, global_counts=[9, 8, 7, 6])
    assert clients.of("global_counts", np.array([3])).tolist() == [9, 8, 7, 6]


def test_sizes_follow_from_label_counts() -> None:
    clients = Clients([1, 0], label_counts=[[1, 2], [3, 4]])
    assert clients.all("num_examples").tolist() == [7, 3]
    assert "num_examples" not in clients.only("label_counts")


def test_only_what_was_named_is_seen() -> None:
    clients = Clients(SPARSE, num_examples=[5, 6, 7], latency=[1, 2, 3])
    view = clients.only("latency", "features")
    assert list(view.columns) == ["latency"]
    assert view.of("latency", np.array([3])).tolist() == [2]
    with pytest.raises(MissingSignal, match="clients have no column 'num_examples'; known: latency"):
        view.all("num_examples")


def test_nothing_can_be_written() -> None:
    given = np.array([4.0, 5.0])
    clients = Clients([0, 1], num_examples=given, label_counts=[[4, 0], [0, 5]])
    derived = Clients([0, 1], label_counts=[[4, 0], [0, 5]])
    for array in (clients.ids, *clients.columns.values(), derived.all("num_examples")):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    given[0] = 99  # the caller's own array stays the caller's
    assert clients.all("num_examples").tolist() == [4, 5]


def test_what_is_derived_is_computed_once() -> None:
    clients, calls = Clients([0, 1]), []
    for _ in range(3):
        assert clients.derived("x", lambda: calls.append(1) or "value") == "value"
    assert len(calls) == 1


BAD: list[tuple[dict[str, Any], str]] = [
    ({"ids": []}, "a federation needs at least one client"),
    ({"ids": [1, 2, 1]}, "client 1 is listed twice"),
    ({"ids": [1, -2]}, "client ids must not be negative, got -2"),
    ({"ids": [1.5, 2]}, "client ids must be a flat list of whole numbers"),
    ({"ids": [True, False]}, "client ids must be a flat list of whole numbers"),
    ({"ids": ["a", "b"]}, "client ids must be a flat list of whole numbers"),
    ({"ids": [[1, 2]]}, "client ids must be a flat list of whole numbers"),
    ({"ids": [[1, 2], [3]]}, "client ids must be a flat list of whole numbers"),
    ({"ids": 7}, "client ids must be a flat list of whole numbers, got 7"),
    ({"ids": [2**63]}, "client ids must fit into 63 bits"),
    ({"ids": [3, 8], "num_examples": [1]}, "num_examples must have shape (2), got (1,)"),
    ({"ids": [3, 8], "num_examples": 5}, "num_examples must have shape (2), got ()"),
    ({"ids": [3, 8], "num_examples": [1, -1]}, "client 8: num_examples must be a finite number of at least 0, got -1"),
    (
        {"ids": [8, 3], "num_examples": [1, np.nan]},
        "client 3: num_examples must be a finite number of at least 0, got nan",
    ),
    (
        {"ids": [3, 8], "num_examples": [np.inf, 1]},
        "client 3: num_examples must be a finite number of at least 0, got inf",
    ),
    ({"ids": [3, 8], "num_examples": ["1", "2"]}, "num_examples must be numbers"),
    ({"ids": [3, 8], "label_counts": [1, 2]}, "label_counts must have shape (2, any), got (2,)"),
    ({"ids": [3, 8], "label_counts": [[1, 2], [3]]}, "label_counts: every client needs a row of the same length"),
    (
        {"ids": [3, 8], "label_counts": [[1, 2], [0, -4]]},
        "client 8: label_counts must be a finite number of at least 0",
    ),
    ({"ids": [3, 8], "features": [[0, 1], [np.nan, 1]]}, "client 8: features must be a finite number, got nan"),
    ({"ids": [3, 8], "label_gram": [[1, 2, 3]] * 2}, "label_gram must have shape (2, 2), got (2, 3)"),
    ({"ids": [3, 8], "global_counts": [1, -1]}, "global_counts must be a finite number of at least 0, got -1"),
    (
        {"ids": [3, 8], "num_examples": [3, 9], "label_counts": [[1, 2], [3, 4]]},
        "client 8: num_examples is 9 but its label_counts add up to 7",
    ),
]


@pytest.mark.parametrize("given, sentence", BAD, ids=[sentence[:50] for _, sentence in BAD])
def test_bad_input_gets_a_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Clients(**given)
    assert sentence in str(caught.value)
    assert caught.value.exit_code == 3


def test_unknown_clients_are_named() -> None:
    clients = Clients(SPARSE, num_examples=[1, 2, 3])
    with pytest.raises(InputError, match="unknown client 4 and 1 more"):
        clients.of("num_examples", np.array([3, 4, 5]))


@pytest.mark.parametrize("ids", [np.arange(10), np.array([2, 5, 10**12]), np.empty(0, np.int64)])
def test_an_index_finds_who_is_here(ids: np.ndarray) -> None:
    index = Index(ids)
    asked = np.array([-1, 0, 2, 5, 9, 10, 10**12, 2**62])
    rows, here = index.find(asked)
    assert here.tolist() == [i in ids.tolist() for i in asked.tolist()]
    assert [ids[row] for row in rows[here]] == asked[here].tolist()


def test_ids_of_any_whole_type_are_taken() -> None:
    for dtype in (np.int8, np.uint16, np.uint64, np.int64):
        assert as_ids(np.array([3, 1], dtype)).tolist() == [3, 1]
        assert as_ids(np.array([3, 1], dtype)).dtype == np.int64
    assert as_ids(range(3)).tolist() == [0, 1, 2]
    assert as_ids([]).dtype == np.int64


def test_counts_that_cannot_be_added_up_are_refused() -> None:
    with pytest.raises(InputError, match="client 9: label_counts are too large to be added up"):
        Clients([4, 9], label_counts=[[1, 2], [1e308, 1e308]])

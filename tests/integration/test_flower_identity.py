"""Who is who and who may be chosen: stable numbers, names, tags, and fields that are missing."""

from __future__ import annotations

from typing import Any

import flower_app
import numpy as np
import pytest
from flwr.app import ArrayRecord, Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg, FedXgbBagging

import callup
from callup.core.errors import InputError, MissingSignal, UsageError
from callup.flower import LocalGrid, Selecting, answer
from callup.flower.local import server_task
from callup.flower.roster import Introduction, Roster, name_of

NODES = 8


def play(grid: LocalGrid, selector: str = "random", rounds: int = 1, **options: Any) -> Selecting:
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), selector, k=options.pop("k", 3), **options)
    with server_task():
        strategy.start(grid, flower_app.model(), num_rounds=rounds)
    return strategy


def test_a_client_that_says_its_number_keeps_it() -> None:
    roster = Roster()
    roster.admit([Introduction(901, 3), Introduction(902, 0)], [901, 902])
    assert (roster.client(901), roster.client(902)) == (3, 0)
    assert roster.node(3) == 901


def test_names_are_numbered_in_their_order_whoever_comes_first() -> None:
    for order in ((1, -1), (-1, 1)):
        roster = Roster()
        arrivals = [Introduction(10, "zurich"), Introduction(11, "bern"), Introduction(12, 1)]
        roster.admit(arrivals[:: order[0]], [10, 11, 12])
        # 1 is taken by the client of that number: bern is 0 and zurich 2.
        assert roster.plain() == {"1": 1, "bern": 0, "zurich": 2}


def test_a_restarted_node_is_the_same_client_and_a_double_is_refused() -> None:
    roster = Roster()
    roster.admit([Introduction(5, "bern")], [5])
    assert roster.admit([Introduction(6, "bern")], [5, 6]) == {6: "two nodes say they are client 'bern'"}
    assert roster.node(0) == 5
    assert roster.admit([Introduction(7, "bern")], [7]) == {}  # node 5 is gone
    assert (roster.node(0), roster.client(5)) == (7, None)


def test_a_roster_is_kept_and_a_wrong_one_refused() -> None:
    roster = Roster()
    roster.admit([Introduction(5, "bern"), Introduction(6, "zug")], [5, 6])
    again = Roster.from_plain(roster.plain())
    again.admit([Introduction(99, "zug"), Introduction(98, "aarau")], [98, 99])
    assert (again.client(99), again.client(98)) == (1, 2)
    with pytest.raises(InputError, match="one number to two"):
        Roster.from_plain({"a": 1, "b": 1})
    with pytest.raises(InputError, match="whole numbers"):
        Roster.from_plain({"a": -1})


@pytest.mark.parametrize(
    ("note", "registered", "expected"),
    [
        ({"client-id": "bern", "partition-id": 4}, "x", "bern"),
        ({"client-id": 7, "partition-id": 4}, "x", 7),
        ({"partition-id": 4}, "x", 4),
        ({"client-id": "12"}, "x", 12),
        ({}, "hospital", "hospital"),
        ({}, "", "node-77"),
        ({"client-id": True}, "", "node-77"),
        ({"partition-id": -3}, "", "node-77"),
        ({"client-id": "x" * 9999}, "", "x" * 197 + "..."),
        ({"client-id": "a\x1b[31mb\n c"}, "", "a [31mb c"),
    ],
)
def test_what_a_node_goes_by(note: dict[str, Any], registered: str, expected: str | int) -> None:
    assert name_of(note, registered, 77) == expected


def test_a_client_keeps_its_number_when_its_node_comes_back_under_another_id() -> None:
    grid = LocalGrid(flower_app.answering_app(), NODES)
    other = LocalGrid(flower_app.answering_app(), NODES, seed=1)
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "all", k=NODES)

    def evaluate(index: int, arrays: ArrayRecord) -> None:
        if index == 1:  # every node restarts with a new key, and so with a new id
            grid.node_ids, grid.online, grid.contexts = other.node_ids, other.online, other.contexts

    with server_task():
        strategy.start(grid, flower_app.model(), num_rounds=3, evaluate_fn=evaluate)
    assert [sorted(record["used"]) for record in strategy.history] == [list(range(NODES))] * 3
    assert len(strategy.session.crew.known.roster) == NODES


def test_two_nodes_under_one_name_are_one_client() -> None:
    nodes = [{"partition-id": i} for i in range(4)] + [{"partition-id": 2}]
    strategy = play(LocalGrid(flower_app.answering_app(), nodes), "all", k=9)
    assert sorted(strategy.history[0]["used"]) == [0, 1, 2, 3]


def test_a_restarted_node_is_let_in_once_the_old_one_counts_as_gone() -> None:
    nodes = [{"partition-id": i} for i in range(4)] + [{"partition-id": 2}]
    grid = LocalGrid(flower_app.answering_app(), nodes)
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "all", k=9)

    def evaluate(index: int, arrays: ArrayRecord) -> None:
        if index == 2:
            grid.online.discard(grid.node_ids[2])

    with server_task():
        strategy.start(grid, flower_app.model(), num_rounds=3, evaluate_fn=evaluate)
    assert [sorted(record["used"]) for record in strategy.history] == [[0, 1, 2, 3]] * 3
    asked = [m.metadata.dst_node_id for m in grid.sent if m.metadata.message_type == "train"]
    assert [grid.node_ids[2] in asked[4 * i : 4 * i + 4] for i in range(3)] == [True, True, False]
    assert grid.node_ids[4] in asked[8:]


NONSENSE: list[dict[str, Any]] = [
    {"answers": 5},
    {"answers": "label_counts"},
    {"answers": [1, 2, 3]},
    {"answers": ["label_counts", "evil"], "evil": b"x"},
    {"label_counts": "many"},
    {"label_counts": b"123"},
    {"label_counts": b""},
    {"label_counts": 3.0},
    {"label_counts": True},
    {"num_examples": float("inf")},
    {"num_examples": [1.0]},
    {"client-id": ["a", "b"]},
    {"client-id": 1.5},
    {"partition-id": -7},
    {"partition-id": 2**62},
    {"tag.site": [1, 2]},
    {"hello": b"\0" * 1000},
]


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_nonsense_in_a_greeting_harms_nobody_else(nonsense: dict[str, Any]) -> None:
    app = answer(flower_app.plain_app(), label_counts=lambda context: flower_app.counts(flower_app.who(context)))

    class Odd(type(app)):  # type: ignore[misc]
        def __call__(self, message: Message, context: Context) -> Message:
            reply = super().__call__(message, context)
            if flower_app.who(context) == 5 and message.metadata.message_type == "query.callup":
                for name, value in nonsense.items():
                    reply.content["callup"][name] = value
            return reply

    app.__class__ = Odd
    strategy = play(LocalGrid(app, NODES), "fed-cbs", k=NODES, tags={})
    assert {0, 1, 2, 3, 4, 6, 7} <= set(strategy.history[0]["asked"])


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"only": [1, "4", 5]}, {1, 4, 5}),
        ({"without": [0, 2]}, {1, 3, 4, 5, 6, 7}),
        ({"only": [1, 2], "without": [2]}, {1}),
        ({"tags": {"site": "eu"}}, {1, 3, 5, 7}),
        ({"tags": {"site": ["eu", "us"]}, "without": 3}, {0, 1, 2, 4, 5, 6, 7}),
        ({"tags": {"ward": "west"}}, set()),
    ],
)
def test_who_may_be_chosen(options: dict[str, Any], allowed: set[int]) -> None:
    strategy = play(LocalGrid(flower_app.answering_app(), NODES), "all", k=NODES, wait=0.1, **options)
    assert set(strategy.history[0]["asked"]) == allowed


def test_who_may_not_be_chosen_does_not_evaluate_either() -> None:
    grid = LocalGrid(flower_app.answering_app(), NODES)
    with server_task():
        Selecting(FedAvg(), "random", k=2, without=[0, 1, 2]).start(grid, flower_app.model(), num_rounds=2)
    assert set(flower_app.addressed(grid, "evaluate")) == {3, 4, 5, 6, 7}


# --- what is missing -------------------------------------------------------------------------------------------------


def test_a_method_that_needs_nothing_needs_nothing_of_the_client_app() -> None:
    grid = LocalGrid(flower_app.plain_app(), NODES)
    assert len(play(grid, "random", rounds=2).history[1]["used"]) == 3
    trained = [message for message in grid.sent if message.metadata.message_type == "train"]
    assert all("callup" not in message.content for message in trained)


@pytest.mark.parametrize(
    ("selector", "field", "line"),
    [
        ("fed-cbs", "label_counts", "callup.flower.answer(app, label_counts=lambda context: ...)"),
        ("power-of-choice", "loss", "callup.flower.answer(app, num_examples=lambda context: ...)"),
        ("oort", "loss_rms", "callup.flower.answer(app, num_examples=lambda context: ...)"),
        ("shapley", "contribution", "validation=callup.flower.Validation(logits, labels)"),
        ("fedcm-ucb", "kept", 'filter="fedca"'),
        ("fed-cucb", "class_gradients", "Validation(logits, labels, class_gradients)"),
    ],
)
def test_a_missing_handler_stops_the_run_at_once_and_says_what_to_add(selector: str, field: str, line: str) -> None:
    grid = LocalGrid(flower_app.plain_app(), NODES)
    with pytest.raises(MissingSignal) as raised:
        play(grid, selector)
    assert line in str(raised.value)
    assert not flower_app.addressed(grid)  # nobody trained


def test_a_missing_field_is_named() -> None:
    app = answer(flower_app.plain_app(), label_counts=lambda context: flower_app.counts(flower_app.who(context)))
    with pytest.raises(MissingSignal, match=r"oort needs loss_rms.*answer\(app, loss_rms=lambda arrays, context"):
        play(LocalGrid(app, NODES), "oort")


def test_an_answer_that_raises_is_quoted() -> None:
    def counts(context: Context) -> np.ndarray:
        raise FileNotFoundError("no labels.csv")

    app = answer(flower_app.plain_app(), label_counts=counts)
    with pytest.raises(MissingSignal, match=r"no labels\.csv"):
        play(LocalGrid(app, NODES), "fed-cbs")


def test_some_clients_without_an_answer_are_left_out_and_the_others_play() -> None:
    def counts(context: Context) -> np.ndarray:
        client = flower_app.who(context)
        return {2: np.array([1.0, np.nan, 0, 0, 0]), 3: np.ones(9), 4: -np.ones(5)}.get(
            client, flower_app.counts(client)
        )

    app = answer(flower_app.plain_app(), label_counts=counts)
    strategy = play(LocalGrid(app, NODES), "fed-cbs", k=NODES)
    assert sorted(strategy.history[0]["asked"]) == [0, 1, 5, 6, 7]
    assert "9 entries, others have 5" in strategy.session.crew.left_out[3]


def test_no_train_loss_in_any_reply_stops_the_run() -> None:
    from flwr.app import MetricRecord, RecordDict

    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        content = {"arrays": message.content["arrays"], "metrics": MetricRecord({"num-examples": 10})}
        return Message(RecordDict(content), reply_to=message)

    answer(app, num_examples=lambda context: 10)
    with pytest.raises(MissingSignal, match="no reply carries 'train_loss'"):
        play(LocalGrid(app, NODES), "power-of-choice:variant=stale")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"label_count": lambda c: 1}, "did you mean 'label_counts'"),
        ({"update": lambda a, c: 1}, "worked out at the server"),
        ({"loss": 0.5}, "loss=lambda arrays, context"),
        ({"label_counts": [1, 2]}, "label_counts=lambda context"),
    ],
)
def test_wrong_answers_are_refused_where_they_are_written(facts: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        answer(ClientApp(), **facts)


def test_answering_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="twice"):
        answer(flower_app.answering_app(), loss=lambda arrays, context: 0.0)


def test_the_order_of_answer_and_train_does_not_matter() -> None:
    app = ClientApp()
    answer(app, label_counts=lambda context: flower_app.counts(flower_app.who(context)))
    app.train()(flower_app.plain_app()._registered_funcs["train.default"])
    assert len(play(LocalGrid(app, NODES), "fed-cbs").history[0]["used"]) == 3


def test_trees_cannot_be_chosen_by_their_updates() -> None:
    app = answer(flower_app.plain_app(), num_examples=lambda context: 10)
    strategy = Selecting(FedXgbBagging(), "clustered-similarity", k=3)
    with server_task(), pytest.raises(MissingSignal, match="needs update"):
        strategy.start(LocalGrid(app, NODES), flower_app.model(), num_rounds=1)


def test_callup_alone_does_not_load_flower() -> None:
    import subprocess
    import sys

    code = "import callup, callup.flower, sys; sys.exit('flwr' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_flower_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "flwr" else find(name))
    with pytest.raises(UsageError, match=r"pip install 'callup\[flower\]'"):
        _ = callup.flower.Selecting

"""Rounds that end: deadline, quorum, over-commit, late replies, busy nodes, waiting that is bounded."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import flower_app
import numpy as np
import pytest
from flwr.app import Error, Message
from flwr.serverapp.strategy import FedAvg

from callup.core.basis import told_by
from callup.core.catalogue import DEFAULT, SELECTORS
from callup.core.errors import CallupError, UsageError
from callup.flower import LocalGrid, Selecting
from callup.flower.local import server_task

NODES = 10
Delay = Callable[[int, Message], float]


def slow(*nodes: int, seconds: float = math.inf) -> Delay:
    """These nodes take so long to train; questions they answer at once."""

    def delay(node: int, message: Message) -> float:
        return seconds if node in nodes and message.metadata.message_type == "train" else 0.0

    return delay


PROMPT = slow()


def play(delay: Delay = PROMPT, rounds: int = 1, selector: str = "all", **options: Any) -> tuple[Selecting, LocalGrid]:
    grid = LocalGrid(flower_app.answering_app(), NODES, delay=delay)
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), selector, k=options.pop("k", NODES), **options)
    with server_task():
        strategy.start(grid, flower_app.model(), num_rounds=rounds)
    return strategy, grid


def test_a_silent_client_holds_up_the_round_no_longer_than_the_deadline() -> None:
    began = time.monotonic()
    strategy, _ = play(slow(2), deadline=0.5)
    assert strategy.history[0]["failed"] == {"2": "no reply"}
    assert len(strategy.history[0]["used"]) == NODES - 1
    assert 0.5 <= time.monotonic() - began < 15


def test_below_the_quorum_the_round_is_abandoned_and_the_model_stays() -> None:
    grid = LocalGrid(flower_app.answering_app(), NODES, delay=slow(*range(7)))
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "all", k=NODES, quorum=4, deadline=0.3)
    with server_task():
        result = strategy.start(grid, flower_app.model(), num_rounds=1)
    record = strategy.history[0]
    assert record["used"] == []
    assert {record["failed"][str(client)] for client in (7, 8, 9)} == {"round abandoned"}
    assert (result.arrays["weight"].numpy() == 0).all()


def test_with_the_quorum_the_round_counts() -> None:
    strategy, _ = play(slow(*range(7)), quorum=3, deadline=0.3)
    assert strategy.history[0]["used"] == [7, 8, 9]


def test_the_first_k_good_replies_are_used_and_nobody_waits_for_the_rest() -> None:
    began = time.monotonic()
    strategy, _ = play(slow(0, 1, 2), selector="random", k=5, overcommit=2.0, deadline=30.0)
    record = strategy.history[0]
    assert len(record["asked"]) == 10
    assert len(record["used"]) == 5
    assert set(record["failed"].values()) == {"not needed"}
    assert not {0, 1, 2} & set(record["used"])
    assert time.monotonic() - began < 15  # not the deadline


def test_of_replies_that_come_together_the_most_wanted_are_used() -> None:
    strategy, _ = play(selector="random", k=4, overcommit=2.0)
    record = strategy.history[0]
    assert record["used"] == record["asked"][:4]


def test_a_bad_reply_does_not_count_towards_k() -> None:
    from test_flower_replies import ROWS, bad_mod

    grid = LocalGrid(flower_app.answering_app(bad_mod(ROWS["nan weights"][0], 1, 2, 3)), NODES)
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "all", k=NODES)
    with server_task():
        strategy.start(grid, flower_app.model(), num_rounds=1)
    assert len(strategy.history[0]["used"]) == NODES - 3


def test_auto_asks_generously_at_first_and_for_k_when_nobody_is_lost() -> None:
    strategy, _ = play(selector="random", k=2, overcommit="auto", rounds=1)
    first = strategy.session.how_many()
    strategy.session.asked, strategy.session.lost = 100_000, 0
    assert strategy.session.how_many() <= 3 <= first
    # Half of all asked are lost: for 2 replies with 99 % out of n, 1 - (1 + n) / 2**n >= 0.99 gives n = 11.
    strategy.session.asked, strategy.session.lost = 10**9, 10**9 // 2
    assert strategy.session.how_many() == 11


def test_lost_replies_are_counted_and_spared_ones_are_not() -> None:
    strategy, _ = play(slow(0, 1), k=NODES, deadline=0.3)
    assert (strategy.session.asked, strategy.session.lost) == (NODES, 2)
    strategy, grid = play(slow(*range(5)), selector="random", k=2, overcommit=5.0, deadline=1.0)
    assert strategy.session.drop_out() == (5, 0)  # five replied; what became of the others is not known yet
    time.sleep(1.0)
    strategy.session.crew.busy.nodes(grid)
    assert strategy.session.drop_out() == (10, 5)


@pytest.mark.parametrize("lost", [0.1, 0.3, 0.5])
def test_auto_reaches_k_whatever_the_drop_out(lost: float) -> None:
    """At least 99 rounds in 100 are meant to reach k. Of 40 rounds 5 fail with a chance of 5e-5 if that is so."""
    fate = np.random.default_rng(8)

    def delay(node: int, message: Message) -> float:
        return math.inf if message.metadata.message_type == "train" and fate.random() < lost else 0.0

    # Nodes that keep silent are left alone for a while: there must be others, however fast rounds follow each other.
    grid = LocalGrid(flower_app.answering_app(), 500, delay=delay)
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "random", k=5, overcommit="auto", deadline=0.1)
    with server_task():
        strategy.start(grid, flower_app.model(), num_rounds=40)
    assert sum(len(record["used"]) < 5 for record in strategy.history) < 5
    asked, gone = strategy.session.drop_out()
    assert gone / asked == pytest.approx(lost, abs=0.12)  # about 250 asked: more than three deviations


def test_a_straggler_is_not_asked_again_while_it_is_at_work_and_its_late_reply_is_thrown_away() -> None:
    grid = LocalGrid(flower_app.answering_app(), NODES, delay=slow(4, seconds=1.0))
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "all", k=NODES, deadline=0.4)
    pulled: list[str] = []
    take = grid.pull_messages
    grid.pull_messages = lambda ids: [pulled.append(m.metadata.reply_to_message_id) or m for m in take(ids)]  # type: ignore[method-assign,func-returns-value]
    with server_task():
        strategy.start(grid, flower_app.model(), num_rounds=2)
        first, second = strategy.history
        assert first["failed"] == {"4": "no reply"}
        assert 4 not in second["asked"]
        late = next(
            m.metadata.message_id
            for m in grid.sent
            if m.metadata.message_type == "train" and m.metadata.dst_node_id == grid.node_ids[4]
        )
        assert late not in pulled
        time.sleep(1.0)
        assert strategy.session.crew.busy.nodes(grid) == set()
    assert late in pulled
    assert flower_app.addressed(grid).count(4) == 1


def test_messages_do_not_live_much_longer_than_the_round() -> None:
    _, grid = play(deadline=77.0)
    trained = [message for message in grid.sent if message.metadata.message_type == "train"]
    assert {message.metadata.ttl for message in trained} == {2 * 77.0}
    assert max(message.metadata.ttl for message in grid.sent) <= 2 * 77.0


@pytest.mark.parametrize("code", [3, 4, 5])
def test_what_flower_gave_up_is_no_reply_and_the_node_may_still_be_at_work(code: int) -> None:
    """Flower answers for a message that ran out or a node that is gone, under its own node id."""

    class Expiring(LocalGrid):
        def _reply(self, message: Message, node: int) -> Message:
            if node == self.node_ids[4] and message.metadata.message_type == "train":
                lost = Message(Error(code, "Message Unavailable"), reply_to=message)
                lost.metadata.__dict__["_src_node_id"] = 1
                return lost
            return super()._reply(message, node)

    grid = Expiring(flower_app.answering_app(), NODES)
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "all", k=NODES, deadline=60.0)
    with server_task():
        strategy.start(grid, flower_app.model(), num_rounds=2)
    assert strategy.history[0]["failed"] == {"4": "no reply"}
    assert 4 not in strategy.history[1]["asked"]
    assert strategy.session.drop_out() == (2 * NODES - 1, 1)


def test_too_few_nodes_are_waited_for_and_then_the_round_goes_ahead() -> None:
    grid = LocalGrid(flower_app.answering_app(), NODES)
    grid.online = set(grid.node_ids[:6])
    strategy = Selecting(FedAvg(min_available_nodes=NODES, fraction_evaluate=0.0), "all", k=NODES, wait=0.6)
    began = time.monotonic()
    with server_task():
        strategy.start(grid, flower_app.model(), num_rounds=2)
    assert [sorted(record["asked"]) for record in strategy.history] == [list(range(6))] * 2
    assert 0.6 <= time.monotonic() - began < 15  # waited once, not in every round


def test_a_node_that_comes_late_is_waited_for() -> None:
    grid = LocalGrid(flower_app.answering_app(), NODES)
    grid.online, calls = set(grid.node_ids[:9]), 0
    ids = grid.get_node_ids

    def get_node_ids() -> list[int]:
        nonlocal calls
        calls += 1
        if calls == 2:
            grid.online = set(grid.node_ids)
        return list(ids())

    grid.get_node_ids = get_node_ids  # type: ignore[method-assign]
    strategy = Selecting(FedAvg(min_available_nodes=NODES, fraction_evaluate=0.0), "all", k=NODES, wait=60.0)
    with server_task():
        strategy.start(grid, flower_app.model(), num_rounds=1)
    assert len(strategy.history[0]["asked"]) == NODES


def test_nobody_there_ends_with_a_sentence() -> None:
    grid = LocalGrid(flower_app.answering_app(), NODES)
    grid.online = set()
    with server_task(), pytest.raises(CallupError, match=r"0 are connected.*after 0.2 s"):
        Selecting(FedAvg(), "random", k=2, wait=0.2).start(grid, flower_app.model())


def test_everybody_leaves_and_some_come_back() -> None:
    grid = LocalGrid(flower_app.answering_app(), NODES)
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "fed-cbs", k=3, wait=0.2)

    def evaluate(index: int, arrays: Any) -> None:
        grid.online = {1: set(), 2: set(grid.node_ids[:4])}.get(index, set(grid.node_ids))

    with server_task():
        strategy.start(grid, flower_app.model(), num_rounds=3, evaluate_fn=evaluate)
    assert [len(record["asked"]) for record in strategy.history] == [3, 0, 3]
    assert set(strategy.history[2]["asked"]) <= {0, 1, 2, 3}


def test_newcomers_join_without_holding_up_the_round() -> None:
    grid = LocalGrid(flower_app.answering_app(), NODES)
    grid.online = set(grid.node_ids[:5])
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "fed-cbs", k=4, wait=0.2)

    def evaluate(index: int, arrays: Any) -> None:
        if index:
            grid.online = set(grid.node_ids)

    with server_task():
        strategy.start(grid, flower_app.model(), num_rounds=8, evaluate_fn=evaluate)
    assert set(strategy.history[0]["asked"]) <= set(range(5))
    assert max(client for record in strategy.history for client in record["asked"]) >= 5


def test_questions_are_asked_once_and_probes_once_a_round() -> None:
    """None for methods that do not probe beyond the first greeting; one exchange a round for those that do."""
    for selector, probed in (("fed-cbs", 0), ("fedacs", 0), ("oort", 0), ("power-of-choice:d=6", 6)):
        grid = LocalGrid(flower_app.answering_app(), NODES)
        pushes: list[str] = []
        push = grid.push_messages
        grid.push_messages = lambda m, push=push, pushes=pushes: (pushes.append(m[0].metadata.message_type), push(m))[1]  # type: ignore[method-assign,misc]
        with server_task():
            Selecting(FedAvg(fraction_evaluate=0.0), selector, k=3).start(grid, flower_app.model(), num_rounds=4)
        questions = flower_app.addressed(grid, "query.callup")
        assert len(questions) == NODES + 4 * probed, selector
        assert pushes.count("query.callup") == 1 + (4 if probed else 0), selector


def test_evaluation_is_drawn_by_the_seed_and_never_waits() -> None:
    drawn = []
    for least in (1, 1, 50):
        grid = LocalGrid(flower_app.answering_app(), NODES)
        strategy = Selecting(FedAvg(fraction_evaluate=0.3, min_evaluate_nodes=least), "random", k=3, seed=5)
        with server_task():
            strategy.start(grid, flower_app.model(), num_rounds=4)
        drawn.append(flower_app.addressed(grid, "evaluate"))
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 4 * 3
    assert drawn[0][:3] != drawn[0][3:6]
    assert len(drawn[2]) == 4 * NODES  # 50 do not exist: everybody who is there


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "how many clients"),
        ({"k": 0}, "k must be"),
        ({"k": 3, "quorum": 4}, "quorum of 4"),
        ({"k": 3, "deadline": 0}, "deadline must be"),
        ({"k": 3, "overcommit": 0.5}, "overcommit must be"),
        ({"k": 3, "overcommit": "lots"}, "overcommit must be"),
        ({"k": 3, "dedline": 5}, "no setting 'dedline'; did you mean 'deadline'"),
        ({"k": 3, "resume": True}, "directory of the run"),
        ({"k": 3, "filter": "fedca"}, "held-out data"),
        ({"k": 3, "filter": "fedac"}, "unknown filter"),
        ({"k": 3, "seed": -1}, "seed must be"),
    ],
)
def test_settings_are_checked_before_anything_runs(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Selecting(FedAvg(), "random", **options)


def test_settings_come_from_the_run_config_and_code_goes_first() -> None:
    run_config = {"selector": "fed-cbs:scale=2", "k": 4, "seed": 9, "num-server-rounds": 3, "deadline": 50, "run": ""}
    strategy = Selecting(FedAvg(), run_config, seed=10)
    assert strategy.selector.spec == "fed-cbs:scale=2.0"
    assert (strategy.session.options.k, strategy.session.options.seed) == (4, 10)
    assert strategy.session.options.deadline == 50
    assert np.isclose(strategy.session.options.wait, 120.0)


@pytest.mark.parametrize(
    ("app", "basis"), [(flower_app.answering_app, "label_counts"), (flower_app.plain_app, "update")]
)
def test_who_names_no_selector_gets_the_default_by_label_counts_or_by_updates(
    app: Any, basis: str, caplog: pytest.LogCaptureFixture
) -> None:
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), k=3)
    assert strategy.selector.spec == SELECTORS.make(DEFAULT).spec
    with server_task():
        strategy.start(LocalGrid(app(), NODES), flower_app.model(), num_rounds=2)
    assert [len(record["used"]) for record in strategy.history] == [3, 3]
    assert told_by(strategy.history[1]["notes"]) == basis
    assert [r.getMessage() for r in caplog.records if "goes by" in r.getMessage()] == [
        f"callup: {strategy.selector.spec} goes by {basis}"
    ]


def test_a_node_that_never_says_who_it_is_holds_up_nobody() -> None:
    def delay(node: int, message: Message) -> float:
        return math.inf if node == 4 and message.metadata.message_type == "query.callup" else 0.0

    began = time.monotonic()
    strategy, grid = play(delay, selector="fed-cbs", k=3, rounds=2, wait=0.5, deadline=60.0)
    assert [len(record["used"]) for record in strategy.history] == [3, 3]
    assert 4 not in flower_app.addressed(grid)
    assert time.monotonic() - began < 30


def test_a_strategy_loop_of_somebody_else_takes_the_clients_own_time() -> None:
    from flwr.serverapp.strategy import Strategy

    heard: list[np.ndarray] = []
    grid = LocalGrid(flower_app.answering_app(), NODES)
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "oort", k=4)
    update = strategy.selector.update
    strategy.selector.update = lambda feedback: (heard.append(feedback.signals["duration"]), update(feedback))[1]  # type: ignore[method-assign,assignment]
    with server_task():
        Strategy.start(strategy, grid, flower_app.model(), num_rounds=1)
    assert len(set(heard[0].tolist())) == 4  # four clients, four times

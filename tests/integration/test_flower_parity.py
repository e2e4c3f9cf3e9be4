"""The same seed picks the same clients: in the simulator, on the local grid, and from recorded replies."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import flower_app
import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg

import callup
from callup.core.types import Plan
from callup.flower import LocalGrid, Selecting, answer
from callup.flower.local import server_task
from callup.journal import read_log, read_profiles, replay

CLIENTS, K, ROUNDS = 12, 4, 5
BY_COUNTS = ["fed-cbs", "fedemd", "astraea", "balanced", "fedfast", "by-size", "clustered-size", "random"]
BY_REPLIES = ["power-of-choice:d=8", "oort", "active-fl", "tifl", "fedcor", "nccb", "k-linucb", "fedacs"]


def counting_app(counts: np.ndarray) -> ClientApp:
    """Holds the label counts of the simulator's clients; those who choose by counts do not mind what it trains."""
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        client, index = flower_app.who(context), int(message.content["config"]["server-round"])
        step = np.random.default_rng([client, index]).normal(size=40).astype(np.float32)
        moved = ArrayRecord({"w": Array(message.content["arrays"]["w"].numpy() + step)})
        metrics = MetricRecord({"num-examples": int(counts[client].sum())})
        return Message(RecordDict({"arrays": moved, "m": metrics}), reply_to=message)

    return answer(app, label_counts=lambda context: counts[flower_app.who(context)])


def shuffled(nodes: int, seed: int) -> list[dict[str, Any]]:
    """Nodes connect in any order."""
    return [{"partition-id": int(i)} for i in np.random.default_rng(seed).permutation(nodes)]


@pytest.mark.parametrize(
    ("selector", "guard"),
    [*((name, "off") for name in BY_COUNTS), ("fed-cbs", "on"), ("fedemd", "on"), ("random", "on")],
)
def test_the_simulator_and_the_local_grid_pick_the_same_clients(selector: str, guard: str) -> None:
    run = callup.simulate(
        task="fashion14-mlp", partition=f"dirichlet:clients={CLIENTS},alpha=0.3", selector=selector, k=K,
        rounds=ROUNDS, seed=7, evaluate_every=ROUNDS, local={"epochs": 1}, guard=guard,
    )  # fmt: skip
    grid = LocalGrid(counting_app(run.clients.all("label_counts")), shuffled(CLIENTS, 3), seed=11)
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), selector, k=K, seed=7, guard=guard)
    with server_task():
        strategy.start(grid, ArrayRecord({"w": Array(np.zeros(40, np.float32))}), num_rounds=ROUNDS)
    assert [record["asked"] for record in strategy.history] == [record.asked for record in run.history]
    assert [record["digest"] for record in strategy.history] == [record.digest for record in run.history]
    assert flower_app.addressed(grid) == [client for record in run.history for client in record.asked]


@pytest.mark.parametrize("selector", BY_REPLIES)
def test_recorded_replies_played_to_a_fresh_selector_give_the_same_picks(selector: str, tmp_path: Path) -> None:
    """What the federation said, played back outside Flower: nothing else had a hand in the choice."""
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), selector, k=K, seed=7, run=tmp_path / "run")
    with server_task():
        strategy.start(LocalGrid(flower_app.answering_app(), CLIENTS), flower_app.model(), num_rounds=ROUNDS)
    profiles, story = read_profiles(tmp_path / "run"), read_log(tmp_path / "run")
    verdicts = list(replay(callup.selector(selector), Plan(K, ROUNDS, None), 7, profiles, story.entries))
    assert [verdict.index for verdict in verdicts] == list(range(1, ROUNDS + 1))
    assert all(verdict.same for verdict in verdicts)


@pytest.mark.parametrize("selector", ["random", "fed-cbs", "power-of-choice:d=8", "oort", "fedacs"])
def test_neither_the_ids_of_nodes_nor_their_order_matter(selector: str) -> None:
    picks = []
    for seed in (1, 2):
        grid = LocalGrid(flower_app.answering_app(), shuffled(CLIENTS, seed), seed=seed)
        strategy = Selecting(FedAvg(fraction_evaluate=0.0), selector, k=K, seed=5)
        with server_task():
            strategy.start(grid, flower_app.model(), num_rounds=ROUNDS)
        picks.append(flower_app.addressed(grid))
    assert picks[0] == picks[1]
    assert max(grid.node_ids) >= 2**63  # the ids that a float would round


def test_the_choice_does_not_depend_on_flowers_global_randomness() -> None:
    picks = []
    for seed in (1, 2):
        random.seed(seed)
        strategy = Selecting(FedAvg(fraction_evaluate=0.0), "random", k=K)
        with server_task():
            strategy.start(LocalGrid(flower_app.answering_app(), CLIENTS), flower_app.model(), num_rounds=2)
        picks.append([record["asked"] for record in strategy.history])
    assert picks[0] == picks[1]

"""Every stock strategy of Flower with five selectors: it addresses the chosen clients and nobody else."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from typing import Any

import flower_app
import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.clientapp.mod import adaptiveclipping_mod, fixedclipping_mod
from flwr.serverapp import strategy as stock
from flwr.serverapp.strategy import FedAvg, Strategy

import callup
from callup.core.errors import ContractError, UsageError
from callup.flower import LocalGrid, Selecting
from callup.flower.local import server_task

NODES, K, ROUNDS = 12, 5, 2
SELECTORS = ["random", "fed-cbs", "power-of-choice:d=8", "fedacs", "oort"]
STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "Bulyan": stock.Bulyan,
    "DifferentialPrivacyClientSideAdaptiveClipping": lambda: stock.DifferentialPrivacyClientSideAdaptiveClipping(
        FedAvg(), noise_multiplier=0.1, num_sampled_clients=K
    ),
    "DifferentialPrivacyClientSideFixedClipping": lambda: stock.DifferentialPrivacyClientSideFixedClipping(
        FedAvg(), noise_multiplier=0.1, clipping_norm=1.0, num_sampled_clients=K
    ),
    "DifferentialPrivacyServerSideAdaptiveClipping": lambda: stock.DifferentialPrivacyServerSideAdaptiveClipping(
        FedAvg(), noise_multiplier=0.1, num_sampled_clients=K
    ),
    "DifferentialPrivacyServerSideFixedClipping": lambda: stock.DifferentialPrivacyServerSideFixedClipping(
        FedAvg(), noise_multiplier=0.1, clipping_norm=1.0, num_sampled_clients=K
    ),
    "FedAdagrad": stock.FedAdagrad,
    "FedAdam": stock.FedAdam,
    "FedAvg": lambda: FedAvg(fraction_train=0.3, min_train_nodes=2, min_available_nodes=NODES),
    "FedAvgM": stock.FedAvgM,
    "FedMedian": stock.FedMedian,
    "FedProx": stock.FedProx,
    "FedTrimmedAvg": stock.FedTrimmedAvg,
    "FedYogi": stock.FedYogi,
    "Krum": stock.Krum,
    "MultiKrum": lambda: stock.MultiKrum(num_nodes_to_select=3),
    "QFedAvg": lambda: stock.QFedAvg(client_learning_rate=0.5),
}
NO_STRATEGY = {"Result", "Strategy"}
NOT_HERE = {"FedXgbBagging", "FedXgbCyclic"}  # tested below: their models are trees


def test_the_list_of_strategies_is_whole() -> None:
    assert set(stock.__all__) - NO_STRATEGY - NOT_HERE == set(STRATEGIES)


@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.parametrize("name", STRATEGIES)
def test_the_chosen_are_addressed_and_nobody_else(name: str, selector: str) -> None:
    mods = {"ClientSideFixed": fixedclipping_mod, "ClientSideAdaptive": adaptiveclipping_mod}
    app = flower_app.answering_app(*(mod for part, mod in mods.items() if part in name))
    grid, strategy = LocalGrid(app, NODES), STRATEGIES[name]()
    before = {key: value for key, value in vars(strategy).items() if key.startswith(("fraction", "min_"))}
    selecting = Selecting(strategy, selector, k=K, seed=3)
    with server_task():
        result = selecting.start(grid, flower_app.model(), num_rounds=ROUNDS)
    chosen = [record["asked"] for record in selecting.history]
    assert [len(set(ids)) for ids in chosen] == [K, K]
    assert flower_app.addressed(grid) == [client for ids in chosen for client in ids]
    assert [record["used"] for record in selecting.history] == chosen
    assert all(np.isfinite(array.numpy()).all() for array in result.arrays.values())
    assert any((result.arrays[key].numpy() != flower_app.model()[key].numpy()).any() for key in result.arrays)
    assert {key: value for key, value in vars(strategy).items() if key.startswith(("fraction", "min_"))} == before


@pytest.mark.parametrize("name", [card.name for card in callup.selectors()])
def test_every_selector_plays_also_after_a_round_in_which_nobody_replied(name: str) -> None:
    needs = callup.selector(name).needs.names("server")
    options: dict[str, Any] = {"filter": "cmfl"} if "kept" in needs else {}
    if {"contribution", "class_gradients"} & set(needs):
        options["validation"] = flower_app.held_out()
    mute = [True]
    grid = LocalGrid(
        flower_app.answering_app(),
        NODES,
        delay=lambda node, message: math.inf if mute[0] and message.metadata.message_type == "train" else 0.0,
    )
    selecting = Selecting(FedAvg(fraction_evaluate=0.0), name, k=K, seed=3, deadline=0.1, **options)

    def evaluate(index: int, arrays: ArrayRecord) -> None:
        mute[0] = index == 0
        time.sleep(0.15)  # until patience with those who did not reply is over

    with server_task():
        selecting.start(grid, flower_app.model(), num_rounds=3, evaluate_fn=evaluate)
    used = [len(record["used"]) for record in selecting.history]
    assert used[0] == 0
    assert min(used[1:]) >= 1


def test_a_strategy_with_a_start_of_its_own_choice_of_rounds_may_drive() -> None:
    """Flower's own loop around Selecting: the same clients as Selecting's own loop."""
    picks = []
    for start in (Selecting.start, Strategy.start):
        grid, selecting = LocalGrid(flower_app.answering_app(), NODES), Selecting(FedAvg(), "oort", k=K, seed=3)
        with server_task():
            start(selecting, grid, flower_app.model(), num_rounds=3)
        picks.append(flower_app.addressed(grid))
    assert len(picks[0]) == 3 * K
    assert picks[0] == picks[1]


def booster(trees: int) -> bytes:
    """The parts of an XGBoost model that Flower's bagging touches."""
    model = {
        "gbtree_model_param": {"num_trees": str(trees), "num_parallel_tree": "1"},
        "iteration_indptr": list(range(trees + 1)),
        "trees": [{"id": i} for i in range(trees)],
        "tree_info": [0] * trees,
    }
    return json.dumps({"learner": {"gradient_booster": {"model": model}}}).encode()


def tree_app() -> ClientApp:
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        grown = ArrayRecord([np.frombuffer(booster(1), np.uint8)])
        content = {"arrays": grown, "metrics": MetricRecord({"num-examples": 10})}
        return Message(RecordDict(content), reply_to=message)

    return app


def test_bagging_of_trees_grows_by_one_tree_for_each_chosen_client() -> None:
    grid = LocalGrid(tree_app(), NODES)
    selecting = Selecting(stock.FedXgbBagging(fraction_evaluate=0.0), "random", k=K, seed=1)
    with server_task():
        result = selecting.start(grid, ArrayRecord([np.frombuffer(booster(1), np.uint8)]), num_rounds=1)
    assert len(set(flower_app.addressed(grid))) == K
    grown = json.loads(result.arrays["0"].numpy().tobytes())
    assert len(grown["learner"]["gradient_booster"]["model"]["trees"]) == 1 + K


def test_cyclic_boosting_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match=r"schedule of its own.*FedXgbBagging works"):
        Selecting(stock.FedXgbCyclic(), "random", k=3)


class Stubborn(FedAvg):
    """Addresses one node too few."""

    def configure_train(self, server_round, arrays, config, grid):  # type: ignore[no-untyped-def]
        return list(super().configure_train(server_round, arrays, config, grid))[1:]


def test_a_strategy_that_samples_by_itself_is_stopped() -> None:
    with server_task(), pytest.raises(ContractError, match="Stubborn addressed 4 nodes, random chose 5"):
        Selecting(Stubborn(), "random", k=K).start(LocalGrid(flower_app.plain_app(), NODES), flower_app.model())


def test_an_old_strategy_is_refused() -> None:
    from flwr.server.strategy import FedAvg as OldFedAvg

    with pytest.raises(UsageError, match="old API"):
        Selecting(OldFedAvg(), "random", k=3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"clustered-similarity reads 'update', which SecAgg\+ hides"):
        Selecting(OldFedAvg(), "clustered-similarity", k=3)  # type: ignore[arg-type]


def test_accounted_privacy_goes_inside() -> None:
    accounted = stock.DifferentialPrivacyServerSideFixedClipping(
        FedAvg(), noise_multiplier=1.0, clipping_norm=1.0, num_sampled_clients=K
    )
    grid = LocalGrid(flower_app.answering_app(), NODES)
    with server_task():
        Selecting(accounted, "fed-cbs", k=K).start(grid, flower_app.model(), num_rounds=1)
    assert len(flower_app.addressed(grid)) == K


def test_flowers_own_sampling_is_back_when_callup_is_taken_out() -> None:
    """Two lines are Callup's; without them the same app runs as Flower runs it."""
    grid = LocalGrid(flower_app.plain_app(), NODES)
    with server_task():
        FedAvg(fraction_train=0.5).start(grid, flower_app.model(), num_rounds=1, train_config=ConfigRecord())
    assert len(flower_app.addressed(grid)) == NODES // 2


def test_weights_of_unbiased_schemes_reach_the_average() -> None:
    """by-size draws with replacement: equal weights for each draw, whatever the sizes."""
    grid = LocalGrid(flower_app.answering_app(), NODES)
    selecting = Selecting(FedAvg(fraction_evaluate=0.0), "by-size", k=K, seed=2)
    with server_task():
        result = selecting.start(grid, flower_app.model(), num_rounds=1)
    called = selecting._called
    assert called is not None and called.selection.weights is not None
    share = called.selection.weights / called.selection.weights.sum()
    bias = sum(
        s * -0.5 * flower_app.gradient(flower_app.model(), int(c))[-flower_app.CLASSES :]
        for s, c in zip(share, called.selection.ids, strict=True)
    )
    np.testing.assert_allclose(result.arrays["bias"].numpy(), bias, atol=1e-6)


def test_the_part_of_a_lost_reply_stays_with_the_model() -> None:
    """Lineup's weights are parts of a whole: client 3 fails, and its part is not taken over by others."""

    def failing(message: Message, context: Context, call_next: Callable[[Message, Context], Message]) -> Message:
        if message.metadata.message_type == "train" and flower_app.who(context) == 3:
            raise RuntimeError("out of memory")
        return call_next(message, context)

    grid = LocalGrid(flower_app.answering_app(failing), NODES)
    selecting = Selecting(FedAvg(fraction_evaluate=0.0), "lineup", k=NODES)
    with server_task():
        result = selecting.start(grid, flower_app.model(), num_rounds=1)
    called = selecting._called
    assert called is not None and called.selection.weights is not None
    assert list(called.failed) == [3]
    bias = sum(
        part * -0.5 * flower_app.gradient(flower_app.model(), int(c))[-flower_app.CLASSES :]
        for part, c in zip(called.selection.weights, called.selection.ids, strict=True)
        if c != 3
    )
    np.testing.assert_allclose(result.arrays["bias"].numpy(), bias, atol=1e-6)


def test_a_model_of_one_number() -> None:
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        moved = ArrayRecord({"w": Array(message.content["w"]["w"].numpy() + 1)})
        return Message(RecordDict({"w": moved, "m": MetricRecord({"num-examples": 1})}), reply_to=message)

    grid = LocalGrid(app, 4)
    strategy = Selecting(FedAvg(fraction_evaluate=0.0, arrayrecord_key="w"), "random", k=2)
    with server_task():
        result = strategy.start(grid, ArrayRecord({"w": Array(np.zeros(1))}), num_rounds=3)
    assert result.arrays["w"].numpy().tolist() == [3.0]

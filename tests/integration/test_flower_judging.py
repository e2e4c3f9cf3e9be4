"""Filters, averages and contributions inside Flower, on held-out data of the server."""

from __future__ import annotations

from typing import Any

import flower_app
import numpy as np
import pytest
from flwr.app import ArrayRecord, Context, Message, MetricRecord
from flwr.clientapp.typing import ClientAppCallable
from flwr.serverapp.strategy import FedAdam, FedAvg, Result

from callup.core.errors import InputError, UsageError
from callup.flower import Evaluation, LocalGrid, Selecting, ask_insights, skewness_table
from callup.flower.local import server_task
from callup.flower.models import flat, shaped

NODES = 6


def play(selector: str = "all", rounds: int = 1, mods: Any = (), **options: Any) -> tuple[Selecting, Result]:
    made = Selecting(FedAvg(fraction_evaluate=0.0), selector, k=options.pop("k", NODES), seed=1, **options)
    with server_task():
        grid = LocalGrid(flower_app.answering_app(*mods), NODES)
        return made, made.start(grid, flower_app.model(), num_rounds=rounds)


def local_model(client: int) -> np.ndarray:
    return -0.5 * flower_app.gradient(flower_app.model(), client)


def sizes() -> np.ndarray:
    return np.array([len(flower_app.data(client)[1]) for client in range(NODES)], float)


def test_flat_and_shaped_are_each_others_way_back() -> None:
    vector = np.arange(25, dtype=np.float32)
    again = shaped(vector, flower_app.model())
    np.testing.assert_array_equal(flat(again), vector)
    assert again["weight"].shape == (4, 5)
    assert again["weight"].numpy()[1, 2] == 7


def test_cmfl_leaves_out_a_client_that_goes_the_other_way() -> None:
    """Client 2 sends the mirror image of its update from round 2 on; CMFL compares signs with the last update."""

    def mirror(message: Message, context: Context, call: ClientAppCallable) -> Message:
        reply = call(message, context)
        if flower_app.who(context) == 2 and message.content["config"]["server-round"] > 1:
            start, end = flat(message.content["arrays"]), flat(reply.content["arrays"])
            reply.content["arrays"] = shaped(2 * start - end, message.content["arrays"])
        return reply

    made, _ = play(rounds=2, mods=[mirror], filter="cmfl:threshold=0.5,schedule=constant")
    assert made.history[0]["kept"] == made.history[0]["used"]
    assert 2 in made.history[1]["used"]
    assert 2 not in made.history[1]["kept"]


def test_fedca_keeps_some_of_the_replies_and_fedcm_learns_which() -> None:
    made, _ = play("fedcm-ucb", rounds=4, k=4, filter="fedca", validation=flower_app.held_out())
    for record in made.history:
        assert set(record["kept"]) <= set(record["used"])
    kept = [client for record in made.history for client in record["kept"]]
    assert kept
    state = made.selector.state()
    assert any(np.asarray(value).size for name, value in state.items() if name != "schema")


def test_the_average_is_of_those_kept() -> None:
    made, result = play(rounds=1, filter="fedca", validation=flower_app.held_out())
    kept = made.history[0]["kept"]
    weights = sizes()[kept] / sizes()[kept].sum()
    expected = weights @ np.array([local_model(client) for client in kept])
    np.testing.assert_allclose(flat(result.arrays), expected, atol=1e-6)


def test_shapley_values_reach_the_selector_and_add_up() -> None:
    """Exact Shapley values of a round add up to how far the validation loss fell."""
    heard: list[np.ndarray] = []
    made = Selecting(FedAvg(fraction_evaluate=0.0), "shapley", k=4, seed=1, validation=flower_app.held_out())
    update = made.selector.update
    made.selector.update = lambda feedback: (heard.append(feedback.signals["contribution"]), update(feedback))[1]  # type: ignore[method-assign,assignment]
    with server_task():
        result = made.start(LocalGrid(flower_app.answering_app(), NODES), flower_app.model(), num_rounds=1)
    held = flower_app.held_out()

    def loss(arrays: ArrayRecord) -> float:
        z = held.logits(arrays)
        z = z - z.max(axis=1, keepdims=True)
        return float((np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(held.labels)), held.labels]).mean())

    assert len(heard) == 1
    assert heard[0].sum() == pytest.approx(loss(flower_app.model()) - loss(result.arrays), abs=1e-5)


def test_an_evaluate_fn_judges_contributions_as_the_held_out_data_do() -> None:
    held = flower_app.held_out()

    def evaluate(index: int, arrays: ArrayRecord) -> MetricRecord:
        return MetricRecord({"acc": float((held.logits(arrays).argmax(axis=1) == held.labels).mean())})

    heard: list[np.ndarray] = []
    for validation in (held, Evaluation(evaluate, accuracy="acc")):
        made = Selecting(FedAvg(fraction_evaluate=0.0), "shapley:metric=accuracy", k=4, seed=1, validation=validation)
        update = made.selector.update
        made.selector.update = lambda feedback, update=update: (  # type: ignore[method-assign,assignment,misc]
            heard.append(feedback.signals["contribution"]),
            update(feedback),
        )[1]
        with server_task():
            made.start(LocalGrid(flower_app.answering_app(), NODES), flower_app.model(), num_rounds=1)
    np.testing.assert_allclose(heard[0], heard[1])
    assert np.abs(heard[0]).max() > 0


def test_an_evaluate_fn_without_the_number_asked_for_is_told_so() -> None:
    made = Selecting(FedAvg(), "shapley", k=4, validation=Evaluation(lambda index, arrays: MetricRecord({"x": 1.0})))
    with server_task(), pytest.raises(InputError, match="must report 'loss'"):
        made.start(LocalGrid(flower_app.answering_app(), NODES), flower_app.model(), num_rounds=1)


def test_fedca_cannot_be_judged_by_an_evaluate_fn() -> None:
    with pytest.raises(UsageError, match="held-out data"):
        Selecting(FedAvg(), "random", k=2, filter="fedca", validation=Evaluation(lambda index, arrays: None))


def test_an_average_of_callup_replaces_that_of_fedavg() -> None:
    _, result = play(average="mean")
    expected = np.mean([local_model(client) for client in range(NODES)], axis=0)
    np.testing.assert_allclose(flat(result.arrays), expected, atol=1e-6)


def test_an_average_that_needs_all_sizes_asks_for_them() -> None:
    # FedAvg as in "stale": those who did not take part keep the old model, which is zero here.
    made, result = play("random", k=2, average="fedavg-stale")
    used = made.history[0]["used"]
    expected = (sizes()[used] / sizes().sum()) @ np.array([local_model(client) for client in used])
    np.testing.assert_allclose(flat(result.arrays), expected, atol=1e-6)


def test_fednova_takes_the_steps_from_the_metrics() -> None:
    steps = {client: 1 + client % 3 for client in range(NODES)}

    def counted(message: Message, context: Context, call: ClientAppCallable) -> Message:
        reply = call(message, context)
        reply.content["metrics"]["local-steps"] = steps[flower_app.who(context)]
        return reply

    _, result = play(mods=[counted], average="fednova")
    shares = sizes() / sizes().sum()
    tau = np.array([steps[client] for client in range(NODES)], float)
    per_step = np.array([local_model(client) for client in range(NODES)]) / tau[:, None]
    np.testing.assert_allclose(flat(result.arrays), (shares @ tau) * (shares @ per_step), atol=1e-6)


def test_an_average_beside_a_strategy_with_its_own_is_refused() -> None:
    with pytest.raises(UsageError, match="FedAdam has one of its own"):
        Selecting(FedAdam(), "random", k=2, average="mean")


# --- FedACS as an analysis of its own --------------------------------------------------------------------------------


def test_skewness_of_a_live_federation_is_asked_once_and_nobody_trains() -> None:
    grid = LocalGrid(flower_app.answering_app(), NODES)
    with server_task():
        skewness, roster = ask_insights(grid, flower_app.model())
    vectors = np.array([flower_app.gradient(flower_app.model(), client) for client in range(NODES)])
    distances = np.linalg.norm(vectors - vectors.mean(axis=0), axis=1)
    np.testing.assert_allclose(skewness.distance, distances, rtol=1e-5)
    assert skewness.ranking.tolist() == np.argsort(distances).tolist()
    assert {message.metadata.message_type for message in grid.sent} == {"query.callup"}
    assert flower_app.addressed(grid, "query.callup") == [*range(NODES), *range(NODES)]  # a greeting and one question
    lines = skewness_table(skewness, roster).splitlines()
    assert len(lines) == NODES + 1
    assert lines[1].split()[:2] == ["1", str(np.argmin(distances))]

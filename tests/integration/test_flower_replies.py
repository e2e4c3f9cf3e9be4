"""One bad client among ten: the round goes on, the model stays finite and near, and the client is found out."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import flower_app
import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.clientapp.typing import ClientAppCallable, Mod
from flwr.serverapp.strategy import FedAvg, FedMedian

from callup.flower import LocalGrid, Selecting, answer
from callup.flower.local import server_task

NODES, BAD = 10, 3
Mischief = Callable[[RecordDict], None]


def arrays(change: Callable[[np.ndarray], Any]) -> Mischief:
    def do(content: RecordDict) -> None:
        record = content["arrays"]
        content["arrays"] = ArrayRecord({n: Array(np.asarray(change(a.numpy()))) for n, a in record.items()})

    return do


def metric(name: str, value: Any) -> Mischief:
    def do(content: RecordDict) -> None:
        content["metrics"] = MetricRecord({**content["metrics"], name: value})

    return do


def other_key(content: RecordDict) -> None:
    content["arrays"] = ArrayRecord({f"{name}2": array for name, array in content["arrays"].items()})


def second_record(content: RecordDict) -> None:
    content["more"] = ArrayRecord({"x": Array(np.zeros(3))})


def no_metrics(content: RecordDict) -> None:
    del content["metrics"]


def no_weight(content: RecordDict) -> None:
    content["metrics"] = MetricRecord({"train_loss": 1.0})


def garbage(content: RecordDict) -> None:
    first = content["arrays"]["weight"]
    content["arrays"]["weight"] = Array(dtype="float32", shape=first.shape, stype="numpy.ndarray", data=b"no array")


def bomb(content: RecordDict) -> None:
    content["arrays"]["weight"] = Array(np.zeros((1000, 1000)))


def headed_bomb(content: RecordDict) -> None:
    """A header that promises 80 GB in front of a few bytes."""
    honest = content["arrays"]["weight"]
    head = (
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000,), }".ljust(127) + b"\n"
    )
    content["arrays"]["weight"] = Array(
        dtype=honest.dtype, shape=honest.shape, stype=honest.stype, data=head + b"\0" * 64
    )


ROWS: dict[str, tuple[Mischief, str]] = {
    "nan weights": (arrays(lambda a: a * np.nan), "not finite"),
    "infinite weights": (arrays(lambda a: a + np.inf), "not finite"),
    "huge weights": (arrays(lambda a: np.full_like(a, 1e30)), "moves the model"),
    "wrong shape": (arrays(lambda a: np.zeros((7, 2), np.float32)), "has shape"),
    "broadcastable shape": (arrays(lambda a: np.zeros(1, np.float32)), "has shape"),
    "text in place of numbers": (arrays(lambda a: np.full(a.shape, "x")), "holds"),
    "whole numbers in place of fractions": (arrays(lambda a: np.ones(a.shape, np.int64)), "holds int64"),
    "complex numbers": (arrays(lambda a: a.astype(np.complex64)), "holds complex64"),
    "other names": (other_key, "not those of the model"),
    "two sets of arrays": (second_record, "2 ArrayRecords"),
    "no metrics": (no_metrics, "0 MetricRecords"),
    "no num-examples": (no_weight, "no 'num-examples'"),
    "nan loss": (metric("train_loss", float("nan")), "'train_loss' is not finite"),
    "a loss of another form": (metric("train_loss", [1.0, float("inf")]), "'train_loss' is not finite"),
    "10**18 examples": (metric("num-examples", 10**18), "num-examples"),
    "negative examples": (metric("num-examples", -50), "num-examples"),
    "no examples": (metric("num-examples", 0), "num-examples"),
    "nan examples": (metric("num-examples", float("nan")), "'num-examples' is not finite"),
    "a list of examples": (metric("num-examples", [1, 2]), "must be one number"),
    "bytes that are no array": (garbage, "cannot be read"),
    "a much larger array": (bomb, "bytes"),
    "a header that promises 80 GB": (headed_bomb, "cannot be read"),
}


def bad_mod(mischief: Mischief, *clients: int) -> Mod:
    def mod(message: Message, context: Context, call: ClientAppCallable) -> Message:
        reply = call(message, context)
        if flower_app.who(context) in clients:
            mischief(reply.content)
        return reply

    return mod


def play(mod: Mod, rounds: int = 1, selector: str = "all", **options: Any) -> tuple[Selecting, Any]:
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), selector, k=options.pop("k", NODES), **options)
    with server_task():
        return strategy, strategy.start(
            LocalGrid(flower_app.answering_app(mod), NODES), flower_app.model(), num_rounds=rounds
        )


def honest_average(clients: list[int]) -> np.ndarray:
    """The bias after one round of FedAvg over these clients, by hand."""
    sizes = np.array([len(flower_app.data(client)[1]) for client in clients])
    moved = [-0.5 * flower_app.gradient(flower_app.model(), client)[-flower_app.CLASSES :] for client in clients]
    return np.asarray(sizes @ np.array(moved) / sizes.sum())


@pytest.mark.parametrize("row", ROWS)
def test_a_bad_reply_is_set_aside_and_the_others_are_averaged(row: str) -> None:
    mischief, reason = ROWS[row]
    strategy, result = play(bad_mod(mischief, BAD))
    record = strategy.history[0]
    others = [client for client in range(NODES) if client != BAD]
    assert sorted(record["used"]) == others
    assert list(record["failed"]) == [str(BAD)]
    assert reason in record["failed"][str(BAD)]
    np.testing.assert_allclose(result.arrays["bias"].numpy(), honest_average(others), atol=1e-6)


def test_one_extra_metric_is_cut_off_and_the_reply_counts() -> None:
    strategy, result = play(bad_mod(metric("surprise", 1.0), BAD))
    assert sorted(strategy.history[0]["used"]) == list(range(NODES))
    assert set(result.train_metrics_clientapp[1]) == {"train_loss"}


def test_the_first_reply_with_an_extra_metric_does_not_set_the_fashion() -> None:
    strategy, _ = play(bad_mod(metric("surprise", 1.0), 0), rounds=2)
    assert [len(record["used"]) for record in strategy.history] == [NODES, NODES]


def renamed(content: RecordDict) -> None:
    content["my arrays"], content["my metrics"] = content["arrays"], content["metrics"]
    del content["arrays"], content["metrics"]


def reordered(content: RecordDict) -> None:
    content["arrays"] = ArrayRecord(dict(reversed(content["arrays"].items())))


@pytest.mark.parametrize("change", [renamed, reordered])
@pytest.mark.parametrize("strategy", [FedAvg, FedMedian])
def test_other_names_of_records_and_another_order_of_arrays_do_no_harm(change: Mischief, strategy: type) -> None:
    results = []
    for clients in ((), (BAD,)):
        selecting = Selecting(strategy(fraction_evaluate=0.0), "all", k=NODES)
        with server_task():
            grid = LocalGrid(flower_app.answering_app(bad_mod(change, *clients)), NODES)
            results.append(selecting.start(grid, flower_app.model(), num_rounds=1).arrays)
        assert len(selecting.history[0]["used"]) == NODES
    for name in ("weight", "bias"):
        np.testing.assert_array_equal(results[0][name].numpy(), results[1][name].numpy())


def test_a_list_of_another_length_is_set_aside() -> None:
    def mod(message: Message, context: Context, call: ClientAppCallable) -> Message:
        reply = call(message, context)
        reply.content["metrics"]["layers"] = [1.0] if flower_app.who(context) == BAD else [1.0, 2.0]
        return reply

    strategy, result = play(mod)
    assert "'layers'" in strategy.history[0]["failed"]["3"]
    assert result.train_metrics_clientapp[1]["layers"] == pytest.approx([1.0, 2.0])


def test_a_claim_of_more_examples_than_it_said_it_holds_is_not_believed() -> None:
    # fed-cbs asks for label counts, so sizes are known: client 3 holds 29 samples.
    strategy, _ = play(bad_mod(metric("num-examples", 59), BAD), selector="fed-cbs")
    assert strategy.history[0]["failed"] == {"3": "'num-examples' is 59, but it said it holds 29"}


def test_a_few_more_examples_than_it_said_count_as_what_it_said() -> None:
    strategy, result = play(bad_mod(metric("num-examples", 58), BAD), selector="fed-cbs")
    assert strategy.history[0]["failed"] == {}
    np.testing.assert_allclose(result.arrays["bias"].numpy(), honest_average(list(range(NODES))), atol=1e-6)


def test_an_exception_in_the_client_is_one_lost_reply() -> None:
    def mod(message: Message, context: Context, call: ClientAppCallable) -> Message:
        if flower_app.who(context) == BAD:
            raise RuntimeError("out of battery")
        return call(message, context)

    strategy, _ = play(mod)
    assert "out of battery" in strategy.history[0]["failed"]["3"]
    assert strategy.session.watch.quarantine.strikes == {}  # bad luck is no fault


def test_all_replies_bad_leaves_the_model_and_the_run_alone() -> None:
    strategy, result = play(bad_mod(ROWS["nan weights"][0], *range(NODES)))
    assert strategy.history[0]["used"] == []
    assert (result.arrays["weight"].numpy() == 0).all()


def test_copies_of_one_reply_count_once() -> None:
    class Copying(LocalGrid):
        def pull_messages(self, message_ids: Any) -> Any:
            return [copy for reply in super().pull_messages(message_ids) for copy in (reply, reply, reply)]

    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "all", k=NODES)
    with server_task():
        result = strategy.start(Copying(flower_app.answering_app(), NODES), flower_app.model(), num_rounds=1)
    np.testing.assert_allclose(result.arrays["bias"].numpy(), honest_average(list(range(NODES))), atol=1e-6)
    assert sorted(strategy.history[0]["used"]) == list(range(NODES))


def test_a_fifth_of_liars_are_out_after_two_appearances_and_selection_goes_on() -> None:
    kinds = [ROWS[name][0] for name in ("nan weights", "wrong shape", "huge weights", "10**18 examples")]
    liars = dict(zip((1, 4), kinds[:2], strict=True)) | dict(zip((7,), kinds[2:3], strict=True))

    def mod(message: Message, context: Context, call: ClientAppCallable) -> Message:
        reply = call(message, context)
        if flower_app.who(context) in liars:
            liars[flower_app.who(context)](reply.content)
        return reply

    strategy, result = play(mod, rounds=12, selector="random", k=5, seed=4)
    for liar in liars:
        rounds = [record["index"] for record in strategy.history if liar in record["asked"]]
        assert len(rounds) == 2, f"client {liar} was asked in rounds {rounds}"
    assert all(len(record["asked"]) == 5 for record in strategy.history)
    assert all(np.isfinite(array.numpy()).all() for array in result.arrays.values())
    assert np.abs(result.arrays["weight"].numpy()).max() < 10


def test_quarantine_ends() -> None:
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "all", k=NODES)
    strategy.session.watch.quarantine.rounds = 2
    with server_task():
        grid = LocalGrid(flower_app.answering_app(bad_mod(ROWS["nan weights"][0], BAD)), NODES)
        strategy.start(grid, flower_app.model(), num_rounds=6)
    # Two strikes in rounds 1 and 2, out in 3 and 4, a third strike in 5 and out again.
    assert [BAD in record["asked"] for record in strategy.history] == [True, True, False, False, True, False]


@pytest.mark.parametrize("value", [float("nan"), -1.0, "many", True, b"x"])
def test_an_impossible_fact_in_a_reply_is_set_aside(value: Any) -> None:
    def mischief(content: RecordDict) -> None:
        pass

    app = flower_app.answering_app(bad_mod(mischief))
    honest = type(app).__call__

    class Lying(type(app)):  # type: ignore[misc]
        def __call__(self, message: Message, context: Context) -> Message:
            reply = honest(self, message, context)
            if flower_app.who(context) == BAD and message.metadata.message_type == "train":
                reply.content["callup"]["loss_rms"] = value
            return reply

    app.__class__ = Lying
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "oort", k=NODES)
    with server_task():
        strategy.start(LocalGrid(app, NODES), flower_app.model(), num_rounds=1)
    assert "loss_rms" in strategy.history[0]["failed"][str(BAD)]
    assert len(strategy.history[0]["used"]) == NODES - 1


def test_a_silent_answer_to_a_probe_is_no_reason_to_stop() -> None:
    def loss(arrays: ArrayRecord, context: Context) -> float:
        if flower_app.who(context) == BAD:
            raise RuntimeError("no memory")
        return float("nan") if flower_app.who(context) == 5 else 1.0

    app = answer(
        flower_app.plain_app(), loss=loss, label_counts=lambda context: flower_app.counts(flower_app.who(context))
    )
    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "power-of-choice:d=10", k=4)
    with server_task():
        strategy.start(LocalGrid(app, NODES), flower_app.model(), num_rounds=1)
    assert not {BAD, 5} & set(strategy.history[0]["asked"])
    assert len(strategy.history[0]["used"]) == 4


def test_one_bad_evaluation_does_not_end_the_run() -> None:
    def mod(message: Message, context: Context, call: ClientAppCallable) -> Message:
        reply = call(message, context)
        if flower_app.who(context) == BAD and "accuracy" in reply.content["metrics"]:
            reply.content["metrics"] = MetricRecord({"num-examples": 3, "oops": 1.0})
        if flower_app.who(context) == 5 and "accuracy" in reply.content["metrics"]:
            reply.content["metrics"]["accuracy"] = float("nan")
        return reply

    app = flower_app.plain_app(mod)
    strategy = Selecting(FedAvg(), "random", k=3)
    began = time.monotonic()
    with server_task():
        result = strategy.start(LocalGrid(app, NODES), flower_app.model(), num_rounds=1)
    assert 0 <= float(result.evaluate_metrics_clientapp[1]["accuracy"]) <= 1
    assert time.monotonic() - began < 60


def test_counters_that_averaging_turned_into_fractions_may_come_back_whole() -> None:
    """As the batch counters of PyTorch's normalisation layers do."""
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        seen = message.content["arrays"]["seen"].numpy().astype(np.int64) + 5
        arrays = ArrayRecord({"w": message.content["arrays"]["w"], "seen": Array(np.asarray(seen))})
        return Message(RecordDict({"arrays": arrays, "m": MetricRecord({"num-examples": 10})}), reply_to=message)

    strategy = Selecting(FedAvg(fraction_evaluate=0.0), "random", k=3)
    with server_task():
        first = ArrayRecord({"w": Array(np.zeros(3, np.float32)), "seen": Array(np.array(0))})
        result = strategy.start(LocalGrid(app, NODES), first, num_rounds=3)
    assert [len(record["used"]) for record in strategy.history] == [3, 3, 3]
    assert result.arrays["seen"].numpy() == 15


def test_a_whole_number_too_large_for_a_float_is_set_aside() -> None:
    strategy, _ = play(bad_mod(metric("train_loss", 10**400), BAD))
    assert "not finite" in strategy.history[0]["failed"][str(BAD)]


def test_local_models_take_no_room_where_nobody_looks_at_them() -> None:
    kept = {}
    for selector in ("random", "clustered-similarity"):
        strategy, _ = play(bad_mod(lambda content: None), selector=selector, k=3)
        called = strategy._called
        assert called is not None
        kept[selector] = [reply.model is not None for reply in called.good.values()]
    assert kept == {"random": [False] * 3, "clustered-similarity": [True] * 3}

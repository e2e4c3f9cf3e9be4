"""The batched backend with several worker processes gives the floats it gives with one."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from callup.partition.scheme import Shards
from callup.simulation.backends.batched import Batched
from callup.simulation.backends.grouping import group_clients
from callup.simulation.engine import simulate
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Mlp, Split

SAMPLES = [40, 25, 60, 3, 0, 40, 41, 300, 12, 12, 90, 7]
LOCAL = LocalTraining(epochs=3, batch=16, rate=0.1, momentum=0.5, decay=0.9, decay_per="epoch")
WANTS = ("loss", "loss_rms", "accuracy", "train_loss", "gradient")


def made(workers: int) -> Batched:
    rng = np.random.default_rng(1)

    def split(size: int) -> Split:
        return Split(rng.normal(size=(size, 30)).astype(np.float32), rng.integers(0, 4, size))

    rows = np.split(np.arange(sum(SAMPLES)), np.cumsum(SAMPLES)[:-1])
    shards = Shards(np.arange(10, 10 + len(SAMPLES)), tuple(rows))
    return Batched(Data(split(sum(SAMPLES)), split(50), split(9000), 4), Mlp((30, 8, 4)), shards, LOCAL, 5, workers)


def test_workers_change_no_float() -> None:
    # One after the other, because each makes the same data. One BLAS thread here too, as the engine has it.
    answers = []
    for workers in (1, 2):
        backend = made(workers)
        with threadpool_limits(1):
            model, rates = backend.init(), LOCAL.rates(1, np.zeros(len(SAMPLES)))
            trained = backend.train(model, backend.shards.ids[::-1], 1, rates, WANTS)
            tested = backend.evaluate(trained.models[0], "test")
            probed = {name: backend.probe(model, name, backend.shards.ids[::-1], 2) for name in ("loss", "gradient")}
        backend.close()
        answers.append((trained, tested, probed))
    (one, score, heard), (two, score_of_two, heard_by_two) = answers
    np.testing.assert_array_equal(one.models, two.models)
    np.testing.assert_array_equal(one.local_steps, two.local_steps)
    for name in WANTS:
        np.testing.assert_array_equal(one.signals[name], two.signals[name], err_msg=name)
    for name, values in heard.items():
        np.testing.assert_array_equal(values, heard_by_two[name], err_msg=name)
    assert (score.loss, score.accuracy) == (score_of_two.loss, score_of_two.accuracy)
    np.testing.assert_array_equal(score.recall, score_of_two.recall)
    assert np.abs(one.models - one.models[0]).max() > 0.01  # clients went their own ways


def test_workers_change_no_line_of_a_history() -> None:
    histories = [simulate("power-of-choice", task="fashion14-mlp", rounds=2, workers=workers) for workers in (1, 2)]
    assert histories[0].history == histories[1].history
    np.testing.assert_array_equal(histories[0].model, histories[1].model)


@pytest.mark.parametrize("clients", [1, 2, 5, 6, 10, 11, 23])
def test_groups_are_of_even_size_and_hold_everyone_once(clients: int) -> None:
    groups = group_clients([300] * clients, LocalTraining(), 300, (784, 64, 10))
    assert sorted(client for group in groups for client in group.members) == list(range(clients))
    sizes = [len(group.members) for group in groups]
    assert max(sizes) <= 5
    assert max(sizes) - min(sizes) <= 1


def test_a_large_client_is_not_in_a_group_with_small_ones() -> None:
    sizes = [2000, 300, 2000, 310, 290]
    groups = group_clients(sizes, LocalTraining(), 2000, (784, 64, 10))
    for group in groups:
        held = [sizes[client] for client in group.members]
        assert max(held) <= 2 * min(held)

"""How long one round of next-word prediction takes: batched products in numpy against a plain torch loop.

Ten clients of 40 texts of ten words, vocabulary 10,000, embedding 200, two LSTM layers of 200, 5 epochs in mini-batches
of 20. Words are as frequent as in any language, the n-th in proportion to 1/n. `benchmarks/lstm.py 1` is a trial.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from contest import best, keep, matmul_speed, play, ratio, summary
from threadpoolctl import threadpool_limits

from callup.partition.scheme import Shards
from callup.simulation.backends.base import Backend
from callup.simulation.backends.choose import make_backend
from callup.simulation.backends.words.torch_words import make_module
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Split, WordLstm

CLIENTS, SAMPLES, LENGTH = 10, 40, 10
MODEL = WordLstm(words=10_000, embedding=200, hidden=200, layers=2)
LOCAL = LocalTraining(epochs=5, batch=20, rate=1.0)
REPEATS = 3
PATIENCE = 120.0  # seconds for each contestant
# Multiplications and additions for one word: forward, and twice as many backward. Each layer has two products.
WORK = 3 * 2 * (2 * 2 * 200 * 800 + 200 * 10_000)


def made_up() -> Data:
    rng = np.random.default_rng(0)
    law = 1 / np.arange(1, MODEL.words + 1)
    shape = (CLIENTS * SAMPLES, LENGTH)
    split = Split(*(rng.choice(MODEL.words, shape, p=law / law.sum()) for _ in range(2)))
    return Data(split, split, split, 1)


def plain_torch(data: Data, received: torch.nn.Module, threads: int) -> None:
    """What most people write: a module and an optimiser for each client, mini-batches by index."""
    torch.set_num_threads(threads)
    x, y = torch.from_numpy(data.train.x), torch.from_numpy(data.train.y)
    for client in range(CLIENTS):
        model = copy.deepcopy(received)
        optimiser = torch.optim.SGD(model.parameters(), lr=LOCAL.rate)
        for _ in range(LOCAL.epochs):
            for rows in (torch.randperm(SAMPLES) + client * SAMPLES).split(LOCAL.batch):
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(model(x[rows]).flatten(0, 1), y[rows].flatten()).backward()
                optimiser.step()


def one_round(backend: Backend, model: np.ndarray) -> None:
    ids = backend.shards.ids
    # As the engine does: one BLAS thread.
    with threadpool_limits(1):
        backend.train(model, ids, 1, LOCAL.rates(1, np.zeros(len(ids))), ())


def main(repeats: int) -> None:
    data = made_up()
    shards = Shards(np.arange(CLIENTS), tuple(np.split(np.arange(CLIENTS * SAMPLES), CLIENTS)))
    backends = {
        f"numpy backend, workers: {workers}": make_backend("numpy", data, MODEL, shards, LOCAL, 0, workers)
        for workers in (1, 2)
    }
    contestants: dict[str, Callable[[], object]] = {
        **{f"plain torch loop, threads: {n}": partial(plain_torch, data, make_module(MODEL), n) for n in (1, 2)},
        **{name: partial(one_round, backend, backend.init()) for name, backend in backends.items()},
    }
    speed = matmul_speed()
    found = summary(play(contestants, repeats, PATIENCE))
    for backend in backends.values():
        backend.close()
    one_core = {row["name"]: row["processor_ms"] for row in found}
    result = {
        "work": f"{CLIENTS} clients of {SAMPLES} texts of {LENGTH} words, vocabulary {MODEL.words}, embedding "
        f"{MODEL.embedding}, {MODEL.layers} layers of {MODEL.hidden}, {LOCAL.epochs} epochs, batch {LOCAL.batch}",
        "matmul_gflops_one_core": round(speed, 1),
        "floor_ms_one_core": round(CLIENTS * SAMPLES * LENGTH * LOCAL.epochs * WORK / speed / 1e6, 1),
        "rows": found,
        "ratios": [
            ratio("numpy backend against the plain torch loop", best(found, "plain"), best(found, "numpy"), 2.0),
            ratio(
                "the same on one core, by processor time",
                one_core["plain torch loop, threads: 1"],
                one_core["numpy backend, workers: 1"],
            ),
        ],
    }
    keep("lstm", result, *(["a trial, not a measurement"] if repeats < REPEATS else []))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS)

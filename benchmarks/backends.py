"""How long one round of a small perceptron takes: the backends against each other and against a plain torch loop.

Ten clients of 300 samples, MLP 784-64-10, 5 epochs in mini-batches of 50. `python benchmarks/backends.py 3` repeats
three times only, and its result is not kept for show.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from contest import best, keep, matmul_speed, play, ratio, summary
from threadpoolctl import threadpool_limits

from callup.partition.scheme import Shards
from callup.simulation.backends.base import Backend
from callup.simulation.backends.batched import Batched
from callup.simulation.backends.loop import Loop
from callup.simulation.backends.torch import Torch
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Mlp, Split

CLIENTS, SAMPLES, SIZES = 10, 300, (784, 64, 10)
LOCAL = LocalTraining(epochs=5, batch=50, rate=0.05)
REPEATS, PATIENCE = 21, 15.0  # rounds, or seconds, for each contestant
# Multiplications and additions for one sample. The first layer passes no error on: two products, not three.
WORK = 2 * (2 * 784 * 64 + 3 * 64 * 10)
NUMPY = "numpy backend"


def made_up() -> Data:
    rng = np.random.default_rng(0)
    total = CLIENTS * SAMPLES
    split = Split(rng.random((total, SIZES[0]), np.float32), rng.integers(0, SIZES[-1], total))
    return Data(split, split, split, SIZES[-1])


def network() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(SIZES[0], SIZES[1]), torch.nn.ReLU(), torch.nn.Linear(SIZES[1], SIZES[2])
    )


def plain_torch(data: Data, threads: int) -> None:
    """What most people write: a module and an optimiser for each client, mini-batches by index."""
    torch.set_num_threads(threads)
    x, y = torch.from_numpy(data.train.x), torch.from_numpy(data.train.y)
    received = network()
    for client in range(CLIENTS):
        own = slice(client * SAMPLES, (client + 1) * SAMPLES)
        model = network()
        model.load_state_dict(received.state_dict())
        optimiser = torch.optim.SGD(model.parameters(), lr=LOCAL.rate)
        for _ in range(LOCAL.epochs):
            order = torch.randperm(SAMPLES)
            for at in range(0, SAMPLES, LOCAL.batch):
                rows = order[at : at + LOCAL.batch]
                optimiser.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(x[own][rows]), y[own][rows])
                loss.backward()
                optimiser.step()


def one_round(backend: Backend) -> None:
    ids = backend.shards.ids
    # As the engine does: one BLAS thread.
    with threadpool_limits(1):
        backend.train(backend.init(), ids, 1, LOCAL.rates(1, np.zeros(len(ids))), ())


def main(repeats: int) -> None:
    data = made_up()
    shards = Shards(np.arange(CLIENTS), tuple(np.split(np.arange(CLIENTS * SAMPLES), CLIENTS)))
    federation = (data, Mlp(SIZES), shards, LOCAL, 0)
    known: dict[str, Backend] = {
        "torch backend, workers: 1": Torch(*federation),
        "loop backend": Loop(*federation),
        **{f"{NUMPY}, workers: {workers}": Batched(*federation, workers) for workers in (1, 2)},
    }
    contestants: dict[str, Callable[[], object]] = {
        **{f"plain torch loop, threads: {n}": partial(plain_torch, data, n) for n in (1, 2)},
        **{name: partial(one_round, backend) for name, backend in known.items()},
        "a new numpy backend each time, so that nothing is kept, workers: 1": lambda: one_round(Batched(*federation)),
    }
    times = play(contestants, repeats, PATIENCE)
    for backend in known.values():
        backend.close()
    speed = statistics.median(matmul_speed() for _ in range(5))
    floor, found = CLIENTS * SAMPLES * LOCAL.epochs * WORK / speed / 1e6, summary(times)
    ours = best(found, NUMPY)
    result = {
        "work": f"{CLIENTS} clients of {SAMPLES} samples, MLP 784-64-10, {LOCAL.epochs} epochs, batch {LOCAL.batch}",
        "matmul_gflops_one_core": round(speed, 1),
        "floor_ms_one_core": round(floor, 1),
        "rows": found,
        "ratios": [
            ratio("numpy backend against the plain torch loop", best(found, "plain"), ours),
            ratio("numpy backend against the loop backend", best(found, "loop"), ours),
            ratio("numpy backend, two workers against one", *(best(found, f"{NUMPY}, workers: {n}") for n in (1, 2))),
        ],
    }
    keep("mlp", result, *(["a trial, not a measurement"] if repeats < REPEATS else []))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS)

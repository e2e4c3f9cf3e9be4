"""How long one round of a small convolutional network takes: compiled kernels against torch, plain and in processes.

Ten clients of 250 pictures of 32 x 32 in colour, filters 6 and 16 of 5 x 5, layers of 120 and 84, 5 epochs in
mini-batches of 50. All are timed in turn, again and again, so a busy machine slows all of them alike. Processor time
is told beside the time that passed: it says what a core can do when another process wants one too.
"""

from __future__ import annotations

import copy
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
from callup.simulation.backends.choose import make_backend
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Module, Split
from callup.simulation.tasks.cifar10 import make_cnn

CLIENTS, SAMPLES = 10, 250
LOCAL = LocalTraining(epochs=5, batch=50, rate=0.05)
REPEATS, PATIENCE = 7, 20.0  # rounds, or seconds, for each contestant
# Multiplications and additions for one picture. The first layer passes no error on: two products, not three.
WORK = 2 * (2 * 28 * 28 * 6 * 75 + 3 * (10 * 10 * 16 * 150 + 400 * 120 + 120 * 84 + 84 * 10))
COMPILED = "compiled"


def made_up() -> Data:
    rng = np.random.default_rng(0)
    total = CLIENTS * SAMPLES
    split = Split(rng.normal(size=(total, 3, 32, 32)).astype(np.float32), rng.integers(0, 10, total))
    return Data(split, split, split, 10)


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
                torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
                optimiser.step()


def one_round(backend: Backend) -> None:
    ids = backend.shards.ids
    # As the engine does: one BLAS thread.
    with threadpool_limits(1):
        backend.train(backend.init(), ids, 1, LOCAL.rates(1, np.zeros(len(ids))), ())


def main(repeats: int) -> None:
    data = made_up()
    shards = Shards(np.arange(CLIENTS), tuple(np.split(np.arange(CLIENTS * SAMPLES), CLIENTS)))
    backends = {
        f"{name} backend, workers: {workers}": make_backend(name, data, Module(make_cnn), shards, LOCAL, 0, workers)
        for name in ("torch", COMPILED)
        for workers in (1, 2)
    }
    contestants: dict[str, Callable[[], object]] = {
        **{f"plain torch loop, threads: {n}": partial(plain_torch, data, make_cnn(), n) for n in (1, 2)},
        **{name: partial(one_round, backend) for name, backend in backends.items()},
    }
    times = play(contestants, repeats, PATIENCE)
    for backend in backends.values():
        backend.close()
    speed = statistics.median(matmul_speed() for _ in range(5))
    floor, found = CLIENTS * SAMPLES * LOCAL.epochs * WORK / speed / 1e6, summary(times)
    one_core = {row["name"]: row["processor_ms"] for row in found}
    plain, ours = one_core["plain torch loop, threads: 1"], one_core[f"{COMPILED} backend, workers: 1"]
    result = {
        "work": f"{CLIENTS} clients of {SAMPLES} pictures, CNN 6/16 filters 5x5, 120, 84 on 32x32x3, "
        f"{LOCAL.epochs} epochs, batch {LOCAL.batch}",
        "matmul_gflops_one_core": round(speed, 1),
        "floor_ms_one_core": round(floor, 1),
        "rows": found,
        "ratios": [
            ratio("compiled backend against the plain torch loop", best(found, "plain"), best(found, COMPILED), 3.0),
            ratio("compiled backend against the torch backend", best(found, "torch"), best(found, COMPILED)),
            ratio("the first of these on one core, by processor time", plain, ours),
        ],
    }
    keep("cnn", result, *(["a trial, not a measurement"] if repeats < REPEATS else []))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS)

"""How long one round of next-word prediction takes: batched products in numpy against a plain torch loop.

Ten clients of 40 texts of ten words, vocabulary 10,000, embedding 200, two LSTM layers of 200, 5 epochs in mini-batches
of 20. Words are as frequent as in any language, the n-th in proportion to 1/n. All contestants are timed in turn, again
and again, so a busy machine slows all of them alike. Processor time is told beside the time that passed: it says what
a core can do when another process wants one too.
"""

from __future__ import annotations

import copy
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from backends import matmul_speed
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


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Time that passed, and processor time."""
    start, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - used


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
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    speeds = []
    for _ in range(repeats):
        speeds.append(matmul_speed())
        for name, work in contestants.items():
            # On a busy machine two torch threads wait for each other, and a round can take many times as long.
            if sum(passed for passed, _ in times[name]) < PATIENCE:
                times[name].append(timed(work))
    for backend in backends.values():
        backend.close()
    report(times, statistics.median(speeds))


def report(times: dict[str, list[tuple[float, float]]], speed: float) -> None:
    floor = CLIENTS * SAMPLES * LENGTH * LOCAL.epochs * WORK / speed / 1e9
    print(f"{os.cpu_count()} cores, matmul {speed:.0f} GFLOP/s a core, torch {torch.__version__}")
    print(f"at that speed the round's products alone take {floor:.2f} s of one core, half of it on two")
    print("  median    best  processor")
    for name, taken in times.items():
        passed, used = ([each[n] for each in taken] for n in (0, 1))
        print(f"{statistics.median(passed):6.2f} s {min(passed):5.2f} s {statistics.median(used):8.2f} s  {name}")
    medians = {name: statistics.median(passed for passed, _ in taken) for name, taken in times.items()}
    plain, ours = (min(medians[name] for name in medians if name.startswith(kind)) for kind in ("plain", "numpy"))
    print(
        f"numpy backend: {plain / ours:.2f}x faster than the plain torch loop, each with its better number of threads"
    )
    used = {name: statistics.median(cpu for _, cpu in taken) for name, taken in times.items()}
    alone = used["plain torch loop, threads: 1"] / used["numpy backend, workers: 1"]
    print(f"on one core, by processor time: {alone:.2f}x faster than the plain torch loop")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)

"""How long one round of a small convolutional network takes: compiled kernels against torch, plain and in processes.

Ten clients of 250 pictures of 32 x 32 in colour, filters 6 and 16 of 5 x 5, layers of 120 and 84, 5 epochs in
mini-batches of 50. All are timed in turn, again and again, so a busy machine slows all of them alike. Processor time
is told beside the time that passed: it says what a core can do when another process wants one too.
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
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Module, Split
from callup.simulation.tasks.cifar10 import make_cnn

CLIENTS, SAMPLES = 10, 250
LOCAL = LocalTraining(epochs=5, batch=50, rate=0.05)
PATIENCE = 60.0  # seconds for each contestant
# Multiplications and additions for one picture. The first layer passes no error on: two products, not three.
WORK = 2 * (2 * 28 * 28 * 6 * 75 + 3 * (10 * 10 * 16 * 150 + 400 * 120 + 120 * 84 + 84 * 10))
COMPILED = "compiled backend"


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


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Time that passed, and processor time of this process alone."""
    start, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - used


def main(repeats: int) -> None:
    data = made_up()
    shards = Shards(np.arange(CLIENTS), tuple(np.split(np.arange(CLIENTS * SAMPLES), CLIENTS)))
    backends = {
        f"{name} backend, workers: {workers}": make_backend(name, data, Module(make_cnn), shards, LOCAL, 0, workers)
        for name in ("torch", "compiled")
        for workers in (1, 2)
    }
    contestants: dict[str, Callable[[], object]] = {
        **{f"plain torch loop, threads: {n}": partial(plain_torch, data, make_cnn(), n) for n in (1, 2)},
        **{name: partial(one_round, backend) for name, backend in backends.items()},
    }
    for work in contestants.values():
        work()  # compiles kernels and starts processes
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    speeds = []
    for _ in range(repeats):
        speeds.append(matmul_speed())
        for name, work in contestants.items():
            # On a busy machine two torch threads wait for each other, and a round can take a hundred times as long.
            if sum(passed for passed, _ in times[name]) < PATIENCE:
                times[name].append(timed(work))
    for backend in backends.values():
        backend.close()
    report(times, statistics.median(speeds))


def report(times: dict[str, list[tuple[float, float]]], speed: float) -> None:
    floor = CLIENTS * SAMPLES * LOCAL.epochs * WORK / speed / 1e9
    print(f"{os.cpu_count()} cores, matmul {speed:.0f} GFLOP/s a core, torch {torch.__version__}")
    print(f"at that speed the round's products alone take {1e3 * floor:.0f} ms of one core, half of it on two")
    print("   median     best  processor")
    for name, taken in times.items():
        passed, used = ([each[n] for each in taken] for n in (0, 1))
        elsewhere = "torch backend, workers: 2" in name  # its workers' time is not this process's
        cpu = "         -" if elsewhere else f"{1e3 * statistics.median(used):7.0f} ms"
        print(f"{1e3 * statistics.median(passed):6.0f} ms {1e3 * min(passed):5.0f} ms {cpu}  {name}")
    medians = {name: statistics.median(passed for passed, _ in taken) for name, taken in times.items()}
    plain = min(median for name, median in medians.items() if name.startswith("plain"))
    best = min(median for name, median in medians.items() if name.startswith(COMPILED))
    print(f"{COMPILED}: {plain / best:.1f}x faster than the plain torch loop, each with its better number of threads")
    cores = [statistics.median(used for _, used in times[name]) for name in times if name.endswith(": 1")]
    print(f"on one core, by processor time: {cores[0] / cores[-1]:.1f}x faster than the plain torch loop")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)

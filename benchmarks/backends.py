"""How long one round of local training takes: the backends against each other and against a plain torch loop.

Ten clients of 300 samples, MLP 784-64-10, 5 epochs in mini-batches of 50. All are timed in turn, again and again, in
one process, so a busy machine slows all of them alike; medians are compared.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
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
FIRST, AGAIN = "numpy backend, clients called for the first time", "numpy backend, clients called again"


def made_up() -> Data:
    rng = np.random.default_rng(0)
    total = CLIENTS * SAMPLES
    split = Split(rng.random((total, SIZES[0]), np.float32), rng.integers(0, SIZES[-1], total))
    return Data(split, split, split, SIZES[-1])


def plain_torch(data: Data, threads: int) -> None:
    """What most people write: a module and an optimiser for each client, mini-batches by index."""
    torch.set_num_threads(threads)
    x, y = torch.from_numpy(data.train.x), torch.from_numpy(data.train.y)
    received = torch.nn.Sequential(
        torch.nn.Linear(SIZES[0], SIZES[1]), torch.nn.ReLU(), torch.nn.Linear(SIZES[1], SIZES[2])
    )
    for client in range(CLIENTS):
        own = slice(client * SAMPLES, (client + 1) * SAMPLES)
        model = torch.nn.Sequential(
            torch.nn.Linear(SIZES[0], SIZES[1]), torch.nn.ReLU(), torch.nn.Linear(SIZES[1], SIZES[2])
        )
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


def matmul_speed() -> float:
    """Billions of multiplications and additions a second: numpy, one thread."""
    square = np.ones((1024, 1024), np.float32)
    with threadpool_limits(1):
        return 2 * 1024**3 / min(seconds(lambda: square @ square) for _ in range(5)) / 1e9


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    data = made_up()
    shards = Shards(np.arange(CLIENTS), tuple(np.split(np.arange(CLIENTS * SAMPLES), CLIENTS)))
    federation = (data, Mlp(SIZES), shards, LOCAL, 0)
    known: dict[str, Backend] = {
        "torch backend, 1 worker": Torch(*federation),
        "loop backend": Loop(*federation),
        AGAIN: Batched(*federation),
    }
    contestants: dict[str, Callable[[], object]] = {
        **{f"plain torch loop, threads: {n}": partial(plain_torch, data, n) for n in (1, 2)},
        **{name: partial(one_round, backend) for name, backend in known.items()},
        FIRST: lambda: one_round(Batched(*federation)),
    }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(REPEATS):
        for name, work in contestants.items():
            # On a busy machine two torch threads wait for each other, and a round can take a hundred times as long.
            if sum(times[name]) < PATIENCE:
                times[name].append(seconds(work))
    print(f"{os.cpu_count()} cores, matmul {matmul_speed():.0f} GFLOP/s, torch {torch.__version__}")
    report({name: statistics.median(taken) for name, taken in times.items()})


def report(medians: dict[str, float]) -> None:
    print(
        f"one round: {CLIENTS} clients of {SAMPLES} samples, MLP 784-64-10, {LOCAL.epochs} epochs, batch {LOCAL.batch}"
    )
    for name, median in medians.items():
        print(f"  {1e3 * median:7.1f} ms  {name}")
    torch_loop = min(median for name, median in medians.items() if name.startswith("plain"))
    for name in (AGAIN, FIRST):
        against_torch, against_loop = torch_loop / medians[name], medians["loop backend"] / medians[name]
        print(
            f"{name}: {against_torch:.1f}x faster than the plain torch loop, {against_loop:.1f}x than the loop backend"
        )


if __name__ == "__main__":
    main()

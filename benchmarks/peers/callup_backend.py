"""Callup's own backend: training of those called and the mean of their models.

A backend may keep what it works out about a client's samples. With the word `again` everyone is called once before
the first timed round, as is so late in a run; without it, clients come as in every other simulator.
"""

from __future__ import annotations

import sys
from importlib.metadata import version

import numpy as np
from threadpoolctl import threadpool_limits
from work import BATCH, CHOSEN, CLASSES, CLIENTS, EPOCHS, RATE, SEED, called, load_samples, order, tell, time_rounds

from callup.partition.scheme import Shards
from callup.simulation.backends.choose import make_backend
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Mlp, Module, Split
from callup.simulation.tasks.cifar10 import make_cnn

LOCAL = LocalTraining(epochs=EPOCHS, batch=BATCH, rate=RATE)


def main() -> None:
    ask = order()
    x, y, test_x, test_y = load_samples(ask.work)
    test = Split(test_x, test_y)
    data = Data(Split(x.reshape(-1, *x.shape[2:]), y.reshape(-1)), test, test, CLASSES)
    shards = Shards(np.arange(CLIENTS), tuple(np.split(np.arange(y.size), CLIENTS)))
    network = Mlp((784, 64, 10)) if ask.work == "mlp" else Module(make_cnn)
    backend = make_backend("auto", data, network, shards, LOCAL, SEED, ask.threads)
    model = backend.init()

    def play(index: int) -> None:
        nonlocal model
        model = train(called(index), index)

    def train(ids: list[int], index: int) -> np.ndarray:
        rates = LOCAL.rates(index + 1, np.zeros(len(ids)))
        return backend.train(model, np.array(ids), index + 1, rates, ()).models.mean(0)

    with threadpool_limits(1):  # as the engine does
        before = backend.evaluate(model, "test").loss
        if "again" in sys.argv:
            for ids in np.split(np.arange(CLIENTS), CLIENTS // CHOSEN):
                train(ids.tolist(), 0)
        start_up, seconds = time_rounds(ask.rounds, play)
        after = backend.evaluate(model, "test").loss
    backend.close()
    tell(f"callup {version('callup')}, {type(backend).__name__} backend", start_up, seconds, (before, after))


if __name__ == "__main__":
    main()

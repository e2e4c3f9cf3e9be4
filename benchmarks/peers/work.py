"""The same work for everyone: made-up data from a seed, who trains in which round, how rounds are timed and told.

Needs numpy alone, because it runs in the environment of each simulator.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / ".bench"
SEED, CLIENTS, CHOSEN, CLASSES = 7, 100, 10, 10
EPOCHS, BATCH, RATE = 5, 50, 0.1
WARM_UP = 2
PATIENCE, ENOUGH = 30.0, 3  # after so many seconds a process stops, if it has timed so many rounds


@dataclass(frozen=True)
class Work:
    """What one client holds: `samples` of this `shape`."""

    samples: int
    shape: tuple[int, ...]
    products: int
    """Multiplications and additions to train on one sample once. The first layer passes no error on: two, not three."""

    def billions(self) -> float:
        """Of multiplications and additions in one round."""
        return CHOSEN * self.samples * EPOCHS * self.products / 1e9


WORKS = {
    "mlp": Work(300, (784,), 2 * (2 * 784 * 64 + 3 * 64 * 10)),
    "cnn": Work(
        250, (3, 32, 32), 2 * (2 * 28 * 28 * 6 * 75 + 3 * (10 * 10 * 16 * 150 + 400 * 120 + 120 * 84 + 84 * 10))
    ),
}


class Samples(NamedTuple):
    """Training samples have the clients as their first axis; test samples do not."""

    x: np.ndarray
    y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


def make_samples(work: Work) -> Samples:
    """Each class is a faint pattern under noise. A tenth of the labels is wrong, so no model ever runs out of work."""
    rng = np.random.default_rng(SEED)
    total = CLIENTS * work.samples + 2000
    y = rng.integers(0, CLASSES, total)
    if len(work.shape) == 1:
        patterns = rng.normal(scale=0.1, size=(CLASSES, *work.shape))
    else:  # blocks of 8 x 8, which outlast pooling
        patterns = np.kron(rng.normal(scale=0.3, size=(CLASSES, 3, 4, 4)), np.ones((8, 8)))
    x = rng.standard_normal((total, *work.shape), np.float32)
    x += patterns.astype(np.float32)[y]
    wrong = rng.random(total) < 0.1
    y[wrong] = rng.integers(0, CLASSES, wrong.sum())
    at = CLIENTS * work.samples
    own_x = x[:at].reshape(CLIENTS, work.samples, *work.shape)
    return Samples(own_x, y[:at].reshape(CLIENTS, work.samples), x[at:], y[at:])


def save_samples() -> None:
    """Kept as files, so that the processes of one simulator need not make them again."""
    folder = FOLDER / "data"
    folder.mkdir(parents=True, exist_ok=True)
    for name, work in WORKS.items():
        for part, values in make_samples(work)._asdict().items():
            np.save(folder / f"{name}_{part}.npy", values)


def load_samples(name: str) -> Samples:
    return Samples(*(np.load(FOLDER / "data" / f"{name}_{part}.npy") for part in Samples._fields))


def called(index: int) -> list[int]:
    """Who trains in this round."""
    return np.random.default_rng((SEED, index)).choice(CLIENTS, CHOSEN, replace=False).tolist()


class Order(NamedTuple):
    """What the command line asks for: which work, how many threads, how many timed rounds."""

    work: str
    threads: int
    rounds: int


def order() -> Order:
    return Order(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))


def since_start() -> float:
    """Seconds since the process was asked for, imports included."""
    return time.time() - float(os.environ.get("BENCH_STARTED", time.time()))


def time_rounds(rounds: int, play: Callable[[int], object]) -> tuple[float, list[float]]:
    """Plays the warm-up and the timed rounds: seconds until the first round was over, and of each timed round."""
    ends, start_up = [], 0.0
    for index in range(WARM_UP + rounds):
        play(index)
        ends.append(time.perf_counter())
        start_up = start_up or since_start()
        if impatient(ends):
            break
    return start_up, lengths(ends)


def impatient(ends: list[float]) -> bool:
    """On a busy machine two threads wait for each other, and a round can take a hundred times as long."""
    return len(ends) >= WARM_UP + ENOUGH and ends[-1] - ends[0] > PATIENCE


def lengths(ends: list[float]) -> list[float]:
    """Of the rounds after the warm-up, from when each round ended."""
    return np.diff(ends[WARM_UP - 1 :]).tolist()


def tell(version: str, start_up: float, seconds: list[float], loss: tuple[float, float]) -> None:
    """One line of JSON; `loss` is that on the test samples before the first and after the last round."""
    answer = {
        "version": version,
        "start_up_s": round(start_up, 2),
        "rounds_ms": [round(1e3 * taken, 2) for taken in seconds],
        "loss": [round(float(value), 4) for value in loss],
    }
    print(json.dumps(answer), flush=True)

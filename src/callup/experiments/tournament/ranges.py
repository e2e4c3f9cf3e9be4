"""What held-out worlds are drawn from: kinds of federations and the ranges of everything about them.

Written down before any seed is known. Every choice is uniform over its list or range; `log` ranges are uniform in the
logarithm and rounded to two digits. Clients come in twenties, so that ten classes can be dealt 1:1 or 3:1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

TASKS = ("fashion-mlp", "mnist-mlp")
HIDDEN = (32, 64, 128)
CLIENTS = (40, 240)
"""In steps of twenty."""
ONLINE = (0.2, 1.0)
"""Share of the clients that is online, drawn afresh in each round."""
CHOSEN = (0.1, 0.5)
"""k as a share of those online, from 3 to 20."""
EPOCHS = (1, 5)
BATCH = (10, 20, 50)
RATE = (0.01, 0.1)
"""log"""
MOMENTUM = (0.0, 0.5)
DECAY = (0.999, 1.0)
AVERAGES = ("mean", "weighted", "fednova")
LOST = (0.0, 0.1, 0.2, 0.3)
ROUNDS = 150
EVALUATE_EVERY = 5
MOST_SAMPLES = 20_000
"""That a round of k clients of mean size may train on, epochs counted: a world that takes longer is drawn again."""
HELD = 55_000
"""Training samples of each task; a scheme that deals all of them leaves each client this over the clients."""


class Dice:
    """Draws one thing after the other: what comes out hangs on the seed and on the order of the questions."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def one(self, choices: tuple[Any, ...]) -> Any:
        return choices[int(self._rng.integers(len(choices)))]

    def whole(self, low: int, high: int, step: int = 1) -> int:
        return low + step * int(self._rng.integers((high - low) // step + 1))

    def real(self, low: float, high: float) -> float:
        return round(float(self._rng.uniform(low, high)), 2)

    def log(self, low: float, high: float) -> float:
        return float(f"{np.exp(self._rng.uniform(np.log(low), np.log(high))):.2g}")


@dataclass(frozen=True)
class Federation:
    """A partition, the mean size of its clients, and the classes that few of them own."""

    partition: str
    size: float
    rare: tuple[int, ...] = ()


def _dirichlet(dice: Dice, clients: int) -> Federation:
    alpha, samples = dice.log(0.05, 1.0), dice.whole(150, 400, 50)
    return Federation(f"dirichlet:clients={clients},alpha={alpha},samples={samples},reuse=true", samples)


def _balanced(dice: Dice, clients: int) -> Federation:
    return Federation(f"dirichlet-balanced:clients={clients},alpha={dice.log(0.1, 1.0)}", HELD / clients)


def _by_client(dice: Dice, clients: int) -> Federation:
    return Federation(f"client-dirichlet:clients={clients},alpha={dice.log(0.1, 1.0)}", HELD / clients)


def _layered(dice: Dice, clients: int) -> Federation:
    x_med, x_max, samples = dice.log(0.05, 0.4), dice.real(1.0, 6.0), dice.whole(150, 400, 50)
    return Federation(f"layered-dirichlet:clients={clients},x_med={x_med},x_max={x_max},samples={samples}", samples)


def _shards(dice: Dice, clients: int) -> Federation:
    return Federation(f"shards:clients={clients},each={dice.whole(1, 4)}", HELD / clients)


def _few_classes(dice: Dice, clients: int) -> Federation:
    each, ratio = dice.whole(1, 2), dice.one((1, 3))
    return Federation(f"one-two-class:clients={clients},each={each},ratio={ratio}", HELD / clients)


def _mavericks(dice: Dice, clients: int) -> Federation:
    count, kind = dice.whole(1, 4), dice.one(("exclusive", "shared"))
    owned = tuple(range(count if kind == "exclusive" else 1))
    return Federation(f"mavericks:clients={clients},count={count},kind={kind}", HELD / clients, owned)


FAMILIES: Mapping[str, Callable[[Dice, int], Federation]] = {
    "dirichlet": _dirichlet,
    "dirichlet-balanced": _balanced,
    "client-dirichlet": _by_client,
    "layered-dirichlet": _layered,
    "shards": _shards,
    "one-two-class": _few_classes,
    "mavericks": _mavericks,
}

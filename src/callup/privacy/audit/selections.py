"""What a server learns that sees no statistic at all, only who was available, who was picked and with what weight.

Fed-CBS seldom picks two clients of the same class together, so pairs that are picked together less often than chance
says are alike. No encryption touches this.
"""

from __future__ import annotations

import numpy as np

from callup.core.clients import Clients
from callup.core.randomness import stream
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round
from callup.core.verify import ask


def watched(
    selector: Selector, clients: Clients, classes: int, k: int, rounds: int, share: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """A log of selections without training: who was available, and how much each counts, (rounds, clients).

    0 is not picked, 1 an equal part.
    """
    n = len(clients)
    visible = clients.only(*selector.needs.names("profile"))
    selector.start(visible, Plan(k, rounds, classes), stream(seed, "audit", "start"))
    here, picked = np.zeros((rounds, n), bool), np.zeros((rounds, n))
    for index in range(1, rounds + 1):
        coins = stream(seed, "audit", "availability", index)
        rows = np.sort(coins.choice(n, max(round(share * n), 1), replace=False))
        now = Round(index, clients.ids[rows], visible, stream(seed, "audit", "select", index))
        chosen = ask(selector, now, k)
        selector.update(Feedback(index, chosen.ids, {}, visible))
        here[index - 1, rows] = True
        parts = np.ones(len(chosen.ids)) if chosen.weights is None else chosen.weights / np.mean(chosen.weights)
        picked[index - 1, clients.index.rows(chosen.ids)] = parts
    return here, picked


def likeness(here: np.ndarray, picked: np.ndarray) -> np.ndarray:
    """For each pair how much more seldom it was picked together than two clients that do not know of each other."""
    present = here.astype(np.float64)
    rate = picked.sum(axis=0) / np.maximum(present.sum(axis=0), 1.0)
    expected = (present.T @ present) * np.outer(rate, rate)
    return np.asarray((expected - picked.T @ picked) / np.sqrt(expected + 1e-9))


def auc(scores: np.ndarray, alike: np.ndarray) -> float:
    """The chance that a pair that is alike has a higher score than one that is not; a half is guessing.

    >>> auc(np.array([0.9, 0.2, 0.5]), np.array([True, False, False]))
    1.0
    """
    order, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    del order
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    yes, no = int(alike.sum()), int((~alike).sum())
    if not yes or not no:
        return 0.5
    return float((ranks[alike].sum() - yes * (yes + 1) / 2) / (yes * no))


def same_class_auc(here: np.ndarray, picked: np.ndarray, counts: np.ndarray) -> float:
    """How well the log tells whether two clients have the same most frequent class."""
    pairs = np.triu_indices(len(counts), 1)
    main = counts.argmax(axis=1)
    return auc(likeness(here, picked)[pairs], (main[:, None] == main[None, :])[pairs])

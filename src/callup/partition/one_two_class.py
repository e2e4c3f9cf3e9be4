"""One or two classes a client, on a balanced or an imbalanced whole: the opening figure of Fed-CBS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.core.errors import InputError, UsageError
from callup.core.types import check_k
from callup.partition.pools import by_class, deal, equal_hands, places
from callup.partition.scheme import PARTITIONS, Partition


@PARTITIONS.add("one-two-class", paper="Fed-CBS, Zhang et al., ICML 2023, Figure 1")
@dataclass(frozen=True)
class OneTwoClass(Partition):
    """Equal clients with one class each, or equal parts of two; the first half of the classes may occur more often.

    With a ratio above 1 the data is cut for twice as many clients and half of them are kept, so that the kept ones
    hold the first half of the classes `ratio` times as often. Which two classes meet in a client is random.

    Differs from the paper: it does not say how the two classes of a client are paired.
    """

    clients: int = 100
    each: Literal[1, 2] = 1
    """Classes for each client."""
    ratio: int = 1

    def __post_init__(self) -> None:
        check_k(self.clients, "one-two-class: clients")
        check_k(self.ratio, "one-two-class: ratio")
        if self.each not in (1, 2):
            raise UsageError(f"one-two-class: each must be 1 or 2 classes, got {self.each}")

    def assign(self, labels: np.ndarray, classes: int, rng: np.random.Generator) -> Sequence[np.ndarray]:
        holders = places(self.clients * self.each, classes, self.ratio, "one-two-class: clients times each")
        if holders.max() > self.clients:
            raise InputError(
                f"one-two-class: clients of two classes each cannot be had {self.ratio}:1 from {classes} classes"
            )
        made = holders if self.ratio == 1 else 2 * places(self.clients * self.each, classes, 1, "one-two-class: places")
        seats = np.repeat(np.arange(classes), holders)
        hands = seats[:, None] if self.each == 1 else pair(seats, rng)
        return deal(by_class(labels, classes, rng), equal_hands(labels, classes, hands, made))


def pair(seats: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The labels two by two in random order, never a label with itself; none may fill more than half of the seats."""
    hands = rng.permutation(seats).reshape(-1, 2)
    for twin in np.flatnonzero(hands[:, 0] == hands[:, 1]):
        label = hands[twin, 1]
        if hands[twin, 0] != label:
            continue  # an earlier exchange has already parted them
        # Others that do not hold this label: the two hands differ in themselves after the exchange. One always exists,
        # for the twin's two seats leave at most (hands - 2) seats of this label among (hands - 1) others.
        partner = rng.choice(np.flatnonzero((hands != label).all(axis=1)))
        hands[twin, 1], hands[partner, 1] = hands[partner, 1], label
    return hands

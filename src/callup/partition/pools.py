"""What the schemes share: samples of each class in random order, and dealing them out by a table of counts."""

from __future__ import annotations

import numpy as np

from callup.core.errors import InputError, UsageError


def by_class(labels: np.ndarray, classes: int, rng: np.random.Generator) -> list[np.ndarray]:
    """The rows of each class, shuffled."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    return np.split(order, np.cumsum(np.bincount(labels, minlength=classes))[:-1])


def deal(pools: list[np.ndarray], counts: np.ndarray) -> list[np.ndarray]:
    """Client i takes the next `counts[i, b]` rows of pool b, after clients 0 to i-1."""
    clients = np.arange(len(counts))
    rows = np.concatenate([pool[: counts[:, b].sum()] for b, pool in enumerate(pools)])
    owners = np.concatenate([np.repeat(clients, counts[:, b]) for b in range(len(pools))])
    rows = rows[np.argsort(owners, kind="stable")]
    return np.split(rows, np.cumsum(counts.sum(axis=1))[:-1])


def walk(pool: np.ndarray, length: int, rng: np.random.Generator) -> np.ndarray:
    """So many rows of a pool, walked round and round and reshuffled after each lap."""
    if length == 0:
        return pool[:0]
    laps = -(-length // len(pool))
    return np.concatenate([rng.permutation(pool) for _ in range(laps)])[:length]


def nobody_empty(counts: np.ndarray) -> np.ndarray:
    """The same table where each client without samples has been given one of the largest client's."""
    counts = counts.copy()
    sizes = counts.sum(axis=1)
    for client in np.flatnonzero(sizes == 0):
        donor = int(sizes.argmax())
        label = int(counts[donor].argmax())
        counts[donor, label] -= 1
        counts[client, label] += 1
        sizes[donor] -= 1
        sizes[client] += 1
    return counts


def places(total: int, classes: int, ratio: int, what: str) -> np.ndarray:
    """So many places over the classes, the first half of which get `ratio` times as many as the others.

    >>> places(120, 10, 3, "clients")
    array([18, 18, 18, 18, 18,  6,  6,  6,  6,  6])
    """
    favoured = (classes + 1) // 2
    shares = np.where(np.arange(classes) < favoured, ratio, 1)
    if total % shares.sum():
        raise UsageError(
            f"{what}: {total} cannot be split {ratio}:1 over {classes} classes; use a multiple of {shares.sum()}"
        )
    return np.asarray(shares * (total // shares.sum()))


def equal_hands(labels: np.ndarray, classes: int, hands: np.ndarray, made: np.ndarray | None = None) -> np.ndarray:
    """Counts for clients that hold the classes in their row of `hands`, the same number of samples of each.

    That number is the largest the data allows for `made[b]` parts of class b; by default as many as are dealt out.
    """
    parts = np.bincount(hands.ravel(), minlength=classes) if made is None else made
    totals = np.bincount(labels, minlength=classes)
    scarcest = int(np.argmin(totals / np.maximum(parts, 1)))
    part = int(totals[scarcest] // max(parts[scarcest], 1))
    if part == 0:
        raise InputError(
            f"class {scarcest} has {totals[scarcest]} samples for {parts[scarcest]} clients; use fewer clients"
        )
    counts = np.zeros((len(hands), classes), np.int64)
    np.add.at(counts, (np.arange(len(hands))[:, None], hands), part)
    return counts

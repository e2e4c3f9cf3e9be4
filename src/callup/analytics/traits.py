"""How each client differs from the target, as a vector: from label counts, from their inner products, or from updates.

A selector that asks only for lengths and inner products of these vectors cannot tell the first two apart.
"""

from __future__ import annotations

import numpy as np

from callup.core.randomness import stream

_SPARE = 3  # samples: noise of epsilon 1 is above that for one class in forty
_BLOCK = 65_536  # clients
_TINY = 1e-10  # of the largest diagonal entry: what is left of an exact Gram matrix after its rank is used up


def from_counts(counts: np.ndarray, target: np.ndarray, presence: float = np.inf) -> np.ndarray:
    """Label shares, evened out, less the target's; a client without samples differs in nothing.

    Evened out: a class counts in proportion to p / (p + presence u), u being its share in the target, so that having a
    little of it is much better than having none, and having a lot is little better than having enough. The target
    itself stays as it is, and so do clients of a single class. Of each class `_SPARE` samples do not count, unless
    nothing were left: nobody learns from so few, and counts with noise for privacy are so high where there is nothing.
    Infinite presence: shares as they are.
    """
    if np.isfinite(presence):
        counts = spared(counts)
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.tile(target, (len(counts), 1)), where=total > 0)
    if np.isfinite(presence):
        wanted = target > 0
        shares[:, wanted] *= target[wanted] / (shares[:, wanted] + presence * target[wanted])
        shares /= shares.sum(axis=1, keepdims=True)
    return np.asarray(shares - target)


def spared(counts: np.ndarray) -> np.ndarray:
    """Counts less `_SPARE` of each class; as they are where nothing were left."""
    left = np.maximum(counts - _SPARE, 0)
    return np.where(left.any(axis=1, keepdims=True), left, counts)


def spared_shares(counts: np.ndarray) -> np.ndarray:
    """Label shares of `spared` counts; zeros for a client without samples."""
    counts = spared(counts)
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def spared_sums(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Over clients, of `spared_shares` and of their squares: some at a time, so that a million make no copy."""
    sums, squares = np.zeros(counts.shape[1]), np.zeros(counts.shape[1])
    for begin in range(0, len(counts), _BLOCK):
        shares = spared_shares(counts[begin : begin + _BLOCK])
        sums, squares = sums + shares.sum(axis=0), squares + np.square(shares).sum(axis=0)
    return sums, squares


def from_gram(gram: np.ndarray, sizes: np.ndarray, classes: int, pooled: bool) -> np.ndarray:
    """Vectors with the inner products of label shares less the target, which is uniform or all clients' pooled shares.

    |p_i - u|^2 and its kin need only p_i . p_j - 1/B, as p . u = 1/B for any shares. Pooled shares are a mean of the
    clients' by size, so vectors with the inner products of the shares themselves are centred at that mean.
    """
    held = sizes > 0
    scale = np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=held)
    products = gram * scale[:, None] * scale
    if not pooled:
        products = products - np.outer(held, held) / classes
    vectors = pivoted_cholesky(products, classes)
    if pooled and held.any():
        vectors[held] -= sizes @ vectors / sizes.sum()
    return vectors


def pivoted_cholesky(products: np.ndarray, rank: int) -> np.ndarray:
    """Rows whose inner products are the matrix, if that has at most this rank; else the best greedy approximation.

    O(N rank^2), where an eigendecomposition takes O(N^3).
    """
    left = np.maximum(np.diagonal(products), 0.0)
    least = _TINY * max(float(left.max(initial=0.0)), 1e-300)
    columns = np.zeros((len(products), rank))
    for at in range(min(rank, len(products))):
        pivot = int(left.argmax())
        if left[pivot] <= least:
            break
        column = (products[:, pivot] - columns[:, :at] @ columns[pivot, :at]) / np.sqrt(left[pivot])
        columns[:, at] = column
        left = np.maximum(left - column**2, 0.0)
        left[pivot] = 0.0
    return columns


def sketches(updates: np.ndarray, length: int) -> np.ndarray:
    """Updates folded into `length` numbers with random signs, the same for everybody, so that inner products stay.

    Charikar, Chen, Farach-Colton, 2002: each product is right on average, and off by about |x||y| / sqrt(length).
    """
    rng = stream(0, "sketch", updates.shape[1], length)
    bucket = rng.integers(length, size=updates.shape[1])
    signs = rng.integers(2, size=updates.shape[1]) * 2.0 - 1
    return np.stack([np.bincount(bucket, row * signs, length) for row in updates.astype(np.float64)])


def from_updates(sketched: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """How far each of one round's updates lies from their weighted mean, in units of a typical update's length."""
    typical = np.sqrt(np.square(sketched).sum(axis=1).mean())
    apart = sketched - weights @ sketched / weights.sum()
    return np.asarray(apart / typical if typical > 0 else apart)

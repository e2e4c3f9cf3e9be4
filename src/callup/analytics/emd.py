"""Earth mover's distance between label distributions, under each reading of FedEMD's text."""

from __future__ import annotations

from typing import Literal

import numpy as np

Metric = Literal["tv", "l1", "ordinal", "sorted_counts"]
Norm = Literal["none", "minmax", "ref_class"]


def distances(
    target: np.ndarray, counts: np.ndarray, metric: Metric = "tv", norm: Norm = "none", reference: int = 0
) -> np.ndarray:
    """The distance from one row of class counts to each client's, (B,), (N, B) -> (N,).

    tv: half the summed difference of label shares, which is the EMD when all classes are equally far apart.
    l1: twice that (Zhao et al., 2018). ordinal: the EMD along the class index. sorted_counts: the mean difference
    of the sorted counts, each client's in units of its own count of the class `reference`.

    minmax: scaled over the clients to 0..1. ref_class: the formula printed in the paper, distances of raw counts
    divided by the clients' mean count of the class `reference`.

    >>> distances(np.array([6, 6]), np.array([[4, 0], [2, 2]]))
    array([0.5, 0. ])
    """
    target, counts = np.asarray(target, np.float64), np.asarray(counts, np.float64)
    if len(counts) == 0:
        return np.zeros(0)
    if norm == "ref_class":
        return _between(target, counts, metric) / max(float(counts[:, reference].mean()), 1.0)
    if metric == "sorted_counts":
        far = _between(target / max(target[reference], 1.0), counts / np.maximum(counts[:, [reference]], 1.0), metric)
    else:
        far = _between(_shares(target), _shares(counts), metric)
    return _scaled(far) if norm == "minmax" else far


def _shares(counts: np.ndarray) -> np.ndarray:
    """Counts as shares of their total; all zero where there is no sample."""
    totals = counts.sum(axis=-1, keepdims=True)
    return counts / np.where(totals > 0, totals, 1.0)


def _between(p: np.ndarray, q: np.ndarray, metric: Metric) -> np.ndarray:
    if metric == "tv":
        return np.asarray(np.abs(q - p).sum(axis=1) / 2)
    if metric == "l1":
        return np.asarray(np.abs(q - p).sum(axis=1))
    if metric == "ordinal":
        return np.asarray(np.abs(np.cumsum(q - p, axis=1)).sum(axis=1))
    return np.asarray(np.abs(np.sort(q, axis=1) - np.sort(p)).mean(axis=1))


def _scaled(far: np.ndarray) -> np.ndarray:
    """From 0 for the nearest to 1 for the farthest; 0 for all when all are equally far."""
    span = float(np.ptp(far))
    return (far - far.min()) / span if span > 0 else np.zeros_like(far)

"""How far label distributions lie apart, from inner products of label counts alone: nobody's counts are needed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from callup.core.clients import Clients

Products = Callable[[np.ndarray], np.ndarray]
"""From a weight for each client to S times the weights: each client's inner product with the weighted sum."""


def products_of(clients: Clients) -> tuple[np.ndarray, Products]:
    """S[n,n] of each client and the products, from label_gram or, without the N x N matrix, from label_counts."""
    if "label_counts" in clients:
        counts = clients.all("label_counts")
        own = clients.derived("squares of label_counts", lambda: np.square(counts).sum(axis=1))
        return own, lambda weights: np.asarray(counts @ (counts.T @ weights))
    gram = clients.all("label_gram")
    return np.diagonal(gram), lambda weights: np.asarray(gram @ weights)


def l2_to_pool(own: np.ndarray, products: Products, sizes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The distance of each client's label shares from those of a pool in which client m counts `weights[m]` times.

    With P_n = D_n / q_n, G = sum_m w_m D_m and Q = sum_m w_m q_m:

        || P_n - G / Q ||^2 = S[n,n] / q_n^2 - 2 (S w)[n] / (q_n Q) + w^T S w / Q^2

    NaN for clients without samples; 0 for all when the pool is empty.
    """
    total = float(sizes @ weights)
    if total <= 0:
        return np.zeros(len(sizes))
    with np.errstate(divide="ignore", invalid="ignore"):
        towards = products(weights)
        square = own / sizes**2 - 2 * towards / (sizes * total) + (weights @ towards) / total**2
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))  # rounding may leave it just below zero

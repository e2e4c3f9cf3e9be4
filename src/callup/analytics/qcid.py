"""QCID: how far the pooled labels of a group are from balance; 0 when every class has the same share.

Quadratic Class-Imbalance Degree, Zhang et al., Fed-CBS, ICML 2023, Section 3.1.
"""

from __future__ import annotations

import numpy as np

from callup.core.errors import InputError


def qcid(counts: np.ndarray) -> float:
    """Imbalance of one group from its members' class counts, (m, B), or from their sum, (B,); NaN with no sample.

    >>> round(qcid(np.array([[5, 0], [0, 15]])), 6)
    0.125
    """
    table = np.asarray(counts, np.float64)
    if table.ndim not in (1, 2) or table.shape[-1] == 0:
        raise InputError(f"class counts must have shape (clients, classes) or (classes,), got {table.shape}")
    return float(qcid_each(table.reshape(-1, table.shape[-1]).sum(axis=0)[None])[0])


def qcid_each(counts: np.ndarray) -> np.ndarray:
    """Imbalance of each row of class counts on its own, (N, B) -> (N,); NaN for a row without samples."""
    table = np.asarray(counts, np.float64)
    if table.ndim != 2 or table.shape[1] == 0:
        raise InputError(f"class counts must have shape (clients, classes), got {table.shape}")
    sizes = table.sum(axis=1)
    shares = np.full(table.shape, np.nan)
    np.divide(table, sizes[:, None], out=shares, where=sizes[:, None] > 0)
    # QCID(M) = sum_b (share of class b in the pooled data - 1/B)^2
    return np.asarray(((shares - 1.0 / table.shape[1]) ** 2).sum(axis=1))


def qcid_from_gram(gram: np.ndarray, sizes: np.ndarray, classes: int) -> float:
    """The same from the members' inner products of class counts alone, (m, m); nobody's counts are seen.

    Theorem 3.1: QCID(M) = sum_{n,n' in M} q_n q_n' <p_n, p_n'> / (sum_{n in M} q_n)^2 - 1/B. The server's matrix
    S[n, n'] = q_n q_n' <p_n, p_n'> carries the sizes q, so it is the inner product of raw counts.
    """
    block, sizes = np.asarray(gram, np.float64), np.asarray(sizes, np.float64)
    if block.shape != (len(sizes), len(sizes)):
        raise InputError(f"the inner products of {len(sizes)} clients must be a square block, got {block.shape}")
    total = float(sizes.sum())
    # Rounding may leave a perfectly balanced group just below zero.
    return max(float(block.sum()) / total**2 - 1.0 / classes, 0.0) if total > 0 else float("nan")


def expected_qcid_single_class(class_clients: np.ndarray, n: int) -> float:
    """Mean QCID of n clients drawn uniformly from equal-size clients of one class each, in closed form.

    `class_clients[b]` is how many of the N clients hold class b. With p their shares, the number of chosen clients of
    class b is hypergeometric, so E = sum_b p_b^2 - 1/B + (1 - sum_b p_b^2)/n * (N - n)/(N - 1).
    """
    holders = np.asarray(class_clients, np.float64)
    everyone = float(holders.sum())
    if not 1 <= n <= everyone:
        raise InputError(f"cannot draw {n} of {everyone:g} clients")
    squares = float(((holders / everyone) ** 2).sum())
    spread = (1.0 - squares) / n * (everyone - n) / (everyone - 1) if n < everyone else 0.0
    return squares - 1.0 / len(holders) + spread

"""Claimed labels against what training shows: the output biases rise for the classes a client holds.

The gradient of the cross-entropy by the bias of class b is the predicted share of b less the held share. So a client
that claims mostly class b and whose bias of b falls does not hold what it claims. The check speaks only where it is
known to work: while most clients' updates agree with their claims.
"""

from __future__ import annotations

import numpy as np

_SKEWED = 0.2  # total variation from equal shares: below it a histogram claims nothing that could be contradicted


def agreement(counts: np.ndarray, bias_updates: np.ndarray) -> np.ndarray:
    """The correlation of each client's claimed shares with its change of the output biases; NaN where it says nothing.

    >>> agreement(np.array([[9.0, 1.0, 0.0], [5.0, 5.0, 5.0]]), np.array([[0.5, 0.0, -0.5], [0.5, 0.0, -0.5]])).round(2)
    array([0.91,  nan])
    """
    total = counts.sum(axis=1, keepdims=True)
    shares = counts / np.where(total > 0, total, 1.0)
    classes = counts.shape[1]
    skewed = (0.5 * np.abs(shares - 1 / classes).sum(axis=1) >= _SKEWED) & (total[:, 0] > 0)
    claim = shares - shares.mean(axis=1, keepdims=True)
    moved = bias_updates - bias_updates.mean(axis=1, keepdims=True)
    size = np.sqrt((claim**2).sum(axis=1) * (moved**2).sum(axis=1))
    tells = skewed & (size > 0)
    return np.where(tells, (claim * moved).sum(axis=1) / np.where(tells, size, 1.0), np.nan)


def contradicted(found: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """A mask: whose update contradicts its claim, given the agreement last seen of everybody.

    At least ten clients must have been seen. Where their median is 0.8 or more, below 0.2 is a contradiction; honest
    clients with Dirichlet labels were seen at 0.37 or more. From 0.5 it takes -0.3, below that the check is silent.
    """
    seen = usual[~np.isnan(usual)]
    middle = float(np.median(seen)) if len(seen) >= 10 else 0.0
    limit = 0.2 if middle >= 0.8 else -0.3 if middle >= 0.5 else -np.inf
    return np.asarray(np.nan_to_num(found, nan=1.0) < limit)

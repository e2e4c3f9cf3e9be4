"""Utility: how much a client, and a set of clients, can still teach the model.

Cao et al., NCCB, Eq. 2 and 3; the form for one client is that of Oort, Lai et al., OSDI 2021.
"""

from __future__ import annotations

import numpy as np

from callup.core.errors import InputError


def client_utility(num_examples: np.ndarray, loss_rms: np.ndarray) -> np.ndarray:
    """Eq. 2: U(i) = |D_i| sqrt(1/|D_i| sum_d loss(d)^2), from each client's size and root mean square loss.

    >>> client_utility(np.array([10, 4]), np.array([0.5, 2.0]))
    array([5., 8.])
    """
    sizes, losses = np.asarray(num_examples, np.float64), np.asarray(loss_rms, np.float64)
    for name, values in (("num_examples", sizes), ("loss_rms", losses)):
        if not (np.isfinite(values) & (values >= 0)).all():
            raise InputError(f"{name} must be finite and not negative")
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(sizes * losses, np.finfo(np.float64).max))


def sample_utility(losses: np.ndarray) -> float:
    """Eq. 2 from the loss of every sample of one client; 0 without samples.

    >>> sample_utility(np.array([3.0, 4.0]))  # 2 * sqrt(25 / 2)
    7.0710678118654755
    """
    each = np.asarray(losses, np.float64)
    return float(np.sqrt(each.size) * np.sqrt(np.square(each).sum()))


def set_utility(utilities: np.ndarray) -> float:
    """Eq. 3: U(B) = sqrt(sum_{i in B} U(i)^2); one client more adds less, the more there are.

    >>> set_utility(np.array([3.0, 4.0]))
    5.0
    """
    each = np.asarray(utilities, np.float64)
    largest = float(each.max(initial=0.0))
    return largest * float(np.sqrt(np.square(each / largest).sum())) if largest else 0.0


def best_set_utility(utilities: np.ndarray, size: int) -> float:
    """The highest utility of any set of at most `size` of these clients: that of those with the highest U(i)."""
    if size < 0:
        raise InputError(f"a set cannot have {size} clients")
    every = np.sort(np.asarray(utilities, np.float64))
    return set_utility(every[len(every) - min(size, len(every)) :])


def standardised(utilities: np.ndarray) -> np.ndarray:
    """Utilities with mean 0 and deviation 1; zeros when all are equal.

    >>> standardised(np.array([1.0, 3.0, 1.0, 3.0]))
    array([-1.,  1., -1.,  1.])
    """
    each = np.asarray(utilities, np.float64)
    largest = float(each.max(initial=0.0))
    shares = each / largest if largest else each  # the squares of enormous numbers leave the range of float64
    deviation = float(shares.std()) if len(shares) else 0.0
    return np.asarray((shares - shares.mean()) / deviation) if deviation else np.zeros(len(each))

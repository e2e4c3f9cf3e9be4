"""How well the model does on each class, told by the losses of clients: whoever has much of a class speaks for it."""

from __future__ import annotations

import numpy as np

from callup.analytics.traits import spared_sums
from callup.core.clients import Clients

_SPAN = 2.0  # a class counts for no more than twice and no less than half as hard as the others


def hardness(shares: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """The loss of each class, relative to the mean over classes, from 1/2 to 2; 1 for a class that nobody speaks for.

    A class has the mean of the clients' losses, each counting by its share of the class. A class of one owner has that
    owner's; one that everybody has a part of has next to everybody's mean, and is neither hard nor easy.
    """
    voices = shares.sum(axis=0)
    heard = voices > 0
    means = np.divide(losses @ shares, voices, out=np.zeros(len(voices)), where=heard)
    usual = float(means[heard].mean()) if heard.any() else 0.0
    if usual <= 0:
        return np.ones(len(voices))
    return np.where(heard, np.clip(means / usual, 1 / _SPAN, _SPAN), 1.0)


def owners(counts: np.ndarray) -> np.ndarray:
    """How many clients a class is spread over: n where n have equal shares of it and others none; inf for nobody's.

    From label counts.
    """
    sums, squares = spared_sums(counts)
    return np.asarray(np.divide(sums**2, squares, out=np.full(len(sums), np.inf), where=sums > 0))


def owners_among(clients: Clients) -> np.ndarray:
    """`owners` by the label counts of all clients, worked out once."""
    return np.asarray(clients.derived("owners", lambda: owners(clients.all("label_counts"))))


def fair_target(target: np.ndarray, hardness: np.ndarray, power: np.ndarray | float) -> np.ndarray:
    """Shares that go down the gradient of sum u_b loss_b^(1+q), instead of sum u_b loss_b: u_b loss_b^q, scaled to 1.

    Li, Sanjabi, Beirami, Smith, ICLR 2020, over classes instead of clients; each class may have a q of its own.
    """
    wanted = target * hardness**power
    return np.asarray(wanted / wanted.sum())

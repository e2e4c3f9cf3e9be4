"""How many clients to ask so that enough of them answer: drop-out is a coin tossed by each client."""

from __future__ import annotations

import math

from callup.core.errors import UsageError
from callup.core.types import check_k


def smallest_ask(k: int, dropout: float, confidence: float = 0.99) -> int:
    """The smallest n for which at least k of n clients reply with the given confidence.

    Each client is lost with chance `dropout`, on its own: P(Binomial(n, 1 - dropout) >= k) >= confidence.
    """
    k = check_k(k)
    _check_chance("dropout", dropout)
    if not 0 < confidence < 1:
        raise UsageError(f"confidence must be above 0 and below 1, got {confidence}")
    if dropout == 0:
        return k
    # The chance that the k-th reply comes from the n-th client asked, for n = k, k + 1, ...; it is summed up.
    # In logarithms, for (1 - dropout)**k alone may be too small for a float.
    log_chance, enough, n = k * math.log1p(-dropout), 0.0, k
    while True:
        enough += math.exp(log_chance)
        if enough >= confidence:
            return n
        log_chance += math.log(dropout) + math.log(n / (n - k + 1))
        n += 1


_PRIOR_LOST, _PRIOR_ASKED, _CAUTION = 3.0, 10.0, 1.645


def cautious_dropout(lost: float, asked: float) -> float:
    """The drop-out to reckon with after `lost` of `asked` clients did not reply: a bound it is below 19 times in 20.

    The mean of a Beta(3, 7) belief brought up to date, and 1.645 of its standard deviations: the first rounds ask
    generously, and as replies come in the bound closes on the true rate. Counts may be faded, to follow a change.

    >>> round(cautious_dropout(0, 0), 2), round(cautious_dropout(100, 1000), 3)
    (0.53, 0.118)
    """
    if not 0 <= lost <= asked:
        raise UsageError(f"of {asked:g} clients asked {lost:g} cannot have been lost")
    weight = asked + _PRIOR_ASKED
    mean = (lost + _PRIOR_LOST) / weight
    return min(mean + _CAUTION * math.sqrt(mean * (1 - mean) / (weight + 1)), 0.99)


def _check_chance(name: str, value: float) -> None:
    if not 0 <= value < 1:
        raise UsageError(f"{name} must be a chance from 0 to below 1, got {value}")

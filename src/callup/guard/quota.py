"""The rate cap: nobody is called much more often than its fair share, whatever it reports.

A fair turn is one place divided by everybody online; over a run the turns of all clients add up to the places there
were. With a cap of c a client may be called c times for each fair turn it has had, so that a share f of clients,
whatever they say, gets at most c f of the places.
"""

from __future__ import annotations

import numpy as np

_SETTLED = 8.0  # fair turns after which the limit is strict
ADVANCE = 3  # calls that anybody may have at first: rare data is wanted early, and two turns make up for it
ADVANCE_OF_THE_MOST = 10  # calls that the most wanted may have at first out of a purse, if there is one


def fair_turn(k: int, online: int) -> float:
    """What one round adds to the turns of each client that is online."""
    return min(k, online) / online if online else 0.0


def allowance(turns: np.ndarray, luck: np.ndarray, cap: float, advance: int = ADVANCE) -> np.ndarray:
    """How often clients with these fair turns may have been called, this round included; whole numbers.

    Some calls, three as a rule, are allowed in advance. `luck`, a number from 0 to 1 that each client keeps, rounds c E
    up or down, so that limits do not rise for everyone in the same round; its mean is c E. By and by one call is held
    back, and after eight fair turns the limit is never above c E, where that is more than the advance.

    >>> allowance(np.array([0.2, 3.0, 10.0]), np.array([0.5, 0.5, 0.5]), cap=1.5)
    array([ 3.,  4., 14.])
    """
    held_back = np.minimum(1.0, turns / _SETTLED)
    return np.asarray(np.maximum(advance, np.floor(luck + cap * turns - held_back)))

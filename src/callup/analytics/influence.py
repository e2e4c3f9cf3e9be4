"""Influence: what would be missing if one player had stayed away."""

from __future__ import annotations

import numpy as np

from callup.analytics.game import Game


def leave_one_out(game: Game) -> np.ndarray:
    """Inf_k = v(everyone) - v(everyone but k): positive is helpful; n + 1 evaluations.

    With v = -loss this is the loss without k less the loss with k. FedEMD prints the difference the other way round
    in its Eq. 6, where helpful is negative.

    >>> leave_one_out(Game(2, lambda group: {0: 0.0, 1: 5.0, 2: 7.0}[len(group)]))
    array([2., 2.])
    """
    everyone = range(game.players)
    return np.array([game(everyone) - game(set(everyone) - {k}) for k in everyone])

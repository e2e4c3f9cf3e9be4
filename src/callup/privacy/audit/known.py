"""What a selector that knows the counts of a few clients, its own say, learns of all others."""

from __future__ import annotations

import numpy as np

from callup.privacy.audit.reconstruct import Guess
from callup.privacy.audit.score import named


def with_known(guess: Guess, gram: np.ndarray, sizes: np.ndarray, known: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Everybody's counts with true class names, from inner products and the counts of the clients in rows `known`.

    S[n,k] = <a_n, a_k> is a linear equation on a_n for each known client, and sum_b a_n[b] = q_n another. B of them
    that do not depend on each other give a_n whatever the data; fewer still name the classes of the blind guess.
    """
    classes = guess.counts.shape[1]
    equations = np.vstack([counts, np.ones(classes)]).astype(np.float64)
    if np.linalg.matrix_rank(equations) == classes:
        sides = np.vstack([gram[known].astype(np.float64), sizes])
        solved = np.linalg.lstsq(equations, sides, rcond=None)[0].T
        return np.asarray(np.rint(np.maximum(solved, 0.0)), np.int64)
    truth = np.zeros_like(guess.counts)
    truth[known] = counts
    return named(guess.counts, truth, known)

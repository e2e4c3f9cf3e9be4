"""The most even client sizes under which given label mixes add up to given class totals."""

from __future__ import annotations

import numpy as np

_STEPS = 100
_CLOSE = 1e-10


def min_norm_sizes(mixes: np.ndarray, totals: np.ndarray) -> np.ndarray | None:
    """Solves min ||x||^2 subject to sum_i x_i mixes[i] = totals and x >= 0; None where no such x exists.

    By duality x = max(0, mixes @ y) for one multiplier y_b per class, which minimises the convex, piecewise quadratic
    ||max(0, mixes @ y)||^2 / 2 - totals . y. Newton's method with backtracking on these few unknowns ends in a handful
    of steps. Each mix adds up to 1.
    """
    scale = totals.sum() / len(mixes)
    goal = totals / scale

    def height(y: np.ndarray) -> float:
        return float(0.5 * (np.maximum(mixes @ y, 0.0) ** 2).sum() - goal @ y)

    y = np.ones(len(goal))
    for _ in range(_STEPS):
        x = np.maximum(mixes @ y, 0.0)
        gap = mixes.T @ x - goal
        if np.abs(gap).max() <= _CLOSE * goal.max():
            return np.asarray(x * scale)
        active = mixes[x > 0]
        curvature = active.T @ active
        # A whisper on the diagonal keeps the system solvable where no active client holds some class.
        curvature[np.diag_indices_from(curvature)] += 1e-12 * (1.0 + np.trace(curvature))
        step = -np.linalg.solve(curvature, gap)
        # A goal within reach is an average of mixes; this one lies further out in some direction than all of them.
        if goal @ step > len(mixes) * (mixes @ step).max() + 1e-9 * np.abs(step).max():
            return None
        length, slope, here = 1.0, float(gap @ step), height(y)
        rounding = 1e-13 * abs(here)  # near the solution the fall is smaller than what float64 can show
        while height(y + length * step) > here + 1e-4 * length * slope + rounding and length > 1e-12:
            length /= 2
        y = y + length * step
    return None

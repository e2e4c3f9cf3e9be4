"""FedACS without showing a gradient: each client works out its own score from the cohort's mean.

The mean is what secure aggregation gives to all. A client compares its own vector with it and reports one number.
"""

from __future__ import annotations

import numpy as np

from callup.core.errors import InputError, UsageError
from callup.privacy.modes import check_epsilon
from callup.privacy.release import AddNoise, opendp_laplace

_STEPS = 1000


def own_skewness(vector: np.ndarray, mean: np.ndarray) -> float:
    """||g_i - mean g||, at the client; FedACS's reward is minus this."""
    own, everyone = np.asarray(vector, np.float64), np.asarray(mean, np.float64)
    if own.shape != everyone.shape or own.ndim != 1:
        raise InputError(f"a gradient of {own.shape} cannot be compared with a mean of {everyone.shape}")
    far = float(np.linalg.norm(own - everyone))
    if not np.isfinite(far):
        raise InputError("the distance of this gradient from the mean is not a finite number; nothing is reported")
    return far


def report(skewness: float, clip: float, epsilon: float | None = None, add: AddNoise = opendp_laplace) -> float:
    """What the client says: its skewness clipped to `clip`, in steps of a thousandth of it, with or without noise.

    epsilon: of this one report, whatever the client's data; over T rounds in which it takes part it is T epsilon.
    """
    if not 0 < clip < np.inf:
        raise UsageError(f"clip must be above 0 and finite, got {clip:g}")
    step = round(min(skewness, clip) / clip * _STEPS)
    if epsilon is not None:
        # Any data may become any other: a report may move over all of its range.
        step = int(add(np.array([step]), _STEPS / check_epsilon(epsilon))[0])
    return min(max(step, 0), _STEPS) * clip / _STEPS

"""How the reward network learns: gradient descent on its misses, held back to where it began.

Zhou, Li, Gu, ICML 2020, and Cao et al., NCCB, Eq. 10.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from callup.analytics.reward_net import RewardNet

_SLOWEST = 1e-4  # when a step lowers the loss by less than this share, training is over


class Observed(NamedTuple):
    """Contexts, the mean reward seen with each, and how often it was seen."""

    x: np.ndarray
    reward: np.ndarray
    times: np.ndarray


def loss(
    net: RewardNet, theta: np.ndarray, start: np.ndarray, seen: Observed, ridge: float
) -> tuple[float, np.ndarray]:
    """Eq. 10 and its gradient: 1/2 sum (f - r)^2 + 1/2 w ridge |theta - theta_0|^2.

    A context seen n times with mean reward r counts n times: the sum over all observations is the same but for a
    constant, so the gradient is exact.
    """
    value, (inputs, slopes) = net.factors(theta, seen.x)
    miss, moved = value - seen.reward, theta - start
    pull = net.width * ridge
    gradient = pull * moved
    push = (seen.times * miss)[:, None]
    for slope, received, part in zip(slopes, inputs, net.matrices(gradient), strict=True):
        part += (slope * push).T @ received
    return 0.5 * float(seen.times @ miss**2) + 0.5 * pull * float(moved @ moved), gradient


def fit(
    net: RewardNet,
    theta: np.ndarray,
    start: np.ndarray,
    seen: Observed,
    *,
    ridge: float,
    rate: float,
    steps: int,
) -> np.ndarray:
    """theta after at most so many steps, each on all observations.

    A step goes rate / (number of observations) times the gradient; when the loss would rise it is not taken, and all
    later ones are half as long. So training cannot diverge, whatever the width and the rate.
    """
    step = rate / float(seen.times.sum())
    with np.errstate(over="ignore", invalid="ignore"):  # a step out of the range of float64 is one of those not taken
        now, slope = loss(net, theta, start, seen, ridge)
        for _ in range(steps):
            trial = theta - step * slope
            then, slope_then = loss(net, trial, start, seen, ridge)
            if not then <= now:
                step /= 2
                continue
            slow = now - then <= _SLOWEST * now
            theta, now, slope = trial, then, slope_then
            if slow:
                break
    return theta

"""Which sets of models may have the highest likelihood: all of them scored at once, in single precision.

The exponential of a mean of logits is a product, exp(sum_S x / |S|) = prod_S exp(x / |S|). So the models are split into
two halves, products are taken within each half, and a set of all models costs one product of its two parts.
"""

from __future__ import annotations

import numpy as np

MOST = 80.0
"""Logits up to this far above the label's: e^80 is within the range of single precision, and so are sums of it."""
_ERROR = 2.0**-15  # of a mean of logarithms: 80 and its roundings in single precision, several times over
_AT_A_TIME = 10_000  # logits of a model, so that the products of a half stay in the cache
_FEWEST = 64  # samples at a time: with fewer there are too many small sums


def contenders(parts: np.ndarray) -> np.ndarray:
    """For every set of models, as bits of its number, whether its mean log likelihood may be the highest.

    parts: (models, classes, samples), logits less the label's; none above `MOST`.
    """
    models, classes, samples = parts.shape
    few = max(_AT_A_TIME // classes, _FEWEST)
    half = models // 2
    in_first, in_second = _sizes(half), _sizes(models - half)
    losses = np.zeros((2 ** (models - half), 2**half))
    for begin in range(0, samples, few):
        some = np.ascontiguousarray(parts[:, :, begin : begin + few], np.float32)
        for size in range(1, models + 1):
            factors = np.exp(some / np.float32(size))
            with np.errstate(over="ignore", invalid="ignore"):  # in sets of more than `size`, which nobody asks for
                first, second = _products(factors[:half]), _products(factors[half:])
            for part, members in enumerate(in_first):
                others = np.flatnonzero(in_second == size - members)
                sums = np.einsum("cn,bcn->bn", first[part], second[others])
                losses[others, part] += np.log(sums).sum(axis=1, dtype=np.float64)
    losses[0, 0] = np.inf  # nobody is no set
    return np.asarray((losses <= losses.min() + 2 * _ERROR * samples).ravel())


def _sizes(models: int) -> np.ndarray:
    return np.array([number.bit_count() for number in range(2**models)])


def _products(factors: np.ndarray) -> np.ndarray:
    """For every set of these models, as bits of its number, the product of its factors."""
    found = np.ones((2 ** len(factors), *factors.shape[1:]), np.float32)
    for row, factor in enumerate(factors):
        np.multiply(found[: 2**row], factor, out=found[2**row : 2 ** (row + 1)])
    return found

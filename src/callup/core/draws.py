"""Ordering and weighted draws that give the same cohort on every machine.

Scores are float64 and rounded before they are ordered; ties are broken by random numbers, never by position.
"""

from __future__ import annotations

import numpy as np

from callup.core.errors import ContractError
from callup.core.randomness import client_uniforms

_BITS = 36  # of the 53 in a float64: room for the last bits in which BLAS kernels and CPUs differ


def quantised(scores: np.ndarray) -> np.ndarray:
    """Scores rounded to 36 significant bits."""
    mantissa, exponent = np.frexp(np.asarray(scores, np.float64))
    with np.errstate(over="ignore"):  # the very largest floats round up to inf and stay the largest
        return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, _BITS)), exponent - _BITS))


def top(ids: np.ndarray, scores: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """The k ids of the highest scores, best first, ties in random order."""
    tie = client_uniforms(rng, ids)
    keys = quantised(scores)
    if np.isnan(keys).any():
        # NaN has no place in an order: where it lands depends on k and on the sorting routine.
        raise ContractError(f"the score of client {ids[np.isnan(keys)][0]} is not a number; use -inf for 'last'")
    if k < len(ids) // 4:
        # Everything at or above the k-th score; argpartition's own order among ties is never used.
        border = np.partition(keys, len(keys) - k)[len(keys) - k] if k else np.inf
        rows = np.flatnonzero(keys >= border)
    else:
        rows = np.arange(len(ids))
    order = np.lexsort((tie[rows], -keys[rows]))
    return np.asarray(ids[rows[order[:k]]])


def weighted(ids: np.ndarray, log_weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """k distinct ids drawn one after the other in proportion to exp(log_weights), in the order drawn.

    Gumbel keys in log space, the same law as sequential draws with renormalisation. Clients of weight zero come
    only after all others, in uniform order, so that k clients are named whenever k exist.
    """
    gumbel = -np.log(-np.log(client_uniforms(rng, ids)))
    keys = np.asarray(log_weights, np.float64) + gumbel
    # -inf is a weight of zero: top() puts those last and orders them at random.
    return top(ids, keys, k, rng)


def uniform(ids: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """k distinct ids, each set and each order equally likely."""
    return top(ids, client_uniforms(rng, ids), k, rng)

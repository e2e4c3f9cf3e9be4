"""Vectors, sizes and bounds that a person supplies for an analysis: checked, and refused in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from callup.core.errors import InputError
from callup.core.index import Ids, as_ids

Table = np.ndarray | Sequence[Sequence[float]] | Sequence[np.ndarray]
Numbers = np.ndarray | Sequence[float]

_LARGEST = 1e150  # squares and their sums still fit into float64


def vectors_of(table: Table, ids: Iterable[int] | np.ndarray | None, what: str = "insights") -> tuple[np.ndarray, Ids]:
    """One finite vector for each of at least two clients, and their ids, which are 0, 1, 2, ... unless given."""
    try:
        vectors = np.asarray(table)
    except ValueError as error:
        raise InputError(f"{what} must be vectors of one length, one for each client") from error
    if vectors.dtype.kind not in "iuf" or vectors.ndim != 2 or vectors.shape[1] == 0:
        raise InputError(
            f"{what} must be numbers of shape (clients, length of a vector), got {vectors.dtype} of {vectors.shape}"
        )
    n = len(vectors)
    if n < 2:
        raise InputError(f"clients are compared with each other: {what} of at least two are needed, got {n}")
    names = np.arange(n) if ids is None else as_ids(ids)
    if len(names) != n:
        raise InputError(f"{what} of {n} clients need {n} ids, got {len(names)}")
    values, counts = np.unique(names, return_counts=True)
    if len(values) != n:
        raise InputError(f"client {values[counts > 1][0]} is listed twice")
    largest = np.abs(vectors).max(axis=1).astype(np.float64)
    _refuse(what, largest, ~(largest < _LARGEST), f"finite numbers below {_LARGEST:g} in size", names)
    return vectors, names


def sizes_of(sizes: Numbers, ids: Ids) -> np.ndarray:
    """How many samples each client holds: above 0."""
    samples = np.asarray(sizes)
    if samples.dtype.kind not in "iuf" or samples.shape != ids.shape:
        raise InputError(f"sizes must be {len(ids)} numbers, one for each client, got shape {samples.shape}")
    _refuse("size", samples, ~((samples > 0) & (samples < _LARGEST)), "a finite number above 0", ids)
    return samples.astype(np.float64)


def bounds_of(bounds: tuple[float, float], vectors: np.ndarray, ids: Ids) -> tuple[float, float]:
    """The interval every sample's numbers lie in, and so the means of them."""
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError) as error:
        raise InputError(f"bounds must be two numbers, a_min and b_max, got {bounds!r}") from error
    if not -_LARGEST < low < high < _LARGEST:
        raise InputError(f"bounds must be finite with a_min below b_max, got {low:g} and {high:g}")
    slack = 1e-6 * (high - low)  # float32 means of values on the border
    for ends in (vectors.min(axis=1).astype(np.float64), vectors.max(axis=1).astype(np.float64)):
        outside = (ends < low - slack) | (ends > high + slack)
        _refuse("insights", ends, outside, f"within the bounds {low:g} to {high:g}, as every sample is", ids)
    return low, high


def _refuse(what: str, values: np.ndarray, bad: np.ndarray, wanted: str, ids: Ids) -> None:
    """Names the first client whose value is bad."""
    if bad.any():
        row = bad.argmax()
        raise InputError(f"client {ids[row]}: {what} must be {wanted}, got {values[row]:g}")

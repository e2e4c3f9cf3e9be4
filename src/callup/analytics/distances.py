"""How far apart the rows of a table are: distances, and angles, between long vectors."""

from __future__ import annotations

import numpy as np

_COLUMNS = 4096  # at a time: long vectors are turned into float64 piece by piece
_NOTHING = 1e-11  # of the squared lengths: what rounding leaves of the distance between equal rows


def euclidean(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The distance of each row of a from each row of b; rows that agree to eleven digits of their squares are at 0.

    >>> euclidean(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[5., 0.]])
    """
    lengths = _squared_lengths(a)[:, None] + _squared_lengths(b)
    squares = lengths - 2 * _inner_products(a, b)
    squares[squares <= _NOTHING * lengths] = 0.0
    return np.asarray(np.sqrt(squares))


def angles(rows: np.ndarray) -> np.ndarray:
    """The angle between every two rows, from 0 to pi. A row of zeros points nowhere: it is at a right angle to all
    others, and at 0 to rows of zeros.

    >>> np.round(angles(np.array([[2.0, 0.0], [0.0, 0.0], [-1.0, 0.0]])), 4)
    array([[0.    , 1.5708, 3.1416],
           [1.5708, 0.    , 1.5708],
           [3.1416, 1.5708, 0.    ]])
    """
    length = np.sqrt(_squared_lengths(rows))
    product = length[:, None] * length
    cosine = np.zeros_like(product)
    np.divide(_inner_products(rows, rows), product, out=cosine, where=product > 0)
    cosine[cosine >= 1 - _NOTHING] = 1.0
    zero = length == 0
    cosine[np.ix_(zero, zero)] = 1.0
    np.fill_diagonal(cosine, 1.0)
    return np.asarray(np.arccos(np.maximum(cosine, -1.0)))


def manhattan(rows: np.ndarray) -> np.ndarray:
    """The sum of absolute differences between every two rows."""
    out = np.zeros((len(rows), len(rows)))
    for i in range(len(rows) - 1):
        out[i, i + 1 :] = np.abs(rows[i + 1 :].astype(np.float64) - rows[i]).sum(axis=1)
    return np.asarray(out + out.T)


def _inner_products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of a table with itself, which takes half the work, if a is b. Rows of zeros are passed over."""
    some, others = a.any(axis=1), b.any(axis=1)
    found = np.zeros((np.count_nonzero(some), np.count_nonzero(others)))
    for at in range(0, a.shape[1], _COLUMNS):
        part = slice(at, at + _COLUMNS)
        left = a[some, part].astype(np.float64)
        found += left @ (left if a is b else b[others, part].astype(np.float64)).T
    out = np.zeros((len(a), len(b)))
    out[np.ix_(some, others)] = found
    return out


def _squared_lengths(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))

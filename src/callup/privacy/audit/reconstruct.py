"""Label counts from inner products alone: why S is no protection against the one who sees it.

Fed-CBS, Theorem 3.2 says that S does not determine A. True, and of no use: A is whole and not negative. With S = X X^T,
every A is X Q^T for a rotation Q, and hardly any rotation gives rows that are counts. The one that does is found by
going back and forth between the two demands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.privacy.release import SENSITIVITY, as_counts

_SMOOTH, _WHOLE = 400, 60


@dataclass(frozen=True)
class Guess:
    """What the attack says the counts are, classes in any order; `certain` when they are whole and give S exactly."""

    counts: np.ndarray
    certain: bool


def reconstruct(gram: np.ndarray, sizes: np.ndarray, classes: int, rng: np.random.Generator, starts: int = 12) -> Guess:
    """The best of several starts; a certain guess ends the search. Sizes are known to whoever computes a QCID."""
    points = _points(gram, classes)
    best, miss = np.zeros((len(gram), classes)), np.inf
    for start in range(starts):
        turn = _purest(points, sizes, rng if start else None) if start % 3 < 2 else _random_turn(classes, rng)
        counts = _settle(points, sizes, turn)
        whole = np.rint(counts)
        if np.abs(whole @ whole.T - gram).max() < 0.5:
            return Guess(whole.astype(np.int64), True)
        gap = float(np.abs(points - counts @ _turn(counts, points)).sum())
        if gap < miss:
            best, miss = counts, gap
    return Guess(np.rint(best).astype(np.int64), False)


def without_small(counts: np.ndarray, sizes: np.ndarray, epsilon: float) -> np.ndarray:
    """A guess behind the noise: counts that noise alone could have made are taken for 0, the others fill up.

    Right for a client of one class, wrong for one that does hold a few samples of another: the guess cannot tell, and
    this is what epsilon hides.
    """
    likely = np.where(counts > 3 * SENSITIVITY / epsilon, counts, 0)
    likely = np.where(likely.any(axis=1, keepdims=True), likely, counts)
    return np.stack([as_counts(row, int(size)) for row, size in zip(likely, sizes, strict=True)])


def _points(gram: np.ndarray, classes: int) -> np.ndarray:
    """X with X X^T = S: the largest eigenvectors, one for each class."""
    values, vectors = np.linalg.eigh(gram.astype(np.float64))
    largest = slice(None, -classes - 1, -1)
    found = vectors[:, largest] * np.sqrt(np.maximum(values[largest], 0.0))
    return np.pad(found, ((0, 0), (0, classes - found.shape[1])))


def _purest(points: np.ndarray, sizes: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
    """A rotation that turns the clients nearest to one class onto the axes (successive projection).

    With a generator the clients that may serve are a random half, so that another start is another start.
    """
    shares = points / np.maximum(sizes, 1.0)[:, None]
    if rng is not None:
        shares = shares[rng.random(len(shares)) < 0.5] if len(shares) > 4 * points.shape[1] else shares
        shares = shares + 0.05 * rng.standard_normal(shares.shape)
    corners = []
    left = shares.copy()
    for _ in range(points.shape[1]):
        corner = int((left**2).sum(axis=1).argmax())
        corners.append(shares[corner])
        axis = left[corner] / max(float(np.linalg.norm(left[corner])), 1e-12)
        left = left - np.outer(left @ axis, axis)
    return _rotation(np.array(corners))


def _random_turn(classes: int, rng: np.random.Generator) -> np.ndarray:
    return _rotation(rng.standard_normal((classes, classes)))


def _settle(points: np.ndarray, sizes: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Back and forth: counts are the nearest rows that may be counts, the rotation is the best one for these counts."""
    counts = points @ turn.T
    for step in range(_SMOOTH + _WHOLE):
        turned = points @ turn.T
        counts = np.rint(np.maximum(turned, 0.0)) if step >= _SMOOTH else _onto_simplices(turned, sizes)
        nearer = _turn(counts, points)
        if np.abs(nearer - turn).max() < (1e-12 if step >= _SMOOTH else 1e-9):
            break
        turn = nearer
    return np.asarray(counts)


def _turn(counts: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The rotation Q with points nearest to counts Q (Procrustes)."""
    return _rotation(counts.T @ points)


def _rotation(matrix: np.ndarray) -> np.ndarray:
    """The nearest orthogonal matrix."""
    left, _, right = np.linalg.svd(matrix)
    return np.asarray(left @ right)


def _onto_simplices(rows: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Each row's nearest row that is not negative and adds up to the client's size."""
    falling = -np.sort(-rows, axis=1)
    cuts = (np.cumsum(falling, axis=1) - sizes[:, None]) / np.arange(1, rows.shape[1] + 1)
    last = np.maximum((falling > cuts).sum(axis=1) - 1, 0)
    return np.asarray(np.maximum(rows - cuts[np.arange(len(rows)), last][:, None], 0.0))

"""How much of the truth a guess holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.privacy.audit.matching import assignment


@dataclass(frozen=True)
class Score:
    """Over the clients that hold samples: how many rows are right in every count, how far off the others are.

    exact: share of clients whose guessed row is the true one. distance: mean total variation between the guessed and
    the true label shares. dominant: share of clients whose most frequent class is guessed.
    """

    exact: float
    distance: float
    dominant: float


def score(guess: np.ndarray, truth: np.ndarray) -> Score:
    """Classes of the guess are named as in the truth."""
    held = truth.sum(axis=1) > 0
    guess, truth = guess[held], truth[held]
    far = np.abs(_shares(guess) - _shares(truth)).sum(axis=1) / 2
    best = truth.max(axis=1)
    # Where two classes are equally frequent, either counts as right.
    right = truth[np.arange(len(truth)), guess.argmax(axis=1)] == best
    return Score(float((guess == truth).all(axis=1).mean()), float(far.mean()), float(right.mean()))


def named(guess: np.ndarray, truth: np.ndarray, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
    """The guess with its classes in the order that fits the truth best; `rows` are those that are compared."""
    cost = np.abs(guess[rows].T[:, None, :] - truth[rows].T[None, :, :]).sum(axis=2).astype(np.float64)
    out = np.empty_like(guess)
    out[:, assignment(cost)] = guess
    return out


def knows_nothing(truth: np.ndarray) -> Score:
    """The score of one who knows only everybody's counts together and guesses the same for all."""
    sizes = truth.sum(axis=1, keepdims=True)
    return score(np.asarray(sizes * _shares(truth.sum(axis=0)[None])), truth)


def _shares(counts: np.ndarray) -> np.ndarray:
    totals = counts.sum(axis=1, keepdims=True)
    return counts / np.where(totals > 0, totals, 1)

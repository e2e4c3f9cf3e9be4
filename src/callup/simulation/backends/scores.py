"""From class scores to losses, accuracies and recall, for every backend alike."""

from __future__ import annotations

import numpy as np

from callup.simulation.backends.base import Score


def losses(logits: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Cross-entropy of each sample, log(sum exp(s)) - s_y, shifted so that no exponential overflows."""
    top = logits.max(axis=1)
    with np.errstate(invalid="ignore"):  # the scores of a diverged model give a loss of NaN
        return np.asarray(np.log(np.exp(logits - top[:, None]).sum(axis=1)) + top - logits[np.arange(len(y)), y])


def answers(logits: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """What a client can say of the received model."""
    each = losses(logits, y).astype(np.float64)
    return {
        "loss": float(each.mean()),
        "loss_rms": float(np.sqrt(np.mean(each**2))),
        "accuracy": float(np.mean(logits.argmax(axis=1) == y)),
    }


def score(logits: np.ndarray, y: np.ndarray, classes: int) -> Score:
    """Mean loss, accuracy, and the accuracy on each class; NaN where there is nothing to score."""
    if len(y) == 0:
        return Score(np.nan, np.nan, np.full(classes, np.nan))
    right = logits.argmax(axis=1) == y
    held = np.bincount(y, minlength=classes).astype(np.float64)
    found = np.bincount(y[right], minlength=classes)
    recall = np.divide(found, held, out=np.full(classes, np.nan), where=held > 0)
    return Score(float(losses(logits, y).mean(dtype=np.float64)), float(right.mean()), recall)

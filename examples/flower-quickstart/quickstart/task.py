"""Ten clouds of points, and clients that each hold mostly two of them; a softmax classifier in numpy."""

from __future__ import annotations

import numpy as np
from flwr.app import Array, ArrayRecord

CLASSES, FEATURES, SAMPLES = 10, 16, 200


def _points(rng: np.random.Generator, labels: np.ndarray) -> np.ndarray:
    centres = np.random.default_rng(7).normal(size=(CLASSES, FEATURES))
    return centres[labels] + 0.7 * rng.normal(size=(len(labels), FEATURES))


def load(client: int) -> tuple[np.ndarray, np.ndarray]:
    """What one client holds."""
    rng = np.random.default_rng([1, client])
    labels = rng.choice(CLASSES, SAMPLES - 10 * (client % 5), p=rng.dirichlet(np.full(CLASSES, 0.2)))
    return _points(rng, labels), labels


def held_out() -> tuple[np.ndarray, np.ndarray]:
    """What the server tests on."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, CLASSES, 500)
    return _points(rng, labels), labels


def first_model() -> ArrayRecord:
    return record(np.zeros((FEATURES, CLASSES)), np.zeros(CLASSES))


def record(weight: np.ndarray, bias: np.ndarray) -> ArrayRecord:
    return ArrayRecord({"weight": Array(weight.astype(np.float32)), "bias": Array(bias.astype(np.float32))})


def shares(arrays: ArrayRecord, x: np.ndarray) -> np.ndarray:
    """The chance of each class for each point."""
    scores = x @ arrays["weight"].numpy() + arrays["bias"].numpy()
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def losses(arrays: ArrayRecord, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Cross-entropy of each sample."""
    return np.asarray(-np.log(np.maximum(shares(arrays, x)[np.arange(len(y)), y], 1e-12)))


def gradient(arrays: ArrayRecord, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the mean loss, for the weight and for the bias."""
    error = shares(arrays, x)
    error[np.arange(len(y)), y] -= 1
    return x.T @ error / len(y), error.mean(axis=0)


def train(arrays: ArrayRecord, x: np.ndarray, y: np.ndarray, steps: int = 20, rate: float = 0.5) -> ArrayRecord:
    for _ in range(steps):
        down = gradient(arrays, x, y)
        arrays = record(arrays["weight"].numpy() - rate * down[0], arrays["bias"].numpy() - rate * down[1])
    return arrays


def accuracy(arrays: ArrayRecord, x: np.ndarray, y: np.ndarray) -> float:
    return float((shares(arrays, x).argmax(axis=1) == y).mean())

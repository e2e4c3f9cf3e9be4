"""How hard each class of held-out data pulls at a model: what Fed-cucb reads label shares from."""

from __future__ import annotations

import math

import numpy as np

from callup.core.errors import InputError
from callup.simulation.backends.mlp import layers
from callup.simulation.task import Split


def by_class(held: Split, classes: int) -> list[Split]:
    """The samples of each class; a class without any is refused, for its pull would be unknown."""
    parts = [Split(held.x[held.y == label], held.y[held.y == label]) for label in range(classes)]
    missing = [label for label, part in enumerate(parts) if not len(part)]
    if missing:
        raise InputError(f"the auxiliary samples hold none of class {missing[0]}; every class needs at least one")
    return parts


def mean_squares(gradient: np.ndarray, sizes: tuple[int, ...]) -> float:
    """Sum over weights and biases of the mean squared entry of a flat gradient."""
    tensors = [tensor for pair in layers(gradient.astype(np.float64), sizes) for tensor in pair]
    return float(sum(np.mean(tensor**2) for tensor in tensors))


def batched_mean_squares(models: np.ndarray, sizes: tuple[int, ...], x: np.ndarray, label: int) -> np.ndarray:
    """The same for many models at once, (n, d) -> (n,), on samples of one class; no gradient is ever written out.

    The gradient of a layer's weights is E^T H, with a row for each sample of the errors E and of the inputs H, and

        ||E^T H||^2 = sum over pairs of samples of (E E^T) (H H^T)

    which for few samples is far less work than the product itself.
    """
    parts = layers(models, sizes)
    inputs = [x[None]]
    for weights, biases in parts[:-1]:
        inputs.append(np.maximum(inputs[-1] @ weights.transpose(0, 2, 1) + biases[:, None], 0))
    weights, biases = parts[-1]
    scores = (inputs[-1] @ weights.transpose(0, 2, 1) + biases[:, None]).astype(np.float64)
    # d loss / d scores = (softmax - one-hot) / samples
    error = np.exp(scores - scores.max(axis=2, keepdims=True))
    error /= error.sum(axis=2, keepdims=True)
    error[:, :, label] -= 1
    error /= len(x)
    total = np.zeros(len(models))
    for depth in reversed(range(len(parts))):
        (weights, biases), inner = parts[depth], inputs[depth].astype(np.float64)
        pairs = error @ error.transpose(0, 2, 1)
        total += (pairs * (inner @ inner.transpose(0, 2, 1))).sum(axis=(1, 2)) / math.prod(weights.shape[1:])
        total += pairs.sum(axis=(1, 2)) / biases.shape[1]
        if depth:
            # ReLU passes the error on only where its output was above zero.
            error = (error @ weights) * (inner > 0)
    return total

"""Fully connected networks in numpy: where each weight sits in the flat vector, first weights, loss and gradient.

The layout is PyTorch's: weights (out, in), then biases, layer after layer. A flat vector of one backend is a flat
vector of the other.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from callup.simulation.backends.scores import losses

Layers = list[tuple[np.ndarray, np.ndarray]]


def count(sizes: tuple[int, ...]) -> int:
    """How many numbers the model has."""
    return sum((fan_in + 1) * fan_out for fan_in, fan_out in pairwise(sizes))


def layers(flat: np.ndarray, sizes: tuple[int, ...]) -> Layers:
    """Weights and biases of each layer as views; axes before the last, e.g. one row for each client, are kept."""
    out: Layers = []
    at, lead = 0, flat.shape[:-1]
    for fan_in, fan_out in pairwise(sizes):
        weights = flat[..., at : at + fan_in * fan_out].reshape(*lead, fan_out, fan_in)
        at += fan_in * fan_out
        out.append((weights, flat[..., at : at + fan_out]))
        at += fan_out
    return out


def first_weights(sizes: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Weights uniform within 1/sqrt(in), as PyTorch's Linear draws them; biases zero."""
    flat = np.zeros(count(sizes), np.float32)
    for weights, _ in layers(flat, sizes):
        reach = 1 / np.sqrt(weights.shape[1])
        weights[...] = rng.uniform(-reach, reach, weights.shape)
    return flat


def activations(flat: np.ndarray, sizes: tuple[int, ...], x: np.ndarray) -> list[np.ndarray]:
    """The inputs of every layer, and last the class scores."""
    inputs = [x]
    for weights, biases in layers(flat, sizes):
        if len(inputs) > 1:
            # Zeros as an array: with a number numpy takes five times as long.
            np.maximum(inputs[-1], np.zeros(inputs[-1].shape[1], inputs[-1].dtype), out=inputs[-1])
        inputs.append(inputs[-1] @ weights.T)
        inputs[-1] += biases
    return inputs


def loss_and_gradient(
    flat: np.ndarray, sizes: tuple[int, ...], x: np.ndarray, y: np.ndarray
) -> tuple[float, np.ndarray]:
    """Mean cross-entropy and its gradient, as a flat vector."""
    return pull(flat, sizes, x, y)[:2]


def pull(
    flat: np.ndarray, sizes: tuple[int, ...], x: np.ndarray, y: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Mean cross-entropy, its gradient as a flat vector, and its gradient with respect to the first layer's sums."""
    *inputs, logits = activations(flat, sizes, x)
    # d loss / d scores = (softmax - one-hot) / samples
    error = np.exp(logits - logits.max(axis=1, keepdims=True))
    error /= error.sum(axis=1, keepdims=True)
    error[np.arange(len(y)), y] -= 1
    error /= len(y)
    gradient = np.empty_like(flat)
    parts = list(zip(layers(flat, sizes), layers(gradient, sizes), inputs, strict=True))
    for depth in reversed(range(len(parts))):
        (weights, _), (to_weights, to_biases), inner = parts[depth]
        to_weights[...] = error.T @ inner
        to_biases[...] = error.sum(axis=0)
        if depth:
            # ReLU passes the error on only where its output was above zero.
            error = (error @ weights) * (inner > 0)
    return float(losses(logits, y).mean()), gradient, error

"""Where each weight of a next-word model sits in its flat vector, and the first weights.

The layout is PyTorch's for an embedding, an LSTM and a linear layer; gates come as input, forget, cell, output. A flat
vector of one backend is a flat vector of the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from callup.core.errors import InputError
from callup.simulation.task import Data, WordLstm


@dataclass(frozen=True)
class Layer:
    """One LSTM layer: gates = inputs W_i^T + b_i + outputs of the place before W_h^T + b_h."""

    to_inputs: np.ndarray
    to_outputs: np.ndarray
    input_biases: np.ndarray
    output_biases: np.ndarray


@dataclass(frozen=True)
class Weights:
    """Views of one flat vector."""

    embedding: np.ndarray
    layers: tuple[Layer, ...]
    out: np.ndarray
    biases: np.ndarray

    @classmethod
    def of(cls, flat: np.ndarray, model: WordLstm) -> Weights:
        parts, at = [], 0
        for shape in shapes(model):
            end = at + math.prod(shape)
            parts.append(flat[at:end].reshape(shape))
            at = end
        layers = tuple(Layer(*parts[1 + 4 * depth : 5 + 4 * depth]) for depth in range(model.layers))
        return cls(parts[0], layers, parts[-2], parts[-1])


def shapes(model: WordLstm) -> list[tuple[int, ...]]:
    """Of each tensor, in order."""
    found: list[tuple[int, ...]] = [(model.words, model.embedding)]
    for depth in range(model.layers):
        gates = 4 * model.hidden
        found += [(gates, model.hidden if depth else model.embedding), (gates, model.hidden), (gates,), (gates,)]
    return [*found, (model.words, model.hidden), (model.words,)]


def first_weights(model: WordLstm, rng: np.random.Generator) -> np.ndarray:
    """Embeddings from the standard normal law and the rest uniform within 1/sqrt(hidden), as PyTorch draws them.

    Output biases are zero, as in the other networks here.
    """
    reach = 1 / math.sqrt(model.hidden)
    flat = np.empty(sum(math.prod(shape) for shape in shapes(model)), np.float32)
    flat[:] = rng.uniform(-reach, reach, len(flat))
    weights = Weights.of(flat, model)
    weights.embedding[...] = rng.standard_normal(weights.embedding.shape)
    weights.biases[...] = 0
    return flat


def check_words(model: WordLstm, data: Data) -> None:
    """The model must know every word of the data."""
    if min(model.words, model.embedding, model.hidden, model.layers) < 1:
        raise InputError(f"a next-word model needs words, embedding, hidden and layers of at least 1, got {model}")
    for name in ("train", "validation", "test"):
        split = getattr(data, name)
        if split.y.ndim != 2 or split.x.shape != split.y.shape or {split.x.dtype.kind, split.y.dtype.kind} - set("iu"):
            raise InputError(
                f"the {name} samples of a next-word task must be rows of word numbers, as long in x as in y, got "
                f"{split.x.dtype} of {split.x.shape} and {split.y.dtype} of {split.y.shape}"
            )
        if split.x.size and not (split.x.min() >= 0 and max(split.x.max(), split.y.max()) < model.words):
            raise InputError(f"the {name} samples hold word numbers outside 0 to {model.words - 1}, the model's words")
        if split.y.size and split.y.min() < -1:
            raise InputError(f"the {name} samples ask for word {split.y.min()}; -1 is where nothing is asked")

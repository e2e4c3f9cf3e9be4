"""What all averages share: local models added up in float64 by normalised weights, and the way to the result."""

from __future__ import annotations

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import ContractError
from callup.core.selector import Average
from callup.core.types import Replies, Selection


def blended(model: np.ndarray, replies: Replies, weights: np.ndarray) -> np.ndarray:
    """The weighted mean of the local models, float32; the model as it was when no reply has any weight."""
    weights = np.asarray(weights, np.float64)
    if weights.shape != (len(replies.ids),):
        raise ContractError(f"weights have shape {weights.shape} for {len(replies.ids)} replies")
    total = float(weights.sum())
    if total == 0:
        return np.array(model, np.float32)
    out = np.zeros(len(model))
    # Row by row: one order of additions on every machine, and no float64 copy of all models.
    for weight, local in zip(weights / total, replies.models, strict=True):
        out += np.multiply(weight, local, dtype=np.float64)
    return out.astype(np.float32)


def next_model(
    rule: Average, model: np.ndarray, replies: Replies, clients: Clients, selection: Selection
) -> np.ndarray:
    """What the rule makes of the replies, with the selection's weights as they are meant."""
    weights = selection.weights_of(replies.ids)
    if weights is not None and selection.of_models:
        return rule.mixed(model, replies, clients, weights)
    return rule.combine(model, replies, clients, weights)


def moved(model: np.ndarray, average: np.ndarray, step: float) -> np.ndarray:
    """The model on its way to the average, float32: there for a step of 1, where it was for 0."""
    if step == 1:
        return average
    return np.asarray(model + step * (average.astype(np.float64) - model), np.float32)

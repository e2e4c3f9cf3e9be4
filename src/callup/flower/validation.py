"""What the server may judge replies by: held-out data of its own, through the workbench that the simulator uses too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from flwr.app import ArrayRecord

from callup.aggregation.workbench import ModelBench
from callup.core.types import Replies
from callup.flower.models import shaped


@dataclass(frozen=True)
class Validation:
    """Held-out data at the server: the class scores of any model on it, and the true labels."""

    logits: Callable[[ArrayRecord], np.ndarray]
    """From a model to (samples, classes)."""
    labels: np.ndarray

    def bench(self, replies: Replies, like: ArrayRecord, combine: Callable[[np.ndarray], np.ndarray]) -> ModelBench:
        """The workbench of one round."""
        labels = np.asarray(self.labels)
        return ModelBench(replies, lambda vector: self.logits(shaped(vector, like)), labels, combine)

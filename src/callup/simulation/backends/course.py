"""One client's round, drawn before it starts, so that every backend takes the same steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.simulation.augment import crop_flip


@dataclass(frozen=True)
class Course:
    """Mini-batches, the learning rate of each, and how the images of each are moved."""

    batches: list[np.ndarray]
    """Positions in the client's own samples."""
    rates: np.ndarray
    """One for each step."""
    moves: list[np.ndarray] | None = None
    """Crop-and-flip draws for each step; None without augmentation."""

    def __len__(self) -> int:
        return len(self.batches)

    def inputs(self, x: np.ndarray, step: int) -> np.ndarray:
        """The mini-batch of this step, augmented, from the client's samples."""
        rows = x[self.batches[step]]
        return rows if self.moves is None else crop_flip(rows, self.moves[step])

"""Memory that is used again: pages fresh from the system would cost a seventh of a perceptron's round."""

from __future__ import annotations

import math

import numpy as np


class Space:
    """Arrays by name. Whoever asks for a name again is given the same memory, with whatever is in it."""

    def __init__(self) -> None:
        self._kept: dict[str, np.ndarray] = {}

    def floats(self, name: str, *shape: int) -> np.ndarray:
        """A float32 array of this shape."""
        size = math.prod(shape)
        if name not in self._kept or self._kept[name].size < size:
            self._kept[name] = np.empty(size, np.float32)
        return self._kept[name][:size].reshape(shape)

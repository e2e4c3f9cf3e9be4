"""A small network that foretells rewards: f(x) = sqrt(w) W_L relu(W_{L-1} ... relu(W_1 x)), of width w.

Zhou, Li, Gu, ICML 2020, and Cao et al., NCCB, Eq. 9 to 12. All parameters are one flat vector theta.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from callup.core.errors import UsageError


class Factors(NamedTuple):
    """Gradients without writing them out: that of W_l is the outer product of slopes[l] and inputs[l], row by row."""

    inputs: list[np.ndarray]
    """What each layer receives, (n, columns of W_l)."""
    slopes: list[np.ndarray]
    """The derivative of f by what each layer puts out before relu, (n, rows of W_l)."""


@dataclass(frozen=True)
class RewardNet:
    """The shape of the network; `inputs` counts the numbers of a doubled context."""

    inputs: int
    width: int = 64
    layers: int = 2

    def __post_init__(self) -> None:
        if self.inputs < 2 or self.inputs % 2:
            raise UsageError(f"inputs must be an even number of at least 2, got {self.inputs}")
        if self.width < 2 or self.width % 2:
            raise UsageError(f"width must be an even number of at least 2, got {self.width}")
        if self.layers < 2:
            raise UsageError(f"layers must be at least 2, got {self.layers}")

    @cached_property
    def shapes(self) -> list[tuple[int, int]]:
        """Rows and columns of W_1 ... W_L."""
        hidden = [(self.width, columns) for columns in [self.inputs] + [self.width] * (self.layers - 2)]
        return [*hidden, (1, self.width)]

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """Where each matrix begins and ends in theta."""
        ends = np.cumsum([rows * columns for rows, columns in self.shapes]).tolist()
        return list(zip([0, *ends[:-1]], ends, strict=True))

    def matrices(self, theta: np.ndarray) -> list[np.ndarray]:
        """W_1 ... W_L as windows into theta."""
        return [theta[a:b].reshape(shape) for (a, b), shape in zip(self._places, self.shapes, strict=True)]

    def initial(self, rng: np.random.Generator) -> np.ndarray:
        """theta_0: two equal halves with opposite signs at the end, so that f is 0 for every doubled context."""
        theta = np.zeros(self._places[-1][1])
        *hidden, last = self.matrices(theta)
        half = self.width // 2
        for matrix in hidden:
            # Eq. 11: W_l = (W 0; 0 W) with entries from N(0, 4/w).
            columns = matrix.shape[1] // 2
            block = rng.normal(0.0, np.sqrt(4 / self.width), (half, columns))
            matrix[:half, :columns] = matrix[half:, columns:] = block
        # Eq. 12: W_L = (v, -v) with entries from N(0, 2/w).
        last[0, :half] = rng.normal(0.0, np.sqrt(2 / self.width), half)
        last[0, half:] = -last[0, :half]
        return theta

    def factors(self, theta: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, Factors]:
        """f(x; theta) of each row, and its gradient in factors.

        Eq. 9 prints the root of m, the number of clients chosen; as in NeuralUCB it must be that of the width.
        """
        matrices = self.matrices(theta)
        inputs = [x]
        for matrix in matrices[:-1]:
            inputs.append(np.maximum(inputs[-1] @ matrix.T, 0.0))
        root = np.sqrt(self.width)
        slopes = [np.full((len(x), 1), root)]
        for matrix, received in zip(matrices[:0:-1], inputs[:0:-1], strict=True):
            slopes.append((slopes[-1] @ matrix) * (received > 0))
        return root * (inputs[-1] @ matrices[-1][0]), Factors(inputs, slopes[::-1])

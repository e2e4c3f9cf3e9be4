"""Many inner products in one multiplication of polynomials.

In Z_t[X] / (X^n + 1) client i is a_i(X) = sum_b A[i,b] X^b. For a group of g clients

    P(X) = sum_i X^(i B) a_i(X)          Q(X) = sum_j X^(j g B) a_j(1/X)

and coefficient (j g + i) B of P times Q is <a_i, a_j>: other pairs of clients or classes land elsewhere, because every
exponent of P is i B + b and every one of Q is j g B - b', with b, b' < B and g^2 B <= n. One product holds g^2 inner
products. The other coefficients are sums of A[i,b] A[j,b+k], which say more than S does and must be masked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from callup.core.errors import UsageError
from callup.privacy.field import MODULUS

DEGREE = 8192


@dataclass(frozen=True)
class Packing:
    """Where clients and classes stand in the polynomials; made for so many classes."""

    classes: int

    def __post_init__(self) -> None:
        if not 1 <= self.classes <= DEGREE // 4:
            raise UsageError(f"inner products are packed for up to {DEGREE // 4} classes, got {self.classes}")

    @property
    def group(self) -> int:
        """Clients in a group: g."""
        return math.isqrt(DEGREE // self.classes)

    def groups(self, clients: int) -> list[slice]:
        return [slice(at, min(at + self.group, clients)) for at in range(0, clients, self.group)]

    def forward(self, rows: np.ndarray) -> np.ndarray:
        """Coefficients of P for the rows of one group."""
        out = np.zeros(DEGREE, np.int64)
        out[: rows.size] = rows.ravel()
        return out

    def backward(self, rows: np.ndarray, prime: int = MODULUS) -> np.ndarray:
        """Coefficients of Q for the rows of one group; X^-b is -X^(n-b)."""
        out = np.zeros(DEGREE, np.int64)
        members, classes = np.indices(rows.shape)
        places = members * self.group * self.classes - classes
        out[places % DEGREE] = np.where(places < 0, -rows, rows) % prime
        return out

    def targets(self, left: int, right: int) -> np.ndarray:
        """Which coefficient holds the inner product of member i of one group and j of another, (left, right)."""
        i, j = np.indices((left, right))
        return np.asarray((j * self.group + i) * self.classes)


def tiles(groups: list[slice]) -> list[tuple[int, int]]:
    """Pairs of groups, each once: inner products are symmetric."""
    return [(i, j) for i in range(len(groups)) for j in range(i + 1)]

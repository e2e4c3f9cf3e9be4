"""A dataset of pictures as published: bytes and labels, checked to belong together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from callup.core.errors import InputError


@dataclass(frozen=True)
class Labelled:
    """Pictures (uint8; count, channels, height, width) and their labels (whole numbers from 0)."""

    x: np.ndarray
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Images:
    """The published training set, and the test set where there is one."""

    train: Labelled
    test: Labelled | None = None


def labelled(x: np.ndarray, y: np.ndarray, shape: tuple[int, int, int], classes: int, source: object) -> Labelled:
    """Pictures of this (channels, height, width) with one label below `classes` each, or an error naming the source."""
    if len(x) != len(y):
        raise InputError(f"{source}: holds {len(x):,} pictures but {len(y):,} labels")
    if len(y) == 0:
        raise InputError(f"{source}: holds no pictures")
    if x.shape[1:] not in (shape, shape[1:], (math.prod(shape),)):
        raise InputError(f"{source}: pictures have shape {x.shape[1:]}, expected {shape}")
    if y.min() < 0 or y.max() >= classes:
        wrong = int(y[(y < 0) | (y >= classes)][0])
        raise InputError(f"{source}: label {wrong} is not one of the {classes} classes 0 to {classes - 1}")
    return Labelled(x.reshape(len(x), *shape), y.astype(np.int64))


def joined(parts: list[Labelled]) -> Labelled:
    """Batches one after the other."""
    return Labelled(np.concatenate([part.x for part in parts]), np.concatenate([part.y for part in parts]))

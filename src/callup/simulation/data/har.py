"""Smartphone recordings of what people do, with the person who carried the phone: clients that exist in nature."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from callup.core.errors import InputError
from callup.simulation.data.finder import Layout, load
from callup.simulation.data.npz import open_npz


@dataclass(frozen=True)
class Recordings:
    """Windows of 128 steps of 6 sensor channels (float32), the activity in each (0 to 5) and whose it is."""

    x: np.ndarray
    y: np.ndarray
    user: np.ndarray


def activities() -> Recordings:
    """The labelled windows of all users; there is no published test set."""
    source = "https://archive.ics.uci.edu/dataset/341 (the reduced file har_hapt_by_user.npz is made from it)"
    return load("activity by user", (Layout(("har_hapt_by_user.npz",), _read),), source)


def _read(paths: list[Path]) -> Recordings:
    with open_npz(paths[0]) as archive:
        steps = archive.array("x_int16", "i2", (None, 128, 6))
        scale = archive.array("scale", "f4", ())
        y, user = archive.array("y", "u1", (None,)), archive.array("user", "u1", (None,))
    if not len(steps) == len(y) == len(user) > 0:
        raise InputError(f"{paths[0]}: {len(steps)} windows, {len(y)} labels and {len(user)} users do not match")
    if y.max() > 5 or not np.isfinite(scale):
        raise InputError(f"{paths[0]}: labels must be 0 to 5 and the scale finite, got {y.max()} and {scale}")
    return Recordings(np.multiply(steps, scale, dtype=np.float32), y.astype(np.int64), user.astype(np.int64))

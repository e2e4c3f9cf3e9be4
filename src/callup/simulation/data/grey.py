"""MNIST and Fashion-MNIST: grey pictures of 28 x 28, in an .npz or in the IDX files as published."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from callup.core.errors import InputError
from callup.simulation.data.idx import read_idx
from callup.simulation.data.images import Images, labelled
from callup.simulation.data.npz import open_npz

_GREY = (1, 28, 28)


def read_npz(paths: list[Path]) -> Images:
    """One file with x_train, y_train, x_test and y_test."""
    with open_npz(paths[0]) as archive:
        parts = [
            labelled(
                archive.array(f"x_{part}", "u1", (None, 28, 28)),
                archive.array(f"y_{part}", "u1", (None,)),
                _GREY,
                10,
                f"{paths[0]}, {part}",
            )
            for part in ("train", "test")
        ]
    return Images(*parts)


def read_by_writer(paths: list[Path]) -> tuple[Images, np.ndarray]:
    """The same file with writer_train and writer_test; nobody may be in both."""
    images = read_npz(paths)
    with open_npz(paths[0]) as archive:
        train, test = (archive.array(f"writer_{part}", "iu", (None,)).astype(np.int64) for part in ("train", "test"))
    if len(train) != len(images.train) or len(test) != len(images.test or ()):
        raise InputError(f"{paths[0]}: holds {len(train):,} and {len(test):,} writers, not one for each picture")
    if len(np.intersect1d(train, test)):
        raise InputError(
            f"{paths[0]}: writer {np.intersect1d(train, test)[0]} is in both the training and the test set"
        )
    return images, train


def read_idx_files(paths: list[Path]) -> Images:
    """Training pictures and labels, test pictures and labels, in this order."""
    train_x, train_y, test_x, test_y = paths
    return Images(
        labelled(read_idx(train_x, 3), read_idx(train_y, 1), _GREY, 10, train_x),
        labelled(read_idx(test_x, 3), read_idx(test_y, 1), _GREY, 10, test_x),
    )

"""The datasets by name, each in every form it is published in; the first form found is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from callup.core.errors import InputError
from callup.simulation.data import cifar10 as cifar
from callup.simulation.data import stl10 as stl
from callup.simulation.data.finder import Layout, load
from callup.simulation.data.grey import read_by_writer, read_idx_files, read_npz
from callup.simulation.data.images import Images, Labelled, joined, labelled
from callup.simulation.data.mosaic import read_mosaics
from callup.simulation.data.npz import open_npz

T = TypeVar("T")

_IDX = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
_BATCHES = tuple(f"data_batch_{i}" for i in range(1, 6))


def fashion_mnist() -> Images:
    """Fashion-MNIST: 60,000 and 10,000 grey pictures of 28 x 28, ten kinds of clothing."""
    # MNIST uses the very same IDX file names, so they count only in a folder that says whose they are.
    layouts = (
        Layout(("fashion_mnist.npz",), read_npz),
        Layout(_IDX, read_idx_files, ("fashion-mnist", "FashionMNIST/raw"), packed=True),
    )
    source = "https://github.com/zalandoresearch/fashion-mnist or Debian's package dataset-fashion-mnist"
    return load("Fashion-MNIST", layouts, source)


def mnist() -> Images:
    """MNIST: 60,000 and 10,000 grey pictures of 28 x 28, ten digits."""
    layouts = (
        Layout(("mnist_by_writer.npz",), read_npz),
        Layout(("mnist.npz",), read_npz),
        Layout(_IDX, read_idx_files, ("mnist", "MNIST/raw"), packed=True),
    )
    return load("MNIST", layouts, "http://yann.lecun.com/exdb/mnist")


def cifar10() -> Images:
    """CIFAR-10: 50,000 and 10,000 colour pictures of 32 x 32, ten kinds of things."""
    return _cifar10(_cifar10_npz, _cifar10_binary, _cifar10_python)


def cifar10_labels() -> np.ndarray:
    """The labels of CIFAR-10's training set alone: in packed files no picture is decoded for them."""
    return _cifar10(_cifar10_npz_labels, lambda p: _cifar10_binary(p).train.y, lambda p: _cifar10_python(p).train.y)


def mnist_writers() -> tuple[Images, np.ndarray]:
    """MNIST, and who wrote each training picture; those who wrote for the test set wrote none of them."""
    layouts = (Layout(("mnist_by_writer.npz",), read_by_writer),)
    return load("MNIST by writer", layouts, "MNIST joined with the writers of NIST Special Database 19")


def _cifar10(npz: Callable[[list[Path]], T], binary: Callable[[list[Path]], T], python: Callable[[list[Path]], T]) -> T:
    layouts = (
        Layout(("cifar10.npz",), npz),
        Layout(tuple(f"{name}.bin" for name in (*_BATCHES, "test_batch")), binary, ("cifar-10-batches-bin", "")),
        Layout((*_BATCHES, "test_batch"), python, ("cifar-10-batches-py", "")),
    )
    return load("CIFAR-10", layouts, "https://www.cs.toronto.edu/~kriz/cifar.html")


def stl10() -> Images:
    """STL-10's labelled pictures, ten kinds of things: 5,000 and 8,000 of 96 x 96 pixels as published.

    A reduced file of 3,996 training pictures of 48 x 48, which has no test set, serves where these are missing.
    """
    layouts = (
        Layout(("train_X.bin", "train_y.bin", "test_X.bin", "test_y.bin"), _stl10_binary, ("stl10_binary", "")),
        Layout(("stl10_train3996_48px.npz",), _stl10_npz),
    )
    return load("STL-10", layouts, "https://cs.stanford.edu/~acoates/stl10")


def _cifar10_npz(paths: list[Path]) -> Images:
    return Images(_mosaic(paths[0], "train", cifar.SHAPE), _mosaic(paths[0], "test", cifar.SHAPE))


def _cifar10_npz_labels(paths: list[Path]) -> np.ndarray:
    with open_npz(paths[0]) as archive:
        labels = archive.array("y_train", "u1", (None,)).astype(np.int64)
    if len(labels) == 0 or labels.max() >= cifar.CLASSES:
        raise InputError(f"{paths[0]}, train: expected labels from 0 to {cifar.CLASSES - 1}, one at least")
    return labels


def _cifar10_binary(paths: list[Path]) -> Images:
    *train, test = [cifar.read_binary_batch(path) for path in paths]
    return Images(joined(train), test)


def _cifar10_python(paths: list[Path]) -> Images:
    *train, test = [cifar.read_python_batch(path) for path in paths]
    return Images(joined(train), test)


def _stl10_binary(paths: list[Path]) -> Images:
    return Images(stl.read_binary(paths[0], paths[1]), stl.read_binary(paths[2], paths[3]))


def _stl10_npz(paths: list[Path]) -> Images:
    return Images(_mosaic(paths[0], "train", (3, 48, 48)))


def _mosaic(path: Path, part: str, shape: tuple[int, int, int]) -> Labelled:
    with open_npz(path) as archive:
        x, y = read_mosaics(archive, part), archive.array(f"y_{part}", "u1", (None,))
    return labelled(x, y, shape, 10, f"{path}, {part}")

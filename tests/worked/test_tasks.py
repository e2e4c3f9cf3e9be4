"""Tasks: the embedded data for real, the validation split, the models, and the larger data where it is present."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from importlib import resources
from itertools import pairwise

import numpy as np
import pytest

from callup.core.errors import InputError, UsageError
from callup.core.randomness import stream
from callup.simulation.data.images import Images, Labelled
from callup.simulation.data.splits import hold_out, three_splits
from callup.simulation.networks import blocks, vgg11
from callup.simulation.task import TASKS, Data, Loaded, Mlp, Module, Task
from callup.simulation.tasks import cifar10, fashion


def load(spec: str) -> Loaded:
    """The task, or a skip that says what is missing; data that is there but broken is a failure."""
    try:
        return TASKS.make(spec).load()
    except InputError as error:
        if not str(error).startswith("no data for") and "need Pillow" not in str(error):
            raise
        pytest.skip(f"{spec}: {error}")


def test_the_catalogue() -> None:
    names = {"cifar10-cnn", "fashion-cnn", "fashion-mlp", "fashion14-mlp", "har", "mnist-cnn", "mnist-mlp"}
    assert names | {"mnist-writers", "stl10-cnn", "vgg11"} <= {card.name for card in TASKS.cards()}
    for card in TASKS.cards():
        assert issubclass(card.cls, Task) and card.paper and card.summary.endswith(".")


def test_embedded_data_is_balanced_and_complete() -> None:
    loaded = TASKS.make("fashion14-mlp").load()
    data = loaded.data
    for split, each in ((data.train, 900), (data.validation, 100), (data.test, 200)):
        assert split.x.shape == (10 * each, 196) and split.x.dtype == np.float32
        assert np.bincount(split.y).tolist() == [each] * 10
        shades = split.x * 0.3296 + 0.2837  # back to [0, 1]: sixteen shades, a fifteenth apart
        assert np.abs(shades * 15 - np.round(shades * 15)).max() < 1e-4
        assert abs(shades.min()) < 1e-5 and abs(shades.max() - 1) < 1e-5
        assert not split.x.flags.writeable and not split.y.flags.writeable
    both = np.concatenate([data.train.x, data.validation.x])
    assert abs(both.mean()) < 1e-3 and abs(both.std() - 1) < 1e-3
    assert loaded.model == Mlp((196, 64, 10))


def test_embedded_pictures_are_the_ones_in_the_file() -> None:
    # The file, read with numpy and unpacked one nibble at a time: the left pixel is the high half of a byte.
    with resources.as_file(resources.files("callup.simulation.tasks") / "fashion14.npz") as path, np.load(path) as raw:
        packed, labels = raw["x4_test"], raw["y_test"]
    data = TASKS.make("fashion14-mlp").load().data
    for row in (0, 1, 1999):
        shades = [shade for byte in packed[row].tolist() for shade in divmod(byte, 16)]
        expected = [(shade / 15 - 0.2837) / 0.3296 for shade in shades]
        assert np.allclose(data.test.x[row], expected, atol=1e-5) and data.test.y[row] == labels[row]
    # And they look like clothing: trousers (1) have a gap between the legs, T-shirts (0) do not.
    bottom_middle = data.train.x.reshape(-1, 14, 14)[:, 10:, 6:8].mean(axis=(1, 2))
    assert bottom_middle[data.train.y == 0].mean() > bottom_middle[data.train.y == 1].mean() + 0.5


def softmax_accuracy(data: Data, passes: int) -> float:
    """Test accuracy of softmax regression by mini-batch gradient descent, in a few lines."""
    targets = np.eye(data.classes, dtype=np.float32)[data.train.y]
    w = np.zeros((data.train.x.shape[1], data.classes), np.float32)
    b = np.zeros(data.classes, np.float32)
    for rows in (rows for turn in range(passes) for rows in batches(len(data.train), turn)):
        p = np.exp(data.train.x[rows] @ w + b)
        error = (p / p.sum(axis=1, keepdims=True) - targets[rows]) / len(rows)
        w -= 0.05 * data.train.x[rows].T @ error
        b -= 0.05 * error.sum(axis=0)
    return float(((data.test.x @ w + b).argmax(axis=1) == data.test.y).mean())


def batches(size: int, turn: int) -> list[np.ndarray]:
    order = stream(0, "softmax", turn).permutation(size)
    return [order[at : at + 50] for at in range(0, size, 50)]


def test_embedded_data_can_be_learned() -> None:
    data = TASKS.make("fashion14-mlp").load().data
    # Ten passes reach 0.80, and 0.82 is the most that a linear model gets out of these pictures.
    assert softmax_accuracy(data, passes=10) > 0.78
    # A shifted label column would sink to one in ten.
    wrong = Data(data.train, data.validation, type(data.test)(data.test.x, np.roll(data.test.y, 1)), data.classes)
    assert softmax_accuracy(wrong, passes=1) < 0.3


def test_embedded_task_needs_no_files_and_nothing_heavy() -> None:
    program = (
        "import sys, time; start = time.perf_counter(); from callup.simulation.task import TASKS;"
        "loaded = TASKS.make('fashion14-mlp').load(); took = time.perf_counter() - start;"
        "assert len(loaded.data.train) == 9000;"
        "print([m for m in ('torch', 'PIL', 'flwr', 'sklearn') if m in sys.modules], took)"
    )
    bare = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "CALLUP_DATA": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", program], env=bare, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[] ")


def test_licence_travels_with_the_data() -> None:
    notice = resources.files("callup.simulation.tasks").joinpath("fashion14.LICENSE").read_text()
    for line in ("Copyright (c) 2017 Zalando SE", "Permission is hereby granted, free of charge", 'PROVIDED "AS IS"'):
        assert line in notice


def test_loading_twice_shares_the_arrays() -> None:
    one, two = TASKS.make("fashion14-mlp").load(), TASKS.make("fashion14-mlp:hidden=8").load()
    assert one.data.train.x is two.data.train.x and two.model == Mlp((196, 8, 10))
    assert TASKS.make("fashion14-mlp:hidden=0").load().model == Mlp((196, 10))
    assert len(TASKS.make("fashion14-mlp:validation=500").load().data.train) == 9500


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("fashion14-mlp:hidden=-1", "hidden must be a width of at least 1"),
        ("fashion14-mlp:validation=0", "validation must be between 1 and 5000"),
        ("fashion14-mlp:validation=5001", "got 5001"),
        ("fashion14-mlp:hiden=64", "did you mean 'hidden'"),
        ("fashion14", "did you mean 'fashion14-mlp'"),
    ],
)
def test_bad_parameters_are_named(spec: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        TASKS.make(spec).load()


def test_hold_out_is_balanced_as_far_as_classes_reach() -> None:
    labels = np.repeat([0, 1, 2], [2, 50, 100])
    held = hold_out(labels, 14, stream(0, "here"))
    # Two of class 0 are all there are; the other twelve are shared evenly.
    assert np.bincount(labels[held]).tolist() == [2, 6, 6]
    counts = np.bincount(labels[hold_out(labels, 13, stream(0, "here"))]).tolist()
    assert counts in ([2, 5, 6], [2, 6, 5])
    # Who is held out of a class is left to chance: six of 100 agree between two streams once in 10**9.
    other = hold_out(labels, 14, stream(0, "there"))
    assert (held[labels == 2] != other[labels == 2]).any()
    often = sum(hold_out(labels, 14, stream(n, "here")) for n in range(1000))
    # Each of the 100 is taken with chance 0.06: 60 times in 1,000, deviation 7.5; beyond six deviations once in 10**7.
    assert abs(often[labels == 2] - 60).max() < 6 * 7.5


def test_validation_is_fixed_and_apart_from_training() -> None:
    # Every picture carries its own number in its pixels, so that it can be followed into the splits.
    x = np.arange(200, dtype=np.uint8).reshape(200, 1, 1, 1)
    y = np.tile(np.arange(4), 50)
    images = Images(Labelled(x, y), Labelled(x[:4], y[:4]))
    one, two = (three_splits(images, "toy", 40, mean=(0.5,), deviation=(0.25,)) for _ in range(2))

    def number(values: np.ndarray) -> list[int]:
        return np.round((values.ravel() * 0.25 + 0.5) * 255).astype(int).tolist()

    held = number(one.validation.x)
    assert held == number(two.validation.x) and len(held) == 40
    assert sorted(held + number(one.train.x)) == list(range(200))
    assert [n % 4 for n in held] == one.validation.y.tolist() and np.bincount(one.validation.y).tolist() == [10] * 4
    assert number(three_splits(images, "another", 40, (0.5,), (0.25,)).validation.x) != held
    with pytest.raises(UsageError, match="no test set"):
        three_splits(Images(images.train), "toy", 40, (0.5,), (0.25,))


def test_channels_are_standardised_each_by_its_own() -> None:
    x = np.zeros((4, 2, 1, 1), np.uint8)
    x[:, 1] = 255
    images = Images(Labelled(x, np.arange(4) % 2), Labelled(x, np.arange(4) % 2))
    data = three_splits(images, "toy", 2, mean=(0.5, 0.25), deviation=(0.5, 0.25))
    assert np.allclose(data.test.x.reshape(4, 2), [[-1.0, 3.0]] * 4)


def parameters(module: object) -> int:
    return sum(p.numel() for p in module.parameters())  # type: ignore[attr-defined]


def test_networks_have_the_published_shape() -> None:
    torch = pytest.importorskip("torch", reason="the networks need torch")
    # Filters and units with one bias each; batch norm has two numbers a channel.
    lenet = (3 * 25 + 1) * 6 + (6 * 25 + 1) * 16 + (400 + 1) * 120 + (120 + 1) * 84 + (84 + 1) * 10
    two_blocks = (25 + 1) * 16 + 2 * 16 + (16 * 25 + 1) * 32 + 2 * 32 + (32 * 7 * 7 + 1) * 10
    # A third block of 64 filters, and 48 pixels halved three times.
    three_blocks = (75 + 1) * 16 + 2 * 16 + (400 + 1) * 32 + 2 * 32 + (800 + 1) * 64 + 2 * 64 + (64 * 36 + 1) * 10
    # VGG-11: 3 x 3 filters, 64 to 512 of them, then 512, 512 and 10 units.
    depths = (3, 64, 128, 256, 256, 512, 512, 512, 512)
    vgg = sum((9 * a + 1) * b for a, b in pairwise(depths)) + 2 * (512 + 1) * 512 + (512 + 1) * 10
    shifts = 2 * sum(depths[1:]) - sum(depths[1:])  # a scale and a shift for each filter, in place of its bias
    for make, shape, count in (
        (cifar10.make_cnn, (2, 3, 32, 32), lenet),
        (fashion.make_cnn, (2, 1, 28, 28), two_blocks),
        (partial(blocks, 3, 48, (16, 32, 64)), (2, 3, 48, 48), three_blocks),
        (vgg11, (2, 3, 32, 32), vgg),
        (partial(vgg11, 64, "batch"), (2, 3, 32, 32), vgg + shifts),
    ):
        module = make()
        assert parameters(module) == count and module(torch.zeros(shape)).shape == (2, 10)


@pytest.mark.parametrize(
    ("spec", "shape", "sizes"),
    [
        ("fashion-mlp", (784,), (55_000, 5_000, 10_000)),
        ("fashion-cnn", (1, 28, 28), (55_000, 5_000, 10_000)),
        ("mnist-mlp", (784,), (55_000, 5_000, 10_000)),
        ("mnist-cnn", (1, 28, 28), (55_000, 5_000, 10_000)),
        ("cifar10-cnn", (3, 32, 32), (45_000, 5_000, 10_000)),
    ],
)
def test_full_data_where_it_is_present(spec: str, shape: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    loaded = load(spec)
    data = loaded.data
    assert (len(data.train), len(data.validation), len(data.test)) == sizes and data.classes == 10
    assert data.train.x.shape[1:] == shape and data.train.x.dtype == np.float32
    assert np.bincount(data.validation.y).tolist() == [500] * 10
    # Standardised over the dataset: the mean over 5,000 pictures, whose own means differ by less than 1, is within
    # 1/sqrt(5000) = 0.014 of 0; 0.085 is six times that.
    axes = (0, 2, 3) if len(shape) == 3 else None
    held = data.validation.x
    assert np.abs(held.mean(axis=axes)).max() < 0.085 and np.abs(held.std(axis=axes) - 1).max() < 0.085
    assert isinstance(loaded.model, Mlp if len(shape) == 1 else Module)
    # What a partition sees is the same when it is read alone, without the pictures.
    seen = TASKS.make(spec).holdings()
    assert np.array_equal(seen.labels, data.train.y) and (seen.classes, seen.owners) == (data.classes, data.owners)
    cifar10._data.cache_clear()  # 0.7 GB that no other test needs


def test_pictures_and_labels_of_the_full_data_belong_together() -> None:
    data = load("mnist-mlp").data
    small = Data(type(data.train)(data.train.x[:5000], data.train.y[:5000]), data.validation, data.test, 10)
    # Softmax regression on 5,000 digits reaches about 0.88; 10,000 test digits give it a standard error of 0.003.
    assert softmax_accuracy(small, passes=3) > 0.8

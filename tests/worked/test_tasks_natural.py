"""Tasks whose data say whose they are, and the ways of holding out that go with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from callup.core.errors import InputError, UsageError
from callup.core.randomness import stream
from callup.simulation.data.grey import read_by_writer
from callup.simulation.data.har import Recordings
from callup.simulation.data.images import Images, Labelled
from callup.simulation.data.splits import hold_out_owners, own_test_set, three_splits
from callup.simulation.engine import simulate
from callup.simulation.picks import play_picks
from callup.simulation.task import TASKS, Loaded
from callup.simulation.tasks.har import by_people, by_time
from callup.simulation.tasks.stl10 import halved


def load(spec: str) -> Loaded:
    """The task, or a skip that says what is missing; data that is there but broken is a failure."""
    try:
        return TASKS.make(spec).load()
    except InputError as error:
        if not str(error).startswith("no data for") and "need Pillow" not in str(error):
            raise
        pytest.skip(f"{spec}: {error}")


def test_whole_owners_are_held_out_just_enough_of_them() -> None:
    owners = np.repeat([5, 9, 2, 7], [3, 1, 4, 2])
    size = {5: 3, 9: 1, 2: 4, 7: 2}
    for seed in range(20):
        for wanted in (1, 4, 9):
            held = hold_out_owners(owners, wanted, stream(seed, "here"))
            people = set(owners[held].tolist())
            assert all(set(held[owners == person]) == {person in people} for person in size)
            # Enough, and without the one who was drawn last it would not have been: nobody is larger than 4.
            assert wanted <= held.sum() < wanted + 4


def test_splits_by_owner_share_nobody() -> None:
    # Every picture carries its writer in its pixel.
    owners = np.repeat(np.arange(30), 5)
    x, y = owners.astype(np.uint8).reshape(-1, 1, 1, 1), np.tile(np.arange(5), 30)
    data = three_splits(Images(Labelled(x, y), Labelled(x[:5], y[:5])), "toy", 12, (0.0,), (1.0,), owners)
    writers = [set(np.rint(part.x.ravel() * 255).astype(int).tolist()) for part in (data.train, data.validation)]
    assert not writers[0] & writers[1] and writers[0] | writers[1] == set(range(30))
    assert len(data.validation) == 15 and len(writers[1]) == 3  # three writers of five: 10 are too few for 12
    assert data.owners is not None
    assert np.array_equal(np.rint(data.train.x.ravel() * 255), data.owners)
    assert data.flat().owners is data.owners


def test_pictures_without_a_test_set_get_a_balanced_one() -> None:
    x = np.arange(40, dtype=np.uint8).reshape(40, 1, 1, 1)
    images = Images(Labelled(x, np.tile(np.arange(4), 10)))
    made = own_test_set(images, "toy", 8)
    assert made.test is not None and np.bincount(made.test.y).tolist() == [2, 2, 2, 2]
    assert sorted([*made.train.x.ravel(), *made.test.x.ravel()]) == list(range(40))
    assert np.array_equal(own_test_set(images, "toy", 8).test.x, made.test.x)  # type: ignore[union-attr]
    assert own_test_set(made, "toy", 8) is made
    with pytest.raises(UsageError, match="toy: test must be between 1 and 20, half of all pictures, got 21"):
        own_test_set(images, "toy", 21)


def test_large_pictures_are_halved_by_averaging() -> None:
    x = np.zeros((1, 3, 96, 96), np.uint8)
    x[0, 1, :2, :2] = [[10, 20], [30, 41]]  # the mean is 25.25
    x[0, 2, 94:, 94:] = 255
    small = halved(Labelled(x, np.zeros(1, np.int64)))
    assert small.x.shape == (1, 3, 48, 48) and small.x.dtype == np.uint8
    assert small.x[0, 1, 0, 0] == 25 and small.x[0, 2, 47, 47] == 255 and small.x.sum() == 280
    assert halved(small) is small


def recordings(people: int, windows: int) -> Recordings:
    """So many windows of each of six activities, person after person, one activity after the other."""
    user = np.repeat(np.arange(1, people + 1), 6 * windows)
    y = np.tile(np.repeat(np.arange(6), windows), people)
    return Recordings(np.zeros((len(y), 128, 6), np.float32), y, user)


def test_recordings_are_cut_by_time_with_a_gap() -> None:
    place = by_time(recordings(people=2, windows=10), validation=0.2, test=0.3)
    # Of ten windows: four to train, one left out, one for validation, one left out, three for the test.
    assert place.reshape(-1, 10).tolist() == [[0, 0, 0, 0, -1, 1, -1, 2, 2, 2]] * 12
    for shares in ((0.0, 0.2), (0.2, 0.5)):
        with pytest.raises(UsageError, match="must be a share of the windows above 0 and up to"):
            by_time(recordings(2, 10), *shares)


def test_recordings_are_cut_by_people() -> None:
    found = recordings(people=30, windows=2)
    place = by_people(found)
    seen = {number: set(found.user[place == number].tolist()) for number in (0, 1, 2)}
    assert [len(seen[number]) for number in (0, 1, 2)] == [21, 3, 6]
    assert not seen[0] & seen[1] and not seen[0] & seen[2] and not seen[1] & seen[2]


def write_mnist(path: Path, **changes: np.ndarray) -> list[Path]:
    arrays = {
        "x_train": np.zeros((4, 28, 28), np.uint8),
        "y_train": np.arange(4, dtype=np.uint8),
        "x_test": np.zeros((2, 28, 28), np.uint8),
        "y_test": np.arange(2, dtype=np.uint8),
        "writer_train": np.array([3, 3, 8, 1], np.int16),
        "writer_test": np.array([2, 9], np.int16),
    }
    file = path / "mnist_by_writer.npz"
    np.savez(file, **{**arrays, **changes})
    return [file]


def test_writers_are_read_and_checked(tmp_path: Path) -> None:
    images, writers = read_by_writer(write_mnist(tmp_path))
    assert writers.tolist() == [3, 3, 8, 1] and images.train.y.tolist() == [0, 1, 2, 3]
    with pytest.raises(InputError, match="writer 8 is in both the training and the test set"):
        read_by_writer(write_mnist(tmp_path, writer_test=np.array([8, 9], np.int16)))
    with pytest.raises(InputError, match="holds 3 and 2 writers, not one for each picture"):
        read_by_writer(write_mnist(tmp_path, writer_train=np.array([1, 2, 3], np.int16)))
    with pytest.raises(InputError, match="'writer_train' is float64"):
        read_by_writer(write_mnist(tmp_path, writer_train=np.zeros(4)))


def test_mnist_by_writer_where_it_is_present() -> None:
    data = load("mnist-writers").data
    assert data.owners is not None and len(data.owners) == len(data.train)
    people, counts = np.unique(data.owners, return_counts=True)
    # 539 wrote the training set; those held out have 5,000 pictures or a few more, of at most 131 each.
    assert len(data.train) + len(data.validation) == 60_000 and 5_000 <= len(data.validation) < 5_131
    assert 480 < len(people) < 500 and counts.min() >= 19 and counts.max() <= 131
    # Fed-CBS's world of writers: a tenth of them online, thirty picked.
    run = play_picks(
        "random", task="mnist-writers", partition="natural", availability="uniform:fraction=0.1", k=30, rounds=2
    )
    assert len(run.clients) == len(people) and run.history[0].available == round(0.1 * len(people))
    assert np.array_equal(run.clients.all("num_examples"), counts)
    equal = play_picks("random", task="mnist-writers", partition="natural:samples=100,clients=90", rounds=1)
    assert set(equal.clients.all("num_examples")) == {100} and len(equal.clients) == 90


def test_people_with_phones_where_they_are_present() -> None:
    data = load("har").data
    assert data.train.x.shape[1] == 768 and data.classes == 6 and len(np.unique(data.owners)) == 30  # type: ignore[arg-type]
    apart = load("har:held_out=people").data
    assert len(np.unique(apart.owners)) == 21  # type: ignore[arg-type]
    assert len(apart.train) + len(apart.validation) + len(apart.test) == 10_411
    # Standardised over all windows, of which these are 7 in 10.
    channels = data.train.x.reshape(-1, 6)
    assert np.abs(channels.mean(axis=0)).max() < 0.1 and np.abs(channels.std(axis=0) - 1).max() < 0.1
    # The commonest of six activities is 19 % of the windows; ten rounds of five people reach about 80 %.
    run = simulate("random", task="har", partition="natural", k=5, rounds=10, evaluate_every=10)
    accuracy = run.history[-1].accuracy
    assert accuracy is not None and accuracy > 0.6


def test_stl10_where_it_is_present() -> None:
    data = load("stl10-cnn").data
    assert data.train.x.shape[1:] == (3, 48, 48) and len(data.validation) == 500
    assert np.bincount(data.validation.y).tolist() == [50] * 10
    # 80 of each class of the reduced file, or 800 of the published one.
    assert np.bincount(data.test.y).tolist() in ([80] * 10, [800] * 10)
    assert np.abs(data.train.x.mean(axis=(0, 2, 3))).max() < 0.05


def test_natural_clients_need_owners() -> None:
    with pytest.raises(UsageError, match="natural: these data do not say whose each sample is"):
        simulate("random", task="fashion14-mlp", partition="natural", rounds=1)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("vgg11:width=0", "vgg11: width must be"),
        ("vgg11:norm=layer", "norm"),
        ("har:held_out=windows", "held_out"),
        ("mnist-writers:model=lstm", "model"),
    ],
)
def test_bad_parameters_are_named(spec: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        TASKS.make(spec)

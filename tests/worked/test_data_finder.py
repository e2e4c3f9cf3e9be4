"""The finder: which folder wins, which files make a dataset, and what is said when there is none."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from callup.core.errors import InputError
from callup.simulation.data import finder
from callup.simulation.data.datasets import cifar10, fashion_mnist, mnist, stl10
from callup.simulation.data.har import activities

IDX = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three empty places to look in, instead of this machine's own."""
    for name in ("named", "cache/callup", "installed"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setenv("CALLUP_DATA", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(finder, "INSTALLED", (tmp_path / "installed",))
    return tmp_path


def write_grey(path: Path, shade: int) -> None:
    """Two training pictures and one test picture, all of one shade, by which the file is known again."""
    x = np.full((2, 28, 28), shade, np.uint8)
    np.savez(path, x_train=x, y_train=np.uint8([3, 9]), x_test=x[:1], y_test=np.uint8([0]))


def write_idx(folder: Path, shade: int, packed: bool = False, files: tuple[str, ...] = IDX) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in files:
        count = 2 if name.startswith("train") else 1
        picture = bytes((0, 0, 8, 3)) + struct.pack(">3I", count, 28, 28) + bytes([shade]) * (count * 784)
        content = picture if "images" in name else bytes((0, 0, 8, 1)) + struct.pack(">I", count) + bytes([7] * count)
        path = folder / (f"{name}.gz" if packed else name)
        path.write_bytes(gzip.compress(content) if packed else content)


def test_the_named_folder_comes_before_the_cache_before_the_installed(places: Path) -> None:
    write_grey(places / "installed" / "fashion_mnist.npz", 3)
    assert fashion_mnist().train.x.max() == 3
    write_grey(places / "cache" / "callup" / "fashion_mnist.npz", 2)
    assert fashion_mnist().train.x.max() == 2
    write_grey(places / "named" / "fashion_mnist.npz", 1)
    images = fashion_mnist()
    assert images.train.x.max() == 1 and images.train.x.shape == (2, 1, 28, 28) and images.train.y.tolist() == [3, 9]
    assert images.test is not None and images.test.x.shape == (1, 1, 28, 28)


@pytest.mark.parametrize("packed", [False, True])
def test_idx_files_are_told_apart_by_their_folder(places: Path, packed: bool) -> None:
    write_idx(places / "installed" / "fashion-mnist", 5, packed)
    write_idx(places / "named" / "MNIST" / "raw", 6, packed)
    assert fashion_mnist().train.x.min() == 5
    assert mnist().train.x.min() == 6 and mnist().train.y.tolist() == [7, 7]


def test_idx_files_in_a_folder_of_no_name_are_nobodys(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_idx(places / "named", 5)
    with pytest.raises(InputError, match="no data for MNIST"):
        mnist()
    write_idx(places / "mnist", 6)
    monkeypatch.setenv("CALLUP_DATA", str(places / "mnist"))
    assert mnist().train.x.min() == 6
    with pytest.raises(InputError, match="no data for Fashion-MNIST"):
        fashion_mnist()


def test_the_sentence_when_there_is_nothing(places: Path) -> None:
    with pytest.raises(InputError) as caught:
        fashion_mnist()
    said = str(caught.value)
    assert "\n" not in said and said.startswith("no data for Fashion-MNIST: looked for fashion_mnist.npz or ")
    for part in ("fashion-mnist/train-images-idx3-ubyte and 3 more", "set CALLUP_DATA", "zalandoresearch", "Debian"):
        assert part in said
    for folder in ("named", "cache/callup", "installed"):
        assert str(places / folder) in said
    for read, word in ((mnist, "MNIST"), (cifar10, "CIFAR-10"), (stl10, "STL-10"), (activities, "har_hapt")):
        with pytest.raises(InputError, match=word):
            read()


def test_the_sentence_names_the_file_that_is_missing(places: Path) -> None:
    write_idx(places / "named" / "mnist", 1, files=IDX[:3])
    with pytest.raises(InputError, match=r"mnist has train-images-idx3-ubyte but lacks t10k-labels-idx1-ubyte"):
        mnist()


def test_a_named_folder_that_is_none_is_told(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLUP_DATA", str(places / "nowhere"))
    with pytest.raises(InputError, match=r"CALLUP_DATA is set to '.*nowhere', which is not a folder"):
        mnist()


def test_folders_without_settings(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLUP_DATA", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/path")  # to be ignored, says the XDG standard
    monkeypatch.setenv("HOME", str(places))
    assert finder.folders() == [places / ".cache" / "callup", places / "installed"]


def test_cifar10_binary_batches_come_in_order(places: Path) -> None:
    folder = places / "named" / "cifar-10-batches-bin"
    folder.mkdir()
    for number, name in enumerate(
        ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch")
    ):
        (folder / f"{name}.bin").write_bytes(bytes([number]) + bytes([10 * number]) * 3072)
    images = cifar10()
    assert images.train.y.tolist() == [0, 1, 2, 3, 4] and images.train.x[:, 0, 0, 0].tolist() == [0, 10, 20, 30, 40]
    assert images.test is not None and images.test.y.tolist() == [5]
    # A broken file is named, not passed over in favour of the next place.
    (folder / "data_batch_3.bin").write_bytes(b"broken")
    with pytest.raises(InputError, match=r"data_batch_3\.bin"):
        cifar10()


def test_stl10_as_published(places: Path) -> None:
    folder = places / "named" / "stl10_binary"
    folder.mkdir()
    for part, label in (("train", 1), ("test", 10)):
        (folder / f"{part}_X.bin").write_bytes(bytes(3 * 96 * 96))
        (folder / f"{part}_y.bin").write_bytes(bytes([label]))
    images = stl10()
    assert images.train.y.tolist() == [0] and images.test is not None and images.test.y.tolist() == [9]


def test_pictures_of_another_size_are_refused(places: Path) -> None:
    path = places / "named" / "mnist.npz"
    x, y = np.zeros((2, 27, 28), np.uint8), np.uint8([0, 1])
    np.savez(path, x_train=x, y_train=y, x_test=x, y_test=y)
    with pytest.raises(InputError, match=r"mnist\.npz: 'x_train' is uint8 of shape \(2, 27, 28\)"):
        mnist()


def test_activities_are_scaled_and_keep_their_users(places: Path) -> None:
    steps = np.full((2, 128, 6), 8, np.int16)
    path, y, user = places / "named" / "har_hapt_by_user.npz", np.uint8([5, 0]), np.uint8([30, 1])
    np.savez(path, x_int16=steps, scale=np.float32(0.25), y=y, user=user)
    found = activities()
    assert found.x.dtype == np.float32 and (found.x == 2).all() and found.user.tolist() == [30, 1]
    for broken in ({"y": np.uint8([6, 0])}, {"scale": np.float32(np.nan)}, {"user": np.uint8([1])}):
        np.savez(path, **{"x_int16": steps, "scale": np.float32(0.25), "y": y, "user": user, **broken})
        with pytest.raises(InputError, match="har_hapt"):
            activities()

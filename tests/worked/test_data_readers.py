"""Readers of published formats, on files written here byte by byte, whole and broken."""

from __future__ import annotations

import gzip
import io
import struct
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from callup.core.errors import InputError
from callup.simulation.data.cifar10 import read_binary_batch, read_python_batch
from callup.simulation.data.datasets import cifar10
from callup.simulation.data.idx import read_idx
from callup.simulation.data.mosaic import read_mosaics
from callup.simulation.data.npz import open_npz
from callup.simulation.data.stl10 import read_binary


def refused(read: Callable[[], object], path: Path, *words: str) -> str:
    """The one-line refusal: it names the file and says these words, and no memory was taken on a file's word."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            read()
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    text = str(caught.value)
    assert str(path) in text and "\n" not in text
    for word in words:
        assert word in text
    return text


def by_words(value: object) -> str:
    """A readable name for a case: the words expected, not the bytes given."""
    return value if isinstance(value, str) else "given"


# IDX: 00 00, type 08 (bytes), number of dimensions, big-endian sizes, content.
CUBE = bytes((0, 0, 8, 3)) + struct.pack(">3I", 2, 2, 3) + bytes(range(12))


def test_idx_plain_and_packed(tmp_path: Path) -> None:
    plain, packed = tmp_path / "cube", tmp_path / "cube.gz"
    plain.write_bytes(CUBE)
    packed.write_bytes(gzip.compress(CUBE))
    for path in (plain, packed):
        cube = read_idx(path, 3)
        assert cube.dtype == np.uint8 and cube.shape == (2, 2, 3)
        # Row-major: the last index runs fastest, so element (1, 0, 2) is number 1*6 + 0*3 + 2.
        assert cube[1, 0, 2] == 8 and cube[0, 1, 0] == 3


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not an IDX file"),
        (b"\x00\x00\x08\x01" + CUBE[4:], "00000801"),  # labels where pictures are expected
        (b"\x00\x00\x0d\x03" + CUBE[4:], "00000d03"),  # floats
        (b"\x89PNG" + CUBE[4:], "89504e47"),
        (CUBE[:9], "inside its header"),
        (CUBE[:-1], "11 of 12 bytes"),
        (CUBE + b"\x00", "goes on after"),
        (bytes((0, 0, 8, 3)) + struct.pack(">3I", 0, 2, 3), "cannot hold"),
        (bytes((0, 0, 8, 3)) + b"\xff" * 12 + bytes(100), "cannot hold"),  # 2**96 bytes, says the header
    ],
    ids=by_words,
)
def test_idx_broken(tmp_path: Path, content: bytes, words: str, packed: bool) -> None:
    path = tmp_path / ("broken.gz" if packed else "broken")
    path.write_bytes(gzip.compress(content) if packed else content)
    refused(lambda: read_idx(path, 3), path, words)


def test_idx_damaged_gzip_and_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "cube.gz"
    packed = bytearray(gzip.compress(CUBE * 50))
    for content in (packed[: len(packed) // 2], b"not gzip at all", packed[:-8] + bytes(8)):
        path.write_bytes(content)
        refused(lambda: read_idx(path, 3), path)
    refused(lambda: read_idx(tmp_path / "absent", 3), tmp_path / "absent", "No such file")
    refused(lambda: read_idx(tmp_path, 3), tmp_path)


# CIFAR-10, binary: one byte of label, then red, green and blue planes of 32 x 32.
def cifar_record(label: int, red: int, green: int, blue: int) -> bytes:
    return bytes([label]) + bytes([red]) * 1024 + bytes([green]) * 1024 + bytes([blue]) * 1024


def test_cifar_binary(tmp_path: Path) -> None:
    path = tmp_path / "data_batch_1.bin"
    path.write_bytes(cifar_record(9, 1, 2, 3) + cifar_record(0, 4, 5, 6))
    batch = read_binary_batch(path)
    assert batch.x.shape == (2, 3, 32, 32) and batch.y.tolist() == [9, 0]
    assert batch.x.max(axis=(2, 3)).tolist() == batch.x.min(axis=(2, 3)).tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "0 bytes"),
        (cifar_record(1, 0, 0, 0)[:-1], "3,072 bytes"),
        (cifar_record(10, 0, 0, 0), "label 10"),
    ],
    ids=by_words,
)
def test_cifar_binary_broken(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "data_batch_1.bin"
    path.write_bytes(content)
    refused(lambda: read_binary_batch(path), path, words)


# CIFAR-10, python: opcodes as Python 2's cPickle wrote them with protocol 2. U short string, T long string, K byte,
# M two bytes, J four bytes, ( mark, t tuple, R call, b set state, e append all, u set all items.
def text(word: bytes) -> bytes:
    return b"U" + bytes([len(word)]) + word


def cifar_pickle(labels: bytes, pixels: bytes, shape: tuple[int, int], function: bytes = b"_reconstruct") -> bytes:
    dtype = b"cnumpy\ndtype\nq\x09" + text(b"u1") + b"K\x00K\x01\x87Rq\x0a"
    dtype += b"(K\x03" + text(b"|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    array = (
        b"cnumpy.core.multiarray\n" + function + b"\nq\x06cnumpy\nndarray\nq\x07K\x00\x85" + text(b"b") + b"\x87Rq\x08"
    )
    array += b"(K\x01J" + struct.pack("<i", shape[0]) + b"M" + struct.pack("<H", shape[1]) + b"\x86" + dtype
    array += b"\x89T" + struct.pack("<i", len(pixels)) + pixels + b"tb"
    listed = b"]q\x05(" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    return (
        b"\x80\x02}q\x01("
        + (text(b"batch_label") + b"q\x02" + text(b"training batch 1 of 5") + b"q\x03")
        + (text(b"labels") + b"q\x04" + listed)
        + (text(b"data") + array)
        + b"u."
    )


PIXELS = cifar_record(0, 200, 10, 255)[1:] + cifar_record(0, 7, 128, 0)[1:]


def test_cifar_python(tmp_path: Path) -> None:
    path = tmp_path / "data_batch_1"
    path.write_bytes(cifar_pickle(bytes((6, 9)), PIXELS, (2, 3072)))
    batch = read_python_batch(path)
    assert batch.x.shape == (2, 3, 32, 32) and batch.y.tolist() == [6, 9]
    assert batch.x[:, :, 31, 0].tolist() == [[200, 10, 255], [7, 128, 0]]


def test_cifar_python_batches_make_the_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLUP_DATA", str(tmp_path))
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for number, name in enumerate((*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")):
        (folder / name).write_bytes(cifar_pickle(bytes((number, 9)), PIXELS, (2, 3072)))
    images = cifar10()
    assert images.train.y.tolist() == [0, 9, 1, 9, 2, 9, 3, 9, 4, 9] and images.train.x.shape == (10, 3, 32, 32)
    assert images.test is not None and images.test.y.tolist() == [5, 9]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "data_batch_*.bin"),
        (b"\x80\x02N.", "data_batch_*.bin"),
        (b"\x80\x02}.", "'data'"),
        (b"\x80\x02e.", "mark is missing"),
        (b"\x80\x02K\x01K\x02a.", "broken pickle"),
        (b"\x80\x02}K\x01K\x02s.", "key is not text"),
        (b"\x80\x02h\x05.", "broken pickle"),
        (b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00N.", "FRAME"),
        (cifar_pickle(b"\x01\x02", PIXELS, (2, 3072))[:-500], "data_batch_*.bin"),
        (cifar_pickle(b"\x01\x02", PIXELS, (3, 3072)), "3,072 columns"),
        (cifar_pickle(b"\x01\x02", PIXELS, (2**31 - 1, 3072)), "3,072 columns"),
        (cifar_pickle(b"\x01\x02", PIXELS[:-3072], (2, 1536)), "3,072 columns"),
        (cifar_pickle(b"\x01\x02", PIXELS, (2, 3072), b"scalar"), "3,072 columns"),
        (cifar_pickle(b"\x01", PIXELS, (2, 3072)), "2 pictures but 1 labels"),
        (cifar_pickle(b"\x01\x0a", PIXELS, (2, 3072)), "label 10"),
        (b"\x80\x02T\xff\xff\xff\x7fabc.", "data_batch_*.bin"),  # a string of 2 GB, says the opcode
    ],
    ids=by_words,
)
def test_cifar_python_broken(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "data_batch_1"
    path.write_bytes(content)
    refused(lambda: read_python_batch(path), path, words)


def test_cifar_python_never_runs_what_it_reads(tmp_path: Path) -> None:
    path, marker = tmp_path / "data_batch_1", tmp_path / "marker"
    command = f"touch {marker}".encode()
    call = b"cos\nsystem\nU" + bytes([len(command)]) + command + b"\x85R"
    for content in (b"\x80\x02" + call + b".", b"\x80\x02}(" + text(b"data") + call + text(b"labels") + call + b"u."):
        path.write_bytes(content)
        refused(lambda: read_python_batch(path), path)
    assert not marker.exists()


def test_cifar_python_labels_that_share_their_parts_are_not_multiplied_out(tmp_path: Path) -> None:
    # Five lists, each of 200 times the one before: 200**5 numbers if anyone believed it.
    nest = b"](" + b"K\x01" * 200 + b"eq\x00"
    for level in range(1, 5):
        nest = b"](" + nest + (b"h" + bytes([level - 1])) * 199 + b"eq" + bytes([level])
    good = cifar_pickle(b"\x01\x02", PIXELS, (2, 3072))
    path = tmp_path / "data_batch_1"
    path.write_bytes(good[:-2] + text(b"labels") + nest + b"u.")
    refused(lambda: read_python_batch(path), path, "list of whole numbers")


# STL-10: pictures column by column, labels from 1 in a file of their own.
def test_stl_binary(tmp_path: Path) -> None:
    x, y = tmp_path / "train_X.bin", tmp_path / "train_y.bin"
    picture = bytearray(3 * 96 * 96)
    picture[1 * 9216 + 5 * 96 + 2] = 77  # green, column 5, row 2
    x.write_bytes(bytes(3 * 96 * 96) + picture)
    y.write_bytes(bytes((10, 1)))
    part = read_binary(x, y)
    assert part.x.shape == (2, 3, 96, 96) and part.y.tolist() == [9, 0]
    assert np.argwhere(part.x).tolist() == [[1, 1, 2, 5]] and part.x[1, 1, 2, 5] == 77


def test_stl_binary_broken(tmp_path: Path) -> None:
    x, y = tmp_path / "train_X.bin", tmp_path / "train_y.bin"
    x.write_bytes(bytes(3 * 96 * 96))
    for labels, culprit, words in (
        (b"\x00", y, "0 to 0"),
        (b"\x0b", y, "11"),
        (b"\x01\x02", x, "2 labels"),
        (b"", x, "0"),
    ):
        y.write_bytes(labels)
        refused(lambda: read_binary(x, y), culprit, words)
    y.write_bytes(b"\x01")
    for content in (b"", bytes(3 * 96 * 96 - 1)):
        x.write_bytes(content)
        refused(lambda: read_binary(x, y), x, "not a whole number")


# .npz: a zip of .npy members, each a short text header and the raw numbers.
def npy(header: str, content: bytes) -> bytes:
    body = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body + content


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as files:
        for name, content in members.items():
            files.writestr(name, content)
    return path


def test_npz_reads_what_numpy_writes(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", x=x, f=np.asfortranarray(x), n=np.float32(0.5))
        with open_npz(tmp_path / "a.npz") as archive:
            assert archive.array("x", "i2", (None, 3, 4)).tolist() == x.tolist()
            assert archive.array("f", "iu", (2, None, None)).tolist() == x.tolist()
            assert archive.array("n", "f4", ()) == np.float32(0.5)
            assert "x" in archive and "y" not in archive


@pytest.mark.parametrize(
    ("member", "words"),
    [
        (npy("{'descr': '|u1', 'fortran_order': False, 'shape': (9999999999999,)}", b"abc"), "contradicts"),
        (npy("{'descr': '|u1', 'fortran_order': False, 'shape': (-3,)}", b"abc"), "x"),
        (npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", b"abc"), "contradicts"),
        (npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3, 1)}", b"abc"), "(3, 1), expected u1 of (any)"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", bytes(8)), "float64"),
        (npy("{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", b"abc"), "Python objects"),
        (npy("__import__('os')", b"abc"), "not a numpy array"),
        (b"\x93NUMPY\x09\x00" + bytes(50), "not a numpy array"),
        (b"short", "not a numpy array"),
    ],
    ids=by_words,
)
def test_npz_with_a_lying_array(tmp_path: Path, member: bytes, words: str) -> None:
    path = zipped(tmp_path / "lie.npz", {"x.npy": member})

    def read() -> None:
        with open_npz(path) as archive:
            archive.array("x", "u1", (None,))

    refused(read, path, words)


def test_npz_with_a_lying_zip(tmp_path: Path) -> None:
    good = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (100,)}", bytes(100))
    path = zipped(tmp_path / "lie.npz", {"x.npy": good})
    content = path.read_bytes()

    def read(name: str = "x") -> None:
        with open_npz(path) as archive:
            archive.array(name, "u1", (None,))

    refused(lambda: read("y"), path, "no array 'y'", "it holds x")
    directory = content.index(b"PK\x01\x02")
    size, method, flags, checksum = directory + 24, directory + 10, directory + 8, directory + 16
    for at, patch, words in (
        (size, struct.pack("<I", 2**31), "more than it can unpack to"),
        (method, struct.pack("<H", 12), "never uses"),
        (flags, struct.pack("<H", 1), "never uses"),
        (checksum, bytes(4), "CRC"),
    ):
        path.write_bytes(content[:at] + patch + content[at + len(patch) :])
        refused(read, path, words)
    for broken in (b"", b"not a zip", content[:60], content[:-30]):
        path.write_bytes(broken)
        refused(read, path)
    refused(lambda: open_npz(tmp_path / "absent.npz").__enter__(), tmp_path / "absent.npz", "No such file")


# Mosaics: tiles of (height, width, 3) in rows of `cols`, encoded as lossless WebP.
def webp(picture: np.ndarray) -> np.ndarray:
    image = pytest.importorskip("PIL.Image")
    content = io.BytesIO()
    image.fromarray(picture).save(content, "WEBP", lossless=True, exact=True)
    return np.frombuffer(content.getvalue(), np.uint8)


def mosaic(path: Path, **changes: object) -> Path:
    """Three tiles of 2 x 4 pixels in two columns, in a mosaic of 4 x 8; one more tile in a second mosaic."""
    first, second = np.zeros((4, 8, 3), np.uint8), np.zeros((2, 8, 3), np.uint8)
    first[:2, :4], first[:2, 4:], first[2:, :4] = (10, 0, 0), (20, 0, 0), (30, 0, 0)
    first[3, 1] = (1, 2, 3)  # in the third tile: row 1, column 1
    second[:, :4] = (40, 0, 0)
    arrays = {"webp_train_0": webp(first), "webp_train_1": webp(second), "n_train": np.array([3, 1])}
    arrays |= {"cols": np.array(2), "shape": np.array([2, 4, 3])}
    np.savez(path, **{**arrays, **changes})  # type: ignore[arg-type]
    return path


def test_mosaic_tiles_come_out_in_order(tmp_path: Path) -> None:
    with open_npz(mosaic(tmp_path / "m.npz")) as archive:
        tiles = read_mosaics(archive, "train")
    assert tiles.shape == (4, 3, 2, 4)
    assert tiles[:, 0, 0, 0].tolist() == [10, 20, 30, 40]
    assert tiles[2, :, 1, 1].tolist() == [1, 2, 3]
    assert (tiles[3, 0] == 40).all() and tiles[:, 1:].sum() == 5


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_train": np.array([10**12, 1])}, "expected RGB of"),
        ({"n_train": np.array([3, 1, 1])}, "webp_train_2"),
        ({"n_train": np.array([-3, 1])}, "make no sense"),
        ({"shape": np.array([2, 4, 1])}, "make no sense"),
        ({"cols": np.array(0)}, "make no sense"),
        ({"shape": np.array([4, 2, 3])}, "expected RGB of"),
        ({"webp_train_0": np.zeros(50, np.uint8)}, "WebP"),
        ({"cols": np.array(2.5)}, "float64"),
    ],
)
def test_mosaic_broken(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    path = mosaic(tmp_path / "m.npz", **changes)

    def read() -> None:
        with open_npz(path) as archive:
            read_mosaics(archive, "train")

    refused(read, path, words)


def test_mosaic_cut_short(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (4, 8, 3), dtype=np.uint8)
    path = mosaic(tmp_path / "m.npz", webp_train_0=webp(noise)[:-20])
    with open_npz(path) as archive:
        refused(lambda: read_mosaics(archive, "train"), path, "WebP")


def test_mosaic_without_pillow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = mosaic(tmp_path / "m.npz")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with open_npz(path) as archive:
        refused(lambda: read_mosaics(archive, "train"), path, "pip install 'callup[data]'")

"""The data of a task in shared memory, so that worker processes read it without a copy."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np

from callup.core.errors import CallupError
from callup.simulation.task import Data, Split

_SPLITS = ("train", "validation", "test")
_FILES = Path("/dev/shm")


@dataclass(frozen=True)
class Place:
    """Where one array is; small enough to be sent."""

    block: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Places:
    """Where all arrays of a `Data` are."""

    arrays: dict[tuple[str, str], Place]
    classes: int


class SharedData:
    """Copies arrays into shared memory; `close` gives it back, and only the process that made it may do so."""

    def __init__(self, data: Data) -> None:
        check_room(sum(part.x.nbytes + part.y.nbytes for part in (data.train, data.validation, data.test)))
        self._blocks: list[SharedMemory] = []
        self._named: list[SharedMemory] = []
        arrays = {}
        try:
            for split in _SPLITS:
                for name in ("x", "y"):
                    arrays[split, name] = self._keep(getattr(getattr(data, split), name))
        except BaseException:
            self.close()
            raise
        self.places = Places(arrays, data.classes)

    def forget_names(self) -> None:
        """Once all who need the data have found them, nothing is left of them whatever becomes of this process."""
        while self._named:
            self._named.pop().unlink()

    def close(self) -> None:
        self.forget_names()
        while self._blocks:
            self._blocks.pop().close()

    def _keep(self, array: np.ndarray) -> Place:
        block = SharedMemory(create=True, size=max(array.nbytes, 1))
        self._blocks.append(block)
        self._named.append(block)
        np.ndarray(array.shape, array.dtype, block.buf)[...] = array
        return Place(block.name, array.shape, array.dtype.str)


class AttachedData:
    """The same data in another process, as long as this object lives."""

    def __init__(self, places: Places) -> None:
        self._blocks: list[SharedMemory] = []
        views = {key: self._view(place) for key, place in places.arrays.items()}
        train, validation, test = (Split(views[split, "x"], views[split, "y"]) for split in _SPLITS)
        self.data = Data(train, validation, test, places.classes)

    def _view(self, place: Place) -> np.ndarray:
        block = SharedMemory(place.block)
        self._blocks.append(block)
        return np.ndarray(place.shape, np.dtype(place.dtype), block.buf)


def check_room(needed: int) -> None:
    """Where shared memory is a file system of fixed size, as in many containers, writing past its end is fatal."""
    if _FILES.is_dir() and (free := shutil.disk_usage(_FILES).free) < needed:
        raise CallupError(
            f"workers share {needed / 2**20:,.0f} MB of data, and {_FILES} has room for {free / 2**20:,.0f} MB; "
            "enlarge it, or use workers = 1"
        )

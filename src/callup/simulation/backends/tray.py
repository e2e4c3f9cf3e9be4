"""Large arrays on their way to another process: laid into memory that both can see, because a pipe cuts them small."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from callup.simulation.backends.base import Trained
from callup.simulation.backends.shared_data import check_room

_ROOM = 16 * 2**20  # bytes, taken from the machine only as far as they are used; what does not fit goes by pipe
_LARGE = 16 * 2**10  # bytes: below, a pipe is as good


@dataclass(frozen=True)
class Laid:
    """Where an array lies."""

    at: int
    shape: tuple[int, ...]
    dtype: str


class Tray:
    """For two processes that take turns: who is given a message lifts its arrays before laying down others."""

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            check_room(_ROOM)
        self._block = SharedMemory(name, create=name is None, size=_ROOM if name is None else 0)
        self.name, self._named, self._end = self._block.name, name is None, 0

    def lay(self, message: Any) -> Any:
        """The message with its large arrays on the tray."""
        self._end = 0
        if isinstance(message, Trained):
            signals = {name: self._lay(answer) for name, answer in message.signals.items()}
            return replace(message, models=self._lay(message.models), signals=signals)
        return self._lay(message)

    def lift(self, message: Any) -> Any:
        """The message as it was. Its arrays are those on the tray, until something else is laid there."""
        if isinstance(message, Trained):
            signals = {name: self._lift(answer) for name, answer in message.signals.items()}
            return replace(message, models=self._lift(message.models), signals=signals)
        return self._lift(message)

    def forget_name(self) -> None:
        """Once both have the tray, nobody else need find it, and nothing is left of it whatever becomes of them."""
        if self._named:
            self._named = False
            self._block.unlink()

    def close(self) -> None:
        self.forget_name()
        with contextlib.suppress(BufferError):  # an error on its way up still holds an array: it goes with the error
            self._block.close()

    def _lay(self, array: Any) -> Any:
        if not isinstance(array, np.ndarray) or not _LARGE <= array.nbytes <= _ROOM - self._end:
            return array
        laid = Laid(self._end, array.shape, array.dtype.str)
        self._at(laid)[...] = array
        self._end += -(-array.nbytes // 64) * 64
        return laid

    def _lift(self, laid: Any) -> Any:
        return self._at(laid) if isinstance(laid, Laid) else laid

    def _at(self, laid: Laid) -> np.ndarray:
        return np.ndarray(laid.shape, np.dtype(laid.dtype), self._block.buf, laid.at)

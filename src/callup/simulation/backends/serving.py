"""What a worker process does: it builds a backend once and then answers one job after the other."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import numpy as np

from callup.core.errors import CallupError
from callup.simulation.backends.base import Backend
from callup.simulation.backends.tray import Tray


def serve(line: Connection, tray_name: str, build: Callable[..., Backend], arguments: tuple[Any, ...]) -> None:
    """The life of a worker: it says when it is ready, and ends when the line does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    tray = Tray(tray_name)
    try:
        backend = build(*arguments)
    except CallupError as error:
        _answer(line, error.with_traceback(None))
        _end()
    _answer(line, None)
    model = np.empty(0)
    while True:
        try:
            news, (method, rest) = line.recv()
        except (EOFError, OSError):
            _end()
        model = model if news is None else tray.lift(news).copy()
        try:
            answer = tray.lay(getattr(backend, method)(model, *rest))
        except CallupError as error:
            answer = error.with_traceback(None)
        _answer(line, answer)


def _answer(line: Connection, answer: Any) -> None:
    try:
        line.send(answer)
    except OSError:
        _end()


def _end() -> NoReturn:
    """At once: torch takes a second to take itself apart, and there is nothing to keep."""
    sys.stdout.flush()
    os._exit(0)

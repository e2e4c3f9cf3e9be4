"""Worker processes together with the data they share, given back whatever happens."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from callup.simulation.backends.base import Backend
from callup.simulation.backends.shared_data import SharedData
from callup.simulation.backends.workers import Workers
from callup.simulation.task import Data


class Crew:
    """Given back on `close`, or when the program ends without it. `build` gets where the data are, then the rest."""

    def __init__(self, number: int, build: Callable[..., Backend], data: Data, *rest: Any) -> None:
        shared = SharedData(data)
        try:
            workers = Workers(number, build, (shared.places, *rest))
        except BaseException:
            shared.close()
            raise
        self.run = workers.run
        self.close = weakref.finalize(self, _dismiss, workers, shared)


def _dismiss(workers: Workers, shared: SharedData) -> None:
    workers.close()
    shared.close()

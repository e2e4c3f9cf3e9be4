"""One run of the tournament: the curve on test and on validation data, and what choosing alone cost."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from callup.core.catalogue import SELECTORS
from callup.core.selector import Selector
from callup.core.types import Feedback, Round, Selection
from callup.experiments.metrics import Series, series
from callup.simulation.engine import Engine
from callup.simulation.settings import Settings

SELECTION_SECONDS = "selection seconds"
"""Of processor time, in a round: choosing and learning at the server, without what clients do when they are probed."""


def play_match(settings: Settings) -> tuple[Series, dict[str, float]]:
    """The run of these settings, to its end."""
    selector = SELECTORS.make(settings.selector)
    stopwatch = Stopwatch(selector)
    engine = Engine(settings, selector)
    try:
        run = engine.run()
    finally:
        engine.close()
    return series(run, validation=True), {SELECTION_SECONDS: stopwatch.seconds / settings.rounds}


class Stopwatch:
    """Counts the processor time a selector spends; it chooses and learns as it would without."""

    def __init__(self, selector: Selector) -> None:
        self.seconds = 0.0
        self._select, self._update = selector.select, selector.update
        selector.select = self._timed_select  # type: ignore[method-assign]
        selector.update = self._timed_update  # type: ignore[method-assign]

    def _timed_select(self, now: Round, k: int) -> Selection:
        began = time.process_time()
        selection = self._select(replace(now, probe=lambda name, ids: self._pause(now, name, ids)), k)
        self.seconds += time.process_time() - began
        return selection

    def _timed_update(self, feedback: Feedback) -> None:
        began = time.process_time()
        self._update(feedback)
        self.seconds += time.process_time() - began

    def _pause(self, now: Round, name: str, ids: np.ndarray) -> np.ndarray:
        began = time.process_time()
        heard = now.probe(name, ids)
        self.seconds -= time.process_time() - began
        return heard

"""Contributions in a simulated run: of those who took part, or of any cohort at any moment."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from callup.aggregation.contribution import Measure
from callup.aggregation.workbench import ModelBench
from callup.analytics.shapley import relative
from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.core.randomness import stream
from callup.core.types import Replies
from callup.simulation.engine import Engine
from callup.simulation.run import Run
from callup.simulation.settings import Settings


@dataclass(frozen=True)
class Contributions:
    """What each participant of one round contributed."""

    index: int
    ids: Ids
    values: np.ndarray

    @property
    def relative(self) -> np.ndarray:
        """Scaled within the round, from 0 for the least to 1 for the greatest."""
        return relative(self.values)


class Auditor:
    """Looks at a run from outside at one moment: the global model and how often each client had taken part."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._model = engine, engine.model
        self._times = PerClient.from_state(engine.collector.participations.state())

    def audit(self, ids: Ids, index: int, measure: Measure) -> Contributions:
        """What these clients contribute as the cohort of round `index`. They train here; the run does not notice.

        Local training hangs on seed, round and client alone, so for the clients who did take part in this round the
        local models are the very ones of the run. Averaged by the run's own rule.
        """
        engine, world, ids = self._engine, self._engine.world, np.asarray(ids, np.int64)
        if len(ids) == 0:
            return Contributions(index, ids, np.zeros(0))
        rates = world.local.rates(index, self._times.get(ids))
        trained = world.backend.train(self._model, ids, index, rates, ())
        sizes = world.clients.of("num_examples", ids)
        replies = Replies(ids, self._model, trained.models, sizes, trained.local_steps)

        def combine(rows: np.ndarray) -> np.ndarray:
            mask = np.isin(np.arange(len(ids)), rows)
            return engine.average.combine(self._model, replies.only(mask), world.clients)

        held_out = world.validation
        bench = ModelBench(replies, lambda model: world.backend.scores(model, held_out), held_out.targets, combine)
        values = measure.values(bench, len(ids), stream(engine.settings.seed, "audit", index))
        return Contributions(index, ids, values)


def contributions(
    settings: Settings, measure: Measure | None = None, only: Collection[int] | None = None
) -> tuple[Run, list[Contributions]]:
    """Plays a run and says, round by round, what each participant contributed.

    With `only` a round is looked at when one of these clients took part.
    """
    found: list[Contributions] = []
    engine = Engine(settings)
    try:
        with threadpool_limits(1):
            for index in range(1, settings.rounds + 1):
                before = Auditor(engine)
                used = np.array(engine.play(index).used, np.int64)
                if only is None or np.isin(used, list(only)).any():
                    found.append(before.audit(used, index, measure or Measure()))
        return engine.result(), found
    finally:
        engine.close()

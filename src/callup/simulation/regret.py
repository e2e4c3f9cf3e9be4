"""Regret in a simulated run, where the truth is known: of utility (NCCB) and of skewness (FedACS)."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from callup.analytics.qcid import qcid_each
from callup.analytics.regret import dueling_regret, noiseless_preference, utility_regret
from callup.analytics.utility import client_utility
from callup.core.index import Ids
from callup.simulation.backends.scores import answers
from callup.simulation.engine import Engine
from callup.simulation.run import Run
from callup.simulation.settings import Settings
from callup.simulation.world import World


def true_utilities(world: World, model: np.ndarray, ids: Ids) -> np.ndarray:
    """NCCB, Eq. 2: what each of these clients could teach this model; only a simulation can ask all of them."""
    own = (world.backend.samples(int(client)) for client in ids)
    losses = np.array([answers(world.backend.scores(model, held), held.targets)["loss_rms"] for held in own])
    return client_utility(world.clients.of("num_examples", ids), losses)


def play_for_utility(settings: Settings) -> tuple[Run, np.ndarray]:
    """A run, and NCCB's Eq. 4 by round: the utility missed against the best set of those available."""
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    engine = Engine(settings)
    try:
        with threadpool_limits(1):
            for index in range(1, settings.rounds + 1):
                available = engine.world.available(index)
                utilities = true_utilities(engine.world, engine.model, available)
                asked = engine.play(index).asked
                seen.append((utilities, np.isin(available, asked)))
        return engine.result(), utility_regret(seen)
    finally:
        engine.close()


def skewness_regret(run: Run) -> np.ndarray:
    """FedACS, Eq. 4 by round, where the less skewed of two clients always wins; skewness is a client's own QCID."""
    phi = noiseless_preference(qcid_each(run.clients.all("label_counts")))
    return dueling_regret([run.clients.index.rows(np.array(record.asked, np.int64)) for record in run.history], phi)

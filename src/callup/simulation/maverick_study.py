"""The study FedEMD starts from: what an unusual client is worth over a run, and when FedEMD calls it.

Theorem 1 of Huang et al. (2021): a Maverick's Shapley value is below the others' in the first round and comes to
theirs. Remark 2: that of a very large client is likely below average early and not above it later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from callup.aggregation.contribution import Measure
from callup.core.randomness import stream
from callup.core.types import Feedback, Plan, Round
from callup.selectors.fedemd import FedEmd
from callup.simulation.audit import Auditor
from callup.simulation.engine import Engine
from callup.simulation.settings import settings
from callup.simulation.world import World

AUTHORS_TRAINING: Mapping[str, Any] = {
    "epochs": 1,
    "batch": 4,
    "rate": 0.001,
    "momentum": 0.9,
    "decay": 0.1,
    "decay_per": "participation",
    "decay_every": 10,
    "rate_floor": 1e-10,
}
"""Local training in the authors' published code."""
_WHEN = (1, 2, 3, 5, 8, 12, 20, 30, 45, 60, 80, 100, 130, 160, 200)


@dataclass(frozen=True)
class Worth:
    """One client's contribution beside that of its cohort; a row for each round looked at, a column for each cohort."""

    rounds: np.ndarray
    relative: np.ndarray
    """Of the client watched, within its cohort, from 0 to 1."""
    average: np.ndarray
    """The cohort's mean of the same: the dotted line of the paper's Figure 2."""
    value: np.ndarray
    """Of the client watched, as it is: positive is helpful."""
    others: np.ndarray
    """The mean value of the rest of the cohort."""
    since: np.ndarray
    """Rounds since the run last called the client watched; infinite if it never has."""
    accuracy: np.ndarray
    """Of the global model on the test set, before the round; a column for each seed."""


def maverick_study(
    partition: str = "mavericks:clients=50,count=1",
    watched: int = 0,
    k: int = 5,
    rounds: Iterable[int] = _WHEN,
    seeds: Iterable[int] = range(5),
    measure: Measure | None = None,
    cohorts: int = 2,
    local: Mapping[str, Any] = AUTHORS_TRAINING,
    average: str = "weighted",
    task: str = "fashion14-mlp",
) -> Worth:
    """Trains with random selection and asks, in these rounds, what the watched client is worth.

    It is measured in cohorts made of it and k-1 random others, which is whom random selection calls in a round in
    which it calls this client; they are drawn apart from the run, so that no round has to wait for its turn.
    """
    when = sorted({int(index) for index in rounds})
    table: list[list[list[float]]] = [[] for _ in when]
    scores: list[list[float]] = [[] for _ in when]
    for seed in seeds:
        last = -np.inf
        fixed = {"task": task, "partition": partition, "average": average, "k": k, "seed": seed, "local": dict(local)}
        engine = Engine(settings(rounds=when[-1], evaluate_every=when[-1], **fixed))
        try:
            with threadpool_limits(1):
                for index in range(1, when[-1] + 1):
                    if index in when:
                        row = when.index(index)
                        scores[row].append(engine.world.backend.evaluate(engine.model, "test").accuracy)
                        for turn in range(cohorts):
                            table[row].append([*_seen(engine, watched, index, turn, measure), index - last])
                    if watched in engine.play(index).used:
                        last = index
        finally:
            engine.close()
    of_watched, of_cohort, value, others, since = np.moveaxis(np.array(table), 2, 0)
    return Worth(np.array(when), of_watched, of_cohort, value, others, since, np.array(scores))


def _seen(engine: Engine, watched: int, index: int, turn: int, measure: Measure | None) -> list[float]:
    """One cohort of the watched client and random others: its relative value and the cohort's, its value and theirs."""
    run = engine.settings
    others = np.setdiff1d(engine.world.clients.ids, [watched])
    rest = stream(run.seed, "study", index, turn).choice(others, run.k - 1, replace=False)
    seen = Auditor(engine).audit(np.array([watched, *rest]), index, measure or Measure())
    of_others = float(seen.values[1:].mean())
    return [float(seen.relative[0]), float(seen.relative.mean()), float(seen.values[0]), of_others]


@dataclass(frozen=True)
class Calls:
    """When FedEMD calls one client; a row for each seed, a column for each round."""

    chance: np.ndarray
    """Its probability in a single draw, Eq. 14."""
    called: np.ndarray
    """Whether it was among those chosen."""


def maverick_calls(
    selector: FedEmd,
    partition: str = "mavericks:clients=50,count=1",
    watched: int = 0,
    k: int = 5,
    rounds: int = 200,
    seeds: Iterable[int] = range(5),
    task: str = "fashion14-mlp",
) -> Calls:
    """Plays the selection alone, everybody online: FedEMD learns nothing from training."""
    chances, called = [], []
    for seed in seeds:
        world = World(settings(task=task, partition=partition, k=k, rounds=rounds, seed=seed))
        clients = world.clients.only("label_counts")
        world.backend.close()
        row = int(clients.index.rows(np.array([watched]))[0])
        selector.start(clients, Plan(k, rounds, world.classes), stream(seed, "start", "selector"))
        for index in range(1, rounds + 1):
            now = Round(index, clients.ids, clients, stream(seed, "select", index))
            chosen = selector.select(now, k).ids
            chances.append(float(selector.probabilities(now)[row]))
            called.append(watched in chosen)
            selector.update(Feedback(index, chosen, {}, clients))
    return Calls(np.array(chances).reshape(-1, rounds), np.array(called).reshape(-1, rounds))

"""Insights alone: a federation is asked for gradients and trains nothing. FedACS as an analysis of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from callup.analytics.skewness import Skewness, analyse
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.core.index import Ids
from callup.core.randomness import stream
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round
from callup.core.verify import ask
from callup.simulation.run import Run
from callup.simulation.settings import settings
from callup.simulation.world import World

_KNOWN = {("gradient", "reply"), ("num_examples", "profile")}


@dataclass(frozen=True)
class Insights:
    """What every client sent, and the truth that only a simulation knows; rows in the order of `ids`."""

    ids: Ids
    vectors: np.ndarray
    """One full-batch gradient for each client, all at the same model."""
    sizes: np.ndarray
    label_counts: np.ndarray
    """The truth: samples of each class."""

    def skewness(self, bounds: tuple[float, float] | None = None, size_aware: bool = False) -> Skewness:
        """Who is skewed, as far as the vectors tell; see `callup.analytics.skewness.analyse`."""
        return analyse(self.vectors, self.ids, self.sizes, bounds, size_aware)


def ask_insights(
    task: str = "fashion14-mlp",
    partition: str = "layered-dirichlet:low",
    seed: int = 0,
    model: np.ndarray | None = None,
    backend: str = "auto",
) -> Insights:
    """Asks every client of a federation for its gradient, at the first model unless another is given."""
    world = World(settings(task=task, partition=partition, seed=seed, backend=backend))
    at = world.start_model if model is None else np.asarray(model)
    if at.shape != world.start_model.shape:
        raise InputError(f"the model of {task} has {world.start_model.shape[0]:,} numbers, got shape {at.shape}")
    clients = world.clients
    try:
        with threadpool_limits(1):  # more threads change the last bits of a sum
            vectors = world.backend.probe(at, "gradient", clients.ids, 1)
    finally:
        world.backend.close()
    return Insights(clients.ids, vectors, clients.all("num_examples"), clients.all("label_counts"))


def duel(
    insights: Insights, selector: str | Selector = "fedacs", k: int = 10, rounds: int = 50, seed: int = 0
) -> list[Ids]:
    """The bandit on its own: the cohort of each round, when those chosen send the vectors that are already known."""
    chooser = SELECTORS.make(selector)
    asks = chooser.needs.settle(lambda a: (a.signal.name, a.time) in _KNOWN, chooser.card.name)
    clients = Clients(insights.ids, num_examples=insights.sizes, vectors=insights.vectors)
    visible = clients.only(*(a.signal.name for a in asks if a.time == "profile"))
    chooser.start(visible, Plan(k, rounds), stream(seed, "start", "selector"))
    cohorts = []
    for index in range(1, rounds + 1):
        selection = ask(chooser, Round(index, clients.ids, visible, stream(seed, "select", index)), k)
        heard = {"gradient": clients.of("vectors", selection.ids)}
        rng = stream(seed, "update", index)
        chooser.update(Feedback(index, selection.ids, heard, visible, notes=selection.notes, rng=rng))
        cohorts.append(selection.ids)
    return cohorts


def mean_rewards(run: Run) -> np.ndarray:
    """The mean R_i of each round's participants in a run of fedacs, as in the paper's Fig. 5; NaN where none dueled."""
    last = run.states["selector"].get("mean_reward_")
    if last is None:
        raise InputError(f"rewards are known of runs of fedacs, this one is of {run.settings['selector']}")
    # A round's rewards are known when it is over: the next one's notes tell them, and the state after the last one.
    return np.array([*(r.notes.get("mean_reward_before", np.nan) for r in run.history[1:]), float(last)])

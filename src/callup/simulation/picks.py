"""Selection alone: a whole run's cohorts in seconds, for selectors that learn nothing from training."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from callup.analytics.qcid import qcid
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import MissingSignal, UsageError
from callup.core.randomness import stream
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round
from callup.core.verify import ask, check_size
from callup.journal.turns import digest
from callup.partition.scheme import PARTITIONS
from callup.simulation.availability import AVAILABILITIES
from callup.simulation.run import RoundRecord, Run
from callup.simulation.settings import Settings
from callup.simulation.settings import settings as make_settings
from callup.simulation.supply import supply
from callup.simulation.task import TASKS

_KNOWN = ("num_examples", "label_counts")
# Settings of a run that cohorts hang on, or that make no difference to them. Any other must be at its default.
_MATTERS = ("task", "partition", "selector", "k", "rounds", "seed", "availability")
_NO_MATTER = ("latency", "average", "backend", "workers", "fingerprint_bits", "local")
_REPORTING = ("evaluate_every", "target", "scenario", "rare_classes")


def play_picks(selector: str | Selector = "random", **values: Any) -> Run:
    """The run that `simulate` would make of these settings, but nobody trains: cohorts and QCID, no model, no clock.

    Clients, availability and the selector's luck come from the same streams, so the cohorts are the real run's, round
    for round. A selector that asks for more than sizes and labels is refused, and so is everything that depends on
    replies: a filter, over-commit, deadlines, losses, the guard.
    """
    chooser = SELECTORS.make(selector)
    settings = make_settings(selector=selector if isinstance(selector, str) else chooser.spec, **values)
    _check(settings)
    columns = _columns(chooser)
    held = TASKS.make(settings.task).holdings()
    scheme, seed = PARTITIONS.make(settings.partition), settings.seed
    shards = scheme.split(held.labels, held.classes, stream(seed, "partition"), held.owners)
    counts = shards.label_counts(held.labels, held.classes)
    clients = Clients(shards.ids, num_examples=shards.sizes, label_counts=counts)
    check_size(chooser, len(clients))
    visible = clients.only(*columns)
    chooser.start(visible, Plan(settings.k, settings.rounds, held.classes), stream(seed, "start", "selector"))
    law = AVAILABILITIES.make(settings.availability)
    history = []
    for index in range(1, settings.rounds + 1):
        online = law.available(clients, index, stream(seed, "availability", index))
        picked = ask(chooser, Round(index, online, visible, stream(seed, "select", index)), settings.k)
        rng = stream(seed, "update", index)
        chooser.update(Feedback(index, picked.ids, {}, visible, notes=picked.notes, rng=rng))
        history.append(_record(index, len(online), picked.ids, picked.notes, clients))
    return Run(settings.plain(), clients, tuple(history), np.empty(0, np.float32), {"selector": chooser.state()})


def can_play(selector: str | Selector) -> bool:
    """Whether the selector chooses by sizes and labels alone."""
    try:
        _columns(SELECTORS.make(selector))
    except (UsageError, MissingSignal):
        return False
    return True


def _columns(chooser: Selector) -> list[str]:
    """The facts that a run would give this selector; one that only training or the inputs can tell is refused.

    That holds for optional ones too: without them the cohorts would be others.
    """
    names = [a.signal.name for a in supply(chooser, filtered=False)]
    for name in names:
        if name not in _KNOWN:
            raise UsageError(
                f"{chooser.card.name} asks for {name}, which picks alone do not tell; play the whole run instead"
            )
    return names


def _check(settings: Settings) -> None:
    usual = Settings()
    for name in (f.name for f in fields(settings)):
        asked = getattr(settings, name)
        if name not in (*_MATTERS, *_NO_MATTER, *_REPORTING) and asked != getattr(usual, name):
            raise UsageError(f"{name} is {asked}, and picks alone have no replies; leave it out or play the whole run")


def _record(index: int, online: int, ids: np.ndarray, notes: Any, clients: Clients) -> RoundRecord:
    counts = clients.of("label_counts", ids).sum(axis=0)
    return RoundRecord(
        index=index,
        available=online,
        asked=ids.tolist(),
        used=ids.tolist(),
        kept=ids.tolist(),
        failed={},
        digest=digest(ids),
        qcid=float(qcid(counts)) if counts.any() else None,
        class_counts=counts.astype(int).tolist(),
        notes={name: float(value) for name, value in notes.items()},
    )

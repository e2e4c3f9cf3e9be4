"""Local training and the replies that count: the first k good ones that arrive by the deadline."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from callup.analytics import skewness
from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.core.signals import Ask
from callup.core.types import Replies
from callup.simulation.auxiliary import auxiliary_set
from callup.simulation.run import Ledger
from callup.simulation.watch import Watch
from callup.simulation.world import World


@dataclass(frozen=True)
class Collected:
    """What came of asking: the good replies in the order in which their clients were wanted, and everyone else."""

    replies: Replies
    failed: dict[int, str]
    seconds: float
    """Simulated: until the last reply that was used, or the deadline where replies were still awaited."""
    arrived: int
    """How many answered soundly and in time, needed or not."""


class Collector:
    """Asks clients to train and gathers what they send back."""

    def __init__(self, world: World, asks: list[Ask], watch: Watch) -> None:
        self._world, self._watch = world, watch
        self._told = [a.signal.name for a in asks if a.time == "reply"]
        # A client works out its skewness from its own gradient and the mean, which the server announces.
        self._wants = list(dict.fromkeys("gradient" if name == "skewness" else name for name in self._told))
        judged = any(a.signal.name == "class_gradients" for a in asks)
        self._auxiliary = auxiliary_set(world.validation) if judged else None
        self.participations = PerClient(0, np.int64)

    def collect(self, model: np.ndarray, ids: Ids, needed: int, index: int, ledger: Ledger) -> Collected:
        """Replies arrive in the order of simulated time; once enough are good, the rest is not needed."""
        world = self._world
        deadline = math.inf if world.settings.deadline is None else world.settings.deadline
        upload = world.megabytes * (2 if "gradient" in self._wants else 1)
        usual = world.durations(ids, world.steps(world.clients, ids), world.megabytes + upload, index)
        durations = self._watch.seconds(index, ids, usual)
        silent = world.silent(ids, index, "reply")
        late = ~silent & (durations > deadline)
        failed = {int(i): "no reply" for i in ids[silent]} | {int(i): "late" for i in ids[late]}
        waiting = np.flatnonzero(~silent & ~late)
        waiting = waiting[np.argsort(durations[waiting], kind="stable")]
        parts: list[tuple[np.ndarray, Replies]] = []
        good = 0
        while good < needed and len(waiting):
            batch, waiting = waiting[: needed - good], waiting[needed - good :]
            replies = self._local_models(model, ids[batch], index, durations[batch])
            sound, refused = self._judge(index, replies)
            failed |= refused
            parts.append((batch[sound], replies.only(sound)))
            good += int(sound.sum())
        failed |= {int(i): "not needed" for i in ids[waiting]}
        self.participations.add(ids[~silent], 1)
        ledger.messages += 2 * len(ids) - int(silent.sum())
        ledger.bytes_down += round(len(ids) * world.megabytes * 1e6)
        ledger.bytes_up += round((~silent).sum() * upload * 1e6)
        merged = self._as_told(_merge(parts, model))
        ledger.local_steps += int(merged.local_steps.sum())
        used = np.concatenate([rows for rows, _ in parts]) if parts else np.empty(0, np.intp)
        awaited = good < needed and bool((silent | late).any()) and deadline < math.inf
        seconds = deadline if awaited else float(durations[used].max(initial=0.0))
        return Collected(merged, failed, seconds, good + len(waiting))

    def _as_told(self, replies: Replies) -> Replies:
        """The signals that the server hears: of a skewness worked out at the client, only the number."""
        if "skewness" not in self._told or not len(replies.ids):
            return replies
        far = -skewness.rewards(replies.signals["gradient"])
        told = {name: far if name == "skewness" else replies.signals[name] for name in self._told}
        return replace(replies, signals=told)

    def _judge(self, index: int, replies: Replies) -> tuple[np.ndarray, dict[int, str]]:
        """A mask of the sound replies, and why the others are not."""
        finite = np.isfinite(replies.models).all(axis=1)
        for value in replies.signals.values():
            finite &= np.isfinite(value).reshape(len(value), -1).all(axis=1)
        refused = {int(i): "not finite" for i in replies.ids[~finite]}
        if finite.any():
            refused |= self._watch.inspect(index, replies.only(finite))
        return ~np.isin(replies.ids, list(refused)), refused

    def _local_models(self, model: np.ndarray, ids: Ids, index: int, durations: np.ndarray) -> Replies:
        world, wants = self._world, self._wants
        rates = world.local.rates(index, self.participations.get(ids))
        trained = world.backend.train(model, ids, index, rates, wants)
        models = world.weather.spoil(trained.models, ids, index)
        told = believable(world.weather.told(durations, ids, index), durations)
        have = {**trained.signals, "local_steps": trained.local_steps, "duration": told}
        own = {name: have[name] for name in wants if name != "update"}
        sizes = self._watch.sizes(ids)
        replies = self._watch.reply(index, Replies(ids, model, models, sizes, trained.local_steps, own))
        signals = {name: replies.updates if name == "update" else replies.signals[name] for name in wants}
        if self._auxiliary is not None:  # taken here, so that a model whose scores overflow is set aside with its reply
            signals["class_gradients"] = world.backend.class_gradients(replies.models, self._auxiliary)
        return replace(replies, signals=signals)


def believable(told: np.ndarray, elapsed: np.ndarray) -> np.ndarray:
    """The time a client says it took, unless that is negative or longer than the server waited: then the server's."""
    return np.where((told >= 0) & (told <= elapsed), told, elapsed)


def _merge(parts: list[tuple[np.ndarray, Replies]], model: np.ndarray) -> Replies:
    """All good replies in the order in which their clients were wanted."""
    if not parts:
        empty = np.empty(0)
        return Replies(np.empty(0, np.int64), model, np.empty((0, len(model)), model.dtype), empty, empty)
    order = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable")
    replies = [r for _, r in parts]

    def joined(arrays: list[np.ndarray]) -> np.ndarray:
        return np.asarray(np.concatenate(arrays)[order])

    return Replies(
        joined([r.ids for r in replies]),
        model,
        joined([r.models for r in replies]),
        joined([r.num_examples for r in replies]),
        joined([r.local_steps for r in replies]),
        {name: joined([r.signals[name] for r in replies]) for name in replies[0].signals},
    )

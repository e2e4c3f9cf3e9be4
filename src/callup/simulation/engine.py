"""The round, written once: select, train, check, filter, average, update, record."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from callup.aggregation.workbench import ModelBench
from callup.analytics.qcid import qcid
from callup.core.catalogue import AVERAGES, FILTERS, SELECTORS
from callup.core.errors import CallupError
from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.core.randomness import stream
from callup.core.selector import Method, Selector
from callup.core.types import Feedback, Plan, Replies, Round, Selection
from callup.core.verify import ask, check_size, kept
from callup.simulation.auxiliary import auxiliary_set
from callup.simulation.contribution import server_signals
from callup.simulation.run import Ledger, RoundRecord, Run
from callup.simulation.settings import Settings
from callup.simulation.settings import settings as make_settings
from callup.simulation.supply import Prober, supply
from callup.simulation.world import World

Listener = Callable[[RoundRecord], None]


class Engine:
    """One run in progress. `play` is one round; `run` plays them all."""

    def __init__(self, settings: Settings, selector: Selector | None = None) -> None:
        self.settings = settings
        self.selector = selector if selector is not None else SELECTORS.make(settings.selector)
        self.filter = FILTERS.make(settings.filter) if settings.filter else None
        self.average = AVERAGES.make(settings.average)
        self.world = World(settings)
        check_size(self.selector, len(self.world.clients))
        self.asks = supply(self.selector, filtered=self.filter is not None)
        judged = any(a.signal.name == "class_gradients" for a in self.asks)
        self.auxiliary = auxiliary_set(self.world.validation) if judged else None
        self.visible = self.world.profile(a.signal.name for a in self.asks if a.time == "profile")
        plan = Plan(settings.k, settings.rounds, self.world.classes)
        for role, method in self._methods():
            method.start(self.visible, plan, stream(settings.seed, "start", role))
        self.model = self.world.start_model
        self.participations = PerClient(0, np.int64)
        self.history: list[RoundRecord] = []
        self.clock = 0.0

    def run(self, listener: Listener | None = None) -> Run:
        """Plays every round that is left and returns what came of it."""
        # One BLAS thread: more of them change the last bits of a sum, and with them the history.
        with threadpool_limits(1):
            for index in range(len(self.history) + 1, self.settings.rounds + 1):
                record = self.play(index)
                if listener is not None:
                    listener(record)
        return self.result()

    def result(self) -> Run:
        states = {role: method.state() for role, method in self._methods()}
        return Run(self.settings.plain(), self.world.clients, tuple(self.history), self.model, states)

    def _methods(self) -> Iterator[tuple[str, Method]]:
        yield "selector", self.selector
        yield "average", self.average
        if self.filter is not None:
            yield "filter", self.filter

    def close(self) -> None:
        self.world.backend.close()

    def play(self, index: int) -> RoundRecord:
        """One round, in the one order there is."""
        settings, world, ledger = self.settings, self.world, Ledger()
        prober = Prober(world, self.model, self.asks, index, ledger)
        available = world.available(index)
        now = Round(index, available, self.visible, stream(settings.seed, "select", index), prober.ask)
        selection = ask(self.selector, now, math.ceil(settings.k * settings.overcommit))
        replies, failed, seconds = self._train(selection, index, ledger)
        bench = self._bench(replies, selection)
        used = np.ones(len(replies.ids), bool)
        if self.filter is not None and len(replies.ids):
            used = kept(self.filter, replies, bench)
        self._average(replies, used, selection, index)
        signals = {**replies.signals, **self._server_signals(replies, used, bench, index)}
        rng = stream(settings.seed, "update", index)
        self.selector.update(
            Feedback(index, replies.ids, signals, self.visible, failed, prober.heard, selection.notes, rng)
        )
        self.clock += seconds + prober.seconds
        record = RoundRecord(
            index=index,
            available=len(available),
            asked=selection.ids.tolist(),
            used=replies.ids.tolist(),
            kept=replies.ids[used].tolist(),
            failed={str(client): reason for client, reason in failed.items()},
            digest=hashlib.sha256(selection.ids.astype("<i8").tobytes()).hexdigest()[:16],
            notes={name: float(value) for name, value in selection.notes.items()},
            seconds=seconds + prober.seconds,
            clock=self.clock,
            ledger=ledger,
            **self._cohort(replies.ids),
            **self._scores(index),
        )
        self.history.append(record)
        return record

    def _train(self, selection: Selection, index: int, ledger: Ledger) -> tuple[Replies, dict[int, str], float]:
        """Local training. Replies arrive in the order of simulated time; the first k good ones are used."""
        world, ids = self.world, selection.ids
        wants = [a.signal.name for a in self.asks if a.time == "reply"]
        upload = world.megabytes * (2 if "gradient" in wants else 1)
        durations = world.durations(ids, world.steps(world.clients, ids), world.megabytes + upload, index)
        silent = world.silent(ids, index, "reply")
        failed = {int(i): "no reply" for i in ids[silent]}
        arriving = np.flatnonzero(~silent)[np.argsort(durations[~silent], kind="stable")]
        needed = len(ids) if self.selector.card.takes_everyone else self.settings.k
        parts: list[tuple[np.ndarray, Replies]] = []
        good = 0
        while good < needed and len(arriving):
            batch, arriving = arriving[: needed - good], arriving[needed - good :]
            replies = self._local_models(ids[batch], index, wants, durations[batch])
            sound = np.isfinite(replies.models).all(axis=1)
            for value in replies.signals.values():
                sound &= np.isfinite(value).reshape(len(value), -1).all(axis=1)
            failed |= {int(i): "not finite" for i in replies.ids[~sound]}
            parts.append((batch[sound], replies.only(sound)))
            good += int(sound.sum())
        failed |= {int(i): "not needed" for i in ids[arriving]}
        self.participations.add(ids[~silent], 1)
        ledger.messages += 2 * len(ids) - int(silent.sum())
        ledger.bytes_down += round(len(ids) * world.megabytes * 1e6)
        ledger.bytes_up += round((~silent).sum() * upload * 1e6)
        merged = _merge(parts, self.model)
        ledger.local_steps += int(merged.local_steps.sum())
        used = np.concatenate([rows for rows, _ in parts]) if parts else np.empty(0, np.intp)
        return merged, failed, float(durations[used].max(initial=0.0))

    def _local_models(self, ids: Ids, index: int, wants: list[str], durations: np.ndarray) -> Replies:
        rates = self.world.local.rates(index, self.participations.get(ids))
        trained = self.world.backend.train(self.model, ids, index, rates, wants)
        have = {**trained.signals, "local_steps": trained.local_steps, "duration": durations}
        if "update" in wants:
            have["update"] = trained.models - self.model
        signals = {name: have[name] for name in wants}
        if self.auxiliary is not None:  # taken here, so that a model whose scores overflow is set aside with its reply
            signals["class_gradients"] = self.world.backend.class_gradients(trained.models, self.auxiliary)
        sizes = self.world.clients.of("num_examples", ids)
        return Replies(ids, self.model, trained.models, sizes, trained.local_steps, signals)

    def _average(self, replies: Replies, used: np.ndarray, selection: Selection, index: int) -> None:
        if used.any():
            weights = _weights_of(selection, replies.ids[used])
            self.model = self.average.combine(self.model, replies.only(used), self.world.clients, weights)
        if not np.isfinite(self.model).all():
            raise CallupError(f"the averaged model is not finite after round {index}; lower local.rate")
        if self.filter is not None and len(replies.ids):
            self.filter.update(replies, used, self.model)

    def _bench(self, replies: Replies, selection: Selection) -> ModelBench:
        def combine(rows: np.ndarray) -> np.ndarray:
            mask = np.isin(np.arange(len(replies.ids)), rows)
            weights = _weights_of(selection, replies.ids[mask])
            return self.average.combine(replies.start, replies.only(mask), self.world.clients, weights)

        held_out = self.world.validation
        return ModelBench(replies, lambda m: self.world.backend.logits(m, held_out.x), held_out.y, combine)

    def _server_signals(
        self, replies: Replies, used: np.ndarray, bench: ModelBench, index: int
    ) -> dict[str, np.ndarray]:
        """What the server works out from the replies, where the selector asked for it."""
        signals = server_signals(self.asks, bench, replies, stream(self.settings.seed, "server", index))
        if any(a.signal.name == "kept" for a in self.asks):
            signals["kept"] = used.astype(np.float64)
        return signals

    def _cohort(self, used: Ids) -> dict[str, Any]:
        """How balanced the classes of those used were, on true labels."""
        counts = self.world.clients.of("label_counts", used).sum(axis=0)
        return {"class_counts": counts.astype(int).tolist(), "qcid": float(qcid(counts)) if counts.any() else None}

    def _scores(self, index: int) -> dict[str, Any]:
        if index % self.settings.evaluate_every and index != self.settings.rounds:
            return {}
        test = self.world.backend.evaluate(self.model, "test")
        held_out = self.world.backend.evaluate(self.model, "validation")
        return {
            "accuracy": test.accuracy,
            "loss": test.loss,
            "recall": [None if math.isnan(r) else float(r) for r in test.recall],
            "validation_accuracy": held_out.accuracy,
            "validation_loss": held_out.loss,
        }


def simulate(selector: str | Selector = "random", listener: Listener | None = None, **values: Any) -> Run:
    """Runs one federation to its end; a selector may be given by name or as an object."""
    ready = SELECTORS.make(selector)
    engine = Engine(make_settings(selector=selector if isinstance(selector, str) else ready.spec, **values), ready)
    try:
        return engine.run(listener)
    finally:
        engine.close()


def _weights_of(selection: Selection, ids: Ids) -> np.ndarray | None:
    """The selector's aggregation weights, where it gave any, for these clients."""
    if selection.weights is None:
        return None
    order = np.argsort(selection.ids)
    return np.asarray(selection.weights)[order[np.searchsorted(selection.ids, ids, sorter=order)]]


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

"""The round, written once: select, train, check, filter, average, update, record."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from callup.aggregation.blend import moved, next_model
from callup.aggregation.contribution import server_signals
from callup.aggregation.workbench import ModelBench
from callup.analytics.overcommit import cautious_dropout, smallest_ask
from callup.analytics.qcid import qcid
from callup.core.catalogue import AVERAGES, FILTERS, SELECTORS
from callup.core.clients import Clients
from callup.core.errors import CallupError
from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.core.randomness import stream
from callup.core.selector import Method, Selector
from callup.core.types import Feedback, Plan, Replies, Round, Selection
from callup.core.verify import check_size, kept
from callup.journal import crash
from callup.journal.turns import Turn, digest
from callup.simulation.collect import Collector
from callup.simulation.run import Ledger, RoundRecord, Run
from callup.simulation.settings import Settings
from callup.simulation.settings import settings as make_settings
from callup.simulation.supply import Prober, supply
from callup.simulation.watch import Watch
from callup.simulation.world import World

Listener = Callable[[RoundRecord], None]
_FADE = 0.98  # of the count of lost replies, each round: drop-out is that of about the last fifty


class Engine:
    """One run in progress. `play` is one round; `run` plays them all."""

    def __init__(self, settings: Settings, selector: Selector | None = None) -> None:
        self.settings = settings
        self.selector = selector if selector is not None else SELECTORS.make(settings.selector)
        self.filter = FILTERS.make(settings.filter) if settings.filter else None
        self.average = AVERAGES.make(settings.average)
        self.world = World(settings)
        check_size(self.selector, len(self.world.clients))
        self.asks = supply(self.selector, filtered=self.filter is not None, privacy=settings.privacy)
        plan = Plan(settings.k, settings.rounds, self.world.classes)
        self.watch = Watch(settings.guard, settings.adversary, self.selector, self.world.clients, plan, settings.seed)
        self.profile = self.watch.profile(self.world.profile(a.signal.name for a in self.asks if a.time == "profile"))
        self.visible = self._enrolled(1)
        for role, method in self._methods():
            method.start(self.visible, plan, stream(settings.seed, "start", role))
        self.model = self.world.start_model
        self.collector = Collector(self.world, self.asks, self.watch)
        self.history: list[RoundRecord] = []
        self.turn: Turn | None = None
        """The last round as the selector met it."""
        self.clock = 0.0
        self.seen = np.zeros(2)  # clients lost and clients asked, faded

    def run(self, listener: Listener | None = None) -> Run:
        """Plays every round that is left and returns what came of it."""
        # One BLAS thread: more of them change the last bits of a sum, and with them the history.
        with threadpool_limits(1):
            for index in range(len(self.history) + 1, self.settings.rounds + 1):
                record = self.play(index)
                if listener is not None:
                    listener(record)
        return self.result()

    def state(self) -> dict[str, np.ndarray]:
        """All that the next round depends on, as arrays; `restore` continues from it bit by bit."""
        own = {"model": self.model, "clock": np.array(self.clock), "seen": self.seen}
        own |= {f"participations.{part}": array for part, array in self.collector.participations.state().items()}
        for role, method in [*self._methods(), *self.watch.methods()]:
            own |= {f"{role}.{name}": array for name, array in method.state().items()}
        return own

    def restore(self, state: Mapping[str, np.ndarray], history: Iterable[RoundRecord]) -> None:
        """Goes back to a saved state and the rounds that led to it."""
        parts: dict[str, dict[str, np.ndarray]] = {}
        for key, array in state.items():
            role, _, name = key.partition(".")
            parts.setdefault(role, {})[name] = np.asarray(array)
        for role, method in [*self._methods(), *self.watch.methods()]:
            method.load(parts[role])
        self.collector.participations = PerClient.from_state(parts["participations"])
        self.model = np.array(state["model"])
        self.clock, self.seen = float(state["clock"]), np.array(state["seen"])
        self.history = list(history)
        self.visible = self._enrolled(max(len(self.history), 1))

    def result(self) -> Run:
        states = {role: method.state() for role, method in [*self._methods(), *self.watch.methods()]}
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
        self._enrol(index)
        prober = Prober(world, self.model, self.asks, index, ledger, self.watch)
        wanted, available = self._wanted(), world.available(index)
        admitted = self.watch.admit(index, available, wanted)
        now = Round(index, admitted, self.visible, stream(settings.seed, "select", index), prober.ask)
        selection = self.watch.ask(self.selector, now, wanted, available)
        crash.point("after-select")
        needed = len(selection.ids) if self.selector.card.takes_everyone else settings.k
        came = self.collector.collect(self.model, selection.ids, needed, index, ledger)
        crash.point("after-train")
        replies, seconds = came.replies, came.seconds + prober.seconds
        self.seen = _FADE * self.seen + [len(selection.ids) - came.arrived, len(selection.ids)]
        bench = self._bench(replies, selection)
        abandoned = len(replies.ids) < settings.quorum * min(settings.k, needed)
        used = np.full(len(replies.ids), not abandoned)
        if self.filter is not None and used.any():
            used = kept(self.filter, replies, bench)
        self._average(replies, used, selection, index, selection.step(replies.ids, needed))
        crash.point("after-average")
        signals = {name: self.watch.heard(name, replies.ids, value) for name, value in replies.signals.items()}
        signals |= self._server_signals(replies, used, bench, index)
        rng = stream(settings.seed, "update", index)
        heard, notes = prober.heard, selection.notes
        feedback = Feedback(index, replies.ids, signals, self.visible, came.failed, heard, notes, rng)
        self.selector.update(feedback)
        told = self.watch.learn(available, wanted, selection, replies, feedback)
        crash.point("after-update")
        self.turn = Turn(now, wanted, selection, feedback)
        self.clock += seconds
        record = RoundRecord(
            index=index,
            available=len(available),
            asked=selection.ids.tolist(),
            used=replies.ids.tolist(),
            kept=replies.ids[used].tolist(),
            failed={str(client): reason for client, reason in came.failed.items()},
            abandoned=abandoned,
            digest=digest(selection.ids),
            notes={name: float(value) for name, value in notes.items()},
            guard=told,
            seconds=seconds,
            clock=self.clock,
            ledger=ledger,
            **self._cohort(replies.ids),
            **self._scores(index),
        )
        self.history.append(record)
        return record

    def _wanted(self) -> int:
        """How many to ask so that k reply."""
        k, over = self.settings.k, self.settings.overcommit
        return smallest_ask(k, cautious_dropout(*self.seen)) if over == "auto" else math.ceil(k * over)

    def _enrolled(self, index: int) -> Clients:
        """What selectors may know of those who belong to the federation in this round."""
        members = self.world.members(index)
        return self.profile if len(members) == len(self.profile) else self.profile.among(members)

    def _enrol(self, index: int) -> None:
        """Tells the selector when clients joined or left since the last round."""
        if self.settings.faults:
            now = self._enrolled(index)
            if not np.array_equal(now.ids, self.visible.ids):
                self.visible = now
                self.selector.roster(now, stream(self.settings.seed, "roster", index))
                self.watch.roster(now.ids)

    def _average(self, replies: Replies, used: np.ndarray, selection: Selection, index: int, step: float) -> None:
        if used.any():
            average = next_model(self.average, self.model, replies.only(used), self.world.clients, selection)
            self.model = moved(self.model, average, step)
        if not np.isfinite(self.model).all():
            raise CallupError(f"the averaged model is not finite after round {index}; lower local.rate")
        if self.filter is not None and used.any():
            self.filter.update(replies, used, self.model)

    def _bench(self, replies: Replies, selection: Selection) -> ModelBench:
        def combine(rows: np.ndarray) -> np.ndarray:
            some = replies.only(np.isin(np.arange(len(replies.ids)), rows))
            return next_model(self.average, replies.start, some, self.world.clients, selection)

        held_out = self.world.validation
        return ModelBench(replies, lambda m: self.world.backend.scores(m, held_out), held_out.targets, combine)

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

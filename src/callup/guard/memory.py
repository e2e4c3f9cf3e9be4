"""What the guard remembers of past reports: the last value of each client, and sketches of what it sent."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from callup.core.clients import Clients
from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.core.signals import SIGNALS
from callup.core.types import Replies
from callup.guard.consistency import agreement
from callup.guard.copies import WIDTH, sketches
from callup.guard.review import Looks, Verdict, not_finite
from callup.guard.scaling import clipped, lengths, shortened

REPORTED = ("loss", "batch_loss", "loss_rms", "train_loss", "accuracy", "gradient", "update")
"""Signals that are a client's own word; times and contributions are measured at the server."""


@dataclass
class Memory:
    """Last values, all in arrays. Values of everybody set the scale, so one round full of liars does not."""

    latest: dict[str, PerClient] = field(default_factory=dict)
    """Of each signal the last number of each client; of a vector, its length."""
    sent: dict[str, PerClient] = field(default_factory=dict)
    """Sketches of the last update and gradient of each client."""
    agreed: PerClient = field(default_factory=lambda: PerClient(np.nan))
    start: np.ndarray = field(default_factory=lambda: np.empty(0))
    """The sketch of the global model that the last round began from."""

    def scaled(self, name: str, ids: Ids, values: np.ndarray, reach: float) -> np.ndarray:
        """A reported signal within the limits that everybody's last values set. Nothing is learned."""
        if name not in REPORTED or not len(ids):
            return values
        vector = SIGNALS[name].shape == "row"
        own = _lengths(values) if vector else np.asarray(values, np.float64)
        known = self._known(name, ids, own)
        return shortened(values, known, reach) if vector else clipped(values, known, reach)

    def heard(self, name: str, ids: Ids, values: np.ndarray) -> None:
        """Remembers answers; silence is not one."""
        if name not in REPORTED or not len(ids):
            return
        own = _lengths(values) if SIGNALS[name].shape == "row" else np.asarray(values, np.float64)
        told = np.isfinite(own)
        self.latest.setdefault(name, PerClient(np.nan)).set(ids[told], own[told])

    def _known(self, name: str, ids: Ids, own: np.ndarray) -> np.ndarray:
        """Everybody's last value, that of these clients being the one they just sent."""
        if name not in self.latest:
            return own
        last = self.latest[name]
        return np.concatenate([last.values[~np.isin(last.ids, ids)], own])

    def looks(self, replies: Replies, clients: Clients | None, key: int) -> Looks:
        """All that the review needs to know of these replies."""
        ids, updates = replies.ids, replies.updates  # an array of its own, so that it may be cleaned in place
        np.nan_to_num(updates, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
        length = lengths(updates)
        known = self._known("update", ids, length)
        known = known[known > 0]
        vectors = {"update": updates}
        if "gradient" in replies.signals:
            vectors["gradient"] = np.nan_to_num(replies.signals["gradient"], nan=0.0, posinf=0.0, neginf=0.0)
        change = self._start(replies.start, key) - self.start if len(self.start) else np.zeros(WIDTH)
        found = np.full(len(ids), np.nan)
        counts = clients.of("label_counts", ids) if clients is not None and "label_counts" in clients else updates
        if counts.shape[1] < updates.shape[1]:
            # By the layout of most classifiers the biases of the outputs come last; where they do not, the check
            # finds no agreement in general and stays silent.
            found = agreement(counts, updates[:, -counts.shape[1] :])
        return Looks(
            ids=ids,
            bad=not_finite(replies),
            idle=np.asarray(replies.local_steps == 0) & np.isfinite(replies.models).all(axis=1),
            length=length,
            usual_length=float(np.median(known)) if len(known) > 2 else 0.0,
            sketched={kind: sketches(rows, key) for kind, rows in vectors.items()},
            global_change=change if change.any() else None,
            before={kind: self._sent(kind).get(ids) for kind in vectors},
            agreement=found,
            usual_agreement=np.concatenate([self.agreed.values[~np.isin(self.agreed.ids, ids)], found]),
            numbers=updates.shape[1],
        )

    def learn(self, verdict: Verdict, key: int) -> None:
        """Remembers replies; only good ones set the scale of those to come."""
        replies, look, good = verdict.replies, verdict.look, verdict.good
        for name, value in replies.signals.items():
            self.heard(name, replies.ids[good], np.asarray(value)[good])
        self.latest.setdefault("update", PerClient(np.nan)).set(look.ids[good], look.length[good])
        for kind, rows in look.sketched.items():
            self.sent[kind] = self._sent(kind)
            self.sent[kind].set(look.ids, rows)
        told = ~np.isnan(look.agreement)
        self.agreed.set(look.ids[told], look.agreement[told])
        self.start = self._start(replies.start, key)

    def forget(self, stay: Ids) -> None:
        """Gives up the room of clients that have left."""
        for table in [*self.latest.values(), *self.sent.values(), self.agreed]:
            table.forget(np.setdiff1d(table.ids, stay))

    def _sent(self, kind: str) -> PerClient:
        return self.sent.get(kind, PerClient(np.zeros(WIDTH)))

    def _start(self, model: np.ndarray, key: int) -> np.ndarray:
        return np.asarray(sketches(model[None], key)[0])


def _lengths(rows: np.ndarray) -> np.ndarray:
    """Lengths; NaN where a row holds one."""
    silent = np.isnan(rows).any(axis=1)
    return np.where(silent, np.nan, lengths(np.nan_to_num(rows)))

"""What is written down of one round, with the names that reports and dashboards know."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from callup.analytics.qcid import qcid
from callup.core.types import Feedback
from callup.flower.called import NO_REPLY, Called
from callup.flower.replies import GoodReply
from callup.flower.roster import Roster


@dataclass
class Story:
    """One round as it went."""

    index: int
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    abandoned: str = ""
    called: Called | None = None
    feedback: Feedback | None = None
    kept: list[int] = field(default_factory=list)
    guard: list[str] = field(default_factory=list)
    """What was done about whom, in sentences."""
    metrics: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of training, of evaluation by clients and at the server."""

    def tell(self, called: Called, feedback: Feedback, kept: list[GoodReply]) -> None:
        self.called, self.feedback, self.kept = called, feedback, [reply.client for reply in kept]
        self.seconds = time.monotonic() - self.began

    def record(self) -> dict[str, Any]:
        """As one line of events.jsonl."""
        called, feedback = self.called, self.feedback
        if called is None or feedback is None:
            raise RuntimeError(f"round {self.index} was not played to its end")
        ids = called.selection.ids
        server = self.metrics.get("server") or self.metrics.get("evaluate") or {}
        return {
            "index": self.index,
            "available": len(called.now.available),
            "asked": ids.tolist(),
            "used": feedback.ids.tolist(),
            "kept": list(self.kept),
            "failed": {str(client): reason for client, reason in feedback.failed.items()},
            "digest": hashlib.sha256(ids.astype("<i8").tobytes()).hexdigest()[:16],
            **_classes(called, feedback),
            "accuracy": _number(server, "accuracy", "eval_acc", "test_acc"),
            "loss": _number(server, "loss", "eval_loss", "test_loss"),
            "notes": {name: float(value) for name, value in called.selection.notes.items()},
            "abandoned": bool(self.abandoned),
            "seconds": self.seconds,
            "ledger": self._ledger(called, feedback),
            "guard": list(self.guard),
        }

    def _ledger(self, called: Called, feedback: Feedback) -> dict[str, int]:
        """What was sent: messages, and of models the bytes; questions with a model cost a download each."""
        model = sum(len(array.data) for array in called.start.values())
        probes = sum(len(ids) for ids, _ in called.probed.values())
        answers = sum(
            int(np.isfinite(values).reshape(len(values), -1).all(axis=1).sum()) for _, values in called.probed.values()
        )
        replies = len(feedback.ids) + sum(why != NO_REPLY for why in feedback.failed.values())
        return {
            "messages": len(called.selection.ids) + replies + probes + answers,
            "bytes_down": (len(called.selection.ids) + probes) * model,
            "bytes_up": replies * model,
            "probes": probes,
            "local_steps": 0,
        }

    def line(self, roster: Roster) -> str:
        """For people watching."""
        called, feedback = self.called, self.feedback
        if called is None or feedback is None:
            return f"round {self.index}"
        asked = ", ".join(roster.name(int(client)) for client in called.selection.ids[:20]) or "nobody"
        more = f" and {len(called.selection.ids) - 20} more" if len(called.selection.ids) > 20 else ""
        bad = [f"{roster.name(c)}: {why}" for c, why in sorted(feedback.failed.items())][:5]
        return f"round {self.index} asked {asked}{more}; {len(feedback.ids)} replies used" + (
            f"; failed: {'; '.join(bad)}" if bad else ""
        )


def _classes(called: Called, feedback: Feedback) -> dict[str, Any]:
    if "label_counts" not in called.now.clients or not len(feedback.ids):
        return {"class_counts": [], "qcid": None}
    counts = np.asarray(called.now.clients.of("label_counts", feedback.ids).sum(axis=0))
    return {"class_counts": counts.astype(int).tolist(), "qcid": float(qcid(counts)) if counts.any() else None}


def _number(metrics: Mapping[str, Any], *names: str) -> float | None:
    found = next((metrics[name] for name in names if name in metrics), None)
    return float(found) if isinstance(found, (int, float)) and math.isfinite(found) else None

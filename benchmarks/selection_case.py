"""One selector, one number of clients, one process of its own: what start, select and update cost.

The federation is made up and lean, so that what is measured is the selector: ten classes, label counts, latencies and
64-bit fingerprints. Clients answer at once, and what their answers take is not counted.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.index import Ids
from callup.core.randomness import client_uniforms, stream
from callup.core.selector import Selector
from callup.core.signals import SIGNALS, Ask
from callup.core.types import Feedback, Plan, Round, Selection
from callup.core.verify import ask

CLASSES, BITS, WIDTH, KINDS, HORIZON = 10, 64, 64, 200, 10_000
PAST, WAVE = 10_000, 1_000
"""Replies that were learned from before anything is timed, and how many of them come at once."""
SWEEPING = ("fed-cucb",)
WARM, FEWEST, MOST, PATIENCE = 2, 5, 12, 3.0
"""Rounds that are not timed; timed rounds at least, at most, and the seconds after which enough were timed."""


class Clock:
    """Seconds of processor and of wall, of work that may be interrupted by answers that are not to be counted."""

    def __init__(self) -> None:
        self.paused = np.zeros(2)

    @staticmethod
    def read() -> np.ndarray:
        return np.array([time.process_time(), time.perf_counter()])

    def timed(self, work: Callable[[], Any]) -> tuple[Any, np.ndarray]:
        self.paused[:] = 0
        before = self.read()
        done = work()
        return done, self.read() - before - self.paused

    def uncounted(self, work: Callable[[], Any]) -> Any:
        before = self.read()
        done = work()
        self.paused += self.read() - before
        return done


@dataclass
class Case:
    """A selector in a federation of n clients, k of whom are called in a round."""

    selector: Selector
    n: int
    k: int
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.asks: list[Ask] = self.selector.needs.settle(lambda _: True, "")
        self.clients = Clients(
            np.arange(self.n), **made_up([a.signal.name for a in self.asks if a.time == "profile"], self.n)
        )
        self.probed: dict[str, tuple[Ids, np.ndarray]] = {}

    def start(self) -> np.ndarray:
        plan = Plan(self.k, HORIZON, CLASSES)
        return self.clock.timed(lambda: self.selector.start(self.clients, plan, stream(0, "start")))[1]

    def learn_the_past(self) -> int:
        """Replies of rounds long ago, so that state is not empty; fewer where a method learns slowly.

        Where a method first calls everyone once, everyone has replied: its later rounds are what takes long.
        """
        begun, replies = time.process_time(), 0
        rng = stream(0, "past")
        everyone = np.array_split(self.clients.ids, PAST // WAVE)
        for wave in range(PAST // WAVE):
            ids = np.sort(rng.choice(self.n, min(WAVE, self.n), replace=False))
            if self.selector.card.name in SWEEPING:
                ids = everyone[wave]
            self.selector.update(self.feedback(1 + wave, Selection(ids)))
            replies += len(ids)
            if time.process_time() - begun > PATIENCE and self.selector.card.name not in SWEEPING:
                break
        return replies

    def round(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """What select and update took."""
        self.probed = {}
        now = Round(index, self.clients.ids, self.clients, stream(0, "select", index), self.probe)
        chosen, selecting = self.clock.timed(lambda: ask(self.selector, now, self.k))
        feedback = self.feedback(index, chosen)
        return selecting, self.clock.timed(lambda: self.selector.update(feedback))[1]

    def probe(self, name: str, ids: Ids) -> np.ndarray:
        answers: np.ndarray = self.clock.uncounted(lambda: fact(name, ids, 0))
        self.probed[name] = (ids, answers)
        return answers

    def feedback(self, index: int, chosen: Selection) -> Feedback:
        names = {a.signal.name for a in self.asks if a.time in ("reply", "server")}
        signals = {name: fact(name, chosen.ids, index) for name in names}
        rng = stream(0, "update", index)
        return Feedback(index, chosen.ids, signals, self.clients, probed=self.probed, notes=chosen.notes, rng=rng)


def made_up(names: list[str], n: int) -> dict[str, np.ndarray]:
    """These columns of the profile, in the smallest types that hold them."""
    rng = stream(0, "profile")
    counts = rng.integers(0, 6, (n, CLASSES), np.uint8)
    counts[np.arange(n), rng.integers(0, CLASSES, n)] += rng.integers(5, 45, n, np.uint8)
    makers: dict[str, Callable[[], np.ndarray]] = {
        "label_counts": lambda: counts,
        "num_examples": lambda: counts.sum(axis=1, dtype=np.uint16),
        "global_counts": lambda: counts.sum(axis=0, dtype=np.int64),
        "latency": lambda: rng.lognormal(3.0, 1.0, n),
        "features": lambda: fingerprints(n, rng),
        "owner": lambda: rng.integers(0, 3, n, np.uint8),
    }
    return {name: makers[name]() for name in dict.fromkeys(names)}


def fingerprints(n: int, rng: np.random.Generator) -> np.ndarray:
    """Bits of a few kinds of clients, each bit turned with a chance of a tenth."""
    kinds = rng.integers(0, 2, (KINDS, BITS), np.uint8)
    return kinds[rng.integers(0, KINDS, n)] ^ (rng.integers(0, 256, (n, BITS), np.uint8) < 26)


def fact(name: str, ids: Ids, index: int) -> np.ndarray:
    """What these clients report: rows of 64 numbers, or one for each class; shares where a share is meant."""
    rng, signal = stream(0, name, index), SIGNALS[name]
    if signal.shape == "row":
        return rng.random((len(ids), CLASSES if name == "class_gradients" else WIDTH))
    share = client_uniforms(rng, ids)
    if name == "kept":
        return (share < 0.6).astype(np.float64)
    return share if name == "accuracy" else 0.1 + 2 * share


def measured(spec: str, n: int, k: int) -> dict[str, Any]:
    """Milliseconds of processor and wall, and megabytes of the whole process at its largest."""
    case = Case(SELECTORS.make(spec), n, k)
    table = peak()
    starting = case.start()
    past = case.learn_the_past()
    times: list[tuple[np.ndarray, np.ndarray]] = []
    begun, index = time.process_time(), PAST // WAVE
    for place in range(WARM + MOST):
        index += 1
        took = case.round(index)
        if place >= WARM:
            times.append(took)
        if len(times) >= FEWEST and time.process_time() - begun > PATIENCE:
            break
    return {
        "spec": spec,
        "clients": n,
        "k": k,
        "past_replies": past,
        "rounds": len(times),
        "start_ms": summary(starting[None]),
        "select_ms": summary(np.array([selecting for selecting, _ in times])),
        "update_ms": summary(np.array([updating for _, updating in times])),
        "table_mb": round(table, 1),
        "peak_mb": round(peak(), 1),
    }


def summary(seconds: np.ndarray) -> dict[str, float]:
    """Medians and 95th percentiles; with few rounds the latter is the slowest."""
    middle, high = (np.percentile(1e3 * seconds, q, axis=0, method="higher") for q in (50, 95))
    numbers = {"cpu_p50": middle[0], "cpu_p95": high[0], "wall_p50": middle[1], "wall_p95": high[1]}
    return {name: round(float(value), 3) for name, value in numbers.items()}


def peak() -> float:
    """The largest resident size of this process so far, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():  # unlike getrusage, it does not count the process this one was started from
        return (
            next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 2**10
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

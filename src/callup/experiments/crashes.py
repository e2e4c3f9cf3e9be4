"""Kills runs, damages what they left, resumes them and compares: every file must be that of a run left alone.

A kill is SIGKILL, at a named point or at a moment nobody chose. It takes the process away, not the machine: what was
written and not yet synced survives it, so the order of syncs is not put to the test here.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from callup.core.randomness import stream
from callup.journal.crash import POINTS, VARIABLE
from callup.journal.journal import Pace
from callup.journal.log import NAME
from callup.journal.snapshots import snapshots
from callup.simulation.recorder import Recorder, Recording
from callup.simulation.settings import Settings

ROUNDS = 10
_SMALL = Settings(
    partition="dirichlet:clients=20,alpha=0.3",
    availability="uniform:fraction=0.7",
    k=4,
    rounds=ROUNDS,
    lost=0.1,
    local={"epochs": 1},
)
WORLDS = (
    _SMALL.but(selector="oort", overcommit="auto"),
    _SMALL.but(selector="fedacs"),
    _SMALL.but(selector="fedcm-ts", filter="fedca"),
    _SMALL.but(selector="power-of-choice:d=8", faults=("churn",)),
    _SMALL.but(selector="fed-cucb", average="fednova"),
    _SMALL.but(selector="active-fl", guard="on", adversary="inflated-loss:share=0.2"),
)
_ONCE = POINTS[: POINTS.index("after-select")]
_HOW = Recording(pace=Pace(rounds=3, seconds=float("inf")))


@dataclass
class Tally:
    """What was done to how many runs, and which of them came out differently."""

    named_kills: int = 0
    random_kills: int = 0
    torn_logs: int = 0
    flipped_logs: int = 0
    flipped_snapshots: int = 0
    unreached: list[str] = field(default_factory=list)
    """Named points that a run never came to: then nothing was tested."""
    diverged: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not (self.unreached or self.diverged)

    def plain(self) -> dict[str, Any]:
        return {**asdict(self), "points": list(POINTS), "passed": self.passed}


def drill(home: Path, seeds: int, points: int | None = None, kills: int = 200) -> Tally:
    """Named kills, at all points or so many of them, with each seed; then kills at random moments with damage added."""
    tally = Tally()
    for settings in WORLDS:  # once in this process, so that its many copies need not load everything anew
        _play(settings.but(rounds=1), home / "warm")
        shutil.rmtree(home / "warm")
    for seed in range(seeds):
        settings = WORLDS[seed % len(WORLDS)].but(seed=seed)
        with _alone(home, settings) as (expected, _):
            for point in _some(points, seed):
                _named(home / "run", settings, point, expected, tally)
    for number in range(0, kills, _PER_WORLD):
        settings = WORLDS[number // _PER_WORLD % len(WORLDS)].but(seed=seeds + number)
        with _alone(home, settings) as (expected, seconds):
            for count in range(number, min(number + _PER_WORLD, kills)):
                _random(home / "run", settings, seconds, expected, count, tally)
    return tally


_PER_WORLD = 10


def _some(points: int | None, seed: int) -> list[str]:
    order = stream(seed, "points").permutation(len(POINTS))[:points]
    return [POINTS[place] for place in sorted(order)]


@contextlib.contextmanager
def _alone(home: Path, settings: Settings) -> Iterator[tuple[dict[str, str], float]]:
    """The files of a run nobody disturbed, and how long it took."""
    begun = time.monotonic()
    _must(_child(lambda: _play(settings, home / "alone")), home / "alone")
    took = time.monotonic() - begun
    try:
        yield _files(home / "alone"), took
    finally:
        shutil.rmtree(home / "alone")


def _named(folder: Path, settings: Settings, point: str, expected: dict[str, str], tally: Tally) -> None:
    rng = stream(settings.seed, "passes", point)
    # Snapshots come every third round, the rest every round.
    passes = 1 if point in _ONCE else int(rng.integers(1, (ROUNDS // 3 if "snapshot" in point else ROUNDS) + 1))
    code = _child(lambda: _play(settings, folder), f"{point}@{passes}")
    if code != -signal.SIGKILL:
        tally.unreached.append(f"{point}@{passes}, seed {settings.seed}")
    tally.named_kills += 1
    _finish(folder, settings, expected, f"{point}@{passes}, {settings.selector}, seed {settings.seed}", tally)


def _random(
    folder: Path, settings: Settings, seconds: float, expected: dict[str, str], number: int, tally: Tally
) -> None:
    rng = stream(number, "random kill")
    for _ in range(int(rng.integers(1, 3))):
        code = _child(lambda: _play(settings, folder), after=float(rng.uniform(0.1, 1.0)) * seconds)
        tally.random_kills += code == -signal.SIGKILL
    done = _damage(folder, rng, tally)
    _finish(folder, settings, expected, f"random kill {number}, {settings.selector}, {done}", tally)


def _damage(folder: Path, rng: np.random.Generator, tally: Tally) -> str:
    """Bytes cut off the log, a byte flipped in it, a byte flipped in the newest snapshot: each now and then."""
    log, done = folder / NAME, []
    if log.exists() and rng.random() < 0.6:
        size = log.stat().st_size
        os.truncate(log, size - min(int(rng.integers(1, 2000)), size - 1))
        tally.torn_logs += 1
        done.append("torn log")
    if log.exists() and rng.random() < 0.3:
        _flip(log, rng)
        tally.flipped_logs += 1
        done.append("flipped log")
    if (kept := snapshots(folder)) and rng.random() < 0.6:
        _flip(kept[0][1], rng)
        tally.flipped_snapshots += 1
        done.append("flipped snapshot")
    return ", ".join(done) or "no damage"


def _flip(path: Path, rng: np.random.Generator) -> None:
    content = bytearray(path.read_bytes())
    content[int(rng.integers(len(content)))] ^= int(rng.integers(1, 256))
    path.write_bytes(content)


def _finish(folder: Path, settings: Settings, expected: dict[str, str], what: str, tally: Tally) -> None:
    try:
        code = _child(lambda: _play(settings, folder))
        if code or _files(folder) != expected:
            tally.diverged.append(f"{what}: " + (f"resume ended with {code}" if code else "other files"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _play(settings: Settings, folder: Path) -> None:
    recorder = Recorder(settings, folder, _HOW)
    try:
        recorder.run()
    finally:
        recorder.close()


def _files(folder: Path) -> dict[str, str]:
    """Digests of what a run leaves behind; older snapshots and damaged logs that were set aside are no part of it."""
    last = [path.name for _, path in snapshots(folder)[:1]]
    names = ["config.toml", "clients.safetensors", "profile-000001.safetensors", "events.jsonl", NAME, *last]
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def _child(work: Callable[[], None], crash: str | None = None, after: float | None = None) -> int:
    """Does the work in a copy of this process, to be killed at a point or after a time; its exit code, or -signal."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if crash is not None:
                os.environ[VARIABLE] = crash
            work()
            code = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)
    if after is not None:
        time.sleep(after)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _must(code: int, folder: Path) -> None:
    if code:
        raise RuntimeError(f"the undisturbed run in {folder} ended with {code}")

"""One promise put to the test, and what was seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Seen:
    """What one test saw: in a sentence, and whether the goal was met. `failures` name each case that missed it."""

    sentence: str
    cases: int
    failures: tuple[str, ...] = ()
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """A promise with the test that shows it; the test gets a folder of its own to write in."""

    name: str
    promise: str
    run: Callable[[Path], Seen]


@dataclass(frozen=True)
class Finding:
    """A trial that was held."""

    name: str
    promise: str
    passed: bool
    seen: Seen
    seconds: float

    def plain(self) -> dict[str, Any]:
        """As values JSON can hold."""
        return {
            "name": self.name,
            "promise": self.promise,
            "passed": self.passed,
            "seen": self.seen.sentence,
            "cases": self.seen.cases,
            "failures": list(self.seen.failures),
            "figures": self.seen.figures,
            "seconds": round(self.seconds, 1),
        }


def hold(trials: list[Trial], home: Path) -> Iterator[Finding]:
    """Each trial in turn. One that breaks down has failed, and says with what; the others go on."""
    for trial in trials:
        begun = time.perf_counter()
        folder = home / trial.name.replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        try:
            seen = trial.run(folder)
        except Exception as broken:
            seen = Seen("it broke down", 1, (f"{type(broken).__name__}: {broken}",))
        passed = seen.cases > 0 and not seen.failures
        yield Finding(trial.name, trial.promise, passed, seen, time.perf_counter() - begun)

"""A run on disk, so that a server that died goes on where it was: at most the round it was in is played again."""

from __future__ import annotations

import json
from logging import INFO, WARNING
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, MetricRecord
from flwr.common import log
from flwr.serverapp.strategy import Result

from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.core.selector import Arrays
from callup.flower.roster import Roster
from callup.flower.session import Session
from callup.flower.story import Story
from callup.flower.strategy_state import load_strategy, strategy_state
from callup.journal import Entry, Journal, Pace, Turn, record_turn, write_profile
from callup.journal.disk import write_whole

_MODEL = "model."


class Recorder:
    """Writes each round before the next one starts; without a folder it keeps the history in memory only."""

    def __init__(self, run: str | Path | None, resume: bool) -> None:
        if resume and run is None:
            raise UsageError("resume=True needs the directory of the run: Selecting(..., run='runs/a', resume=True)")
        self._folder, self._resume = None if run is None else Path(run), resume
        self._journal: Journal | None = None
        self._profile: Clients | None = None
        self.history: list[dict[str, Any]] = []

    def open(self, session: Session, arrays: ArrayRecord, result: Result) -> tuple[ArrayRecord, int]:
        """The model to go on from and the rounds already played."""
        if self._folder is None:
            return arrays, 0
        # A round of a real federation cannot be computed again: a snapshot after every one.
        self._journal = Journal(self._folder, pace=Pace(rounds=1), say=lambda text: log(WARNING, "callup: %s", text))
        if not self._journal.exists:
            self._journal.begin({"runtime": "flower", **_settings(session)})
            write_whole(self._folder / "config.toml", _toml({"schema": 1, "runtime": "flower", **_settings(session)}))
            self._write_events()
            return arrays, 0
        if not self._resume:
            raise UsageError(
                f"{self._folder} holds a run already; continue it with resume=True, or name another folder"
            )
        return self._resumed(session, result) or (arrays, 0)

    def _resumed(self, session: Session, result: Result) -> tuple[ArrayRecord, int] | None:
        assert self._journal is not None and self._folder is not None  # opened above
        found = self._journal.resume()
        for note in found.notes:
            log(WARNING, "callup: %s", note)
        if not found.entries:
            return None
        last = found.entries[-1]
        if found.snapshot_round != last.number:
            raise InputError(
                f"{self._folder} cannot be continued: round {last.number} is recorded, but the newest sound snapshot "
                f"is of round {found.snapshot_round}"
            )
        _check_same(last.facts.get("settings", {}), _settings(session), self._folder)
        for entry in found.entries:
            self.history.append(entry.facts["record"])
            _restore_metrics(entry, result)
        _restore(session, last, found.state)
        self._write_events()
        log(INFO, "callup: %s is continued after round %d", self._folder, last.number)
        model = {n.removeprefix(_MODEL): Array(a) for n, a in found.state.items() if n.startswith(_MODEL)}
        order = last.facts["arrays"]
        return ArrayRecord({name: model[name] for name in order}), last.number

    def round(self, session: Session, story: Story, arrays: ArrayRecord) -> None:
        record = story.record()
        self.history.append(record)
        log(INFO, "callup: %s", story.line(session.crew.known.roster))
        if self._folder is None:
            return
        if self._journal is None:
            raise UsageError(
                "run= is kept by Selecting.start; call strategy.start(grid=..., ...), not the rounds one by one"
            )
        called, feedback = story.called, story.feedback
        assert called is not None and feedback is not None  # a record was made of them
        if self._profile is None or self._profile is not called.now.clients:
            self._profile = called.now.clients
            write_profile(self._folder, story.index, self._profile)
        turn, numbers = record_turn(Turn(called.now, called.asked_for, called.selection, feedback), self._profile)
        facts = {
            **turn,
            "record": record,
            "metrics": _plain(story.metrics),
            "settings": _settings(session),
            "arrays": list(arrays),
            "roster": session.crew.known.roster.plain(),
            "quarantine": session.watch.quarantine.plain(),
            "counts": [session.asked, session.lost],
        }
        # The snapshot first: one that is ahead of the log is passed over, and the round is then played again.
        self._journal.snapshot(story.index, lambda: _state(session, arrays), last=True)
        self._journal.append(Entry(story.index, facts, numbers))
        with (self._folder / "events.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")

    def _write_events(self) -> None:
        assert self._folder is not None
        text = "".join(json.dumps(record, allow_nan=False) + "\n" for record in self.history)
        write_whole(self._folder / "events.jsonl", text.encode())

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None


def _state(session: Session, arrays: ArrayRecord) -> Arrays:
    state: Arrays = {f"{_MODEL}{name}": np.asarray(array.numpy()) for name, array in arrays.items()}
    for role, method in session.methods().items():
        state |= {f"{role}.{name}": value for name, value in method.state().items()}
    return state | strategy_state(session.strategy)


def _restore(session: Session, last: Entry, state: Arrays) -> None:
    saved: dict[str, Arrays] = {}
    for key, value in state.items():
        role, _, name = key.partition(".")
        saved.setdefault(role, {})[name] = value
    session.saved = {role: saved[role] for role in session.methods() if role in saved}
    session.asked, session.lost = last.facts["counts"]
    session.crew.known.roster = Roster.from_plain(last.facts["roster"])
    session.watch.quarantine.load(last.facts["quarantine"])
    load_strategy(session.strategy, state)


def _settings(session: Session) -> dict[str, Any]:
    options = session.options
    return {
        "selector": session.selector.spec,
        "k": options.k,
        "seed": options.seed,
        "strategy": type(session.strategy).__name__,
        "guard": session.guard,
        **{role: method.spec for role, method in session.judge.methods()},
    }


def _check_same(before: dict[str, Any], now: dict[str, Any], folder: Path) -> None:
    for name in sorted(set(before) | set(now)):
        if before.get(name) != now.get(name):
            raise UsageError(
                f"{folder} was run with {name} = {before.get(name)!r}, now it is {now.get(name)!r}; "
                f"continue it as it was, or name another folder"
            )


def _plain(metrics: Any) -> Any:
    """Metrics as JSON holds them; what is not finite is nothing."""
    if isinstance(metrics, dict):
        return {str(name): _plain(value) for name, value in metrics.items()}
    if isinstance(metrics, (list, tuple)):
        return [_plain(value) for value in metrics]
    return metrics if np.isfinite(metrics) else None


def _restore_metrics(entry: Entry, result: Result) -> None:
    tables = {
        "train": result.train_metrics_clientapp,
        "evaluate": result.evaluate_metrics_clientapp,
        "server": result.evaluate_metrics_serverapp,
    }
    for name, table in tables.items():
        values = {k: v for k, v in (entry.facts["metrics"].get(name) or {}).items() if v is not None}
        if values:
            table[entry.number] = MetricRecord(values)


def _toml(values: dict[str, Any]) -> bytes:
    # A JSON string or whole number is one in TOML too.
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()).encode()

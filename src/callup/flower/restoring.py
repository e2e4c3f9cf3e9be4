"""What is saved of a run after each round, and how a run is put back together from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, MetricRecord
from flwr.serverapp.strategy import Result

from callup.core.errors import UsageError
from callup.core.selector import Arrays
from callup.flower.roster import Roster
from callup.flower.session import Session
from callup.flower.story import Story
from callup.flower.strategy_state import load_strategy, strategy_state
from callup.journal import Entry

_MODEL = "model."


def settings_of(session: Session) -> dict[str, Any]:
    """What must not change when a run is continued."""
    return {
        "selector": session.selector.spec,
        "k": session.options.k,
        "seed": session.options.seed,
        "strategy": type(session.strategy).__name__,
        "guard": session.guard,
        **{role: method.spec for role, method in session.judge.methods()},
    }


def facts_of(session: Session, story: Story, record: dict[str, Any], arrays: ArrayRecord) -> dict[str, Any]:
    """Plain values: the round, and all of the run that is no array."""
    return {
        "record": record,
        "metrics": _plain(story.metrics),
        "settings": settings_of(session),
        "arrays": list(arrays),
        "roster": session.crew.known.roster.plain(),
        "quarantine": session.watch.quarantine.plain(),
        "counts": list(session.drop_out()),
    }


def arrays_of(session: Session, arrays: ArrayRecord) -> Arrays:
    """The model and everything learned."""
    state: Arrays = {f"{_MODEL}{name}": np.asarray(array.numpy()) for name, array in arrays.items()}
    for role, method in session.methods().items():
        state |= {f"{role}.{name}": value for name, value in method.state().items()}
    return state | strategy_state(session.strategy)


def restore(session: Session, last: Entry, state: Arrays, folder: Path) -> ArrayRecord:
    """The model to go on from; a run with other settings is refused."""
    _check_same(last.facts.get("settings", {}), settings_of(session), folder)
    saved: dict[str, Arrays] = {}
    for key, value in state.items():
        role, _, name = key.partition(".")
        saved.setdefault(role, {})[name] = value
    session.saved = {role: saved[role] for role in session.methods() if role in saved}
    session.asked, session.lost = last.facts["counts"]
    session.crew.known.roster = Roster.from_plain(last.facts["roster"])
    session.watch.quarantine.load(last.facts["quarantine"])
    load_strategy(session.strategy, state)
    # By the order of the model, which a file does not keep.
    return ArrayRecord({name: Array(state[f"{_MODEL}{name}"]) for name in last.facts["arrays"]})


def restore_metrics(entry: Entry, result: Result) -> None:
    """The metrics of a round that was played before the server died."""
    tables = {
        "train": result.train_metrics_clientapp,
        "evaluate": result.evaluate_metrics_clientapp,
        "server": result.evaluate_metrics_serverapp,
    }
    for name, table in tables.items():
        values = {k: v for k, v in (entry.facts["metrics"].get(name) or {}).items() if v is not None}
        if values:
            table[entry.number] = MetricRecord(values)


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

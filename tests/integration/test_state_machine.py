"""A machine that registers, selects, reports, saves and loads in any order, with good and bad input mixed.

It may end only in the documented errors, and what was refused leaves no trace. CALLUP_STEPS sets how many steps are
taken in all; `make battery` takes 100,000.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import CallupError
from callup.core.randomness import stream
from callup.core.selector import Arrays
from callup.core.types import Feedback, Plan, Round, Selection, check_k
from callup.core.verify import ask
from callup.testing.compare import differing
from callup.testing.federation import Federation, supplies
from callup.testing.variants import variants

SPECS = [spec for card in SELECTORS.cards() for spec in variants(card)]
STEPS = int(os.environ.get("CALLUP_STEPS", "2000"))
STEPS_PER_RUN = 50
TAKEN = {"steps": 0, "refused": 0}

NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, width=64),
    st.sampled_from([np.nan, np.inf, -np.inf, -1.0, 0.0, 1e18, 1e300, -1e-300]),
)
BAD_K = st.sampled_from([0, -1, 1.5, "3", None, True, np.nan, -(2**63), [2]])
BAD_SIGNALS = st.sampled_from(["nan", "inf", "negative", "short", "text", "deep", "missing"])
BAD_IDS = st.sampled_from(["unknown", "twice", "both", "text", "float", "huge"])
MOODS = st.sampled_from(["usual", "ties", "zeros", "huge", "liar", "half silent", "silent"])


class Coach(RuleBasedStateMachine):
    """One selector through good days and bad ones."""

    @initialize(spec=st.sampled_from(SPECS), mood=MOODS, seed=st.integers(0, 2**32), n=st.integers(3, 24))
    def register(self, spec: str, mood: Any, seed: int, n: int) -> None:
        self.spec, self.seed, self.index = spec, seed, 1
        self.selector = SELECTORS.make(spec)
        ways = supplies(self.selector.needs)
        self.asks = ways[seed % len(ways)]
        self.world = Federation.of(n, sparse=bool(seed % 2)).like(mood)
        self.clients = self._table()
        self.selector.start(self.clients, Plan(4, 30, self.world.classes), stream(seed, "start"))
        self.pending: Selection | None = None
        self.probed: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    @rule(k=st.integers(1, 30), away=st.integers(0, 2**30))
    def select(self, k: int, away: int) -> None:
        before = self._state()
        self.probed = {}
        available = self.world.ids[[(away >> (i % 30)) & 1 == 0 for i in range(len(self.world.ids))]]
        rng = stream(self.seed, "select", self.index)
        selection = ask(self.selector, Round(self.index, available, self.clients, rng, self._probe), k)
        assert set(selection.ids.tolist()) <= set(available.tolist())
        assert len(np.unique(selection.ids)) == len(selection.ids)
        if not (self.selector.card.takes_everyone or self.selector.card.with_replacement):
            assert len(selection.ids) == min(k, len(available))
        for name, part in selection.scores.items():
            heard = "silent" not in self.world.mood
            assert not (heard and np.isnan(part).any()), f"{self.spec} scored {name} {part}"
        self._unchanged(before)
        self.pending = selection

    @precondition(lambda self: self.pending is not None)
    @rule(lost=st.integers(0, 2**30))
    def report(self, lost: int) -> None:
        assert self.pending is not None
        ids = self.pending.ids
        back = ids[[(lost >> (i % 30)) & 1 == 0 for i in range(len(ids))]]
        self.selector.update(self._feedback(back, self._signals(back), np.setdiff1d(ids, back)))
        self.pending, self.index = None, self.index + 1
        self._usable(self.selector.state())

    @precondition(lambda self: self.pending is not None)
    @rule(kind=BAD_SIGNALS, where=st.integers(0, 100))
    def report_nonsense(self, kind: str, where: int) -> None:
        assert self.pending is not None
        ids, signals = self.pending.ids, self._signals(self.pending.ids)
        if not len(ids) or not signals:
            return
        name = sorted(signals)[where % len(signals)]
        spoiled = np.array(signals[name], np.float64)
        if kind == "missing":
            if not any(a.signal.name == name and not self._optional(name) for a in self.asks):
                return
            signals.pop(name)
        elif kind in ("nan", "inf"):
            spoiled[where % len(ids)] = np.nan if kind == "nan" else np.inf
        elif kind == "negative":
            spoiled = -1.0 - np.abs(spoiled)
        signals |= {
            "short": {name: spoiled[:-1]},
            "text": {name: np.full(spoiled.shape, "much")},
            "deep": {name: spoiled[..., None]},
            "missing": {},
        }.get(kind, {name: spoiled})
        self._learn(ids, signals, may_pass=kind in ("negative", "missing"))

    @precondition(lambda self: self.pending is not None)
    @rule(kind=BAD_IDS)
    def report_wrong_people(self, kind: str) -> None:
        assert self.pending is not None
        ids = self.pending.ids
        if not len(ids):
            return
        wrong: Any = {
            "unknown": np.append(ids[1:], self.world.ids.max() + 1),
            "twice": np.append(ids, ids[0]),
            "both": ids,
            "text": [f"<script>{i}" for i in ids],
            "float": ids + 0.5,
            "huge": [2**70] * len(ids),
        }[kind]
        before = self._state()
        try:
            signals = {name: np.resize(v, (len(wrong), *v.shape[1:])) for name, v in self._signals(ids).items()}
            failed = ids[:1] if kind == "both" else ids[:0]
            self.selector.update(self._feedback(wrong, signals, failed))
        except CallupError:
            TAKEN["refused"] += 1
            self._unchanged(before)
        else:
            pytest.fail(f"a report with {kind} ids was accepted")

    @rule(k=BAD_K)
    def ask_for_nonsense(self, k: Any) -> None:
        before = self._state()
        with pytest.raises(CallupError):
            ask(self.selector, Round(self.index, self.world.ids, self.clients, stream(0), self._probe), k)
        with pytest.raises(CallupError):
            check_k(k)
        self._unchanged(before)

    @rule(value=NUMBERS, name=st.sampled_from(["num_examples", "label_counts", "latency", "features"]))
    def register_nonsense(self, value: float, name: str) -> None:
        shape = (3, 4) if name in ("label_counts", "features") else (3,)
        column = np.full(shape, 2.0)
        column[1] = value
        try:
            made = Clients([4, 9, 1], **{name: column})
        except CallupError:
            assert not np.isfinite(value) or value < 0 or value > 1e307  # four of those add up to no number
        else:
            assert np.isfinite(made.all(name)).all()

    @rule(coming=st.integers(0, 5), going=st.integers(0, 5))
    def move(self, coming: int, going: int) -> None:
        old = self.world.ids
        stay = old[: max(len(old) - going, 2)]
        fresh = old.max() + 1 + np.arange(coming)
        self.world = self.world.with_ids([*stay.tolist(), *fresh.tolist()])
        self.clients = self._table()
        self.selector.roster(self.clients, stream(self.seed, "roster", self.index))
        self.pending = None

    @rule()
    def save_and_load(self) -> None:
        saved = self.selector.state()
        fresh = SELECTORS.make(self.spec)
        fresh.load({name: np.array(array) for name, array in saved.items()})
        assert not differing(saved, fresh.state())
        self.selector = fresh

    @rule(kind=st.sampled_from(["schema", "name", "none"]))
    def load_nonsense(self, kind: str) -> None:
        before = self._state()
        broken: Arrays = dict(before)
        if kind == "schema":
            broken["schema"] = np.array(99)
        elif kind == "name":
            broken["__class__"] = np.array(1)
        else:
            broken.pop("schema")
        with pytest.raises(CallupError):
            self.selector.load(broken)
        self._unchanged(before)

    def _learn(self, ids: np.ndarray, signals: dict[str, Any], *, may_pass: bool) -> None:
        """An update that ought to be refused; where the vocabulary allows the value it may pass."""
        before = self._state()
        try:
            self.selector.update(self._feedback(ids, signals, ids[:0]))
        except CallupError:
            TAKEN["refused"] += 1
            self._unchanged(before)
        else:
            assert may_pass, f"{self.spec} accepted {signals}"
            self.pending, self.index = None, self.index + 1

    def _feedback(self, ids: Any, signals: dict[str, Any], failed: np.ndarray) -> Feedback:
        assert self.pending is not None
        rng = stream(self.seed, "update", self.index)
        gone = {int(i): "no reply" for i in failed}
        return Feedback(self.index, ids, signals, self.clients, gone, dict(self.probed), self.pending.notes, rng)

    def _signals(self, ids: np.ndarray) -> dict[str, np.ndarray]:
        names = {a.signal.name for a in self.asks if a.time in ("reply", "server")}
        return {name: self.world.fact(name, ids, self.index) for name in sorted(names)}

    def _optional(self, name: str) -> bool:
        return any(need.optional and any(a.signal.name == name for a in need.any_of) for need in self.selector.needs)

    def _probe(self, name: str, ids: np.ndarray) -> np.ndarray:
        answers = self.world.answers(name, np.asarray(ids), self.index)
        heard = self.probed.get(name, (np.empty(0, np.int64), answers[:0]))
        self.probed[name] = (np.concatenate([heard[0], ids]), np.concatenate([heard[1], answers]))
        return answers

    def _table(self) -> Clients:
        return self.world.clients([a.signal.name for a in self.asks if a.time == "profile"])

    def _state(self) -> Arrays:
        return {name: np.array(array) for name, array in self.selector.state().items()}

    def _unchanged(self, before: Arrays) -> None:
        changed = differing(before, self._state())
        assert not changed, f"{self.spec}: {', '.join(changed)} changed"

    @staticmethod
    def _usable(state: Arrays) -> None:
        for name, array in state.items():
            assert array.dtype.kind in "biuf", f"{name} is {array.dtype}"

    @invariant()
    def count(self) -> None:
        TAKEN["steps"] += 1


def test_nothing_but_documented_errors_and_what_is_refused_leaves_no_trace() -> None:
    short = STEPS <= 2000  # then the same steps every time; the battery takes others in every run
    while TAKEN["steps"] < STEPS:
        play = settings(
            max_examples=max(STEPS // STEPS_PER_RUN, 1),
            stateful_step_count=STEPS_PER_RUN,
            deadline=None,
            database=None,
            derandomize=short,
            suppress_health_check=list(HealthCheck),
        )
        run_state_machine_as_test(Coach, settings=play)
    assert TAKEN["refused"] > 0
    if "CALLUP_STEPS_OUT" in os.environ:
        Path(os.environ["CALLUP_STEPS_OUT"]).write_text(json.dumps(TAKEN) + "\n", encoding="utf-8")
    print(f"{TAKEN['steps']:,} steps, {TAKEN['refused']:,} reports refused")

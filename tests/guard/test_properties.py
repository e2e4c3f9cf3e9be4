"""Whatever liars do and whoever is online: the cap holds; whatever clients send: nothing but words comes of it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.randomness import stream
from callup.core.types import Plan, Round, Selection
from callup.guard.guard import guard_for
from callup.guard.reports import Report, sorted_out

FEW = settings(max_examples=40, deadline=None, derandomize=True)


@FEW
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(4, 40),
    k=st.integers(1, 12),
    cap=st.sampled_from([1.2, 1.5, 2.5]),
    online=st.floats(0.3, 1.0),
)
def test_no_client_is_called_above_its_cap(seed: int, n: int, k: int, cap: float, online: float) -> None:
    rng = stream(seed, "weather")
    guard = guard_for(f"on:cap={cap}", SELECTORS.make("fed-cbs"))
    assert guard is not None
    guard.start(Clients(np.arange(n)), Plan(k, 60), stream(seed, "guard"))
    wanted = rng.permutation(n)  # the same clients are wanted most in every round
    calls, turns = np.zeros(n), np.zeros(n)
    for index in range(1, 61):
        here = np.flatnonzero(rng.random(n) < online)
        admitted = guard.admit(index, here, k)
        assert len(admitted) >= min(k, len(here))
        assert np.isin(admitted, here).all()
        chosen = wanted[np.isin(wanted, admitted)][:k]
        guard.learn(index, here, Selection(chosen), k)
        calls[chosen] += 1
        turns[here] += min(k, len(here)) / max(len(here), 1)
        if guard.beyond == 0:
            # Rounded up by less than one call at first; from eight turns on never above.
            assert (calls <= np.maximum(3, cap * turns + np.where(turns < 8, 1, 1e-9))).all()


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(6, 40),
    k=st.integers(1, 8),
    extra=st.sampled_from([0.1, 0.2, 0.4]),
    most=st.sampled_from([2.0, 6.0]),
    online=st.floats(0.3, 1.0),
)
def test_the_purse_pays_for_whatever_is_beyond_the_cap(
    seed: int, n: int, k: int, extra: float, most: float, online: float
) -> None:
    rng = stream(seed, "weather")
    chooser = SELECTORS.make("power-of-choice:d=40")
    guard = guard_for(f"on:cap=1.5,extra={extra},most={most}", chooser)
    assert guard is not None
    clients, plan = Clients(np.arange(n), num_examples=np.ones(n)), Plan(k, 60)
    guard.start(clients, plan, stream(seed, "guard"))
    chooser.start(clients, plan, stream(seed, "start"))
    loss = rng.permutation(n).astype(float)  # the same clients report the highest losses in every round
    calls, turns, places = np.zeros(n), np.zeros(n), 0
    for index in range(1, 51):
        here = np.flatnonzero(rng.random(n) < online)
        now = Round(index, guard.admit(index, here, k), clients, rng, lambda _, ids: loss[ids])
        chosen = guard.ask(chooser, now, k, here)
        assert len(chosen.ids) == min(k, len(here))
        guard.learn(index, here, chosen, k)
        calls[chosen.ids] += 1
        turns[here] += min(k, len(here)) / max(len(here), 1)
        places += min(k, len(here))
        if guard.beyond == 0:
            rounding = np.where(turns < 8, 1, 1e-9)
            above = np.maximum(calls - np.maximum(3, 1.5 * turns + rounding), 0)
            assert above.sum() <= extra * places
            assert (calls <= np.maximum(np.maximum(3, 1.5 * turns), np.maximum(10, most * turns)) + rounding).all()


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
SIGNALS = st.dictionaries(st.sampled_from(["loss", "gradient", "accuracy", "mood"]), JUNK, max_size=3)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    client=JUNK | st.integers(0, 5),
    index=JUNK | st.just(3),
    model=JUNK | st.just([0.0, 1.0, 2.0, 3.0]),
    size=JUNK | st.just(10),
    steps=JUNK | st.just(2),
    signals=SIGNALS,
)
def test_any_report_is_a_reply_or_an_objection(
    client: object, index: object, model: object, size: object, steps: object, signals: dict[str, object]
) -> None:
    report = Report(client, index, model, size, steps, signals)
    replies, found = sorted_out([report], 3, np.arange(4), np.zeros(4), ["loss"], np.arange(6))
    assert len(replies.ids) + len(found) == 1
    if len(replies.ids):
        assert np.isfinite(replies.models).all()
        assert np.isfinite(replies.signals["loss"]).all()
        assert replies.num_examples[0] >= 0

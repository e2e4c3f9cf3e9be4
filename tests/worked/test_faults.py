"""What goes wrong, case by case, and what the round makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import callup
from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.core.randomness import stream
from callup.simulation.collect import believable
from callup.simulation.engine import Engine
from callup.simulation.fault import FAULTS
from callup.simulation.settings import settings

MANY = np.arange(10_000)


def share(mask: np.ndarray) -> float:
    return float(np.mean(mask))


def test_drop_out_has_its_chance() -> None:
    mute = FAULTS.make("dropout:chance=0.3").silent(Clients([0]), MANY, 1, stream(0, "f"))
    assert share(mute) == pytest.approx(0.3, abs=4.9 * (0.21 / 10_000) ** 0.5)  # once in a million


def test_drop_out_by_class_hits_the_owners_of_the_class() -> None:
    # Even clients hold mostly class 0, odd ones mostly class 1.
    counts = np.where((MANY % 2 == 0)[:, None], [9, 1], [1, 9])
    fault = FAULTS.make("dropout-by-class:classes=1,chance=0.8,others=0.1")
    mute = fault.silent(Clients(MANY, label_counts=counts), MANY, 1, stream(0, "f"))
    assert share(mute[MANY % 2 == 1]) == pytest.approx(0.8, abs=0.03)
    assert share(mute[MANY % 2 == 0]) == pytest.approx(0.1, abs=0.03)
    with pytest.raises(InputError, match="there is no class 7; the data has 2"):
        FAULTS.make("dropout-by-class:classes=7").silent(Clients(MANY, label_counts=counts), MANY, 1, stream(0, "f"))


def test_drop_out_by_zone_goes_round_the_clock() -> None:
    # Two zones half a day of 4 rounds apart: zone 0 is busy in rounds 1 and 2, zone 1 in rounds 3 and 4.
    fault = FAULTS.make("dropout-by-zone:zones=2,day=4,busy=0.5,chance=1,others=0")
    busy = [fault.silent(Clients([0]), np.array([0, 1]), index, stream(0, "f")).tolist() for index in range(1, 6)]
    assert busy == [[True, False], [True, False], [False, True], [False, True], [True, False]]


def test_stragglers_take_so_many_times_as_long() -> None:
    stretch = FAULTS.make("stragglers:chance=0.25,factor=7").stretch(MANY, 1, stream(0, "f"))
    assert set(np.unique(stretch)) == {1.0, 7.0}
    assert share(stretch == 7) == pytest.approx(0.25, abs=0.03)


def test_clocks_jump_both_ways_and_the_server_does_not_believe_them() -> None:
    told = FAULTS.make("clock-jumps:chance=0.2").told(np.full(10_000, 5.0), MANY, 1, stream(0, "f"))
    assert set(np.unique(told)) == {5.0 - 86400, 5.0, 5.0 + 86400}
    assert (believable(told, np.full(10_000, 6.0)) == np.where(told == 5, 5.0, 6.0)).all()


@pytest.mark.parametrize("kind", ["nan", "infinite", "huge", "bits", "mixed"])
def test_broken_models_are_broken_as_said(kind: str) -> None:
    models = np.ones((400, 50), np.float32)
    broken = FAULTS.make(f"corrupted:chance=0.5,kind={kind},entries=3").spoil(models, MANY[:400], 1, stream(0, "f"))
    hit = (broken != 1).any(axis=1)  # NaN differs from everything
    assert share(hit) == pytest.approx(0.5, abs=0.13)  # 4.9 standard errors of 0.025, and twice the same bit flipped
    if kind == "nan":
        assert np.isnan(broken[hit]).any(axis=1).all()
    if kind == "infinite":
        assert np.isinf(broken[hit]).any(axis=1).all()
    if kind == "huge":
        assert np.isfinite(broken).all()
        assert (broken[hit].max(axis=1) == np.float32(1e30)).all()


def test_churn_replaces_members_and_keeps_those_who_stay() -> None:
    clients = Clients(MANY)
    fault = FAULTS.make("churn:enrolled=0.5,stay=0.2,every=3")
    seasons = [fault.members(clients, index, stream(0, "f")) for index in (1, 3, 4, 7)]
    np.testing.assert_array_equal(seasons[0], seasons[1])  # rounds 1 to 3 are one season
    # A member is steady (0.2) or drawn (0.5 of the rest): 0.6. In all of three seasons: 0.2 + 0.8 / 8 = 0.3.
    assert share(seasons[2]) == pytest.approx(0.6, abs=0.03)
    assert share(seasons[0] & seasons[2] & seasons[3]) == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("dropout:chance=1.5", "dropout: chance must be from 0 to 1, got 1.5"),
        ("stragglers:factor=0.5", "stragglers: factor must be at least 1"),
        ("clock-jumps:seconds=0", "clock-jumps: seconds must be above 0"),
        ("dropout-by-zone:day=1", "day must be at least 2 rounds"),
        ("droput", "unknown fault 'droput'; did you mean 'dropout'"),
        ("corrupted:kind=odd", "corrupted: kind must be"),
    ],
)
def test_faults_that_make_no_sense_are_refused(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        FAULTS.make(spec)


SMALL: dict[str, Any] = {"partition": "dirichlet:clients=20,alpha=0.5", "k": 4, "rounds": 3, "local": {"epochs": 1}}


def engine(**changes: Any) -> Engine:
    return Engine(settings(**{**SMALL, **changes}))


def test_a_deadline_ends_the_round_and_names_who_was_late() -> None:
    slow = engine(latency="log-normal:sigma=1.0", selector="all", deadline=0.9)
    world = slow.world
    ids = world.clients.ids
    took = world.durations(ids, world.steps(world.clients, ids), 2 * world.megabytes, 1)
    record = slow.play(1)
    assert 0 < (took > 0.9).sum() < 20  # else this shows nothing
    assert record.failed == {str(i): "late" for i in ids[took > 0.9]}
    assert record.used == ids[took <= 0.9].tolist()
    assert record.seconds == 0.9  # it waited for them to the end


def test_a_silent_client_costs_the_whole_deadline_unless_enough_others_replied() -> None:
    waits = engine(lost=0.5, deadline=60.0).play(1)
    assert "no reply" in waits.failed.values()
    assert waits.seconds == 60.0
    enough = engine(lost=0.5, deadline=60.0, overcommit=5.0, seed=1).play(1)
    assert len(enough.used) == 4
    assert enough.seconds < 60.0


def test_below_the_quorum_the_model_stays_and_the_selector_still_hears() -> None:
    game = engine(lost=0.6, quorum=0.9, selector="fedacs", rounds=12, seed=2)
    abandoned = 0
    for index in range(1, 13):
        before = game.model.copy()
        record = game.play(index)
        assert record.abandoned == (len(record.used) < 0.9 * 4)
        assert np.array_equal(before, game.model) == record.abandoned
        assert not (record.abandoned and record.kept)
        abandoned += record.abandoned
    assert abandoned > 0


@pytest.mark.parametrize("dropout", [0.1, 0.2, 0.3, 0.5])
def test_over_commit_auto_gets_its_k_replies(dropout: float) -> None:
    """At least 99 rounds of 100 are to reach k, the generous first ones included.

    Were the true chance of a round to fall short 1 %, the most that is allowed, more than 14 of 600 would happen once
    in 1,300 runs; the bound asked for is the aim itself, 6, and the seeds are fixed.
    """
    short = sum(
        len(record.used) < 4
        for seed in range(3)
        for record in callup.simulate(
            **{**SMALL, "partition": "iid:clients=60", "rounds": 200, "evaluate_every": 200},
            task="fashion14-mlp:hidden=0",
            lost=dropout,
            overcommit="auto",
            seed=seed,
        ).history
    )
    assert short <= 6


def test_churn_tells_the_selector_and_only_members_are_called() -> None:
    game = engine(selector="fedacs", faults=["churn:stay=0.1"], rounds=8)
    teams = set()
    for index in range(1, 9):
        record = game.play(index)
        members = game.world.members(index)
        assert set(record.asked) <= set(members.tolist())
        np.testing.assert_array_equal(game.visible.ids, members)
        teams.add(tuple(members.tolist()))
    assert len(teams) > 1


def test_broken_replies_are_set_aside_and_the_round_goes_on() -> None:
    run = callup.simulate(**{**SMALL, "rounds": 10}, faults=["corrupted:chance=0.3,kind=nan"], overcommit=2.0)
    assert "not finite" in {reason for record in run.history for reason in record.failed.values()}
    assert np.isfinite(run.model).all()


@pytest.mark.parametrize("selector", ["fedacs", "oort", "nccb"])
def test_restored_in_the_middle_a_run_ends_as_if_never_stopped(selector: str) -> None:
    weather = {"faults": ["churn", "stragglers", "corrupted"], "lost": 0.2, "overcommit": "auto", "deadline": 5.0}
    whole = engine(selector=selector, rounds=8, average="fedpdp", filter="cmfl", **weather)
    whole.run()
    first = engine(selector=selector, rounds=8, average="fedpdp", filter="cmfl", **weather)
    with threadpool_limits(1):  # as `run` has it
        for index in range(1, 5):
            first.play(index)
    saved, history = {name: np.array(array) for name, array in first.state().items()}, list(first.history)
    second = engine(selector=selector, rounds=8, average="fedpdp", filter="cmfl", **weather)
    second.restore(saved, history)
    assert second.run().history == tuple(whole.history)
    np.testing.assert_array_equal(second.model, whole.model)

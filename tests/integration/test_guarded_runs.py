"""Whole runs with liars and a guard: what is refused, what is said, and that a stopped run goes on as it would have."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from callup.core.errors import UsageError
from callup.simulation.engine import Engine, simulate
from callup.simulation.run import Run
from callup.simulation.settings import settings
from callup.simulation.watch import summary

SMALL: dict[str, Any] = {
    "partition": "dirichlet:clients=30,alpha=0.3",
    "k": 6,
    "rounds": 8,
    "evaluate_every": 8,
    "local": {"epochs": 1},
}


def run(selector: str, **values: Any) -> Run:
    return simulate(selector, **{**SMALL, **values})


def records(done: Run) -> list[dict[str, Any]]:
    return [dataclasses.asdict(record) for record in done.history]


def test_free_riders_are_refused_named_and_set_aside() -> None:
    done = run("fedacs", guard="on", adversary="replayed-update:share=0.2")
    engine = Engine(settings(selector="fedacs", adversary="replayed-update:share=0.2", **SMALL))
    assert engine.watch.enemy is not None
    liars = set(engine.watch.enemy.liars_.tolist())
    engine.close()
    refused = {int(client) for record in done.history for client in record.failed}
    assert refused
    assert refused <= liars
    said = [line for record in done.history for line in record.guard]
    assert said[0].startswith("guard on: 20% of the clients, whatever they report, get at most")
    assert any("sent back the last change of the global model" in line for line in said)
    promised, did = summary(done.history)
    assert promised == said[0]
    assert "the guard refused" in did


def test_nobody_is_called_from_quarantine() -> None:
    done = run("random", guard="on:sentence=50", adversary="replayed-update:share=0.3", rounds=14)
    away: dict[int, int] = {}
    for record in done.history:
        assert not [client for client in record.asked if client in away]
        for line in record.guard:
            if "is not called before" in line:
                away[int(line.split("client ")[1].split(" ")[0])] = record.index
    assert away
    appearances = {c: sum(c in r.asked for r in done.history[1 : away[c]]) for c in away}
    assert set(appearances.values()) == {2}  # the first round has nothing to replay; then two strikes


def test_a_giant_does_not_take_over_the_average() -> None:
    engine = Engine(settings(selector="random", guard="on", adversary="balanced-giant:share=0.1,times=1e6", **SMALL))
    ids = engine.world.clients.ids
    sizes, true = engine.watch.sizes(ids), engine.world.clients.all("num_examples")
    assert sizes.max() == pytest.approx(10 * np.median(sizes))
    assert engine.watch.enemy is not None
    honest = ~engine.watch.enemy.lies(ids)
    assert np.array_equal(sizes[honest], true[honest])
    engine.close()


@pytest.mark.parametrize("selector", ["oort", "by-size", "power-of-choice"])
@pytest.mark.parametrize("adversary", [None, "sybils", "replayed-update"])
def test_stopped_and_restored_it_goes_on_as_it_would_have(selector: str, adversary: str | None) -> None:
    given = settings(selector=selector, guard="on", adversary=adversary, **SMALL)
    whole, first, second = Engine(given), Engine(given), Engine(given)
    for index in range(1, 9):
        whole.play(index)
    for index in range(1, 5):
        first.play(index)
    second.restore(first.state(), first.history)
    for index in range(5, 9):
        second.play(index)
    assert list(map(dataclasses.asdict, second.history)) == list(map(dataclasses.asdict, whole.history))
    assert np.array_equal(second.model, whole.model)
    for engine in (whole, first, second):
        engine.close()


def test_without_guard_and_liars_nothing_is_said() -> None:
    done = run("random")
    assert not any(record.guard for record in done.history)
    assert summary(done.history) == []


def test_a_run_in_which_everybody_is_honest_sets_nobody_aside() -> None:
    for partition in ("mavericks:clients=30,count=2", "mavericks:clients=30,count=3,kind=shared"):
        done = run("fedemd", guard="on", partition=partition, rounds=20)
        assert [line for record in done.history for line in record.guard[record.index == 1 :]] == []


def test_lies_reach_the_selector_and_the_guard_holds_them_down() -> None:
    def called(guard: str) -> float:
        engine = Engine(
            settings(selector="power-of-choice:d=30", guard=guard, adversary="inflated-loss", **{**SMALL, "rounds": 25})
        )
        done = engine.run()
        assert engine.watch.enemy is not None
        asked = np.concatenate([record.asked for record in done.history])
        engine.close()
        return float(engine.watch.enemy.lies(asked).mean())

    # Six liars and six places: without a guard the cohort is theirs. Five fair turns: at most 1.5 x 0.2 of 150 places,
    # and by default a quarter of all places more, which the method may give to those it wants most.
    assert called("off") == 1.0
    assert called("on:cap=1.5") <= 0.3
    assert 0.3 < called("on") <= 0.55


def test_misspelt_settings_are_refused_at_the_start() -> None:
    with pytest.raises(UsageError, match="did you mean 'inflated-loss'"):
        run("random", adversary="inflated-los")
    with pytest.raises(UsageError, match="did you mean 'cap'"):
        run("random", guard="on:kap=2")

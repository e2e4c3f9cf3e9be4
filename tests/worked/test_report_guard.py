"""What the page says of the guard: the sentences of a run, sorted by who was set aside."""

from __future__ import annotations

import numpy as np

from callup.core.clients import Clients
from callup.report.grouping import scenarios
from callup.report.guarding import watched
from callup.report.page import render
from callup.simulation.run import RoundRecord, Run

PROMISE = "20% of the clients, whatever they report, get at most 1.5 x 0.2 = 30% of places"


def a_run(told: dict[int, list[str]], failed: dict[int, dict[str, str]] | None = None, rounds: int = 40) -> Run:
    clients = Clients(np.arange(4), label_counts=np.ones((4, 2)))
    history = [
        RoundRecord(t, 4, [0, 1], [0, 1], [0, 1], (failed or {}).get(t, {}), "", 0.1, [1, 1], accuracy=0.5)
        for t in range(1, rounds + 1)
    ]
    for index, lines in told.items():
        history[index - 1].guard.extend(lines)
    return Run({"selector": "random", "seed": 7, "scenario": "S"}, clients, tuple(history), np.zeros(1), {})


def test_a_run_without_a_guard_says_nothing() -> None:
    run = a_run({})
    assert watched(scenarios([run])[0]) == []
    assert "What the guard did" not in render([run])


def test_who_was_set_aside_when_why_and_until_when() -> None:
    told = {
        1: [f"guard on: {PROMISE}"],
        3: ["round 3: client 2 sent the update it had sent before"],
        5: [
            "round 5: client 2 sent an update that 2 clients sent in this round",
            "round 5: client 2 sent back the last change of the global model",
            "round 5: client 2 is not called before round 26",
        ],
        26: ["round 26: client 2 may be called again"],
        30: [
            "round 30: client 2 sent the update it had sent before",
            "round 30: client 2 is not called before round 51",
        ],
        33: ["round 33: client 1 was set aside by the operator until round 54"],
    }
    (seen,) = watched(scenarios([a_run(told, {5: {"2": "guard: copied update"}})])[0])
    assert (seen.promise, seen.seed) == (PROMISE, 7)
    assert seen.did == "1 reply refused, 2 clients set aside"
    first, again, by_hand = seen.stays
    assert (first.client, first.since, first.end) == (2, 5, "released in round 26")
    assert first.evidence == [
        "round 3: sent the update it had sent before",
        "round 5: sent an update that 2 clients sent in this round; sent back the last change of the global model",
    ]
    assert again.end == "until round 51"
    assert again.evidence == ["had been set aside before", "round 30: sent the update it had sent before"]
    assert (by_hand.client, by_hand.by_hand, by_hand.evidence) == (1, True, [])


def test_the_page_shows_it_and_says_what_it_leaves_off() -> None:
    told = {1: [f"guard on: {PROMISE}"]}
    told |= {t: [f"round {t}: client {t} is not called before round {t + 21}"] for t in range(2, 17)}
    page = render([a_run(told)])
    assert "What the guard did" in page
    assert PROMISE in page
    assert page.count('<th scope="row">client ') == 12
    assert "And 3 more" in page


def test_hostile_sentences_stay_text() -> None:
    told = {
        1: ["guard on: <script>alert(1)</script>"],
        2: ["round 2: client 0 <b>lies</b>", "round 2: client 0 is not called before round 9"],
    }
    page = render([a_run(told)])
    assert "<script>alert(1)" not in page
    assert "<b>lies</b>" not in page
    assert "&lt;b&gt;lies" in page

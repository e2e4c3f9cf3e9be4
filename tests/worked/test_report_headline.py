"""The first sentence says what the numbers say, and no more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from callup.core.clients import Clients
from callup.report.grouping import scenarios
from callup.report.headline import headline
from callup.simulation.run import RoundRecord, Run

CLIENTS = Clients([0, 1], label_counts=[[1, 0], [0, 1]])


def a_run(
    method: str, seed: int, hit: int | None, rounds: int = 100, last: float = 0.9, target: float | None = 0.8
) -> Run:
    """Accuracy is 0.1, and `last` from round `hit` on."""
    history = tuple(
        RoundRecord(t, 2, [0], [0], [0], {}, "d", accuracy=last if hit is not None and t >= hit else 0.1)
        for t in range(1, rounds + 1)
    )
    settings = {"scenario": "s", "selector": method, "seed": seed, "target": target}
    return Run(settings, CLIENTS, history, np.zeros(1), {})


def said(*runs: Run) -> tuple[str, str]:
    found = headline(scenarios(runs)[0])
    return found.lead.replace("\u202f", " "), found.detail.replace("\u202f", " ")


def race(hits: dict[str, Sequence[int | None]]) -> list[Run]:
    return [a_run(method, seed, hit) for method, found in hits.items() for seed, hit in enumerate(found)]


def test_a_clear_lead_over_random() -> None:
    lead, detail = said(*race({"random": [58, 60, 56], "fed-cbs": [31, 33, 29], "fedacs": [45, 44, 46]}))
    assert lead == "fed-cbs reached 80 % accuracy in 31 rounds, random in 58."
    # Every seed saves 27: the interval is a point.
    assert detail == "The gap is 27 rounds (95 % interval 27 to 27, paired bootstrap over 3 seeds)."


def test_a_difference_within_the_noise_is_called_that() -> None:
    lead, _ = said(*race({"random": [40, 70, 50], "fed-cbs": [60, 35, 45]}))
    assert lead.startswith("fed-cbs reached 80 % accuracy in 46.7 rounds, random in 53.3: a difference")
    assert "cannot tell from noise" in lead


def test_one_seed_is_called_luck() -> None:
    lead, detail = said(*race({"random": [58], "fed-cbs": [31]}))
    assert "cannot tell from noise" in lead
    assert "27 rounds" in detail
    assert "a single pair of runs cannot tell skill from luck" in detail


def test_random_ahead_of_all_is_said_plainly() -> None:
    lead, _ = said(*race({"random": [30, 31, 32], "fed-cbs": [50, 51, 52]}))
    assert lead == "No method was ahead of random, which reached 80 % accuracy in 31 rounds; next came fed-cbs, in 51."


def test_a_tie_is_no_difference() -> None:
    lead, detail = said(*race({"random": [30, 31, 32], "fedemd": [30, 31, 32]}))
    assert lead == "No method was ahead of random, which reached 80 % accuracy in 31 rounds; next came fedemd, in 31."
    assert detail.startswith("The gap is 0 rounds")


def test_seeds_that_did_not_get_there_are_counted() -> None:
    lead, detail = said(*race({"random": [None, 90, None], "fed-cbs": [40, 41, 42]}))
    assert lead == "fed-cbs reached 80 % accuracy in 41 rounds, random in 1 of 3 seeds only."
    # Saved at least 61, 49, 59: mean 56.3.
    assert detail.startswith("The gap is 56.3 rounds")
    assert "did not get there counts as one round more than it had" in detail


def test_a_rival_that_never_got_there() -> None:
    lead, _ = said(*race({"random": [None, None, None], "fed-cbs": [40, 41, 42]}))
    assert lead == "fed-cbs reached 80 % accuracy in 41 rounds, random not within 100."


def test_nobody_reached_the_target() -> None:
    runs = [a_run("random", s, 50, last=0.60) for s in range(3)] + [
        a_run("fed-cbs", s, 50, last=0.70) for s in range(3)
    ]
    lead, detail = said(*runs)
    assert lead == "Nobody reached 80 % accuracy in 100 rounds. fed-cbs ended at 70.0 % accuracy, random at 60.0 %."
    assert detail.startswith("The gap is 10 percentage points (95 % interval 10 to 10")


def test_no_target_compares_final_accuracy() -> None:
    runs = [a_run("fedacs", s, 1, last=0.5, target=None) for s in range(3)]
    runs += [a_run("fed-cbs", s, 1, last=0.7, target=None) for s in range(3)]
    assert said(*runs)[0] == "fed-cbs ended at 70.0 % accuracy, fedacs at 50.0 %."


def test_one_method_alone() -> None:
    lead, detail = said(*race({"random": [58]}))
    assert lead == "random reached 80 % accuracy in 58 rounds."
    assert detail == "Final accuracy 90.0 % over 1 seed, and no other method to compare with."


def test_everyone_is_a_reference_and_never_leads() -> None:
    assert said(*race({"all": [5, 5, 5], "random": [58, 60, 56]}))[0].startswith("random reached")


def test_a_run_stopped_early_does_not_win_by_stopping() -> None:
    runs = race({"random": [58, 60, 56], "fed-cbs": [90, 91, 92]})
    stopped = [a_run("fedacs", seed, None, rounds=10) for seed in range(3)]
    assert said(*runs, *stopped)[0].startswith("No method was ahead of random")


def test_nothing_measured() -> None:
    assert said(a_run("random", 0, None, rounds=0))[0] == "Nothing was measured yet."

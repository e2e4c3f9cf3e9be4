"""FedEMD's beta by rehearsal: the search by hand, the rehearsal against the selector, and what came of it."""

import math

import numpy as np
import pytest

import callup
from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.analytics.emd import distances
from callup.analytics.rehearsal import Rehearsal, fit
from callup.core.errors import InputError, UsageError

# One exclusive Maverick of Fashion-MNIST: 50 clients share nine classes of 6000, client 0 has all of class 0.
N, K, ROUNDS = 50, 5, 200
COUNTS = np.full((N, 10), 120.0)
COUNTS[:, 0] = 0
COUNTS[0, 0] = 6000
MAVERICK = Clients(np.arange(N), label_counts=COUNTS)


def started(clients, spec="fedemd:beta=auto", k=K, rounds=ROUNDS, seed=0):
    made = selector(spec)
    made.start(clients, Plan(k=k, rounds=rounds), stream(seed, "start"))
    return made


def mean_chance(fedemd, clients, who, seed, k=K, rounds=ROUNDS):
    """The mean over a run of the selector itself of these clients' chances in a draw."""
    fedemd.seen_ = np.zeros_like(fedemd.seen_)
    chances = []
    for t in range(1, rounds + 1):
        now = Round(t, clients.ids, clients, stream(seed, "select", t))
        chances.append(fedemd.probabilities(now)[who].mean())
        fedemd.update(Feedback(t, fedemd.select(now, k).ids, {}, clients))
    return float(np.mean(chances))


def counted(function):
    calls = []
    return (lambda beta: calls.append(beta) or function(beta)), calls


def test_a_guess_that_will_do_is_taken():
    mean, calls = counted(lambda beta: 0.0205)
    assert fit(mean, aim=0.02, tolerance=0.001, guess=0.01) == (0.01, 0.0205)
    assert calls == [0.01]


@pytest.mark.parametrize("guess", [0.0001, 0.01, 3.0])
@pytest.mark.parametrize(
    ("function", "root"),
    [
        (lambda beta: math.exp(-50 * beta), math.log(50) / 50),  # falls to 0.02 at ln 50 / 50
        (lambda beta: beta / (1 + beta), 0.02 / 0.98),  # rises to it
    ],
)
def test_the_search_finds_the_crossing_from_either_side(function, root, guess):
    mean, calls = counted(function)
    beta, reached = fit(mean, aim=0.02, tolerance=1e-4, guess=guess)
    assert abs(reached - 0.02) <= 1e-4
    assert beta == pytest.approx(root, rel=0.02)
    assert reached == function(beta)
    assert len(calls) == len(set(calls)) <= 25


def test_without_a_crossing_the_nearest_is_taken():
    # Always above and falling: the largest tried, six steps of four up.
    mean, calls = counted(lambda beta: 0.1 + 1 / (1 + beta))
    assert fit(mean, aim=0.02, tolerance=0.001, guess=0.01)[0] == pytest.approx(0.01 * 4**6)
    assert len(calls) == 13
    # Always below and falling: the smallest.
    assert fit(lambda beta: 0.01 / (1 + beta), aim=0.02, tolerance=0.001, guess=0.01)[0] == pytest.approx(0.01 / 4**6)


def test_the_rehearsal_follows_the_trajectory_of_the_selector():
    far = distances(COUNTS.sum(axis=0), COUNTS)
    runs = Rehearsal(COUNTS, far, lambda seen: distances(seen, COUNTS), K, ROUNDS, tuple(range(10)))
    chances = runs.trajectory(0.01, np.array([0]))
    # Round 1 by hand: TV is 6000/7080 - 0.1 for the Maverick and 0.1 for the others.
    odds = math.exp(6000 / 7080 - 0.2)
    assert chances[0] == pytest.approx(odds / (49 + odds), rel=1e-12)
    # Rounds 50, 100, 200 and the mean: the reference figures of the selector, at 4 standard errors of ten runs.
    np.testing.assert_allclose(chances[[49, 99, 199]], [0.0289, 0.0211, 0.0107], atol=0.002)
    assert chances.mean() == pytest.approx(0.0221, abs=0.0016)
    np.testing.assert_array_equal(chances, runs.trajectory(0.01, np.array([0])))


@pytest.mark.parametrize("seed", range(3))
def test_the_maverick_is_called_as_often_as_anyone_on_average(seed):
    fedemd = started(MAVERICK, seed=seed)
    assert abs(fedemd.rehearsed_ - 1 / N) <= 0.05 / N
    # The mean chance of one run varies by 0.0009: by 0.0005 over the four rehearsed and by 0.0005 over the four
    # played here. 4 of these, 0.0028, beside the tolerance of 0.001: once in 1e4.
    played = np.mean([mean_chance(fedemd, MAVERICK, np.array([0]), run) for run in range(4)])
    assert played == pytest.approx(1 / N, abs=0.0038)
    # beta=0 gives 0.0375 and beta=0.1 gives 0.0029; the paper's 0.008 to 0.01 give a little more than 1/N.
    assert 0.008 < fedemd.beta_ < 0.017


def test_a_wider_tolerance_takes_the_paper_s_beta():
    # 2 / 200 rounds is the first guess; its mean of 0.0221 is within a quarter of 1/50.
    assert started(MAVERICK, "fedemd:beta=auto,tolerance=0.25").beta_ == 0.01


def test_shared_mavericks_are_watched_together():
    # Three clients share class 0: 2000 each. Their mean chance is brought to 1/50 each.
    counts = np.full((N, 10), 120.0)
    counts[:, 0] = 0
    counts[:3, 0] = 2000
    clients = Clients(np.arange(N), label_counts=counts)
    fedemd = started(clients)
    assert abs(fedemd.rehearsed_ - 1 / N) <= 0.05 / N
    # One run of three clients varies less than one of one.
    played = np.mean([mean_chance(fedemd, clients, np.arange(3), run) for run in range(4)])
    assert played == pytest.approx(1 / N, abs=0.0038)


def test_without_mavericks_the_tenth_farthest_away_stands_in():
    # Two clients of 20 hold mostly class 0, but hardly more of all there is of it than of the rest.
    counts = np.array([[36, 4]] * 2 + [[19, 21]] * 18)
    clients = Clients(np.arange(20), label_counts=counts)
    fedemd = started(clients, k=4, rounds=60)
    assert abs(fedemd.rehearsed_ - 1 / 20) <= 0.05 / 20
    far = distances(counts.sum(axis=0), counts)
    assert (far[:2] > far[2:].max()).all()
    without = mean_chance(started(clients, "fedemd:beta=0", 4, 60), clients, np.arange(2), 0, 4, 60)
    assert without > 1.2 / 20  # it had something to correct
    played = np.mean([mean_chance(fedemd, clients, np.arange(2), run, 4, 60) for run in range(4)])
    assert played == pytest.approx(1 / 20, rel=0.12)


def test_clients_all_alike_have_nothing_to_rehearse():
    for counts in (np.full((8, 3), 5), np.zeros((8, 3))):
        fedemd = started(Clients(np.arange(8), label_counts=counts), rounds=50)
        assert (fedemd.beta_, fedemd.rehearsed_) == (2 / 50, pytest.approx(1 / 8))


def test_the_same_stream_gives_the_same_beta_and_the_notes_say_it():
    one, two = started(MAVERICK, seed=5), started(MAVERICK, seed=5)
    assert (one.beta_, one.rehearsed_) == (two.beta_, two.rehearsed_)
    cohort = one.select(Round(1, MAVERICK.ids, MAVERICK, stream(0, "r")), K)
    assert cohort.notes == {"beta": one.beta_, "rehearsed": one.rehearsed_}
    fixed = started(MAVERICK, "fedemd:beta=0.02")
    assert fixed.select(Round(1, MAVERICK.ids, MAVERICK, stream(0, "r")), K).notes == {"beta": 0.02}


def test_the_simulator_rehearses_over_the_rounds_it_will_play():
    run = callup.simulate(
        selector="fedemd:beta=auto", partition="mavericks:clients=20,count=1", k=3, rounds=4, local={"epochs": 1}
    )
    assert len({record.notes["beta"] for record in run.history}) == 1
    assert run.history[3].notes["rehearsed"] == run.history[0].notes["rehearsed"]


def test_bad_settings_are_named():
    with pytest.raises(InputError, match="beta=auto rehearses the whole run; set rounds in the plan"):
        selector("fedemd:beta=auto").start(MAVERICK, Plan(k=5), stream(0, "start"))
    with pytest.raises(UsageError, match="tolerance must lie between 0 and 1, got 0"):
        selector("fedemd:beta=auto,tolerance=0")
    with pytest.raises(UsageError, match="beta must be a number or 'auto', got 'atuo'"):
        selector("fedemd:beta=atuo")

"""Copies, replays and labels that training contradicts."""

from __future__ import annotations

import numpy as np
import pytest

from callup.core.randomness import stream
from callup.guard.consistency import agreement, contradicted
from callup.guard.copies import copies, same_direction, sketches

ROWS = stream(0, "rows").normal(size=(6, 500))


def test_sketches_are_linear_and_keep_lengths() -> None:
    a, b = sketches(ROWS[:2], key=1)
    assert sketches(2 * ROWS[:1] - 3 * ROWS[1:2], key=1)[0] == pytest.approx(2 * a - 3 * b)
    # The square of a sketch's length is unbiased with a relative deviation of about sqrt(2 / 64) = 0.18; the mean of
    # 200 keys lies within 0.06 of 1 but once in a million.
    squares = [np.square(sketches(ROWS[:1], key)).sum() / np.square(ROWS[0]).sum() for key in range(200)]
    assert np.mean(squares) == pytest.approx(1, abs=0.06)


def test_a_copy_is_found_at_any_scale_and_sign() -> None:
    rows = np.concatenate([ROWS, 3 * ROWS[2:3], -0.1 * ROWS[4:5]])
    assert np.flatnonzero(copies(sketches(rows, 7), 1e-3)).tolist() == [2, 4, 6, 7]


def test_a_hidden_copy_counts_until_its_noise_is_above_the_angle() -> None:
    noise = stream(1, "noise").normal(size=500)
    noise *= np.linalg.norm(ROWS[0]) / np.linalg.norm(noise)
    for share, found in ((1e-5, True), (1e-1, False)):
        assert copies(sketches(np.stack([ROWS[0], ROWS[0] + share * noise]), 7), 1e-3).tolist() == [found] * 2


def test_zero_is_a_copy_of_nothing() -> None:
    rows = sketches(np.zeros((3, 500)), 7)
    assert not copies(rows, 1e-3).any()
    assert not same_direction(rows, sketches(ROWS[:1], 7)[0], 1e-3).any()


def test_replays_of_one_vector() -> None:
    rows = sketches(np.stack([ROWS[0], ROWS[1], -5 * ROWS[0]]), 7)
    assert same_direction(rows, sketches(ROWS[:1], 7)[0], 1e-3).tolist() == [True, False, True]


def test_clients_with_the_same_kind_of_data_are_no_copies() -> None:
    # Gradients of 20 honest clients that share all but a hundredth of their direction.
    close = ROWS[0] + 0.01 * stream(2, "close").normal(size=(20, 500))
    assert not copies(sketches(close, 7), 1e-3).any()


def test_agreement_by_hand() -> None:
    counts = np.array([[8.0, 1.0, 1.0], [8.0, 1.0, 1.0], [3.0, 3.0, 4.0], [0.0, 0.0, 0.0]])
    moved = np.array([[2.0, -1.0, -1.0], [-2.0, 1.0, 1.0], [2.0, -1.0, -1.0], [2.0, -1.0, -1.0]])
    found = agreement(counts, moved)
    assert found[:2] == pytest.approx([1, -1])
    assert np.isnan(found[2:]).all()  # nearly equal shares, and no samples at all, claim nothing


def test_a_contradiction_counts_only_where_most_agree() -> None:
    found = np.array([0.9, -0.8, np.nan])
    assert contradicted(found, np.array([0.9] * 9 + [-0.8])).tolist() == [False, True, False]
    assert not contradicted(found, np.array([0.9] * 8)).any()  # too few have been seen
    assert not contradicted(found, np.array([0.9] * 4 + [0.1] * 6)).any()  # the check does not work here
    weak = np.array([0.9, 0.1, -0.4])
    assert contradicted(weak, np.array([0.9] * 10)).tolist() == [False, True, True]
    assert contradicted(weak, np.array([0.6] * 10)).tolist() == [False, False, True]

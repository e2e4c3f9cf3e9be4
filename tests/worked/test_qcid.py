"""QCID against the figure, the theorem and the closed forms of Fed-CBS."""

from itertools import combinations

import numpy as np
import pytest

from callup.analytics.qcid import expected_qcid_single_class, qcid, qcid_each, qcid_from_gram
from callup.core.errors import InputError
from callup.core.randomness import stream

# Figure 3: four clients of 30 images, six classes.
C1, C2, C3, C4 = FIGURE_3 = np.array(
    [[5, 5, 5, 5, 5, 5], [6, 6, 6, 6, 6, 0], [0, 0, 0, 10, 10, 10], [10, 10, 10, 0, 0, 0]]
)


def test_figure_3_greedy_set():
    # 11, 11, 11, 21, 21, 15 of 90: ((4^2) * 3 + (6^2) * 2 + 0) / 90^2 = 120 / 8100
    assert qcid(np.stack([C1, C2, C3])) == pytest.approx(120 / 8100, abs=1e-15)
    assert round(qcid(np.stack([C1, C2, C3])), 6) == 0.014815


def test_figure_3_optimum_is_balanced_and_the_only_one():
    assert qcid(np.stack([C1, C3, C4])) == pytest.approx(0, abs=1e-30)
    others = [group for group in combinations(range(4), 3) if group != (0, 2, 3)]
    assert all(qcid(FIGURE_3[list(group)]) > 0.003 for group in others)


def test_one_class_of_ten_alone():
    # (1 - 1/10)^2 + 9 * (1/10)^2 = 0.9
    assert qcid(np.eye(10)[3] * 250) == pytest.approx(0.9, abs=1e-15)


def test_members_weigh_by_size():
    # 10 + 0 and 0 + 30 pooled: shares 1/4 and 3/4, each 1/4 from balance.
    assert qcid(np.array([[10, 0], [0, 30]])) == pytest.approx(2 / 16, abs=1e-15)
    assert qcid(np.array([10, 30])) == qcid(np.array([[10, 0], [0, 30]]))


def test_each_client_on_its_own():
    assert qcid_each(FIGURE_3[:1]) == pytest.approx([0])
    # C3: (1/3 - 1/6)^2 * 3 + (1/6)^2 * 3 = 1/6
    np.testing.assert_allclose(qcid_each(FIGURE_3), [0, 5 * (1 / 30) ** 2 + 1 / 36, 1 / 6, 1 / 6], atol=1e-15)


def test_nobody_has_no_balance():
    assert np.isnan(qcid(np.empty((0, 10))))
    assert np.isnan(qcid(np.zeros(10)))
    assert np.isnan(qcid_from_gram(np.empty((0, 0)), np.empty(0), 10))
    np.testing.assert_array_equal(np.isnan(qcid_each(np.array([[0, 0], [1, 1]]))), [True, False])


@pytest.mark.parametrize("seed", range(5))
def test_theorem_3_1_inner_products_are_enough(seed):
    rng = stream(seed, "theorem")
    counts = rng.integers(0, 400, (12, 7)) * rng.integers(0, 2, (12, 7)) + 1
    gram, sizes = counts @ counts.T, counts.sum(axis=1)
    for group in ([0], [3, 8], list(range(12))):
        block = gram[np.ix_(group, group)]
        # The definition, term by term.
        shares = [sum(counts[n, b] for n in group) / sum(sizes[n] for n in group) for b in range(7)]
        by_hand = sum((share - 1 / 7) ** 2 for share in shares)
        assert qcid_from_gram(block, sizes[group], 7) == pytest.approx(by_hand, abs=1e-15)
        assert qcid(counts[group]) == pytest.approx(by_hand, abs=1e-15)


@pytest.mark.parametrize(
    ("class_clients", "n", "published"),
    [
        # Case 2 draws from the clients that are available: 9/3 and 10/2 of each class.
        ([9] * 5 + [3] * 5, 60, 2.50),
        ([9] * 5 + [3] * 5, 10, 9.92),
        ([10] * 5 + [2] * 5, 60, 4.44),
        ([10] * 5 + [2] * 5, 10, 11.69),
        # Case 1 draws from all 120; "all" are the 36 of them that are available.
        ([20] * 5 + [4] * 5, 36, 6.12),
        ([20] * 5 + [4] * 5, 10, 12.35),
        ([16] * 5 + [8] * 5, 36, 2.85),
        ([16] * 5 + [8] * 5, 10, 9.33),
    ],
)
def test_closed_form_gives_the_published_rows(class_clients, n, published):
    assert round(100 * expected_qcid_single_class(np.array(class_clients), n), 2) == published


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6])
def test_closed_form_against_every_possible_draw(n):
    classes_of_clients = [0, 0, 0, 1, 1, 2]
    exact = np.mean([qcid(np.eye(4)[list(draw)]) for draw in combinations(classes_of_clients, n)])
    assert expected_qcid_single_class(np.array([3, 2, 1, 0]), n) == pytest.approx(exact, abs=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: qcid(np.zeros((2, 3, 4))), r"shape \(clients, classes\) or \(classes,\), got \(2, 3, 4\)"),
        (lambda: qcid_each(np.zeros(3)), r"shape \(clients, classes\), got \(3,\)"),
        (lambda: qcid_from_gram(np.zeros((2, 3)), np.ones(2), 5), r"square block, got \(2, 3\)"),
        (lambda: expected_qcid_single_class(np.array([2, 2]), 5), "cannot draw 5 of 4 clients"),
        (lambda: expected_qcid_single_class(np.array([2, 2]), 0), "cannot draw 0 of 4 clients"),
    ],
)
def test_unusable_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()

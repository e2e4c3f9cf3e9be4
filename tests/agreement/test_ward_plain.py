"""Ward's tree along chains of nearest neighbours, against joining the best of all pairs again and again."""

from itertools import combinations

import numpy as np
import pytest

from callup import stream
from callup.analytics.distances import angles, euclidean, manhattan
from callup.analytics.ward import cut, ward
from callup.core.errors import InputError


def leaf_sets(tree, n):
    """The leaves below every node of a tree."""
    below = [frozenset([leaf]) for leaf in range(n)]
    for a, b in tree:
        below.append(below[a] | below[b])
    return set(below[n:])


def plain(cost, n):
    """All unions of a run in which the cheapest of all pairs is joined each time."""
    groups, unions = [frozenset([leaf]) for leaf in range(n)], set()
    while len(groups) > 1:
        a, b = min(combinations(groups, 2), key=lambda pair: cost(*pair))
        groups = [g for g in groups if g not in (a, b)] + [a | b]
        unions.add(a | b)
    return unions


@pytest.mark.parametrize("seed", range(8))
def test_points_are_joined_where_least_is_added_to_the_squares_about_the_means(seed):
    n = 5 + 4 * seed
    points = stream(seed, "points").normal(size=(n, 3))

    def squares(group):
        members = points[sorted(group)]
        return ((members - members.mean(axis=0)) ** 2).sum()

    oracle = plain(lambda a, b: squares(a | b) - squares(a) - squares(b), n)
    assert leaf_sets(ward(euclidean(points, points)), n) == oracle


@pytest.mark.parametrize("seed", range(8))
def test_any_dissimilarity_follows_lance_and_williams(seed):
    # Numbers that no points have for distances, e.g. angles, follow the same recursion.
    n = 4 + 3 * seed
    table = np.triu(stream(seed, "table").uniform(0.1, 1, (n, n)), 1)
    known = {}

    def cost(a, b):
        key = frozenset([a, b])
        if key not in known:
            if len(a) == len(b) == 1:
                known[key] = (table + table.T)[min(a), min(b)] ** 2
            else:
                whole, c = (a, b) if len(a) > 1 else (b, a)
                if len(b) > 1 and made[b] > made[whole]:
                    whole, c = b, a
                x, y = parts[whole]
                total = len(x) + len(y) + len(c)
                known[key] = (
                    (len(x) + len(c)) * cost(x, c) + (len(y) + len(c)) * cost(y, c) - len(c) * cost(x, y)
                ) / total
        return known[key]

    groups, parts, made, unions = [frozenset([leaf]) for leaf in range(n)], {}, {}, set()
    while len(groups) > 1:
        a, b = min(combinations(groups, 2), key=lambda pair: cost(*pair))
        parts[a | b], made[a | b] = (a, b), len(made)
        groups = [g for g in groups if g not in (a, b)] + [a | b]
        unions.add(a | b)
    assert leaf_sets(ward(table + table.T), n) == unions


def test_a_cut_takes_the_highest_node_that_is_light_enough():
    rng = stream(0, "cut")
    points, masses = rng.normal(size=(20, 2)), rng.integers(0, 5, 20).astype(float)
    tree = ward(euclidean(points, points))
    group = cut(tree, masses, 7.0)
    found = {frozenset(np.flatnonzero(group == name).tolist()) for name in set(group.tolist())}
    light = {s for s in leaf_sets(tree, 20) if masses[sorted(s)].sum() <= 7} | {frozenset([i]) for i in range(20)}
    assert found == {s for s in light if not any(s < other for other in light)}


def test_small_and_equal_tables():
    assert ward(np.zeros((1, 1))).shape == (0, 2)
    assert leaf_sets(ward(np.zeros((5, 5))), 5) >= {frozenset(range(5))}
    assert cut(ward(np.zeros((1, 1))), np.array([3.0]), 1.0).tolist() == [0]


@pytest.mark.parametrize(
    "table", [np.zeros((2, 3)), np.array([[0, np.nan], [np.nan, 0]]), np.array([[0, -1], [-1, 0]])]
)
def test_what_is_no_table_of_dissimilarities_is_refused(table):
    with pytest.raises(InputError, match="square table of dissimilarities"):
        ward(table)


def test_distances_against_every_pair():
    rows = stream(0, "rows").normal(size=(7, 9000)).astype(np.float32)
    rows[3] = rows[1]  # two that are equal
    rows[5] = 0
    for i in range(7):
        for j in range(7):
            a, b = rows[i].astype(float), rows[j].astype(float)
            assert manhattan(rows)[i, j] == pytest.approx(np.abs(a - b).sum(), rel=1e-12)
            for table in (rows, rows.copy()):  # the table with itself is worked out in another way
                assert euclidean(table, rows)[i, j] == pytest.approx(np.linalg.norm(a - b), rel=1e-9)
            length = np.linalg.norm(a) * np.linalg.norm(b)
            apart = np.arccos(min(a @ b / length, 1)) if length else np.pi / 2
            expected = 0 if i == j or {i, j} == {1, 3} else apart
            assert angles(rows)[i, j] == pytest.approx(expected, rel=1e-9)

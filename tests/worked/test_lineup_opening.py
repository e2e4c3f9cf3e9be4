"""Lineup with an opening: form and rotation grow from nothing to what they are, worked out by hand."""

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.core.errors import UsageError

ALIKE = Clients([1, 2], label_counts=[[60, 0], [60, 0]])
TWO = Clients([1, 2], label_counts=[[60, 0], [0, 60]])


def started(spec, clients, k, rounds):
    lineup = selector(spec)
    lineup.start(clients, Plan(k=k, rounds=rounds, classes=2), stream(3, "start"))
    return lineup


def charged(lineup, index):
    """What client 1 costs for having had too much when it alone is there."""
    now = Round(index, np.array([1]), ALIKE, stream(3, "select", index))
    return float(lineup.select(now, 1).scores["had_too_much"][0])


@pytest.mark.parametrize(("planned", "parts"), [(8, [1 / 4, 2 / 4, 3 / 4, 1, 1, 1]), (None, [1] * 6)])
def test_whoever_had_too_much_is_charged_more_and_more_until_the_opening_is_over(planned, parts):
    # Client 1 has been called in every round, so it had all of the run and its part is half: M / f - 1 = 1. The other
    # one could have had half of that, and N = 2, so o = 1/4 and 2 x 0.03 x 10 / 4 = 0.15. Half of eight rounds is four.
    lineup = started("lineup:rotation=10,opening=0.5", ALIKE, 1, planned)
    assert charged(lineup, 1) == 0
    for index, part in enumerate(parts, 1):
        lineup.update(Feedback(index, np.array([1]), {}, ALIKE))
        assert charged(lineup, index + 1) == pytest.approx(0.15 * part)


def test_the_target_leans_more_and_more_until_the_opening_is_over():
    # Losses 3 and 1 are 1.5 and 0.5 times the usual one. After one of two rounds of the opening q counts half.
    lineup = started("lineup:fairness=1,opening=0.5", TWO, 2, 4)
    for index, lean in ((1, np.sqrt([1.5, 0.5])), (2, np.array([1.5, 0.5])), (3, np.array([1.5, 0.5]))):
        lineup.update(Feedback(index, np.array([1, 2]), {"loss": np.array([3.0, 1.0])}, TWO))
        assert lineup.wanted_ == pytest.approx(lean / lean.sum())


def test_an_opening_is_a_part_of_the_rounds():
    with pytest.raises(UsageError, match="opening must be from 0 to 1, a part of the planned rounds, got 20"):
        selector("lineup:opening=20")

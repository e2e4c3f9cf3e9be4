"""Influence by hand, and how it differs from the Shapley value."""

import numpy as np

from callup.analytics import shapley
from callup.analytics.game import Game
from callup.analytics.influence import leave_one_out


def test_three_players_by_hand():
    # v(all) = 0.9; without 0, 1, 2 it is 0.7, 0.9, 1.0: the last one does harm.
    left = {frozenset({1, 2}): 0.7, frozenset({0, 2}): 0.9, frozenset({0, 1}): 1.0, frozenset({0, 1, 2}): 0.9}
    asked = []
    values = leave_one_out(Game(3, lambda group: asked.append(group) or left[group]))
    np.testing.assert_allclose(values, [0.2, 0.0, -0.1], atol=1e-15)
    assert len(asked) == 4  # K + 1, and never nobody


def test_a_player_that_another_can_replace_has_no_influence_but_a_shapley_value():
    # Either of two players brings everything: leaving one out changes nothing, yet each gets half.
    game = Game(2, lambda group: float(bool(group)))
    assert leave_one_out(game).tolist() == [0, 0]
    assert shapley.exact(game).tolist() == [0.5, 0.5]


def test_alone_it_is_what_the_player_adds_to_the_model_it_started_from():
    assert leave_one_out(Game(1, lambda group: -2.0 + 1.5 * len(group))).tolist() == [1.5]
    assert leave_one_out(Game(0, lambda group: 0.0)).shape == (0,)

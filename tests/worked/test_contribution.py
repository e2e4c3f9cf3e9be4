"""Contributions as selectors ask for them: three replies by hand, options in words."""

import numpy as np
import pytest

from callup.aggregation.contribution import Measure, measure_of, server_signals
from callup.analytics import shapley
from callup.analytics.game import Game
from callup.core.errors import UsageError
from callup.core.randomness import stream
from callup.core.signals import Needs
from callup.core.types import Replies

# Of any group of three replies: validation loss, and accuracy the other way round.
LOSS = {"": 2.0, "0": 1.0, "1": 1.5, "2": 2.5, "01": 0.5, "02": 1.2, "12": 1.8, "012": 0.8}


class Bench:
    """A workbench that knows its answers."""

    labels = np.zeros(1, np.int64)

    def logits(self, row):
        raise AssertionError("no single model is looked at")

    def loss(self, rows):
        return LOSS["".join(map(str, rows))]

    def accuracy(self, rows):
        return (3 - LOSS["".join(map(str, rows))]) / 3


def replies(n=3):
    return Replies(np.arange(n), np.zeros(2), np.zeros((n, 2)), np.ones(n), np.ones(n))


def signals(*words):
    return server_signals(Needs.of(words).at("server"), Bench(), replies(), stream(0, "server"))


def test_shapley_by_hand():
    # v = -loss. Orders of joining and what 0, 1, 2 add:
    #   012: 1.0  0.5 -0.3      021: 1.0  0.4 -0.2      102: 1.0  0.5 -0.3
    #   120: 1.0  0.5 -0.3      201: 1.3  0.4 -0.5      210: 1.0  0.7 -0.5
    expected = np.array([6.3, 3.0, -2.1]) / 6
    np.testing.assert_allclose(signals("contribution")["contribution"], expected, atol=1e-12)
    assert expected.sum() == pytest.approx(2.0 - 0.8)
    by_accuracy = signals("contribution:by=shapley,metric=accuracy")["contribution"]
    np.testing.assert_allclose(by_accuracy, expected / 3, atol=1e-12)


def test_influence_by_hand():
    # Loss without 0, 1, 2: 1.8, 1.2, 0.5; with all 0.8. The last one does harm.
    np.testing.assert_allclose(signals("contribution:by=influence")["contribution"], [1.0, 0.4, -0.3], atol=1e-12)


@pytest.mark.parametrize("method", ["tmc", "gtg"])
def test_sampled_methods_take_their_randomness_from_the_stream(method):
    ask = f"contribution:method={method}"
    first, again = signals(ask)["contribution"], signals(ask)["contribution"]
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first, np.array([6.3, 3.0, -2.1]) / 6, atol=0.15)


def test_auto_is_exact_for_eight_replies_and_samples_above():
    weights = np.arange(9.0)

    class Additive(Bench):
        def loss(self, rows):
            return -float(weights[rows].sum()) + float(len(rows) > 4)

    for n in (8, 9):
        game = Game(n, lambda group: float(weights[list(group)].sum()) - float(len(group) > 4))
        values = Measure().values(Additive(), n, stream(0, "m"))
        assert np.array_equal(values, shapley.exact(game)) == (n == 8)
        np.testing.assert_allclose(values, shapley.exact(game), atol=0.25)


def test_nothing_asked_and_nobody_there():
    assert signals("kept") == {}
    nobody = server_signals(Needs.of(["contribution"]).at("server"), Bench(), replies(0), stream(0, "s"))
    assert nobody["contribution"].shape == (0,)
    assert Measure(by="influence").values(Bench(), 0, stream(0, "s")).shape == (0,)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("contribution:by=shaply", "contribution: by must be 'shapley' or 'influence', got 'shaply'"),
        ("contribution:metod=gtg", "contribution has no parameter 'metod'; did you mean 'method'"),
    ],
)
def test_options_that_do_not_exist_are_named(word, message):
    (ask,) = Needs.of([word]).at("server")
    with pytest.raises(UsageError, match=message):
        measure_of(ask)

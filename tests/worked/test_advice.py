"""Advice by hand: of those nearly as good as the best, the one that asks clients for least."""

import pytest

from callup import Clients
from callup.core.errors import InputError
from callup.report.advice import advise
from callup.report.grouping import scenarios
from callup.simulation.run import Ledger, RoundRecord, Run

CLIENTS = Clients([0, 1])


def a_run(accuracy, **settings):
    history = (RoundRecord(1, 2, [0], [0], [0], {}, "", None, accuracy=accuracy, ledger=Ledger(2, 1, 1, 0, 1)),)
    return Run({"scenario": "small", **settings}, CLIENTS, history, model=None, states={})


def scene(**ends):
    names = {"fed_cbs": "fed-cbs", "active_fl": "active-fl"}
    return scenarios(
        [a_run(end, selector=names.get(m, m), seed=seed) for m, by in ends.items() for seed, end in enumerate(by)]
    )[0]


def test_the_best_when_it_stands_alone():
    found = advise(scene(random=[0.50, 0.51, 0.52], active_fl=[0.60, 0.61, 0.62], fed_cbs=[0.70, 0.71, 0.72]))
    assert (found.method, found.best, found.nearly) == ("fed-cbs", "fed-cbs", ("fed-cbs",))
    assert found.against_random.difference.mean == pytest.approx(0.2)
    (said,) = found.sentences()
    assert said.startswith("Take fed-cbs: it ended at 71.0 % accuracy, random at 51.0 %; a gap of 20.0 points")


def test_who_asks_for_less_when_little_is_lost():
    # Means .705 and .71: fed-cbs needs label counts, active-fl losses.
    found = advise(scene(random=[0.50, 0.51, 0.52], active_fl=[0.695, 0.705, 0.715], fed_cbs=[0.70, 0.71, 0.72]))
    assert (found.method, found.best) == ("active-fl", "fed-cbs")
    assert found.sentences()[1] == "Within a point of the best: fed-cbs; none of them asks for less than active-fl."


def test_the_default_of_those_who_ask_for_equally_little():
    # Means .71 and .705, both from label counts.
    found = advise(scene(random=[0.50, 0.51, 0.52], fed_cbs=[0.70, 0.71, 0.72], lineup=[0.695, 0.705, 0.715]))
    assert (found.method, found.best) == ("lineup", "fed-cbs")


def test_losses_are_asked_for_if_they_bring_a_point():
    for gain, taken in ((0.005, "lineup"), (0.02, "lineup:form")):
        form = [0.70 + gain, 0.71 + gain, 0.72 + gain]
        found = advise(scene(random=[0.50, 0.51, 0.52], **{"lineup:form": form, "lineup": [0.70, 0.71, 0.72]}))
        assert (found.method, found.best) == (taken, "lineup:form")


def test_what_may_be_luck_is_said_to():
    found = advise(scene(random=[0.50, 0.70, 0.52], fed_cbs=[0.75, 0.60, 0.78]))
    assert found.method == "fed-cbs" and found.sentences()[1] == "That may be luck; more seeds would tell."


def test_random_when_nobody_is_better():
    found = advise(scene(random=[0.60, 0.61, 0.62], fed_cbs=[0.605, 0.615, 0.625]))
    assert found.method == "random" and found.against_random is None
    assert found.sentences()[0].startswith("Take random: no method here")


@pytest.mark.parametrize("ends", [{"fed_cbs": [0.5] * 3}, {"random": [0.5] * 3, "fed_cbs": [0.5] * 2}])
def test_too_little_to_go_by(ends):
    with pytest.raises(InputError, match="at least 3 finished seeds of every method, and of random"):
        advise(scene(**ends))

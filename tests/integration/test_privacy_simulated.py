"""Fed-CBS in the simulator under each mode: hiding the counts changes nothing, noise changes the same in both."""

import pytest

import callup
from callup.core.errors import CallupError

pytest.importorskip("tenseal")

RUN = {"partition": "dirichlet:clients=30,alpha=0.3", "k": 5, "rounds": 6, "seed": 3, "local": {"epochs": 1}}


def picks(selector, privacy):
    run = callup.simulate(selector=selector, privacy=privacy, **RUN)
    return [record.asked for record in run.history]


@pytest.mark.parametrize("selector", ["fed-cbs", "fedemd-l2"])
def test_the_same_clients_are_picked_as_in_the_clear_with_the_same_noise(selector):
    clear, noised = picks(selector, "plain"), picks(selector, "dp:epsilon=0.1")
    assert picks(selector, "shared") == clear
    assert picks(selector, "shared+dp:epsilon=0.1") == noised
    assert noised != clear and len(set(map(tuple, clear))) > 3
    assert picks(selector, "dp:epsilon=0.1") == noised  # from the seed, so it can be repeated


def test_the_papers_topology_in_the_simulator():
    assert picks("fed-cbs", "fhe") == picks("fed-cbs", "plain")


def test_a_method_that_needs_the_counts_is_refused_before_the_first_round():
    with pytest.raises(CallupError, match="fedemd needs label_counts"):
        picks("fedemd", "shared")
    assert len(picks("fedemd", "dp")) == 6


def test_too_small_a_federation_is_refused():
    with pytest.raises(CallupError, match="statistics of 30 clients together are not computed: the minimum is 31"):
        picks("fed-cbs", "shared:minimum=31")


def test_a_misspelt_mode_is_refused():
    with pytest.raises(CallupError, match="did you mean 'shared'"):
        picks("fed-cbs", "sharde")

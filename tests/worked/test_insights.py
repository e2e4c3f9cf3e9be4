"""A federation asked for insights alone: what it sends, how well that tells the truth, and the bandit on top."""

import numpy as np
import pytest

from callup import simulate
from callup.analytics.emd import distances
from callup.analytics.qcid import qcid_each
from callup.core.errors import InputError, MissingSignal, UsageError
from callup.simulation.insights import ask_insights, duel, mean_rewards
from callup.simulation.tasks.fashion14 import Fashion14Mlp

LOW = "layered-dirichlet:low,clients=100,samples=200"


@pytest.fixture(scope="module")
def low():
    return ask_insights(partition=LOW)


def spearman(a, b):
    """The correlation of ranks; equals share the mean of their ranks."""

    def ranks(x):
        return np.array([(x < v).sum() + (x == v).sum() / 2 for v in x])

    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def test_every_client_sends_its_full_batch_gradient():
    task = "fashion14-mlp:hidden=0"  # softmax regression: (softmax - one-hot) times inputs, averaged
    found = ask_insights(task, "shards:clients=5", seed=3, model=np.zeros(1970, np.float32))
    train = Fashion14Mlp(hidden=0).load().data.train
    assert found.ids.tolist() == [0, 1, 2, 3, 4]
    assert found.sizes.tolist() == found.label_counts.sum(axis=1).tolist()
    assert found.vectors.shape == (5, 197 * 10)
    # With all weights zero every class has 1/10, so biases get 1/10 minus the client's label shares.
    shares = found.label_counts / found.sizes[:, None]
    np.testing.assert_allclose(found.vectors[:, 1960:], 0.1 - shares, atol=1e-5)
    # Together they hold all samples: weighted by size their gradients are the gradient of the whole training set.
    error = 0.1 - np.eye(10)[train.y]
    whole = (error.T @ train.x / len(train.y)).ravel()
    np.testing.assert_allclose(found.sizes @ found.vectors[:, :1960] / found.sizes.sum(), whole, atol=1e-5)


def test_the_same_seed_sends_the_same(low):
    assert np.array_equal(low.vectors, ask_insights(partition=LOW).vectors)
    assert not np.array_equal(low.vectors, ask_insights(partition=LOW, seed=1).vectors)


def test_rewards_rank_clients_by_their_true_skewness(low):
    # At the first model, equal sizes of 200: 0.978 with QCID and 0.966 with total variation from uniform (other seeds
    # 0.96 to 0.99). Without any relation the correlation of 100 pairs has a standard deviation of 0.1.
    found = low.skewness()
    assert spearman(found.q, qcid_each(low.label_counts)) > 0.95
    assert spearman(found.q, distances(np.ones(10), low.label_counts)) > 0.93
    assert found.estimated_bounds
    # Odd clients are the strongly skewed ones (Definition 2): 46 of the best 50 are even.
    assert (found.ranking[:50] % 2 == 0).sum() > 42


def test_a_model_in_training_may_be_asked_about(low):
    # After 5 rounds: 0.941 with QCID. Later gradients tell less: 0.843 after 40.
    trained = simulate(partition=LOW, rounds=5, evaluate_every=5, local={"epochs": 1}).model
    later = ask_insights(partition=LOW, model=trained)
    assert not np.array_equal(later.vectors, low.vectors)
    assert np.array_equal(later.label_counts, low.label_counts)
    assert spearman(later.skewness().q, qcid_each(later.label_counts)) > 0.85


def test_where_sizes_differ_the_plain_distance_tells_more_of_skewness():
    # Sizes 2 to 682: 0.823 with QCID; times the root of the size 0.332, since large clients stand out at little skew.
    found = ask_insights(partition="client-dirichlet:clients=50")
    truth = qcid_each(found.label_counts)
    assert spearman(found.skewness().q, truth) > 0.7
    assert spearman(found.skewness(size_aware=True).q, truth) < 0.5


@pytest.mark.parametrize("spec", ["fedacs", "fedacs:windowed", "fedacs:redraw=single"])
def test_the_bandit_alone_comes_to_choose_unskewed_clients(low, spec):
    cohorts = np.array(duel(low, spec, k=10, rounds=60))
    assert cohorts.shape == (60, 10)
    share = (cohorts % 2 == 0).mean(axis=1)
    # Half are even. Chance keeps the mean of 20 rounds below 0.67 but for once in 1e6 (4.9 standard errors of 0.034).
    # fedacs: 0.46 in rounds 1 to 5, 0.69 in 1 to 20, 0.88 in 41 to 60.
    assert share[:5].mean() < 0.75
    assert share[40:].mean() > 0.82 > share[:20].mean()


def test_a_pool_of_everyone_stays_at_half(low):
    share = (np.array(duel(low, "fedacs:pool=1", k=10, rounds=60)) % 2 == 0).mean()
    # 60 cohorts of 10 out of 100: a standard error of 0.0194, and 4.9 of them once in 1e6.
    assert abs(share - 0.5) < 0.095


def test_a_selector_that_needs_more_than_insights_is_refused(low):
    with pytest.raises(MissingSignal, match="fed-cbs needs label_counts"):
        duel(low, "fed-cbs")
    with pytest.raises(UsageError, match="k must be a whole number of at least 1, got 0"):
        duel(low, k=0)
    with pytest.raises(UsageError, match="rounds must be a whole number of at least 1, got 0"):
        duel(low, rounds=0)


def test_more_places_than_clients_take_everyone(low):
    assert sorted(duel(low, k=101, rounds=1)[0].tolist()) == low.ids.tolist()


def test_a_model_of_another_length_is_refused():
    with pytest.raises(InputError, match=r"the model of fashion14-mlp has 13,258 numbers, got shape \(7,\)"):
        ask_insights(model=np.zeros(7))


def test_mean_rewards_of_a_run(low):
    common = {"partition": LOW, "rounds": 30, "evaluate_every": 30, "local": {"epochs": 1}}
    learning, baseline = (simulate(selector=spec, **common) for spec in ("fedacs", "fedacs:pool=1"))
    found = mean_rewards(learning)
    assert found.shape == (30,)
    # Round 1 takes place at the first model, whose gradients are at hand.
    heard = low.vectors[learning.history[0].used].astype(np.float64)
    far = [np.sqrt(((g - heard.mean(axis=0)) ** 2).sum()) for g in heard]
    np.testing.assert_allclose(found[0], -np.mean(far), rtol=1e-5)
    # The paper's Fig. 5: higher than under random selection. In rounds 21 to 30 by 1.15, with seeds 1 and 2 by 0.81
    # and 0.58.
    assert found[20:].mean() - mean_rewards(baseline)[20:].mean() > 0.5


def test_mean_rewards_of_another_method_are_refused():
    with pytest.raises(InputError, match="rewards are known of runs of fedacs, this one is of random"):
        mean_rewards(simulate(partition=LOW, rounds=1, local={"epochs": 1}))

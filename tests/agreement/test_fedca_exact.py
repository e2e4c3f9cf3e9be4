"""FedCA's search against plain enumeration: every subset scored from scratch, in the obvious way."""

import itertools
import time

import numpy as np
import pytest

import callup
from callup.aggregation.ensemble import Ensemble
from callup.aggregation.fedca import _exact, best_subset


def plain_score(logits, labels, rows, score):
    """Eq. 4 for one subset; a whole count for accuracy, so that equal scores are equal."""
    mean = np.mean([logits[row].astype(np.float64) for row in rows], axis=0)
    if score == "accuracy":
        return int((mean.argmax(axis=1) == labels).sum())
    shifted = mean - mean.max(axis=1, keepdims=True)
    log_softmax = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return log_softmax[np.arange(len(labels)), labels].mean()


def plain_ranks(logits, labels, score):
    """Score and size of every non-empty subset; likelihoods that agree to ten digits are one."""
    rows = range(len(logits))
    subsets = [s for size in range(1, len(logits) + 1) for s in itertools.combinations(rows, size)]
    return {s: (round(float(plain_score(logits, labels, s, score)), 10), len(s)) for s in subsets}


def federation(seed, models, samples, classes, *, whole=False):
    """Models that know some classes and mislead on others, as after training on skewed data."""
    rng = callup.stream(seed, "logits", models)
    labels = rng.integers(0, classes, samples)
    knows = rng.normal(0.3, 1.0, (models, classes))
    logits = rng.normal(size=(models, samples, classes)) + np.eye(classes)[labels] * knows[:, labels, None]
    # Multiples of 1/8 with up to 7 models: means of two subsets then tie exactly or clearly differ.
    return (np.round(8 * logits) / 8 if whole else logits).astype(np.float32), labels


@pytest.mark.parametrize("score", ["accuracy", "likelihood"])
@pytest.mark.parametrize("whole", [False, True])
def test_exact_search_is_enumeration(score, whole):
    for seed in range(25):
        models = 1 + seed % 7
        logits, labels = federation(seed, models, 30, 3 + seed % 3, whole=whole)
        ranks = plain_ranks(logits, labels, score)
        best = max(ranks.values())
        winners = [s for s, rank in ranks.items() if rank == best]
        assert tuple(np.flatnonzero(best_subset(logits, labels, score))) in winners


def test_many_models_many_samples():
    logits, labels = federation(1, 10, 400, 10)
    for score in ("accuracy", "likelihood"):
        ranks = plain_ranks(logits, labels, score)
        chosen = tuple(np.flatnonzero(best_subset(logits, labels, score)))
        assert ranks[chosen] == max(ranks.values())


@pytest.mark.parametrize("score", ["accuracy", "likelihood"])
def test_the_search_above_the_limit_ends_where_no_single_move_helps(score):
    for seed in range(30):
        logits, labels = federation(seed, 8, 30, 5)
        ranks = plain_ranks(logits, labels, score)
        chosen = set(np.flatnonzero(best_subset(logits, labels, score, exact_up_to=1)).tolist())
        mine = ranks[tuple(sorted(chosen))]
        assert mine >= max(rank for s, rank in ranks.items() if len(s) in (1, 8))
        for other, rank in ranks.items():
            joined, left = set(other) - chosen, chosen - set(other)
            if len(joined) <= 1 and len(left) <= 1:
                assert rank <= mine, f"seed {seed}: {sorted(chosen)} should have become {other}"


# Every model more doubles the work: 12 in a quarter of the time allowed for 14, which is 30 seconds.
@pytest.mark.parametrize(
    ("score", "models", "limit"),
    [("accuracy", 8, 1.0), ("likelihood", 8, 1.0), ("accuracy", 14, 30.0), ("likelihood", 12, 7.5)],
)
def test_5000_samples_of_10_classes_in_time_on_one_core(score, models, limit):
    logits, labels = federation(0, models, 5000, 10)
    before = time.process_time()
    best_subset(logits, labels, score)
    assert time.process_time() - before < limit


def everything_scored(logits, labels):
    """The search without a quick look before it."""
    ensemble = Ensemble(logits, labels, "likelihood")
    ensemble.worth_ranking = lambda: np.ones(2 ** len(logits), bool)
    return _exact(ensemble)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("scale", [0.01, 1.0, 12.0, 200.0])
def test_what_a_quick_look_rules_out_is_never_the_best(scale, whole):
    # Logits of a model that knows nothing, of an ordinary one, of one that is very sure, and beyond single precision.
    for seed in range(20):
        logits, labels = federation(seed, 1 + seed % 8, 40, 3 + seed % 3, whole=whole)
        logits = logits * np.float32(scale)
        assert (best_subset(logits, labels, "likelihood") == everything_scored(logits, labels)).all()


def test_a_quick_look_rules_out_nearly_all():
    # More samples than are looked at in one go.
    logits, labels = federation(0, 9, 2500, 10)
    assert np.count_nonzero(Ensemble(logits, labels, "likelihood").worth_ranking()) < 10


def test_equal_models_are_all_kept():
    logits, labels = federation(0, 1, 50, 4)
    for score in ("accuracy", "likelihood"):
        assert best_subset([logits[0]] * 6, labels, score).all()

"""Proof that the checks of averages and filters bite: sound ones pass, each typical bug is caught by its check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from callup.core.clients import Clients
from callup.core.registry import Registry
from callup.core.selector import Average, Filter, Workbench
from callup.core.types import Plan, Replies
from callup.testing import average_checks, check_average, check_filter, filter_checks

PLANTED: list[tuple[type, str, str]] = []
_NAMES: Registry[Any] = Registry("planted rule", __name__)


def plant(check: str, words: str) -> Callable[[type], type]:
    def decorate(cls: type) -> type:
        made = dataclass(repr=False)(cls)
        made.__doc__ = cls.__dict__.get("__doc__") or "A bug."
        _NAMES.add(cls.__name__, paper="none", cost="O(1)")(made)
        PLANTED.append((made, check, words))
        return made

    return decorate


@_NAMES.add("SoundAverage", paper="none", cost="O(k d)")
@dataclass(repr=False)
class SoundAverage(Average):
    """The mean of the replies: nothing is wrong with this one."""

    def combine(
        self, model: np.ndarray, replies: Replies, clients: Clients, weights: np.ndarray | None = None
    ) -> np.ndarray:
        if not len(replies.ids):
            return model
        return np.average(replies.models.astype(np.float64), axis=0, weights=weights).astype(model.dtype)


class Swapped(SoundAverage):
    """Bugs are written as the few lines that are wrong."""

    def combine(
        self, model: np.ndarray, replies: Replies, clients: Clients, weights: np.ndarray | None = None
    ) -> np.ndarray:
        if not len(replies.ids):
            return model
        return self.wrong(model, replies, np.ones(len(replies.ids)) if weights is None else weights)

    def wrong(self, model: np.ndarray, replies: Replies, weights: np.ndarray) -> np.ndarray:
        raise NotImplementedError


@plant("gives_a_finite_model_of_the_same_kind", "a model of float32 became float64")
class WiderModel(Swapped):
    def wrong(self, model: np.ndarray, replies: Replies, weights: np.ndarray) -> np.ndarray:
        return np.average(replies.models.astype(np.float64), axis=0, weights=weights)


@plant("gives_a_finite_model_of_the_same_kind", "combine fails with 5 replies")
class SharesOfNothing(Swapped):
    def wrong(self, model: np.ndarray, replies: Replies, weights: np.ndarray) -> np.ndarray:
        return (replies.num_examples / replies.num_examples.sum() @ replies.models).astype(model.dtype)


@plant("leaves_the_model_alone_without_replies", "combine fails with 0 replies")
class MeanOfNobody(SoundAverage):
    def combine(
        self, model: np.ndarray, replies: Replies, clients: Clients, weights: np.ndarray | None = None
    ) -> np.ndarray:
        return replies.models.mean(axis=0)


@plant("agrees_when_all_agree", "all 12 clients agree")
class SumForMean(Swapped):
    def wrong(self, model: np.ndarray, replies: Replies, weights: np.ndarray) -> np.ndarray:
        return (weights @ replies.models).astype(model.dtype)


@plant("ignores_the_order_of_replies", "another order of replies")
class LastReplyCounts(Swapped):
    def wrong(self, model: np.ndarray, replies: Replies, weights: np.ndarray) -> np.ndarray:
        return replies.models[-1].copy()


@plant("follows_the_weights_of_the_selection", "does not pull the model to it")
class DeafToWeights(Swapped):
    def wrong(self, model: np.ndarray, replies: Replies, weights: np.ndarray) -> np.ndarray:
        return replies.models.mean(axis=0, dtype=np.float64).astype(model.dtype)


@plant("mixes_local_models_as_it_is_told", "goes elsewhere")
class WeighsBySteps(SoundAverage):
    def mixed(self, model: np.ndarray, replies: Replies, clients: Clients, weights: np.ndarray) -> np.ndarray:
        return self.combine(model, replies, clients, weights / replies.local_steps)


@plant("leaves_the_replies_alone", "combine writes to models")
class AveragesInPlace(Swapped):
    def wrong(self, model: np.ndarray, replies: Replies, weights: np.ndarray) -> np.ndarray:
        replies.models[0] += replies.models[1:].sum(axis=0)
        return replies.models[0] / len(replies.models)


@plant("keeps_all_it_learns_in_its_state", "keeps 'last'")
class HiddenMomentum(Swapped):
    def wrong(self, model: np.ndarray, replies: Replies, weights: np.ndarray) -> np.ndarray:
        mean = np.average(replies.models, axis=0, weights=weights).astype(model.dtype)
        self.last = 0.5 * getattr(self, "last", mean) + 0.5 * mean
        return self.last


@_NAMES.add("SoundFilter", paper="none", cost="O(k d)")
@dataclass(repr=False)
class SoundFilter(Filter):
    """Keep replies no farther from the start than twice the longest update so far."""

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.longest_ = 1.0

    def keep(self, replies: Replies, bench: Workbench) -> np.ndarray:
        return np.linalg.norm(replies.updates.astype(np.float64), axis=1) <= 2 * self.longest_

    def update(self, replies: Replies, kept: np.ndarray, model: np.ndarray) -> None:
        self.longest_ = float(np.linalg.norm(replies.updates.astype(np.float64), axis=1).max())


@plant("gives_a_mask_of_the_replies", "not a mask of true and false")
class RowsForAMask(SoundFilter):
    def keep(self, replies: Replies, bench: Workbench) -> np.ndarray:
        return np.flatnonzero(super().keep(replies, bench))


@plant("gives_a_mask_of_the_replies", "keep fails with 0 replies")
class BestOfNobody(SoundFilter):
    def keep(self, replies: Replies, bench: Workbench) -> np.ndarray:
        lengths = np.linalg.norm(replies.updates.astype(np.float64), axis=1)
        return lengths <= 2 * lengths.min()


@plant("looks_without_learning", "keep changed longest_")
class LearnsInKeep(SoundFilter):
    def keep(self, replies: Replies, bench: Workbench) -> np.ndarray:
        self.longest_ *= 1.5
        return super().keep(replies, bench)


@plant("ignores_the_order_of_replies", "keeps other clients")
class FirstTwo(SoundFilter):
    def keep(self, replies: Replies, bench: Workbench) -> np.ndarray:
        return np.arange(len(replies.ids)) < 2


@plant("keeps_all_it_learns_in_its_state", "a new start keeps longest_")
class RemembersForEver(SoundFilter):
    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        if not hasattr(self, "longest_"):
            super().start(clients, plan, rng)


@pytest.mark.parametrize("cls, check, words", [pytest.param(*bug, id=bug[0].__name__) for bug in PLANTED])
def test_a_planted_bug_is_caught(cls: type, check: str, words: str) -> None:
    checks = dict(average_checks) if issubclass(cls, Average) else dict(filter_checks)
    with pytest.raises(AssertionError) as caught:
        checks[check](cls)
    assert words in str(caught.value)


def test_the_sound_ones_pass_every_check() -> None:
    check_average(SoundAverage)
    check_filter(SoundFilter)


def test_every_check_has_caught_something() -> None:
    shared = {"has_a_complete_card", "builds_from_its_defaults_and_presets"}  # planted with the selectors
    for kind, checks in ((Average, average_checks), (Filter, filter_checks)):
        assert {check for cls, check, _ in PLANTED if issubclass(cls, kind)} | shared == dict(checks).keys()

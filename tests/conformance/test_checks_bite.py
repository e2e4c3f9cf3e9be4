"""Proof that the checks bite: a sound selector passes them all, and each typical bug is caught by the check for it."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from callup.core import draws, types
from callup.core.clients import Clients
from callup.core.per_client import PerClient
from callup.core.registry import Registry
from callup.core.selector import Arrays, Selector
from callup.core.signals import Needs
from callup.core.types import Feedback, Plan, Round, Selection
from callup.testing import check_selector, selector_checks
from callup.testing.checks import scale

CHECKS = dict(selector_checks)
PLANTED: list[tuple[type[Sound], str, str]] = []
_NAMES: Registry[Selector] = Registry("planted selector", __name__)


def plant(check: str, words: str, **facts: Any) -> Callable[[type], type]:
    """Registers a bug, the check that must catch it, and words that its sentence must contain."""

    def decorate(cls: type) -> type:
        facts.setdefault("cost", "O(N)")
        made = dataclass(repr=False)(cls)
        made.__doc__ = cls.__dict__.get("__doc__") or "A bug."
        _NAMES.add(cls.__name__.lower(), **{"paper": "none", "needs": ("num_examples", "train_loss"), **facts})(made)
        PLANTED.append((made, check, words))
        return made

    return decorate


@_NAMES.add("sound", paper="none", needs=("num_examples", "train_loss"), cost="O(N)")
@dataclass(repr=False)
class Sound(Selector):
    """Call those whose training loss was highest: nothing is wrong with this one."""

    greed: float = 1.0

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.loss_ = PerClient(0.0)

    def scores(self, now: Round) -> np.ndarray:
        return self.greed * self.loss_.get(now.available)

    def select(self, now: Round, k: int) -> Selection:
        return Selection(draws.top(now.available, self.scores(now), k, now.rng))

    def update(self, feedback: Feedback) -> None:
        if len(feedback.ids):
            self.loss_.set(feedback.ids, feedback.signals["train_loss"])


# Who is named.


@plant("names_k_distinct_available_clients", "chose 3 clients in round 1, expected 4")
class OneTooFew(Sound):
    def select(self, now: Round, k: int) -> Selection:
        return Selection(draws.uniform(now.available, k - 1, now.rng))


@plant("names_k_distinct_available_clients", "was selected twice")
class Twice(Sound):
    def select(self, now: Round, k: int) -> Selection:
        return Selection(np.repeat(draws.uniform(now.available, k, now.rng), 2)[:k])


@plant("takes_any_k", "how often each was drawn is lost", with_replacement=True)
class RepeatsWithoutWeights(Sound):
    def select(self, now: Round, k: int) -> Selection:
        return Selection(np.unique(now.rng.choice(now.available, k)))


@plant("names_only_those_online", "which is not available")
class AnybodyAtAll(Sound):
    def select(self, now: Round, k: int) -> Selection:
        return Selection(draws.uniform(now.clients.ids, min(k, len(now.available)), now.rng))


@plant("takes_ids_as_names", "which is not available")
class PositionsForIds(Sound):
    def select(self, now: Round, k: int) -> Selection:
        return Selection(np.argsort(-self.scores(now))[:k])


@plant("takes_any_k", "Cannot take a larger sample")
class MoreThanThereAre(Sound):
    def select(self, now: Round, k: int) -> Selection:
        return Selection(now.rng.choice(now.available, k, replace=False))


@plant("takes_whoever_is_left", "select fails")
class SpreadOfOne(Sound):
    def scores(self, now: Round) -> np.ndarray:
        loss = self.loss_.get(now.available)
        return (loss - loss.mean()) / (1e-9 + loss.std(ddof=1))


@plant("names_nobody_when_nobody_is_online", "IndexError")
class SomebodyMustBeThere(Sound):
    def select(self, now: Round, k: int) -> Selection:
        now.clients.of("num_examples", now.available)[0]
        return super().select(now, k)


@plant("names_more_than_planned_when_asked", "expected 7")
class SticksToThePlan(Sound):
    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.k_ = plan.k

    def select(self, now: Round, k: int) -> Selection:
        return super().select(now, min(k, self.k_))


# The same seed, the same cohort.


@plant("repeats_with_the_same_seed", "the same seed gave")
class SeedsItself(Sound):
    def select(self, now: Round, k: int) -> Selection:
        return Selection(draws.uniform(now.available, k, np.random.default_rng()))


@plant("leaves_global_randomness_alone", "draws from the global generator of numpy")
class GlobalNumpy(Sound):
    def select(self, now: Round, k: int) -> Selection:
        return Selection(np.random.permutation(now.available)[:k])  # noqa: NPY002


@plant("leaves_global_randomness_alone", "draws from the global generator of the standard library")
class GlobalRandom(Sound):
    def select(self, now: Round, k: int) -> Selection:
        return Selection(np.array(random.sample(now.available.tolist(), min(k, len(now.available)))))


@plant("ignores_the_order_of_rows", "another order of clients or replies")
class FirstReplyWins(Sound):
    def update(self, feedback: Feedback) -> None:
        self.loss_.add(feedback.ids[:1], 1.0)


@plant("breaks_ties_at_random", "under every seed")
class TiesByPosition(Sound):
    def select(self, now: Round, k: int) -> Selection:
        return Selection(now.available[np.argsort(-self.scores(now), kind="stable")[:k]])


@plant("selects_the_same_when_asked_twice", "asked twice in round 1")
class CountsQuestions(Sound):
    def select(self, now: Round, k: int) -> Selection:
        self.asked = getattr(self, "asked", 0) + 1
        return Selection(super().select(now, k).ids, notes={"asked": self.asked})


@plant("shares_nothing_between_instances", "changed another's choices")
class SharedByTheClass(Sound):
    everyone: ClassVar[dict[int, float]] = defaultdict(float)

    def scores(self, now: Round) -> np.ndarray:
        return np.array([self.everyone[i] for i in now.available.tolist()])

    def update(self, feedback: Feedback) -> None:
        for i in feedback.asked.tolist():
            self.everyone[i] -= 1


# What is learned.


@plant("learns_nothing_in_select", "select changed calls_")
class LearnsInSelect(Sound):
    def select(self, now: Round, k: int) -> Selection:
        self.calls_ = getattr(self, "calls_", 0) + 1
        return super().select(now, k)


@plant("learns_nothing_in_select", "select changed loss_")
class LearnsInPlace(Sound):
    def select(self, now: Round, k: int) -> Selection:
        self.loss_.add(now.available[:1], 0.1)
        return super().select(now, k)


@plant("never_changes_hyper_parameters", "changed its hyper-parameter greed")
class DecaysItsField(Sound):
    def update(self, feedback: Feedback) -> None:
        self.greed *= 0.9


@plant("keeps_everything_in_state", "keeps 'rounds'")
class NoUnderscore(Sound):
    def update(self, feedback: Feedback) -> None:
        self.rounds = feedback.index


@plant("resumes_as_if_never_stopped", "resumed after round 0 names other clients")
class HiddenMemory(Sound):
    def scores(self, now: Round) -> np.ndarray:
        return np.isin(now.available, getattr(self, "liked", [])).astype(float)

    def update(self, feedback: Feedback) -> None:
        self.liked = [*getattr(self, "liked", []), *feedback.ids.tolist()][-4:]


@plant("saves_its_state_as_arrays", "not an array of numbers: object")
class KeepsTheGenerator(Sound):
    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.rng_ = rng


@plant("saves_its_state_as_arrays", "must be copied")
class StateIsAWindow(Sound):
    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.calls_ = np.zeros(3)

    def update(self, feedback: Feedback) -> None:
        self.calls_ += 1

    def state(self) -> Arrays:
        return super().state() | {"calls_": self.calls_}


@plant("forgets_at_a_new_start", "a new start keeps loss_")
class RemembersForEver(Sound):
    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        if not hasattr(self, "loss_"):
            super().start(clients, plan, rng)


@plant("refuses_a_state_it_cannot_read", "without a word")
class LoadsAnything(Sound):
    def load(self, state: Arrays) -> None:
        self.loss_ = PerClient.from_state({part: state[f"loss_.{part}"] for part in ("ids", "values", "default")})


# Manners.


@plant("asks_only_for_what_it_declared", "asks for 'latency' (profile) without declaring it")
class PeeksAtAColumn(Sound):
    def scores(self, now: Round) -> np.ndarray:
        return now.clients.of("latency", now.available) if "latency" in now.clients else super().scores(now)


@plant("asks_only_for_what_it_declared", "asks for 'loss' (probe) without declaring it")
class ProbesUnasked(Sound):
    def scores(self, now: Round) -> np.ndarray:
        return now.probe("loss", now.available)


@plant("asks_only_for_what_it_declared", "asks for 'duration' (reply) without declaring it")
class UsesWhatComesAnyway(Sound):
    def update(self, feedback: Feedback) -> None:
        feedback.signals.get("duration")


@plant("asks_only_for_what_it_declared", "which is not available in round", needs=("loss@probe",))
class ProbesTheAbsent(Sound):
    def scores(self, now: Round) -> np.ndarray:
        return now.probe("loss", now.clients.ids)[now.clients.index.rows(now.available)]


@plant("leaves_what_it_is_handed_alone", "writes to feedback")
class EmptiesTheFeedback(Sound):
    def update(self, feedback: Feedback) -> None:
        feedback.failed.clear()  # type: ignore[attr-defined]


@plant("leaves_what_it_is_handed_alone", "read-only")
class ScalesInPlace(Sound):
    def update(self, feedback: Feedback) -> None:
        feedback.signals["train_loss"][:] -= 1


# Weather.


@plant("survives_lost_replies", "update fails")
class ExpectsEveryReply(Sound):
    def update(self, feedback: Feedback) -> None:
        self.loss_.set(feedback.asked, feedback.signals["train_loss"])


@plant("survives_a_round_without_replies", "update fails in round 1, 0 replies, 4 failed")
class BestOfNobody(Sound):
    def update(self, feedback: Feedback) -> None:
        self.best_ = float(feedback.signals["train_loss"].max())


@plant("survives_halves_that_take_turns", "select fails in round 2")
class LivesOnOldFriends(Sound):
    def select(self, now: Round, k: int) -> Selection:
        friends = now.available[self.loss_.knows(now.available)]
        if now.index == 1 or len(now.available) < k:
            return super().select(now, k)
        return Selection(now.rng.choice(friends, k, replace=False))


@plant("survives_newcomers_and_leavers", "select fails")
class StaleList(Sound):
    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.everyone_ = clients.ids.copy()

    def select(self, now: Round, k: int) -> Selection:
        return Selection(draws.uniform(np.intersect1d(self.everyone_, now.available), k, now.rng))


# Values.


@plant("bears_values_that_are_all_equal", "when values are 'ties'")
class ScaleWithoutLength(Sound):
    def scores(self, now: Round) -> np.ndarray:
        sizes = now.clients.of("num_examples", now.available)
        return (sizes - sizes.min()) / (sizes.max() - sizes.min())


@plant("bears_enormous_values", "overflow")
class ExponentOfALoss(Sound):
    def scores(self, now: Round) -> np.ndarray:
        return np.exp(super().scores(now))


@plant("bears_values_that_are_all_zero", "when values are 'zeros'")
class ShareOfNothing(Sound):
    def select(self, now: Round, k: int) -> Selection:
        sizes = now.clients.of("num_examples", now.available)
        return Selection(draws.weighted(now.available, np.log(sizes / sizes.sum()), k, now.rng))


@plant("bears_a_single_class", "when values are 'one class'", needs=("label_counts",))
class EntropyOfOneClass(Sound):
    def scores(self, now: Round) -> np.ndarray:
        counts = 1.0 + now.clients.of("label_counts", now.available)
        shares = counts / counts.sum(axis=1, keepdims=True)
        return -(shares * np.log(shares)).sum(axis=1) / np.log(counts.shape[1])

    def update(self, feedback: Feedback) -> None:
        pass


@plant("bears_silence", "is not a number", needs=("loss@probe",))
class TakesSilenceForANumber(Sound):
    def scores(self, now: Round) -> np.ndarray:
        return now.probe("loss", now.available)

    def update(self, feedback: Feedback) -> None:
        pass


@plant("refuses_a_report_that_lacks_a_signal_and_stays_as_it_was", "lacking train_loss it refused a report and yet")
class LearnsBeforeItHasReadEverything(Sound):
    def update(self, feedback: Feedback) -> None:
        self.rounds_ = feedback.index
        super().update(feedback)


@plant("gives_plain_scores_and_notes", "score 'spread' is [nan] when values are usual")
class ScoreIsNaN(Sound):
    def select(self, now: Round, k: int) -> Selection:
        ids = super().select(now, k).ids
        return Selection(ids, scores={"spread": np.full(len(ids), np.nan)})


@plant("gives_plain_scores_and_notes", "note 'losses' is array")
class NoteIsAnArray(Sound):
    def select(self, now: Round, k: int) -> Selection:
        return Selection(super().select(now, k).ids, notes={"losses": np.zeros(2)})  # type: ignore[dict-item]


# Scale and card.


@plant("chooses_among_many_within_a_second", "select among")
class OneClientAtATime(Sound):
    def scores(self, now: Round) -> np.ndarray:
        return np.array([self.loss_.get(now.available[i : i + 1])[0] for i in range(len(now.available))])


@plant("has_a_complete_card", "does not say its cost", cost="")
class SilentCard(Sound):
    pass


@plant("declares_its_needs_on_the_card", "needs duration@reply, which the card does not name")
class HiddenNeeds(Sound):
    @property
    def needs(self) -> Needs:
        return Needs.of(("num_examples", "train_loss", "duration"))


@plant("builds_from_its_defaults_and_presets", "preset 'bold' cannot be built", presets={"bold": {"gread": 2.0}})
class MisspeltPreset(Sound):
    pass


@plant("builds_from_its_defaults_and_presets", "the default of 'depth' does not fit its type")
class DefaultOfAnotherType(Sound):
    depth: int = None  # type: ignore[assignment]


@pytest.mark.parametrize("cls, check, words", [pytest.param(*bug, id=bug[0].__name__) for bug in PLANTED])
def test_a_planted_bug_is_caught(cls: type, check: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "_SECONDS", 0.02)  # so that the slow one need not waste three seconds
    with pytest.raises(AssertionError) as caught:
        CHECKS[check](cls)
    assert words in str(caught.value)


def test_the_sound_one_passes_every_check() -> None:
    check_selector(Sound)


def test_all_broken_rules_are_named_at_once() -> None:
    with pytest.raises(AssertionError) as caught:
        check_selector(PositionsForIds)
    assert {"takes_ids_as_names", "names_only_those_online"} <= {
        line.partition(":")[0] for line in str(caught.value).splitlines()
    }


def test_values_let_through_by_the_contract_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(types, "_checked", lambda name, value, ids, index: np.asarray(value))
    with pytest.raises(AssertionError, match="takes a bad value of train_loss without a word"):
        CHECKS["refuses_bad_values_and_stays_as_it_was"](Sound)


def test_a_limit_that_is_not_kept_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "ask", lambda selector, now, k: selector.select(now, k))

    class Limited(Sound):
        max_clients = 30  # type: ignore[assignment]

        def select(self, now: Round, k: int) -> Selection:
            return Selection(now.available[:k])

    with pytest.raises(AssertionError, match="takes 31 clients although its limit is 30"):
        CHECKS["refuses_more_clients_than_its_limit"](Limited)


def test_every_check_has_caught_something() -> None:
    by_hand = {"refuses_bad_values_and_stays_as_it_was", "refuses_more_clients_than_its_limit"}
    assert {check for _, check, _ in PLANTED} | by_hand == CHECKS.keys()

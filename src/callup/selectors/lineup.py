"""Lineup: a group with balanced classes, whose members are not too one-sided, and that makes up for past rounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from callup.analytics import traits
from callup.analytics.class_form import fair_target, hardness, owners_among
from callup.analytics.fair_shares import overuse
from callup.analytics.label_traits import LabelTraits
from callup.analytics.last_rows import no_rows, with_rows
from callup.analytics.pool import candidate_pool
from callup.analytics.sample_trust import emptiness, trust
from callup.analytics.swap_search import Terms, best_group, most_needed_first, settled
from callup.analytics.update_lengths import dullness, shortness, slowdown
from callup.core.basis import goes_by
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.core.randomness import client_uniforms
from callup.core.selector import Selector
from callup.core.signals import Needs
from callup.core.types import Feedback, Plan, Round, Selection, check_k

_FORGOTTEN = 1e-6  # of a round's weight
_SKETCH = 64
_LATELY = 0.9  # of what was counted is left a round later
_HARDEST = 4.0  # times the usual loss: what one client can say
_GROWING = 2.0  # updates became longer so many times as often as shorter
_EARLY = 0.6  # of the planned rounds are for getting far; where their number is not known, none


@SELECTORS.add(
    "lineup",
    paper="Callup",
    version=10,
    needs=("label_counts|label_gram|update|loss", "num_examples?", "update?"),
    presets={
        "form": {"fairness": 1.0, "presence": 0.45},
        "squad": {"fairness": 1.0, "presence": 0.4, "rotation": 10.0},
        "keepers": {"fairness": 1.0, "presence": 0.4, "rotation": 10.0, "few": 3.0},
        "season": {"fairness": 1.0, "presence": 0.4, "rotation": 10.0, "few": 3.0, "opening": 0.5},
        "updates": {"basis": "update"},
        "losses": {"basis": "loss"},
    },
    cost="O(N) for the pool, O(k C B) a sweep of the search over C candidates",
)
@dataclass(repr=False)
class Lineup(Selector):
    """Minimise one bound on how far the group's update lies from the whole population's, over this round and the last.

    Client i has n_i samples and label shares p_i, evened out; they differ from the target u by z_i. In the group S its
    share in the change of the model is w_i. What past rounds left undone is h, the sum of the groups' deviations
    sum w z, and m_i, the sum of the client's places as shares of all, both fading by `fade` a round:

        J(S, w) =   |h + sum w_i z_i|^2             balance, with what is left of past rounds
                  + drift sum w_i |z_i|^2           each member's skew, which training runs after
                  + own sum w_i^2 / a_i             leaning on few clients or few samples
                  + own sum (2 m_i + zeal d_i) / k  clients called lately or with little to tell
                  + rest sum l_i                    clients that slow the round down
                  + 2 own rotation sum w_i o_i      clients that had more of the run than is theirs

    where a_i = own n_i / (1 + own n_i).

    Group and shares are found together, by exchanging members, of a greedy group and of a random one, until that brings
    nothing. d_i is 0 for the client whose last update was the longest and 1 for the shortest, by ranks; where updates
    grow longer as training goes on, their length does not tell how much is left to learn, and d is 0. A client whose
    updates fell below half the usual length, because it lowers its learning rate more than others, weighs more in the
    average, so that its share in the change is what it should be. The round then goes less far, by l_i; such clients
    are spared until the last two fifths of the planned rounds. From then on the share of a lost reply stays with the
    model as it was; until then those who replied take it over. With fairness above 0, and where clients tell label
    counts and losses, u leans towards classes of few owners on which the model does badly. o_i is
    s_i max(M_i / f_i - 1, 0) / N: M_i is the mean of the client's shares w over all rounds, N the number of clients,
    f_i what would be its part if each class were learned from all who have it, and s_i how far others have the same
    classes. docs/lineup.md derives J.

    drift: how much of a gradient's difference local training keeps; own: how much clients differ apart from their
    labels; both relative to how much classes differ. fade: what is left of a round's debt after the next. zeal: how
    much it counts that a client has something to tell, relative to own. rest: how much it costs to lose a round.
    presence: the share of a class, relative to the target's, at which it counts half; inf takes label shares as they
    are. even: whether short updates weigh more. target: uniform, or pooled, the shares of all clients together. prior:
    a target of your own, one number for each class. fairness: q, by which u_b becomes u_b loss_b^(q / n_b), n_b being
    how many clients class b is spread over; 0 asks for no losses. rotation: how much more an error counts that stays
    the whole run than one of a single round; only where label counts are known. few: a class spread over so many
    clients, or fewer, cannot be anybody else's. opening: the part of the planned rounds in which fairness and rotation
    grow from nothing to what they are. basis: what clients are known by; auto takes label counts, else their
    inner products, else updates, else losses. From inner products presence has no part. From updates, z is how far a
    client's last one lay from its group's mean, and drift has no part. From losses there is no z, and d goes by the
    loss. candidates: how many clients the search looks at.
    """

    drift: float = 0.06
    own: float = 0.03
    fade: float = 0.5
    zeal: float = 0.5
    rest: float = 0.1
    presence: float = 0.5
    even: bool = True
    target: Literal["uniform", "pooled"] = "uniform"
    prior: tuple[float, ...] = ()
    fairness: float = 0.0
    rotation: float = 0.0
    few: float = 1.0
    opening: float = 0.0
    basis: Literal["auto", "update", "loss"] = "auto"
    candidates: int = 4000

    def __post_init__(self) -> None:
        for name in ("drift", "own", "zeal", "rest", "fairness", "rotation"):
            if not 0 <= getattr(self, name) < np.inf:
                raise UsageError(f"lineup: {name} must not be negative and must be finite, got {getattr(self, name):g}")
        if self.own == 0:
            raise UsageError("lineup: own must be above 0; 0.001 is next to nothing")
        if not self.presence > 0:
            raise UsageError(f"lineup: presence must be above 0, got {self.presence:g}; inf takes shares as they are")
        if not 1 <= self.few < np.inf:
            raise UsageError(f"lineup: few must be 1 or more and must be finite, got {self.few:g}")
        if not 0 <= self.opening <= 1:
            raise UsageError(f"lineup: opening must be from 0 to 1, a part of the planned rounds, got {self.opening:g}")
        if not 0 <= self.fade < 1:
            raise UsageError(f"lineup: fade must be from 0 to below 1, got {self.fade:g}")
        if self.prior and not (min(self.prior) >= 0 and 0 < sum(self.prior) < np.inf):
            raise UsageError(f"lineup: prior must not be negative and must add up to something, got {self.prior}")
        check_k(self.candidates, "lineup: candidates")

    @property
    def favour(self) -> float:
        return 10.0  # an exclusive Maverick among 50 clients is called in every round of five, 10 times its share

    @property
    def purse(self) -> float:
        return 0.35  # of the places: one in three for clients that nobody can replace

    @property
    def needs(self) -> Needs:
        if self.basis == "auto":
            return Needs.of([*map(str, self.card.needs), "loss?"]) if self.fairness else self.card.needs
        return Needs.of([self.basis, "num_examples?", *(["update?"] if self.basis != "update" else [])])

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.wanted_ = np.empty(0)  # the target, once losses moved it
        self.classes_: int = plan.classes or 0
        self.early_ = _EARLY * (plan.rounds or 0)
        self.opening_ = self.opening * (plan.rounds or 0)
        if self.basis == "auto":
            self._label_traits.check(clients, "lineup")
        self.weight_ = PerClient(0.0)  # in past averages, fading: h = sum weight_ z
        self.called_ = PerClient(0.0)  # m: places among everyone asked, fading
        self.season_ = PerClient(0.0)  # in all averages so far: M = season_ / rounds_
        self.rounds_ = 0
        self.traits_ = no_rows()
        self.loss_ = PerClient(np.inf)
        self.length_ = PerClient(np.inf)  # of the last update
        self.longest_ = PerClient(0.0)  # of all updates
        self.shorter_, self.longer_ = 0.0, 0.0  # updates than the same client's before, lately
        self.form_ = PerClient(1.0)  # loss against the usual one of its time
        self.usual_, self.tellings_ = 0.0, 0.0  # sum and number of rounds' median losses, fading

    def roster(self, clients: Clients, rng: np.random.Generator) -> None:  # noqa: ARG002
        told = (self.traits_, self.loss_, self.length_, self.longest_, self.form_)
        for memory in (self.weight_, self.called_, self.season_, *told):
            memory.forget(np.setdiff1d(memory.ids, clients.ids))

    def select(self, now: Round, k: int) -> Selection:
        if not len(now.available):
            return Selection(now.available)
        ids = candidate_pool(now.available, self.candidates, k, now.rng)
        terms = self._terms(now.clients, ids, self._fees(now, ids, k))
        best = best_group(terms, min(k, len(ids)), client_uniforms(now.rng, ids), now.rng)
        group = most_needed_first(terms, best)
        ids = ids[group.rows]
        z = self._traits(now.clients, ids)
        weights = group.weights / (shortness(self.length_, self.longest_, ids) if self.even else 1.0)
        scores = {"skew": np.square(z).sum(axis=1), "called_lately": self.called_.get(ids), "share": group.weights}
        if self.rotation:
            scores["had_too_much"] = self._overuse(now.clients, ids)
        return Selection(
            ids,
            weights=weights / weights.sum(),
            of_models=True,
            whole=now.index > self.early_,
            scores=scores,
            notes={
                "objective": terms.value(group),
                "imbalance": float(np.square(group.weights @ z).sum()),
                "debt": float(np.square(self._debt(now.clients)).sum()),
                **goes_by(self._basis(now.clients)),
            },
        )

    def update(self, feedback: Feedback) -> None:
        clients, heard = feedback.clients, feedback.ids
        asked = feedback.asked if feedback.failed else heard
        if not self._labels(clients) and len(heard):
            self._listen(feedback)
        arrived = np.isin(asked, heard)  # the part of the others is nobody's, also where it was shared out
        parts = self._shares(clients, asked)[arrived]
        self._count(self.weight_, asked[arrived], parts)
        self._count(self.called_, asked, np.full(len(asked), 1 / max(len(asked), 1)))
        if self.rotation:
            self.season_.add(asked[arrived], parts)
        self.rounds_ += 1
        if "update" in feedback.signals and len(heard):
            self._measure(heard, np.linalg.norm(feedback.signals["update"].astype(np.float64), axis=1))
        fair = self.fairness > 0 and len(heard) > 0 and self._labels(clients) == "label_counts"
        if fair and "loss" in feedback.signals:
            self._compare(clients, heard, feedback.signals["loss"])

    def _count(self, memory: PerClient, ids: Ids, parts: np.ndarray) -> None:
        memory.set(memory.ids.copy(), memory.values * self.fade)
        memory.add(ids, self.fade * parts)
        memory.forget(memory.ids[memory.values < _FORGOTTEN])

    def _terms(self, clients: Clients, ids: Ids, fees: np.ndarray) -> Terms:
        z = self._traits(clients, ids)
        return Terms(
            vectors=z + self._debt(clients),
            costs=self._skewness(clients, z) + emptiness(clients, ids) + self._overuse(clients, ids),
            spreads=self.own / trust(clients, ids, self.own),
            fees=fees,
        )

    def _fees(self, now: Round, ids: Ids, k: int) -> np.ndarray:
        """What decides who comes, not how much they weigh."""
        fees = self.own / k * (2 * self.called_.get(ids) + self.zeal * self._dullness(ids))
        if self.even and now.index <= self.early_:
            fees = fees + self.rest * slowdown(shortness(self.length_, self.longest_, ids), k)
        return np.asarray(fees)

    def _shares(self, clients: Clients, ids: Ids) -> np.ndarray:
        """w of these, as a group."""
        terms = self._terms(clients, ids, np.zeros(len(ids)))
        return settled(terms, np.arange(len(ids))).weights if len(ids) else np.empty(0)

    def _debt(self, clients: Clients) -> np.ndarray:
        """h."""
        return np.asarray(self.weight_.values @ self._traits(clients, self.weight_.ids))

    def _listen(self, feedback: Feedback) -> None:
        """Without label statistics: what the replies tell."""
        alternatives = ("update", "loss") if self.basis == "auto" else (self.basis,)
        told = next((name for name in alternatives if name in feedback.signals), alternatives[0])
        if told == "update":
            sketched = traits.sketches(feedback.signals["update"], _SKETCH)
            apart = traits.from_updates(sketched, trust(feedback.clients, feedback.ids, self.own))
            self.traits_ = with_rows(self.traits_, feedback.ids, apart, "lineup")
        else:
            self.loss_.set(feedback.ids, feedback.signals[told])

    def _measure(self, heard: Ids, lengths: np.ndarray) -> None:
        before = self.length_.get(heard)
        self.shorter_ = _LATELY * self.shorter_ + float((lengths < before)[np.isfinite(before)].sum())
        self.longer_ = _LATELY * self.longer_ + float((lengths > before).sum())
        self.length_.set(heard, lengths)
        self.longest_.set(heard, np.maximum(lengths, self.longest_.get(heard)))

    def _compare(self, clients: Clients, heard: Ids, losses: np.ndarray) -> None:
        """Which classes the model does badly on, by those who have them; old losses count as they compared then."""
        self.usual_ = _LATELY * self.usual_ + float(np.median(losses))
        self.tellings_ = _LATELY * self.tellings_ + 1
        usual = self.usual_ / self.tellings_
        self.form_.set(heard, np.minimum(losses / usual, _HARDEST) if usual > 0 else 1.0)
        shares = traits.spared_shares(clients.of("label_counts", self.form_.ids))
        power = self._opened() * self.fairness / owners_among(clients)
        self.wanted_ = fair_target(self._meant(clients), hardness(shares, self.form_.values), power)

    def _labels(self, clients: Clients) -> str | None:
        """Which label statistics there are, if they may be used."""
        return LabelTraits.source(clients) if self.basis == "auto" else None

    @property
    def _label_traits(self) -> LabelTraits:
        prior = tuple(self.wanted_.tolist()) or self.prior
        return LabelTraits(self.target, prior, self.presence, self.classes_)

    def _meant(self, clients: Clients) -> np.ndarray:
        """The target as it was given, before losses moved it."""
        return replace(self._label_traits, prior=self.prior).wanted(clients)

    def _basis(self, clients: Clients) -> str | None:
        """None before anybody was heard."""
        learned = "update" if len(self.traits_.ids) else "loss" if len(self.loss_.ids) else None
        return self._labels(clients) or learned

    def _traits(self, clients: Clients, ids: Ids) -> np.ndarray:
        """z, one row for each client."""
        if self._labels(clients):
            return self._label_traits.of(clients, ids)
        return np.asarray(self.traits_.get(ids), np.float64)

    def _skewness(self, clients: Clients, z: np.ndarray) -> np.ndarray:
        """What training runs after; an update is what it ran after already, and its z has that in it."""
        return np.asarray((self.drift if self._labels(clients) else 0.0) * np.square(z).sum(axis=1))

    def _overuse(self, clients: Clients, ids: Ids) -> np.ndarray:
        """2 own rotation o."""
        if not (self.rotation and self.rounds_) or self._labels(clients) != "label_counts":
            return np.zeros(len(ids))
        over = overuse(clients, ids, self._meant(clients), self.season_, self.few)
        return 2 * self.own * self.rotation * self._opened() * over / (self.rounds_ * len(clients))

    def _opened(self) -> float:
        """How much of fairness and rotation counts by now; all of it where the number of rounds is not known."""
        return min(1.0, self.rounds_ / self.opening_) if self.opening_ else 1.0

    def _dullness(self, ids: Ids) -> np.ndarray:
        """d; where updates grow longer, their length does not tell."""
        told = self.loss_ if len(self.loss_.ids) else self.length_
        if not len(told.ids) or (told is self.length_ and self.longer_ > _GROWING * self.shorter_):
            return np.zeros(len(ids))
        return dullness(told, ids)

"""FedCA: average only the local models that together predict a held-out set best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from callup.aggregation.ensemble import Ensemble, Score
from callup.core.catalogue import FILTERS
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.randomness import client_uniforms, stream
from callup.core.selector import Filter, Workbench
from callup.core.types import Plan, Replies

_MOST_EXACT = 20  # a million subsets: minutes


@FILTERS.add(
    "fedca",
    paper="Kim, Bae, Lee, Yun, arXiv 2012.03270",
    cost="k validation passes, then 2^k scores of subsets; above 14 models about k^2 for each sweep of swaps",
)
@dataclass(repr=False)
class FedCa(Filter):
    """Keep the subset of local models whose mean logits score highest on balanced validation data (Eq. 4).

    score: accuracy is the paper's Dirac delta; likelihood is its classification loss, the mean log softmax of the
    true class. exact_up_to: so many models or fewer are searched whole, one addition for each subset; more are
    searched by adding the best model again and again, then by joining, leaving and swapping until nothing helps.
    That result is never below keeping all and never below the best single model. Averaged by fedpdp, as the paper
    does (Eq. 5).

    Differs from the paper: the classification loss is maximised there as printed, which would keep the worst models,
    and takes the logarithm of a logit; here the log-likelihood of the softmax is maximised. Of subsets that score the
    same the larger is kept, and of equally large ones the first in an order of clients drawn anew each round. The
    paper has no search above the exact one. A model whose logits are not finite is left out; when that is all of
    them, nobody is kept.
    """

    score: Score = "accuracy"
    exact_up_to: int = 14

    def __post_init__(self) -> None:
        if not 1 <= self.exact_up_to <= _MOST_EXACT:
            raise UsageError(f"fedca: exact_up_to must be from 1 to {_MOST_EXACT}, got {self.exact_up_to}")

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.key_ = int(rng.integers(2**63))
        self.rounds_ = 0

    def keep(self, replies: Replies, bench: Workbench) -> np.ndarray:
        lots = client_uniforms(stream(self.key_, "ties", self.rounds_), replies.ids)
        order = [int(row) for row in np.argsort(lots) if np.isfinite(bench.logits(int(row))).all()]
        mask = np.zeros(len(replies.ids), bool)
        if order:
            chosen = best_subset([bench.logits(row) for row in order], bench.labels, self.score, self.exact_up_to)
            mask[np.array(order)[chosen]] = True
        return mask

    def update(self, replies: Replies, kept: np.ndarray, model: np.ndarray) -> None:  # noqa: ARG002
        self.rounds_ += 1


def best_subset(
    logits: Sequence[np.ndarray], labels: np.ndarray, score: Score = "accuracy", exact_up_to: int = 14
) -> np.ndarray:
    """A mask of the models, each (samples, classes), whose mean logits score highest; of equals the first found."""
    ensemble = Ensemble(logits, labels, score)
    return _exact(ensemble) if len(logits) <= exact_up_to else _greedy(ensemble)


def _exact(ensemble: Ensemble) -> np.ndarray:
    """Every non-empty subset, in the order of the Gray code: each differs from the one before by one model.

    Those that a quick look rules out are passed over; the rest are scored as they always were.
    """
    best = (-np.inf, 0)
    worth = ensemble.worth_ranking()
    for step in range(1, len(worth)):
        subset = step ^ step >> 1
        if worth[subset]:
            ensemble.become(subset)
            rank = ensemble.rank()
            if rank > best:
                best, winner = rank, ensemble.members.copy()
    return winner


def _greedy(ensemble: Ensemble) -> np.ndarray:
    """Add the best model until all are in, go back to the best point on the way, then improve it by swaps."""
    best = (-np.inf, 0)
    for _ in ensemble.members:
        outside = np.flatnonzero(~ensemble.members)
        ensemble.flip(max(outside.tolist(), key=lambda row: _after(ensemble, [row])))
        rank = ensemble.rank()
        if rank > best:
            best, winner = rank, ensemble.members.copy()
    for row in np.flatnonzero(~winner).tolist():
        ensemble.flip(row)
    while (better := _sweep(ensemble, best)) > best:
        best = better
    return ensemble.members.copy()


def _sweep(ensemble: Ensemble, best: tuple[float, int]) -> tuple[float, int]:
    """Lets each model join or leave, then each member change places; every gain is taken at once."""
    rows = range(len(ensemble.members))
    moves = [[row] for row in rows] + [[row, other] for row in rows for other in range(row)]
    for move in moves:
        inside = ensemble.members[move]
        if len(move) == 2 and inside[0] == inside[1]:
            continue
        if inside.all() and np.count_nonzero(ensemble.members) == 1:
            continue  # the last member stays
        rank = _after(ensemble, move)
        if rank > best:
            best = rank
            for row in move:
                ensemble.flip(row)
    return best


def _after(ensemble: Ensemble, move: list[int]) -> tuple[float, int]:
    """The rank if these models joined or left."""
    for row in move:
        ensemble.flip(row)
    rank = ensemble.rank()
    for row in move:
        ensemble.flip(row)
    return rank

"""After training: which replies count, how they are averaged, and what the server works out from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from flwr.app import ArrayRecord
from flwr.serverapp.strategy import FedAvg, Strategy

from callup.aggregation.blend import blended, next_model
from callup.aggregation.contribution import measure_of, server_signals
from callup.aggregation.workbench import ModelBench
from callup.core.catalogue import AVERAGES, FILTERS
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.randomness import stream
from callup.core.selector import Average, Filter, Method, Workbench
from callup.core.signals import Ask
from callup.core.types import Plan, Replies, Selection
from callup.core.verify import kept
from callup.flower.validation import Judgement, Validation


class Judge:
    """The filter and the average of a run, where there are any, and the workbench they share."""

    def __init__(
        self,
        strategy: Strategy,
        filter: str | Filter | None,
        average: str | Average | None,
        validation: Judgement | None,
        seed: int,
    ) -> None:
        self.filter = FILTERS.make(filter) if filter is not None else None
        self.average = AVERAGES.make(average) if average is not None else None
        self.validation, self._seed = validation, seed
        if self.average is not None and type(strategy).aggregate_train is not FedAvg.aggregate_train:
            raise UsageError(
                f"average='{self.average.card.name}' replaces the averaging of FedAvg; {type(strategy).__name__} has "
                f"one of its own. Use FedAvg, or leave average out"
            )
        if self.filter is not None and self.filter.card.name == "fedca" and not isinstance(validation, Validation):
            raise UsageError(
                "fedca judges local models on held-out data of the server: "
                "Selecting(..., validation=callup.flower.Validation(logits, labels))"
            )

    @property
    def served(self) -> set[str]:
        """Facts that the server works out by itself."""
        facts = {"kept"} if self.filter is not None else set()
        if self.class_gradients is not None:
            facts.add("class_gradients")
        return facts | ({"contribution"} if self.validation is not None else set())

    @property
    def classes(self) -> int | None:
        """As far as the held-out data tell."""
        return int(np.max(self.validation.labels)) + 1 if isinstance(self.validation, Validation) else None

    @property
    def class_gradients(self) -> Callable[[ArrayRecord], np.ndarray] | None:
        return self.validation.class_gradients if isinstance(self.validation, Validation) else None

    @property
    def needs_models(self) -> bool:
        return self.filter is not None or self.average is not None

    @property
    def profile(self) -> list[str]:
        """What must be known of every client before the first round."""
        of_all = self.average is not None and self.average.card.name in ("fedpdp", "fedavg-stale")
        return ["num_examples"] if of_all else []

    @property
    def needs_steps(self) -> bool:
        return self.average is not None and self.average.card.name == "fednova"

    def methods(self) -> Iterator[tuple[str, Method]]:
        if self.filter is not None:
            yield "filter", self.filter
        if self.average is not None:
            yield "average", self.average

    def start(self, clients: Clients, plan: Plan) -> None:
        for role, method in self.methods():
            method.start(clients, plan, stream(self._seed, "start", role))

    def judge(
        self, index: int, replies: Replies, selection: Selection, clients: Clients, like: ArrayRecord, asks: list[Ask]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """A mask over the replies, true where kept, and the facts worked out from them."""
        used = np.ones(len(replies.ids), bool)
        if not len(replies.ids):
            return used, {}
        facts = {}
        if len(replies.models):  # otherwise nobody asked for them
            bench = self._bench(replies, selection, clients, like)
            if self.filter is not None:
                used = kept(self.filter, replies, bench)
            if self.validation is not None:
                facts = server_signals(asks, bench, replies, stream(self._seed, "server", index))
        if any(ask.signal.name == "kept" for ask in asks):
            facts["kept"] = used.astype(np.float64)
        return used, facts

    def combined(self, replies: Replies, selection: Selection, clients: Clients) -> np.ndarray:
        """The next model by the average chosen, or the mean weighted by size."""
        if self.average is None:
            weights = selection.weights_of(replies.ids)
            return blended(replies.start, replies, replies.num_examples if weights is None else weights)
        return next_model(self.average, replies.start, replies, _sized(clients, replies), selection)

    def learn(self, replies: Replies, used: np.ndarray, model: np.ndarray) -> None:
        if self.filter is not None and len(replies.ids):
            self.filter.update(replies, used, model)

    def _bench(self, replies: Replies, selection: Selection, clients: Clients, like: ArrayRecord) -> Workbench:
        def combine(rows: np.ndarray) -> np.ndarray:
            return self.combined(replies.only(np.isin(np.arange(len(replies.ids)), rows)), selection, clients)

        if self.validation is not None:
            return self.validation.bench(replies, like, combine)
        # Nothing to judge by: a filter that looks at held-out data is refused above, others never ask.
        return ModelBench(replies, lambda _: np.zeros((1, 1)), np.zeros(1, np.int64), combine)


def check_options(asks: Iterable[Ask]) -> None:
    """A misspelt option of a need is refused before the first round, not after it."""
    for ask in asks:
        if ask.signal.name == "contribution":
            measure_of(ask)


def _sized(clients: Clients, replies: Replies) -> Clients:
    """A table with sizes: as told before the first round, or else as the replies say."""
    if "num_examples" in clients:
        return clients
    return Clients(replies.ids, num_examples=replies.num_examples)

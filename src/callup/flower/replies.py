"""Every reply is checked before it is averaged and before a selector learns from it.

Left to itself a stock strategy lets one bad reply ruin or end a run: NaN spreads over the whole model, a wrong shape
or an extra metric raises, a claim of 10**18 samples replaces the model by one client's.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from flwr.app import Message, MetricRecord, RecordDict

from callup.core.errors import InputError
from callup.flower import wire
from callup.flower.bad_reply import BadReply
from callup.flower.exchange import reason_of
from callup.flower.forms import Form, form_of, usual


@dataclass(frozen=True)
class GoodReply:
    """A reply that passed every check."""

    client: int
    model: np.ndarray | None
    """The local model as one vector, where somebody needs it."""
    num_examples: float
    signals: Mapping[str, np.ndarray]
    seconds: float


@dataclass
class Checks:
    """What a reply must be. Which metrics it carries is settled by what most replies of the run so far carry."""

    weight_key: str = "num-examples"
    most_examples: float = 1e9
    forms: Counter[Form] = field(default_factory=Counter)
    """How often metrics of each form have come."""

    def content(self, reply: Message) -> RecordDict:
        if reply.has_error():
            raise BadReply(f"error: {reason_of(reply)}", blame=False)
        return reply.content

    def metrics(self, content: RecordDict) -> MetricRecord:
        """The metrics: finite, and at least what others report too."""
        if len(content.metric_records) != 1:
            raise BadReply(f"carries {len(content.metric_records)} MetricRecords, expected one")
        record = next(iter(content.metric_records.values()))
        if self.weight_key not in record:
            raise BadReply(f"its metrics have no '{self.weight_key}'")
        if isinstance(record[self.weight_key], list):
            raise BadReply(f"'{self.weight_key}' must be one number, got a list")
        for key, value in record.items():
            if not all(_finite(number) for number in (value if isinstance(value, list) else [value])):
                raise BadReply(f"metric '{key}' is not finite: {str(value)[:40]}")
        self.forms[form_of(record)] += 1
        lacking = set(usual(self.forms)) - set(form_of(record))
        if lacking:
            raise BadReply(f"its metrics lack '{min(lacking)[0]}', or it has another form")
        return record

    def examples(self, metrics: MetricRecord, claimed: float | None) -> float:
        """The weight of the reply: no more than the client said it holds, where it said so.

        Data may have come in since; up to twice as many are cut to what was said, more are not believed.
        """
        count = metrics[self.weight_key]
        if isinstance(count, list) or not 0 < count <= self.most_examples:
            raise BadReply(f"'{self.weight_key}' must be above 0 and at most {self.most_examples:g}, got {count}")
        if claimed is None or count <= max(claimed, 1):
            return float(count)
        if count > 2 * max(claimed, 1):
            raise BadReply(f"'{self.weight_key}' is {count}, but it said it holds {claimed:g}")
        metrics[self.weight_key] = float(max(claimed, 1))
        return float(max(claimed, 1))


def told(content: RecordDict, wanted: list[str], metrics: MetricRecord, length: int) -> dict[str, np.ndarray]:
    """The facts asked for, from our own record or from the metrics; one that is missing or cannot be is refused."""
    note, facts = wire.note_of(content), {}
    for name in wanted:
        value = note.get(name, metrics.get(name, metrics.get(name.replace("_", "-"))))
        if value is None:
            raise MissingFact(name)
        try:
            facts[name] = wire.unpack(name, value)
        except InputError as problem:
            raise BadReply(str(problem)) from problem
        if name == "gradient" and len(facts[name]) != length:
            raise BadReply(f"its gradient has {len(facts[name])} numbers, the model has {length}")
    return facts


def _finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number too large for a float
        return False


class MissingFact(BadReply):
    """A fact that the selector needs is not in the reply."""

    def __init__(self, name: str) -> None:
        super().__init__(f"carries no '{name}'", blame=False)
        self.name = name

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
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict

from callup.core.errors import InputError
from callup.flower import wire
from callup.flower.exchange import reason_of
from callup.flower.forms import Form, form_of, usual

_HEADER = 4096  # bytes that a stored array may be longer than its numbers


class BadReply(Exception):
    """A reply that is set aside. `blame`: it can only come of a broken or lying client, not of bad luck."""

    def __init__(self, reason: str, blame: bool = True) -> None:
        super().__init__(reason)
        self.reason, self.blame = reason, blame


@dataclass(frozen=True)
class GoodReply:
    """A reply that passed every check."""

    client: int
    model: np.ndarray | None
    """The local model as one vector; None where models have no fixed shape."""
    num_examples: float
    signals: Mapping[str, np.ndarray]
    seconds: float


@dataclass
class Checks:
    """What a reply must be. Which metrics it carries is settled by what most replies of the run so far carry."""

    weight_key: str = "num-examples"
    furthest: float = 1e3
    """How many times its own length (at least 1) the model may be moved by one client."""
    most_examples: float = 1e9
    fixed_shapes: bool = True
    forms: Counter[Form] = field(default_factory=Counter)
    """How often metrics of each form have come."""

    def content(self, reply: Message) -> RecordDict:
        if reply.has_error():
            raise BadReply(f"error: {reason_of(reply)}", blame=False)
        return reply.content

    def model(self, content: RecordDict, start: ArrayRecord, start_vector: np.ndarray) -> np.ndarray | None:
        """The local model, of the same names, shapes and kinds of numbers as the one sent, finite and not too far."""
        if len(content.array_records) != 1:
            raise BadReply(f"carries {len(content.array_records)} ArrayRecords, expected one")
        arrays = next(iter(content.array_records.values()))
        if set(arrays) != set(start):
            odd = sorted(set(arrays) ^ set(start))
            raise BadReply(f"its arrays are not those of the model: '{odd[0]}' is in one of them only")
        if not self.fixed_shapes:
            return None
        parts = []
        for name, sent in start.items():
            array = arrays[name]
            expected = math.prod(sent.shape) * np.dtype(sent.dtype).itemsize
            if (
                len(array.data) > 2 * expected + _HEADER
            ):  # before it is unpacked; twice, for float64 in place of float32
                raise BadReply(f"array '{name}' has {len(array.data)} bytes, expected about {expected}")
            try:
                value = array.numpy()
            except (ValueError, TypeError, OSError, EOFError, MemoryError) as problem:
                raise BadReply(f"array '{name}' cannot be read: {problem}") from problem
            if value.shape != tuple(sent.shape):
                raise BadReply(f"array '{name}' has shape {value.shape}, expected {tuple(sent.shape)}")
            if value.dtype.kind != np.dtype(sent.dtype).kind:
                raise BadReply(f"array '{name}' holds {value.dtype}, expected {sent.dtype}")
            if value.dtype.kind in "fc" and not np.isfinite(value).all():
                raise BadReply(f"array '{name}' is not finite")
            parts.append(np.ravel(value).astype(np.float64))
        vector = np.concatenate(parts) if parts else np.empty(0)
        with np.errstate(over="ignore"):
            far = float(np.linalg.norm(vector - start_vector))
            limit = self.furthest * max(1.0, float(np.linalg.norm(start_vector.astype(np.float64))))
        if not far <= limit:
            raise BadReply(f"moves the model by {far:.3g}, at most {limit:.3g} is believed")
        return vector.astype(np.float32)

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
            if not np.isfinite(value).all():
                raise BadReply(f"metric '{key}' is not finite: {value}")
        self.forms[form_of(record)] += 1
        lacking = set(usual(self.forms)) - set(form_of(record))
        if lacking:
            raise BadReply(f"its metrics lack '{min(lacking)[0]}', or it has another form")
        return record

    def examples(self, metrics: MetricRecord, claimed: float | None) -> float:
        """The weight of the reply: what the client said it holds at most, where it said so."""
        count = metrics[self.weight_key]
        if isinstance(count, list) or not 0 < count <= self.most_examples:
            raise BadReply(f"'{self.weight_key}' must be above 0 and at most {self.most_examples:g}, got {count}")
        if claimed is not None and count > max(claimed, 1):
            raise BadReply(f"'{self.weight_key}' is {count}, but it said it holds {claimed:g}")
        return float(count)


def told(content: RecordDict, wanted: list[str], metrics: MetricRecord, length: int | None) -> dict[str, np.ndarray]:
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
        if name == "gradient" and length is not None and len(facts[name]) != length:
            raise BadReply(f"its gradient has {len(facts[name])} numbers, the model has {length}")
    return facts


class MissingFact(BadReply):
    """A fact that the selector needs is not in the reply."""

    def __init__(self, name: str) -> None:
        super().__init__(f"carries no '{name}'", blame=False)
        self.name = name

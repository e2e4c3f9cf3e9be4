"""The vocabulary of facts: what each one means, when it is known, what it costs and what it reveals.

A fact is known at one of four times: in the *profile* before any round, by *probe* of candidates before choosing,
in the *reply* of those who trained, or at the *server*, computed from the replies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from callup.core.errors import MissingSignal, UsageError, suggest
from callup.core.spec import parse_spec

Time = Literal["profile", "probe", "reply", "server"]
Shape = Literal["number", "row", "pairs", "total"]


@dataclass(frozen=True)
class Signal:
    """One fact. `shape`: a number or a row per client, a number per pair of clients, or one row for all together."""

    name: str
    times: tuple[Time, ...]
    shape: Shape
    meaning: str
    reveals: str
    cost: str = "none"
    lowest: float | None = None
    """Values below this are refused; None means any finite number."""


_ALL = (
    Signal("num_examples", ("profile",), "number", "how many training samples the client holds", "data size", lowest=0),
    Signal("label_counts", ("profile",), "row", "training samples of each class", "the label histogram", lowest=0),
    Signal(
        "label_gram",
        ("profile",),
        "pairs",
        "inner products of label counts, S[n,m] = sum_b D_n[b] D_m[b]",
        "label histograms up to the names of the classes",
        "one exchange, once",
        lowest=0,
    ),
    Signal(
        "global_counts",
        ("profile",),
        "total",
        "samples of each class in all",
        "the federation's label histogram",
        lowest=0,
    ),
    Signal(
        "features",
        ("profile",),
        "row",
        "a fixed description of the client, e.g. a SimHash of its inputs",
        "a fingerprint of the data",
    ),
    Signal("latency", ("profile",), "number", "expected seconds for one round", "device speed", lowest=0),
    Signal("owner", ("profile",), "number", "who runs the client; one owner may run many", "common ownership"),
    Signal(
        "loss",
        ("reply", "probe"),
        "number",
        "mean loss of the received model on the client's data, before training",
        "how well the model fits the client",
        "a forward pass; by probe also a model download",
    ),
    Signal(
        "batch_loss",
        ("probe",),
        "number",
        "as loss, on one random mini-batch",
        "how well the model fits the client, roughly",
        "a model download and one mini-batch",
    ),
    Signal(
        "accuracy",
        ("reply", "probe"),
        "number",
        "accuracy of the received model on the client's data",
        "how well the model fits the client",
        "a forward pass; by probe also a model download",
        lowest=0,
    ),
    Signal(
        "loss_rms",
        ("reply",),
        "number",
        "root mean square of per-sample loss, before training",
        "how well the model fits the client",
        "a forward pass",
        lowest=0,
    ),
    Signal(
        "train_loss",
        ("reply",),
        "number",
        "mean of the mini-batch losses during local training",
        "how well the model fits the client",
    ),
    Signal("local_steps", ("reply",), "number", "optimiser steps taken", "work done", lowest=0),
    Signal(
        "duration",
        ("reply",),
        "number",
        "seconds from being asked to replying, measured at the server",
        "device speed",
        lowest=0,
    ),
    Signal(
        "gradient",
        ("reply", "probe"),
        "row",
        "the full-batch gradient at the received model",
        "label shares and more; incompatible with secure aggregation",
        "one pass over the data, one more upload",
    ),
    Signal(
        "update",
        ("reply",),
        "row",
        "the local model minus the received one",
        "label shares and more; incompatible with secure aggregation",
    ),
    Signal(
        "skewness",
        ("reply",),
        "number",
        "how far the client's gradient lies from the mean of the cohort's, worked out by the client itself",
        "one number; works under secure aggregation",
        "one pass over the data, one more exchange for the mean",
        lowest=0,
    ),
    Signal(
        "kept",
        ("server",),
        "number",
        "1 if a filter kept the reply for averaging, else 0",
        "nothing new",
        lowest=0,
    ),
    Signal(
        "contribution",
        ("server",),
        "number",
        "what the reply added to the aggregate's quality on validation data",
        "needs individual models; incompatible with secure aggregation",
        "validation passes at the server",
    ),
    Signal(
        "class_gradients",
        ("server",),
        "row",
        "mean squared gradient of the local model on each class of held-out data",
        "label shares; incompatible with secure aggregation",
        "backward passes at the server",
        lowest=0,
    ),
)

SIGNALS: dict[str, Signal] = {signal.name: signal for signal in _ALL}


def signal(name: str) -> Signal:
    """The signal of this name, with a suggestion when there is none."""
    if name not in SIGNALS:
        raise UsageError(f"unknown signal '{name}'{suggest(name, SIGNALS)}")
    return SIGNALS[name]


@dataclass(frozen=True)
class Ask:
    """One signal wanted at one time; `options` tune how the server computes it."""

    signal: Signal
    time: Time
    options: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        time = "" if self.time == self.signal.times[0] else f"@{self.time}"
        options = ",".join(f"{key}={value}" for key, value in self.options.items())
        return self.signal.name + time + (f":{options}" if options else "")


@dataclass(frozen=True)
class Need:
    """Alternatives, the first one the runtime can supply is used; an optional need may go unmet."""

    any_of: tuple[Ask, ...]
    optional: bool = False

    def __str__(self) -> str:
        return "|".join(map(str, self.any_of)) + ("?" if self.optional else "")


class Needs(tuple[Need, ...]):
    """What a selector asks for, written as words.

    `"num_examples"`, `"label_counts|label_gram"` (either), `"duration?"` (if there is one), `"loss@probe"`
    (asked before choosing), `"contribution:by=shapley"` (computed at the server in a certain way).
    """

    @classmethod
    def of(cls, words: Iterable[str]) -> Needs:
        return cls(_need(word) for word in words)

    def at(self, *times: Time) -> Iterator[Ask]:
        """Every ask, alternatives included, that falls in one of these times."""
        return (ask for need in self for ask in need.any_of if ask.time in times)

    def settle(self, can: Callable[[Ask], bool], who: str) -> list[Ask]:
        """For each need the first alternative the runtime can supply; a need that cannot be met is refused."""
        chosen: list[Ask] = []
        for need in self:
            found = next((ask for ask in need.any_of if can(ask)), None)
            if found is not None:
                chosen.append(found)
            elif not need.optional:
                raise MissingSignal(f"{who} needs {need}, which this runtime cannot supply")
        return chosen

    def names(self, *times: Time) -> list[str]:
        """Names of the signals, without repeats, in the order declared."""
        wanted = times or ("profile", "probe", "reply", "server")
        return list(dict.fromkeys(ask.signal.name for ask in self.at(*wanted)))


def _need(word: str) -> Need:
    optional = word.endswith("?")
    return Need(tuple(_ask(part) for part in word.removesuffix("?").split("|")), optional)


def _ask(word: str) -> Ask:
    name, loose, options = parse_spec(word)
    if loose:
        raise UsageError(f"cannot read '{loose[0]}' in the need '{word}': options are written key=value")
    name, _, time = name.partition("@")
    found = signal(name)
    if time and time not in found.times:
        raise UsageError(f"signal '{name}' is known at {' or '.join(found.times)}, not at '{time}'")
    chosen: Time = next((t for t in found.times if t == time), found.times[0])
    return Ask(found, chosen, options)

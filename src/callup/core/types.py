"""What passes between a runtime and a selector in one round; all of it read-only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import ContractError, InputError, MissingSignal, UsageError
from callup.core.index import Ids, as_ids, repeated
from callup.core.randomness import stream
from callup.core.signals import signal

Probe = Callable[[str, Ids], np.ndarray]


def check_k(k: int, what: str = "k") -> int:
    """How many clients to choose: a whole number of at least 1."""
    if isinstance(k, bool) or not hasattr(k, "__index__") or int(k) < 1:
        raise UsageError(f"{what} must be a whole number of at least 1, got {k!r}")
    if int(k) >= 2**63:
        raise UsageError(f"{what} must be a whole number below 2**63")
    return int(k)


@dataclass(frozen=True)
class Plan:
    """What is meant to happen: k clients a round, for so many rounds, over so many classes (None: not known)."""

    k: int
    rounds: int | None = None
    classes: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_k(self.k))
        for name in ("rounds", "classes"):
            if getattr(self, name) is not None:
                check_k(getattr(self, name), name)


def _no_probe(name: str, ids: Ids) -> np.ndarray:
    raise InputError(f"this runtime cannot probe clients, asked for '{name}' of {len(ids)} clients")


@dataclass(frozen=True)
class Round:
    """All a selector may look at. `available` is sorted; `rng` is this round's own stream."""

    index: int
    available: Ids
    clients: Clients
    rng: np.random.Generator
    probe: Probe = _no_probe
    """Asks clients now: one value or row each, NaN for silence. Every question is priced and recorded."""

    def __post_init__(self) -> None:
        check_k(self.index, "round index")
        available = _read_only(np.sort(as_ids(self.available, "available")))
        twice = repeated(available)
        if twice is not None:
            raise InputError(f"client {twice} is available twice")
        self.clients.index.rows(available)  # an unknown client is refused here, by name
        object.__setattr__(self, "available", available)


@dataclass(frozen=True)
class Selection:
    """Who is called up: distinct ids, most wanted first, and why."""

    ids: Ids
    weights: np.ndarray | None = None
    """Aggregation weights for unbiased schemes: a client drawn twice weighs twice."""
    scores: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Parts of each chosen client's score, aligned with `ids`; NaN where a client kept silent when it was probed."""
    notes: Mapping[str, float] = field(default_factory=dict)
    of_models: bool = False
    """Weights say how much of each local model is in the next one, also for rules that weigh updates otherwise."""
    whole: bool = False
    """Weights are parts of one whole: what a client that does not reply would have changed stays as it was."""

    def __post_init__(self) -> None:
        ids = np.asarray(self.ids)
        if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
            raise ContractError(f"a selection holds whole client ids, got {ids.dtype} of shape {ids.shape}")
        ids = ids.astype(np.int64)
        object.__setattr__(self, "ids", ids)
        twice = repeated(np.sort(ids))
        if twice is not None:
            raise ContractError(f"client {twice} was selected twice; repeats belong in weights")
        parts: dict[str, Any] = dict(self.scores)
        if self.weights is not None:
            parts["weights"] = self.weights
        for name, part in parts.items():
            if np.shape(part) != (len(ids),):
                raise ContractError(f"{name} has shape {np.shape(part)} for {len(ids)} selected clients")
        if self.weights is not None and not (np.isfinite(self.weights) & (np.asarray(self.weights) > 0)).all():
            raise ContractError(f"weights must be positive and finite, got {np.asarray(self.weights)}")
        for name in ("of_models", "whole"):
            if getattr(self, name) and self.weights is None:
                raise ContractError(f"a selection without weights cannot say what they mean; leave {name} out")

    def weights_of(self, ids: Ids) -> np.ndarray | None:
        """Aggregation weights of these clients, where there are any."""
        if self.weights is None:
            return None
        order = np.argsort(self.ids)
        return np.asarray(self.weights)[order[np.searchsorted(self.ids, ids, sorter=order)]]

    def step(self, replied: Ids, needed: int) -> float:
        """How far the model goes towards the average of these: all the way, unless parts of a whole are missing.

        More may have been asked than are needed; parts count as if those needed were all.
        """
        weights, needed = self.weights_of(replied), min(needed, len(self.ids))
        if weights is None or not self.whole or len(replied) >= needed:
            return 1.0
        return min(1.0, float(weights.sum() / np.sum(np.asarray(self.weights))) * len(self.ids) / needed)


@dataclass(frozen=True)
class Feedback:
    """What came of one selection; arrives once for each, also when nobody replied."""

    index: int
    ids: Ids
    """Who reported. Everyone asked is in `ids` or in `failed`."""
    signals: Mapping[str, np.ndarray]
    """Facts aligned with `ids`."""
    clients: Clients
    failed: Mapping[int, str] = field(default_factory=dict)
    """Id to reason: no reply, refused by a check, or not needed any more."""
    probed: Mapping[str, tuple[Ids, np.ndarray]] = field(default_factory=dict)
    """What `select` asked and heard."""
    notes: Mapping[str, float] = field(default_factory=dict)
    """What the selection noted, e.g. which tier it drew from."""
    rng: np.random.Generator = field(default_factory=lambda: stream(0, "feedback"))
    """For estimators that sample."""

    def __post_init__(self) -> None:
        check_k(self.index, "round index")
        ids = as_ids(self.ids, "feedback ids")
        twice = repeated(np.sort(ids))
        if twice is not None:
            raise InputError(f"client {twice} reported twice in round {self.index}")
        self.clients.index.rows(ids)
        self.clients.index.rows(as_ids(self.failed, "ids of failed clients"))
        both = set(ids.tolist()) & set(self.failed)
        if both:
            raise InputError(f"client {min(both)} is said to have both reported and failed in round {self.index}")
        object.__setattr__(self, "ids", _read_only(ids))
        checked = Signals((n, _checked(n, v, ids, self.index)) for n, v in self.signals.items())
        object.__setattr__(self, "signals", checked)

    @property
    def asked(self) -> Ids:
        """Everyone who was asked, sorted."""
        if not self.failed:
            return np.sort(self.ids)
        return np.union1d(self.ids, np.fromiter(self.failed, np.int64, len(self.failed)))


class Signals(dict[str, np.ndarray]):
    """Facts by name; one that was not supplied is refused in a sentence."""

    def __missing__(self, name: str) -> np.ndarray:
        raise MissingSignal(f"the replies of this round carry no '{name}'; known: {', '.join(self) or 'none'}")


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()  # the caller's own array stays writable
    view.setflags(write=False)
    return view


def _checked(name: str, value: np.ndarray, ids: Ids, index: int) -> np.ndarray:
    """A reported signal: known by name, numbers, one entry for each client, finite and in its range."""
    known = signal(name)
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must be numbers, got {array.dtype}")
    dims = 1 if known.shape == "number" else 2
    if array.ndim != dims or len(array) != len(ids):
        raise InputError(f"{name} must hold one {known.shape} for each of {len(ids)} clients, got shape {array.shape}")
    bad = ~np.isfinite(array)
    if known.lowest is not None:
        bad |= array < known.lowest
    if bad.any():
        where = tuple(np.argwhere(bad)[0])
        floor = "" if known.lowest is None else f" of at least {known.lowest:g}"
        raise InputError(
            f"round {index}, client {ids[where[0]]}: {name} must be a finite number{floor}, got {array[where]}; "
            f"leave this client out of ids and name it in failed"
        )
    return _read_only(array)


@dataclass(frozen=True)
class Replies:
    """Good replies of one round: what filters choose from and averages combine. Models are flat vectors."""

    ids: Ids
    start: np.ndarray
    """The global model they started from."""
    models: np.ndarray
    """One row for each client."""
    num_examples: np.ndarray
    local_steps: np.ndarray
    signals: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def updates(self) -> np.ndarray:
        return np.asarray(self.models - self.start)

    def only(self, mask: np.ndarray) -> Replies:
        """The replies where the mask is true."""
        return Replies(
            self.ids[mask],
            self.start,
            self.models[mask],
            self.num_examples[mask],
            self.local_steps[mask],
            {name: value[mask] for name, value in self.signals.items()},
        )

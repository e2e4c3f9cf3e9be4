"""A little loop that plays rounds with a selector: ask, reply, update. Every check drives selectors through it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import ContractError
from callup.core.index import Ids
from callup.core.randomness import stream
from callup.core.selector import Selector
from callup.core.signals import Ask
from callup.core.types import Feedback, Plan, Round, Selection
from callup.core.verify import ask
from callup.testing.federation import Federation, supplies
from callup.testing.watched import Undeclared, WatchedClients, WatchedSignals

Make = Callable[[], Selector]
Check = Callable[[Make], None]
Who = Callable[[int, Ids], Ids]
"""Of these clients, who, in this round."""

HORIZON = 30


def everyone(index: int, ids: Ids) -> Ids:  # noqa: ARG001
    return ids


def nobody(index: int, ids: Ids) -> Ids:  # noqa: ARG001
    return ids[:0]


def drivers(make: Make, world: Federation, **settings: Any) -> Iterator[Driver]:
    """One driver for each way of supplying what the selector needs, each with a selector of its own."""
    with blaming("it cannot be made"):
        ways = supplies(make().needs)
    for asks in ways:
        yield Driver(make(), world, asks, **settings)


@contextmanager
def blaming(what: str) -> Iterator[None]:
    """Turns whatever goes wrong inside into one sentence.

    A warning that nobody wrote, such as a division by zero, counts as going wrong; one written for the user does not.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UserWarning)
            yield
    except Undeclared as broken:
        raise AssertionError(f"{what}: it {broken}") from broken
    except AssertionError:
        raise
    except ContractError as broken:
        raise AssertionError(f"{what}: {broken}") from broken
    except Exception as broken:
        raise AssertionError(f"{what}: {type(broken).__name__}: {broken}") from broken


@dataclass
class Driver:
    """One selector in one federation. Nothing is handed over that was not declared."""

    selector: Selector
    world: Federation
    asks: list[Ask]
    k: int = 4
    seed: int = 0
    online: Who = everyone
    replies: Who = everyone
    extra: int = 0
    """How many more than k are asked for: over-commit."""
    shuffled: bool = False
    """Rows, available clients and replies come in another order."""
    bare: bool = False
    """A round without replies carries no signals at all, as a runtime has none to show."""
    probed: dict[str, tuple[Ids, np.ndarray]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clients = self._table()

    def twin(self, make: Make, **changes: Any) -> Driver:
        """Another selector in the same circumstances, but for what is changed."""
        return replace(self, **{"selector": make(), "probed": {}, **changes})

    @property
    def given(self) -> str:
        return ", ".join(map(str, self.asks)) or "nothing"

    def start(self) -> Driver:
        with blaming(f"start fails when given {self.given}"):
            plan = Plan(self.k, HORIZON, self.world.classes)
            self.selector.start(self.clients, plan, stream(self.seed, "start"))
        return self

    def move(self, world: Federation) -> None:
        """Clients joined or left."""
        self.world = world
        self.clients = self._table()
        with blaming("roster fails when clients join and leave"):
            self.selector.roster(self.clients, stream(self.seed, "roster", len(world.ids)))

    def now(self, index: int) -> Round:
        self.probed = {}
        available = self._in_order(self.online(index, self.world.ids), index)
        return Round(index, available, self.clients, stream(self.seed, "select", index), self._probe(index, available))

    def select(self, index: int) -> Selection:
        now = self.now(index)
        with blaming(f"select fails in round {index}, {len(now.available)} online, given {self.given}"):
            return ask(self.selector, now, self.k + self.extra)

    def feedback(self, index: int, selection: Selection) -> Feedback:
        back = self._in_order(self.replies(index, selection.ids), index)
        missing = np.setdiff1d(selection.ids, back)
        names = {a.signal.name for a in self.asks if a.time in ("reply", "server")}
        empty = self.bare and not len(back)
        signals = {} if empty else {name: self.world.fact(name, back, index) for name in sorted(names)}
        failed = {int(i): "no reply" for i in missing}
        rng = stream(self.seed, "update", index)
        made = Feedback(index, back, signals, self.clients, failed, dict(self.probed), selection.notes, rng)
        declared = set(self.selector.needs.names("reply", "server"))
        object.__setattr__(made, "signals", WatchedSignals(dict(made.signals), declared))
        return made

    def update(self, feedback: Feedback) -> None:
        told = f"{len(feedback.ids)} replies, {len(feedback.failed)} failed, given {self.given}"
        with blaming(f"update fails in round {feedback.index}, {told}"):
            self.selector.update(feedback)

    def play(self, rounds: Iterable[int]) -> list[Selection]:
        """Whole rounds, one after the other."""
        done = []
        for index in rounds:
            selection = self.select(index)
            self.update(self.feedback(index, selection))
            done.append(selection)
        return done

    def _table(self) -> Clients:
        names = [a.signal.name for a in self.asks if a.time == "profile"]
        order = stream(self.seed, "rows").permutation(len(self.world.ids)) if self.shuffled else None
        return WatchedClients(self.world.clients(names, order), set(self.selector.needs.names("profile")))

    def _in_order(self, ids: Ids, index: int) -> Ids:
        return stream(self.seed, "order", index).permutation(ids) if self.shuffled else ids

    def _probe(self, index: int, available: Ids) -> Callable[[str, Ids], np.ndarray]:
        supplied = {a.signal.name for a in self.asks if a.time == "probe"}
        declared = set(self.selector.needs.names("probe"))

        def probe(name: str, ids: Ids) -> np.ndarray:
            if name not in declared:
                raise Undeclared(name, "probe", declared)
            if name not in supplied:
                raise ContractError(f"probes '{name}', which this runtime does not supply; it supplies {supplied}")
            strangers = np.setdiff1d(ids, available)
            if len(strangers):
                raise ContractError(f"probes client {strangers[0]}, which is not available in round {index}")
            answers = self.world.answers(name, np.asarray(ids), index)
            heard = [self.probed[name]] if name in self.probed else []
            heard.append((np.asarray(ids), answers))
            self.probed[name] = (np.concatenate([i for i, _ in heard]), np.concatenate([a for _, a in heard]))
            return answers

        return probe

"""Who can be chosen now: nodes that are online, known, idle and allowed, as a table of clients."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from logging import INFO, WARNING
from typing import Any

import numpy as np
from flwr.common import log
from flwr.serverapp import Grid

from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.core.index import Ids
from callup.core.selector import Selector
from callup.core.signals import Ask
from callup.flower.busy import Busy
from callup.flower.greeting import Acquaintances, Card
from callup.flower.options import Options
from callup.flower.supply import settle, table

_PAUSE = 0.5


@dataclass(frozen=True)
class Muster:
    """Those who may be chosen, and the table they are in."""

    everything: Clients
    clients: Clients
    """What the selector asked for and nothing else."""
    available: Ids
    changed: bool
    """Clients have joined or left since the last round."""


class Crew:
    """Everybody met so far and what stands in the way of choosing them."""

    def __init__(self, selector: Selector, options: Options, served: set[str], profile: list[str]) -> None:
        self._selector, self._options, self._served, self._profile = selector, options, served, profile
        self._wanted = list(dict.fromkeys([*selector.needs.names("profile"), *profile]))
        self.known = Acquaintances()
        self.busy = Busy()
        self.asks: list[Ask] | None = None
        self.left_out: dict[int, str] = {}
        self._table: Clients | None = None

    def muster(self, grid: Grid, least: int) -> Muster | None:
        """Who may be chosen in this round; None if it is too few even after waiting."""
        online = self._wait(lambda: list(grid.get_node_ids()), least)
        busy = self.busy.nodes(grid)
        self.known.greet(grid, online, self._wanted, self._options.deadline)
        # Newcomers do not hold up the others: while enough are known, their answers are read when they are there.
        enough = sum(self.known.roster.client(node) is not None for node in online) >= max(least, self._options.k)
        patience = 0.0 if enough and self.asks is not None else min(self._options.wait, self._options.deadline)
        new = self.known.hear(grid, online, patience)
        if not self.known.cards:  # a node that never answers holds up nobody, but somebody has to
            new = self.known.hear(grid, online, self._options.deadline)
        changed = self._learn(new) if new or self._table is None else False
        if self._table is None:
            return None
        clients = {self.known.roster.client(node) for node in online if node not in busy}
        usable = set(self._table.ids.tolist())
        here = np.array(sorted(c for c in clients if c is not None and c in usable and self.allowed(c)), np.int64)
        return Muster(self._table, self._visible(self._table), here, changed)

    def _wait(self, online: Callable[[], list[int]], least: int) -> list[int]:
        ends = time.monotonic() + self._options.wait
        nodes, told = online(), False
        while len(nodes) < least and time.monotonic() < ends:
            if not told:
                log(
                    INFO,
                    "callup: %d of %d nodes are connected; waiting up to %g s",
                    len(nodes),
                    least,
                    self._options.wait,
                )
                told = True
            time.sleep(min(_PAUSE, self._options.wait))
            nodes = online()
        return nodes

    def _learn(self, new: list[int]) -> bool:
        cards = self.known.cards
        if not cards:
            return False
        before, self.asks = self.asks, settle(self._selector, self.known, self._served, self.asks)
        for ask in before or ():
            if ask not in self.asks:
                log(WARNING, "callup: not all clients answer '%s'; it is asked no more", ask.signal.name)
        fresh, self.left_out = table(cards, self.asks, self._profile)
        for client in new:
            if client in self.left_out:
                log(WARNING, "callup: client %s is left out: %s", self.known.roster.name(client), self.left_out[client])
        if fresh is None:
            client, reason = next(iter(self.left_out.items()))
            name = self.known.roster.name(client)
            raise InputError(f"no client can be used by {self._selector.card.name}; client '{name}': {reason}")
        self._table = fresh
        return True

    def allowed(self, client: int) -> bool:
        """Whether the options let this client take part."""
        options, name = self._options, self.known.roster.name(client)
        if (options.only is not None and name not in options.only) or name in options.without:
            return False
        card = self.known.cards.get(client)
        return all(_has(card, tag, value) for tag, value in options.tags.items())

    def _visible(self, everything: Clients) -> Clients:
        return everything.only(*(ask.signal.name for ask in self.asks or () if ask.time == "profile"))


def _has(card: Card | None, tag: str, value: Any) -> bool:
    if card is None or tag not in card.tags:
        return False
    allowed = value if isinstance(value, (list, tuple, set, frozenset)) else [value]
    return card.tags[tag] in allowed

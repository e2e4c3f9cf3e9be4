"""How often clients may be called: the rules in force in one run, and the list they are applied to."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from callup.core.errors import UsageError
from callup.core.index import Ids
from callup.core.selector import Selector
from callup.core.types import Round, Selection, check_k
from callup.core.verify import ask
from callup.guard.quota import ADVANCE

USUAL_CAP = 1.5


@dataclass(frozen=True)
class Limits:
    """A cap for everybody, calls in advance, and a purse of places for those who are wanted more than that."""

    cap: float
    """Times its fair share that a client may be called."""
    advance: int = ADVANCE
    """Calls that anybody may have at first."""
    extra: float = 0.0
    """Share of all places that may go to clients beyond their cap, the most wanted first."""
    most: float = math.inf
    """Times its fair share that nobody exceeds, places out of the purse included."""

    def __post_init__(self) -> None:
        if not self.cap >= 1:
            raise UsageError(f"guard: cap must be at least 1, or not all places can be filled, got {self.cap:g}")
        if not 0 <= self.extra < 1:
            raise UsageError(f"guard: extra must be a share from 0 to below 1, got {self.extra:g}")
        if not self.most >= self.cap:
            raise UsageError(f"guard: most is {self.most:g}, below the cap, {self.cap:g}")
        check_k(self.advance, "guard: advance")


def settled(selector: Selector, cap: float | None, advance: int | None, extra: float | None, most: float) -> Limits:
    """What was asked for, and where nothing was, what the method needs to be itself."""
    drawn = selector.card.with_replacement  # its list is a draw and not an order, so no purse
    purse = 0.0 if drawn else selector.purse
    if cap is None and purse:
        # Room beyond the usual comes out of the purse alone, however large that is.
        cap, most = USUAL_CAP, min(most, max(USUAL_CAP, selector.favour))
        extra = purse if extra is None else extra
    if cap is None:
        cap = max(USUAL_CAP, selector.favour)
    if advance is None:
        advance = max(ADVANCE, selector.head_start)
    return Limits(cap, advance, 0.0 if drawn else extra or 0.0, most)


def within_purse(selector: Selector, now: Round, k: int, beyond: Ids, purse: int) -> Selection:
    """The choice of k of whom no more than `purse` are `beyond` their cap.

    A method that chooses a group is asked for one. If too many of it are beyond their caps, the first of them stay
    available, the others do not, and it is asked again: a group that lost members would not be the one it wanted. One
    that probes clients is asked once, for a longer list, since every probe has a price.
    """
    if any(selector.needs.at("probe")):
        return listed(selector, now, k, beyond, purse)
    first = ask(selector, now, k)
    above = first.ids[np.isin(first.ids, beyond)]
    if len(above) <= purse:
        return _paid(first, beyond)
    left = np.union1d(np.setdiff1d(now.available, beyond), above[:purse])
    if len(left) < k:
        return listed(selector, now, k, beyond, purse)
    return _paid(ask(selector, dataclasses.replace(now, available=left), k), beyond)


def _paid(selection: Selection, beyond: Ids) -> Selection:
    extra = float(np.isin(selection.ids, beyond).sum())
    return dataclasses.replace(selection, notes={**selection.notes, "guard_extra": extra})


def listed(selector: Selector, now: Round, k: int, beyond: Ids, purse: int) -> Selection:
    """The k most wanted of whom no more than `purse` are `beyond` their cap.

    The selector names so many more clients that the list is long enough whoever is on it, and is read from the top.
    """
    beyond = np.intersect1d(now.available, beyond)
    wide = ask(selector, now, k + max(0, len(beyond) - purse))
    above = np.isin(wide.ids, beyond)
    allowed = ~above | (np.cumsum(above) <= purse)
    # Where too few are below their caps, the cap gives way rather than leave places empty.
    order = np.concatenate([np.flatnonzero(allowed), np.flatnonzero(~allowed)])
    keep = np.sort(order[:k])
    return dataclasses.replace(
        wide,
        ids=wide.ids[keep],
        weights=None if wide.weights is None else np.asarray(wide.weights)[keep],
        scores={name: np.asarray(part)[keep] for name, part in wide.scores.items()},
        notes={**wide.notes, "guard_extra": float(above[keep].sum())},
    )

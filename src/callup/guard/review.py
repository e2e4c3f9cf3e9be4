"""What is wrong with the replies of a round: one look at all of them, nothing learned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from callup.core.index import Ids
from callup.core.types import Replies
from callup.guard.consistency import contradicted
from callup.guard.copies import copies, same_direction
from callup.guard.record import Objection

_FEWEST_NUMBERS = 4  # in a vector: shorter ones share a direction by chance
_COMMON = ("not finite", "enormous update", "claimed labels")
"""What may be the fault of the model or the server, when most of a cohort does it."""


@dataclass(frozen=True)
class Looks:
    """What the guard measured of a round's replies, one row each, and what it remembers of before."""

    ids: Ids
    bad: np.ndarray
    """How many numbers of the reply are not finite."""
    idle: np.ndarray
    """Who trained for no steps: a client without samples has no loss to report, and is not to blame."""
    length: np.ndarray
    """Of the update."""
    usual_length: float
    """The median over clients; 0 when too little is known."""
    sketched: dict[str, np.ndarray]
    """Of the update, and of the gradient where one came."""
    global_change: np.ndarray | None
    """The sketch of what the last round did to the global model; None when nothing changed."""
    before: dict[str, np.ndarray]
    """Sketches of what each client sent last time; zeros when it never did."""
    agreement: np.ndarray
    usual_agreement: np.ndarray
    numbers: int


@dataclass(frozen=True)
class Verdict:
    """What was found in some replies of a round, and what it was found from."""

    replies: Replies
    look: Looks
    found: tuple[Objection, ...]

    @property
    def refused(self) -> dict[int, str]:
        """Whose reply is set aside, and why."""
        return {o.client: o.reason for o in self.found if o.refuses}

    @property
    def good(self) -> np.ndarray:
        """A mask over the replies."""
        return ~np.isin(self.replies.ids, list(self.refused))


def objections(look: Looks, huge: float, tolerance: float) -> list[Objection]:
    """Everything found, for each client the first of each kind; what most of the cohort did is excused."""
    found = list(_found(look, huge, tolerance))
    crowd = {name: sum(o.name == name for o in found) for name in _COMMON}
    most = max(len(look.ids), 2) / 2
    return [replace(o, excused=o.excused or crowd.get(o.name, 0) > most) for o in found]


def _found(look: Looks, huge: float, tolerance: float) -> Iterator[Objection]:
    broken = look.bad > 0
    for row in np.flatnonzero(broken):
        yield Objection(int(look.ids[row]), "not finite", float(look.bad[row]), excused=bool(look.idle[row]))
    if look.usual_length > 0:
        times = np.where(broken, 0.0, look.length) / look.usual_length
        for row in np.flatnonzero(times > huge):
            yield Objection(int(look.ids[row]), "enormous update", float(times[row]))
    if look.numbers >= _FEWEST_NUMBERS:
        yield from _copied(look, tolerance)
    for row in np.flatnonzero(contradicted(look.agreement, look.usual_agreement)):
        yield Objection(int(look.ids[row]), "claimed labels", float(look.agreement[row]))


def _copied(look: Looks, tolerance: float) -> Iterator[Objection]:
    told: set[tuple[int, str]] = set()
    for kind, rows in look.sketched.items():
        alike = copies(rows, tolerance)
        seen = {"copied update": alike}
        if look.global_change is not None:
            seen["replayed model"] = same_direction(rows, look.global_change, tolerance)
            seen["replayed update"] = same_direction(rows, look.before[kind], tolerance)
        for name, mask in seen.items():
            for row in np.flatnonzero(mask):
                client = int(look.ids[row])
                if (client, name) not in told:
                    told.add((client, name))
                    yield Objection(client, name, float(alike.sum()) if name == "copied update" else 0.0)


def not_finite(replies: Replies) -> np.ndarray:
    """How many numbers of each reply are not finite."""
    bad = (~np.isfinite(replies.models)).sum(axis=1)
    for value in replies.signals.values():
        bad = bad + (~np.isfinite(value)).reshape(len(value), -1).sum(axis=1)
    for number in (replies.num_examples, replies.local_steps):
        bad = bad + ~np.isfinite(number)
    return np.asarray(bad)

"""What each method asks clients for, what that reveals, and what it cost here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from callup.core.basis import went_by
from callup.core.catalogue import SELECTORS
from callup.core.errors import CallupError
from callup.core.signals import Needs
from callup.report.grouping import Method
from callup.simulation.run import Ledger

WHEN = {
    "profile": "once, before the first round",
    "probe": "before choosing, from candidates",
    "reply": "with the reply, from those who trained",
    "server": "computed at the server",
}


@dataclass(frozen=True)
class Question:
    """One fact a method uses; alternatives are listed together."""

    signal: str
    meaning: str
    when: str
    reveals: str
    cost: str


@dataclass(frozen=True)
class Asked:
    """Variants of one method that ask the same questions."""

    names: list[str]
    summary: str
    paper: str
    questions: list[Question]
    went_by: str
    """Of alternatives, the one it chose by in these runs, where it says so."""
    known: bool
    """False for a selector that this installation has no card of."""


@dataclass(frozen=True)
class Cost:
    """Means for one round."""

    messages: float
    bytes_down: float
    bytes_up: float
    probes: float
    local_steps: float


def asked(methods: Iterable[Method]) -> list[Asked]:
    """One entry for each method; variants that ask the same share one."""
    out: list[Asked] = []
    for method in {method.name: method for method in methods}.values():
        found = _asked(method)
        same = next((one for one in out if found.known and replace(one, names=found.names) == found), None)
        if same is None:
            out.append(found)
        else:
            same.names.append(method.name)
    return out


def _asked(method: Method) -> Asked:
    card = method.card
    if card is None:
        return Asked([method.name], "", "", [], "", False)
    questions = [
        Question(
            " or ".join(ask.signal.name for ask in need.any_of) + (" (if there is one)" if need.optional else ""),
            "; or ".join(dict.fromkeys(ask.signal.meaning for ask in need.any_of)),
            "; or ".join(dict.fromkeys(WHEN[ask.time] for ask in need.any_of)),
            "; or ".join(dict.fromkeys(ask.signal.reveals for ask in need.any_of)),
            "; or ".join(dict.fromkeys(ask.signal.cost for ask in need.any_of)),
        )
        for need in _needs(method)
    ]
    bases = (went_by((record.index, record.notes) for record in run.history) for run in method.runs)
    basis = "; ".join(dict.fromkeys(filter(None, bases)))
    return Asked([method.name], card.summary, card.paper, questions, basis, True)


def _needs(method: Method) -> Needs:
    """Of the variant that ran, which may ask for less than the card allows."""
    try:
        return SELECTORS.make(str(method.runs[0].settings.get("selector", ""))).needs
    except CallupError:
        return method.card.needs if method.card else Needs()


def cost(method: Method) -> Cost | None:
    """What one round took, over all rounds and seeds; None before the first round."""
    total, rounds = Ledger(), 0
    for run in method.runs:
        for record in run.history:
            total.add(record.ledger)
            rounds += 1
    if not rounds:
        return None
    return Cost(*(value / rounds for value in vars(total).values()))

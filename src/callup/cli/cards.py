"""Every kind of method there is, and what each card says as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callup.core.errors import UsageError, suggest

if TYPE_CHECKING:
    from callup.core.registry import Card, Registry
    from callup.core.signals import Need, Needs, Signal

SIGNAL_KIND = "signals"
WHEN = {
    "profile": "before any round",
    "probe": "before choosing, from candidates",
    "reply": "with the reply of those who trained",
    "server": "computed at the server",
}


def registries() -> dict[str, Registry[Any]]:
    """The catalogues by the word people type, selectors first."""
    from callup.core.catalogue import AVERAGES, FILTERS, SELECTORS
    from callup.partition.scheme import PARTITIONS
    from callup.simulation.adversaries.base import ADVERSARIES
    from callup.simulation.availability import AVAILABILITIES
    from callup.simulation.fault import FAULTS
    from callup.simulation.latency import LATENCIES
    from callup.simulation.task import TASKS

    return {
        "selectors": SELECTORS,
        "partitions": PARTITIONS,
        "tasks": TASKS,
        "averages": AVERAGES,
        "filters": FILTERS,
        "availability": AVAILABILITIES,
        "latency": LATENCIES,
        "faults": FAULTS,
        "adversaries": ADVERSARIES,
    }


def cards_of(kind: str) -> list[dict[str, Any]]:
    """All cards of one kind; a misspelt kind gets a suggestion."""
    from callup.core.signals import SIGNALS

    known = registries()
    if kind == SIGNAL_KIND:
        return [plain_signal(signal) for signal in SIGNALS.values()]
    if kind not in known:
        raise UsageError(f"nothing is called '{kind}'{suggest(kind, [*known, SIGNAL_KIND])}")
    return [plain_card(card, kind) for card in known[kind].cards()]


def plain_card(card: Card, kind: str) -> dict[str, Any]:
    """All a card says, as values JSON can hold."""
    return {
        "kind": kind,
        "name": card.name,
        "summary": card.summary,
        "idea": card.idea,
        "paper": card.paper,
        "needs": [_plain_need(need) for need in card.needs],
        "reveals": _reveals(card.needs),
        "cost": card.cost,
        "max_clients": card.max_clients,
        "parameters": [{"name": p.name, "kind": p.kind, "default": p.default} for p in card.parameters],
        "presets": {name: dict(values) for name, values in card.presets.items()},
        "differs": card.differs,
        "version": card.version,
    }


def plain_signal(signal: Signal) -> dict[str, Any]:
    return {
        "kind": SIGNAL_KIND,
        "name": signal.name,
        "summary": signal.meaning,
        "times": list(signal.times),
        "shape": signal.shape,
        "reveals": [signal.reveals],
        "cost": signal.cost,
    }


def _plain_need(need: Need) -> dict[str, Any]:
    """Alternatives, of which the first that can be had is used."""
    return {
        "spec": str(need),
        "optional": need.optional,
        "any_of": [
            {"signal": ask.signal.name, "time": ask.time, "meaning": ask.signal.meaning, "cost": ask.signal.cost}
            for ask in need.any_of
        ],
    }


def _reveals(needs: Needs) -> list[str]:
    """What somebody who hears the answers learns of a client."""
    return list(dict.fromkeys(ask.signal.reveals for need in needs for ask in need.any_of))

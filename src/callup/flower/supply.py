"""What clients can tell a selector: needs are settled against what they answer, and their facts become a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import InputError, MissingSignal
from callup.core.selector import Selector
from callup.core.signals import Ask
from callup.flower import wire
from callup.flower.greeting import Acquaintances, Card

ALWAYS = frozenset({"duration", "update", "train_loss", "local_steps"})
"""Facts of a reply that need no answer function: measured at the server, or read from the client's own metrics."""


def settle(
    selector: Selector, known: Acquaintances, served: Iterable[str], before: list[Ask] | None = None
) -> list[Ask]:
    """What this selector will be given: of alternatives the first that all clients answer, else one that some do.

    What is optional is asked only as long as all answer it: nobody is left out for that. `served`: what the server
    works out by itself. `before`: what was settled in earlier rounds, and stays but for what is optional.
    """
    at_server, cards = set(served), known.cards

    def by_all(ask: Ask) -> bool:
        return ask.signal.name in at_server or all(ask.signal.name in card.answers for card in cards.values())

    def by_some(ask: Ask) -> bool:
        return ask.signal.name in at_server or any(ask.signal.name in card.answers for card in cards.values())

    chosen: list[Ask] = []
    for need in selector.needs:
        open_to = need.any_of if before is None else tuple(filter(before.__contains__, need.any_of))[:1]
        found = next(filter(by_all, open_to), None)
        if found is None and not need.optional:
            found = next(filter(by_some, open_to), None)
        if found is not None:
            chosen.append(found)
        elif not need.optional:
            said = next((f" (client {known.roster.name(c)}: {why})" for c, why in known.complaints.items()), "")
            raise MissingSignal(
                f"{selector.card.name} needs {need}, and no client answers it{said}. {_remedy(need.any_of)}"
            )
    return chosen


def _remedy(asks: tuple[Ask, ...]) -> str:
    """The line to add."""
    first = asks[0]
    if first.signal.name == "contribution":
        return "Give the server data to judge by: Selecting(..., validation=callup.flower.Validation(logits, labels))"
    if first.signal.name == "kept":
        return 'Choose a filter: Selecting(..., filter="fedca", validation=...) or filter="cmfl"'
    if first.signal.name == "class_gradients":
        return "Measure them at the server: validation=callup.flower.Validation(logits, labels, class_gradients)"
    takes = "context" if first.time == "profile" else "arrays, context"
    return f"Add to the client app: callup.flower.answer(app, {first.signal.name}=lambda {takes}: ...)"


def table(cards: Mapping[int, Card], asks: list[Ask], more: list[str]) -> tuple[Clients | None, dict[int, str]]:
    """The clients that said all that was asked of them, and why the others are left out. `more`: asked by others."""
    profile = list(dict.fromkeys([*(ask.signal.name for ask in asks if ask.time == "profile"), *more]))
    later = [ask.signal.name for ask in asks if ask.time in ("probe", "reply")]
    left_out: dict[int, str] = {}
    rows: dict[int, Mapping[str, np.ndarray]] = {}
    lengths = {name: _usual_length(cards, name) for name in profile if wire.is_vector(name)}
    for client, card in sorted(cards.items()):
        lacks = [n for n in profile if n not in card.facts]
        lacks += [n for n in later if n not in card.answers and n not in ALWAYS]
        odd = [n for n, length in lengths.items() if n in card.facts and len(card.facts[n]) != length]
        if lacks:
            left_out[client] = f"answers no {lacks[0]}"
        elif odd:
            left_out[client] = f"its {odd[0]} has {len(card.facts[odd[0]])} entries, others have {lengths[odd[0]]}"
        else:
            row = {n: card.facts[n] for n in profile}
            try:
                Clients([client], **{n: np.asarray(v)[None] for n, v in row.items()})
                rows[client] = row
            except InputError as problem:
                left_out[client] = str(problem)
    if not rows:
        return None, left_out
    columns = {name: np.stack([row[name] for row in rows.values()]) for name in profile}
    return Clients(list(rows), **columns).only(*profile), left_out


def _usual_length(cards: Mapping[int, Card], name: str) -> int:
    lengths = [len(card.facts[name]) for card in cards.values() if name in card.facts]
    return max(sorted(set(lengths)), key=lengths.count) if lengths else 0

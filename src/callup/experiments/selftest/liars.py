"""Lying clients win no more places than the guard promises."""

from __future__ import annotations

import math
from pathlib import Path

from callup.core.catalogue import SELECTORS
from callup.experiments.selftest.finding import Seen
from callup.simulation.adversaries.base import ADVERSARIES
from callup.simulation.drill import drill

_CLIENTS, _K, _ROUNDS, _SHARE = 60, 6, 60, 0.2


def liars(folder: Path) -> Seen:  # noqa: ARG001
    """A fifth of the clients lie in every way there is, against every selector, guard on."""
    failures, cases = [], 0
    worst: dict[float, float] = {}  # of each promise
    noise = 3 * math.sqrt(0.3 * 0.7 / (_K * _ROUNDS))
    for card in SELECTORS.cards():
        if card.takes_everyone:
            continue
        for lie in ADVERSARIES.cards():
            seen = drill(card.name, f"{lie.name}:share={_SHARE}", "on", _CLIENTS, _K, _ROUNDS)
            cases += 1
            promised = 0.0 if seen.bound is None else round(seen.bound, 3)
            if seen.places > promised + noise:
                failures.append(f"{card.name}, {lie.name}: {seen.places:.0%} of places, promised {promised:.0%}")
            worst[promised] = max(worst.get(promised, 0.0), seen.places)
    won = sorted(worst.items())
    kept = ", ".join(f"{places:.0%} of the places where {bound:.0%} is promised" for bound, places in won)
    sentence = f"{cases} drills with 20% liars, {len(failures)} above the promise; at most {kept}"
    return Seen(sentence, cases, tuple(failures), {f"{bound:.0%}": places for bound, places in won})

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
    failures, worst, cases = [], 0.0, 0
    noise = 3 * math.sqrt(0.3 * 0.7 / (_K * _ROUNDS))
    for card in SELECTORS.cards():
        if card.takes_everyone:
            continue
        for lie in ADVERSARIES.cards():
            seen = drill(card.name, f"{lie.name}:share={_SHARE}", "on", _CLIENTS, _K, _ROUNDS)
            cases += 1
            if seen.bound is None or seen.places > seen.bound + noise:
                failures.append(f"{card.name}, {lie.name}: {seen.places:.0%} of places, promised {seen.bound}")
            worst = max(worst, seen.places)
    sentence = f"{cases} drills with 20 % liars: at most {worst:.0%} of the places, {len(failures)} above the promise"
    return Seen(sentence, cases, tuple(failures), {"worst": worst})

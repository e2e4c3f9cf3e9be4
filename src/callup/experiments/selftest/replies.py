"""Enough clients are asked for k of them to reply."""

from __future__ import annotations

from pathlib import Path

from callup.analytics.overcommit import cautious_dropout, smallest_ask
from callup.core.randomness import stream
from callup.experiments.selftest.finding import Seen

_K, _ROUNDS, _FADE = 10, 2000, 0.98


def replies(folder: Path) -> Seen:  # noqa: ARG001
    """Over-commit auto against true drop-out it has to find out, the generous first rounds included."""
    figures, failures = {}, []
    for chance in (0.1, 0.2, 0.3, 0.5):
        rng, lost, asked, reached = stream(0, "drop-out", round(100 * chance)), 0.0, 0.0, 0
        for _ in range(_ROUNDS):
            n = smallest_ask(_K, cautious_dropout(lost, asked))
            missing = int(rng.binomial(n, chance))
            lost, asked = _FADE * lost + missing, _FADE * asked + n
            reached += n - missing >= _K
        figures[f"{chance:.0%}"] = reached / _ROUNDS
        if reached < 0.99 * _ROUNDS:
            failures.append(f"at {chance:.0%} drop-out only {reached / _ROUNDS:.1%} of rounds had {_K} replies")
    worst = min(figures.values())
    sentence = f"{worst:.1%} of rounds or more had {_K} replies, at 10 to 50 % drop-out"
    return Seen(sentence, 4 * _ROUNDS, tuple(failures), figures)

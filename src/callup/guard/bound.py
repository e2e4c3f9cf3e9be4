"""What the guard promises: the most places that colluding clients can win, and the sentence that says so."""

from __future__ import annotations

from dataclasses import dataclass

from callup.core.errors import UsageError
from callup.guard.quota import strict_share


@dataclass(frozen=True)
class Bound:
    """The most places a share of the clients can win, and the settings it rests on."""

    share: float
    """Of the clients online that collude."""
    places: float
    """Of all places, at most."""
    cap: float
    pool: float | None

    def __str__(self) -> str:
        rules = [f"{self.share:.3g}/{self.pool:g}"] if self.pool is not None else []
        rules += [f"{self.cap:g} x {self.share:.3g}"]
        terms = f"min({', '.join(rules)})" if len(rules) > 1 else rules[0]
        return (
            f"{self.share:.0%} of the clients, whatever they report, get at most {terms} = {self.places:.0%} of places"
        )


def bound(share: float, cap: float, pool: float | None, turns: float | None = None) -> Bound:
    """min(f / lambda, c f): f the share of clients that collude, lambda the pool, c the cap.

    The pool's part counts only where the cap leaves enough clients to fill the pool: of n clients at most n / c can be
    at their cap. `turns` is how many fair turns a client has in the whole run, k rounds / n; None is a long run.
    """
    if not 0 <= share <= 1:
        raise UsageError(f"a share of clients is from 0 to 1, got {share:g}")
    places = strict_share(share, cap, turns)
    if pool is not None and 1 - 1 / cap >= pool:
        places = min(places, share / pool)
    return Bound(share, places, cap, pool)

"""What the guard promises: the most places that colluding clients can win, and the sentence that says so."""

from __future__ import annotations

from dataclasses import dataclass

from callup.core.errors import UsageError
from callup.guard.limits import Limits
from callup.guard.quota import ADVANCE_OF_THE_MOST


@dataclass(frozen=True)
class Bound:
    """The most places a share of the clients can win, and the rules it rests on."""

    share: float
    """Of the clients online that collude."""
    places: float
    """Of all places, at most."""
    rules: tuple[str, ...]
    """What each rule alone allows; the smallest counts."""
    settled: float | None = None
    """Fair turns after which it holds, where the length of the run is not known."""

    def __str__(self) -> str:
        terms = f"min({', '.join(self.rules)})" if len(self.rules) > 1 else self.rules[0]
        when = "" if self.settled is None else f", once each client had {self.settled:.3g} fair turns"
        return (
            f"{self.share:.0%} of the clients, whatever they report, get at most {terms} = {self.places:.0%} of places"
            f"{when}"
        )


def bound(share: float, limits: Limits, pool: float | None, turns: float | None = None) -> Bound:
    """min(f / lambda, c f + x, m f): f the share of clients that collude, lambda the pool, c the cap, x extra, m most.

    The pool's part counts only where the cap leaves enough clients to fill the pool: of n clients at most n / c can be
    at their cap. `turns` is how many fair turns a client has in the whole run, k rounds / n; None is a long run. In a
    short run c and m are what the calls in advance amount to, where that is more.
    """
    if not 0 <= share <= 1:
        raise UsageError(f"a share of clients is from 0 to 1, got {share:g}")
    rules: dict[str, float] = {}
    times, said = _times(limits.cap, limits.advance, turns)
    most = times * share + limits.extra
    if pool is not None and (1 - 1 / limits.cap >= pool or share / pool >= most):
        rules[f"{share:.3g}/{pool:g}"] = share / pool
    purse = f" + {limits.extra:g}" if limits.extra else ""
    rules[f"{said} x {share:.3g}{purse}"] = most
    if limits.extra:
        times, said = _times(limits.most, max(limits.advance, ADVANCE_OF_THE_MOST), turns)
        rules[f"{said} x {share:.3g}"] = times * share if share else 0.0
    settled = limits.advance / limits.cap if turns is None else None
    return Bound(share, min(1.0, *rules.values()), tuple(rules), settled)


def _times(cap: float, advance: int, turns: float | None) -> tuple[float, str]:
    """How many times its fair share a client may be called in the whole run."""
    if turns and advance / turns > cap:
        return advance / turns, f"{advance}/{turns:.3g}"
    return cap, f"{cap:g}"

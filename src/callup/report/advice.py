"""Which method to take, from runs in a federation like one's own: of those nearly the best, who asks for least.

Of those that ask for equally little the default is taken: it proved itself in more worlds than this one.
"""

from __future__ import annotations

from dataclasses import dataclass

from callup.core.catalogue import DEFAULT, SELECTORS
from callup.core.errors import InputError
from callup.core.selector import Selector
from callup.report import measures
from callup.report.comparison import Comparison, compare
from callup.report.contest import FINAL, by_seed, ranking
from callup.report.grouping import Method, Scenario
from callup.report.statistics import FEWEST

_WORTH = 0.01
"""So much accuracy may be given up to ask clients for less."""
_ASKS = {"label_counts": 3, "update": 2, "gradient": 2, "loss": 1, "loss_rms": 1, "num_examples": 1}
"""How much a signal tells of a client, from its labels down to a number."""


@dataclass(frozen=True)
class Advice:
    """The method to take, and how it compares."""

    method: str
    best: str
    nearly: tuple[str, ...]
    """Everyone within a point of the best, itself included."""
    against_random: Comparison | None
    """None when random itself is the advice."""

    def sentences(self) -> list[str]:
        """Why, and how sure."""
        if self.against_random is None:
            out = ["Take random: no method here is more than a point better, and it asks clients for nothing."]
        else:
            one, gap = self.against_random, self.against_random.difference
            out = [
                f"Take {self.method}: it ended at {100 * one.mean:.1f} % accuracy, random at {100 * one.other:.1f} %; "
                f"a gap of {100 * gap.mean:.1f} points (95 % interval {100 * gap.low:.1f} to {100 * gap.high:.1f}, "
                f"{one.seeds} seeds)."
            ]
            if not gap.distinct:
                out.append("That may be luck; more seeds would tell.")
        others = [name for name in self.nearly if name != self.method]
        if others:
            out.append(
                f"Within a point of the best: {', '.join(others)}; none of them asks for less than {self.method}."
            )
        return out


def advise(scenario: Scenario) -> Advice:
    """Needs `random` and at least three seeds of everybody."""
    order = ranking(scenario, FINAL)
    baseline = scenario.baseline
    if baseline is None or not order or min(len(by_seed(scenario, m, FINAL)) for m in scenario.methods) < FEWEST:
        raise InputError(f"advice needs at least {FEWEST} finished seeds of every method, and of random")
    means = {m.name: measures.mean(by_seed(scenario, m, FINAL).values()) or 0.0 for m in order}
    nearly = [m for m in order if means[m.name] >= means[order[0].name] - _WORTH]
    chosen = min(nearly, key=lambda m: (_asks(m), not _is_default(m), _wishes(m), order.index(m)))
    gap = None if chosen.is_baseline else compare(scenario, chosen.name, baseline.name, FINAL)
    return Advice(chosen.name, order[0].name, tuple(m.name for m in nearly), gap)


def _is_default(method: Method) -> bool:
    return _selector(method).card is SELECTORS.make(DEFAULT).card


def _asks(method: Method) -> int:
    """What the method as set up asks clients for, at its most telling; of alternatives the one that it likes best."""
    needs = _selector(method).needs
    return max((_ASKS.get(need.any_of[0].signal.name, 2) for need in needs if not need.optional), default=0)


def _wishes(method: Method) -> int:
    """How many more things it would rather know."""
    return sum(need.optional for need in _selector(method).needs)


def _selector(method: Method) -> Selector:
    return SELECTORS.make(str(method.runs[0].settings.get("selector", "random")))

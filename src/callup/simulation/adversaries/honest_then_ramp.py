"""Honest, then ramp: build up a good name, then raise the lie a little every round."""

from __future__ import annotations

from dataclasses import dataclass

from callup.simulation.adversaries.base import ADVERSARIES
from callup.simulation.adversaries.inflated_loss import InflatedLoss


@ADVERSARIES.add("honest-then-ramp")
@dataclass(repr=False)
class HonestThenRamp(InflatedLoss):
    """True for `honest` rounds; then losses grow by `growth` each round, up to `factor` times the truth."""

    honest: int = 50
    growth: float = 1.1

    def _factor(self, index: int) -> float:
        rounds = min(max(index - self.honest, 0), 1000)
        return min(self.growth**rounds, self.factor)

"""What each reply added, under the name the simulator knows it by; real federations measure it in the same way."""

from __future__ import annotations

from callup.aggregation.contribution import Measure, measure_of, server_signals

__all__ = ["Measure", "measure_of", "server_signals"]

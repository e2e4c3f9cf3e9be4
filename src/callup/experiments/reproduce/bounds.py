"""What a paper's stated settings allow, worked out without any run: a row outside contradicts the paper itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.analytics.balance import least_mean_qcid
from callup.analytics.qcid import expected_qcid_single_class
from callup.core.errors import InputError
from callup.experiments.reproduce.published import Published
from callup.experiments.reproduce.tables import Contradiction


@dataclass(frozen=True)
class Allowed:
    """The exact value, or the least one, that the stated settings can give, in the unit of the row."""

    value: float
    least: bool

    def conflict(self, row: Published) -> bool:
        """Whether the printed value is further away than its spread, its rounding and one per cent can explain."""
        slack = max(3 * (row.std or 0.0), 0.5 * 10.0**-row.digits, 0.01 * abs(row.value))
        return row.value < self.value - slack if self.least else abs(row.value - self.value) > slack

    def text(self, row: Published) -> str:
        shown = f"{self.value:.{max(row.digits, 2)}f}"
        return f"the stated settings allow no less than {shown}" if self.least else f"the stated settings give {shown}"


def allowed(entry: Contradiction, factor: float) -> Allowed | None:
    """From clients of one class each and of equal size, `holders` of each class; None where the proof is in words."""
    if not entry.bound:
        return None
    holders = np.array(entry.holders)
    if entry.bound == "expected":
        return Allowed(factor * expected_qcid_single_class(holders, entry.chosen), least=False)
    if entry.bound == "least":
        return Allowed(factor * least_mean_qcid(holders, entry.available), least=True)
    raise InputError(f"a bound is 'expected' or 'least', got '{entry.bound}'")

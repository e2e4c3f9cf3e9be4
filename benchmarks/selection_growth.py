"""Whether memory grows over ten thousand rounds of selection; training is left out."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import numpy as np
from selection_case import Case

from callup.core.catalogue import SELECTORS

ROUNDS, STEP, CLIENTS, K = 10_000, 1_000, 100_000, 100


def grown(spec: str, rounds: int = ROUNDS, step: int = STEP) -> dict[str, Any]:
    """Megabytes of the process every `step` rounds, the first of them after `step` rounds."""
    case = Case(SELECTORS.make(spec), CLIENTS, K)
    case.start()
    sizes = []
    for index in range(1, rounds + 1):
        case.round(index)
        if index % step == 0:
            gc.collect()
            sizes.append(round(resident(), 3))
    growth = np.diff(sizes) * 1_000 / step
    return {
        "spec": spec,
        "clients": CLIENTS,
        "k": K,
        "rounds": rounds,
        "resident_mb": sizes,
        "mean_growth_mb_per_1000_rounds": round(float(growth.mean()), 3),
        "largest_growth_mb_per_1000_rounds": round(float(growth.max()), 3),
    }


def resident() -> float:
    """The resident size of this process now, in megabytes; Linux."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

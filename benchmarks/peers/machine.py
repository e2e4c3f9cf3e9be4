"""What the machine can do, and whether it has anything else to do."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

QUIET = 0.05
"""Share of the cores' time that others may use in a measurement for show."""


def matmul_speed(threads: int) -> float:
    """Billions of multiplications and additions a second, the best of some products of 2048 x 2048."""
    square = np.ones((2048, 2048), np.float32)
    best = float("inf")
    with threadpool_limits(threads):
        for _ in range(6):
            start = time.perf_counter()
            square @ square
            best = min(best, time.perf_counter() - start)
    return 2 * 2048**3 / best / 1e9


def least_busy_share() -> float:
    """The least of some looks: what ran last may still be clearing up at the first of them."""
    least = 1.0
    for _ in range(4):
        least = min(least, _busy_share())
        if least < QUIET:
            break
    return least


def _busy_share() -> float:
    """Share of all cores' time that others use, while this process sleeps."""
    before = _clocks()
    time.sleep(2.0)
    spent = _clocks() - before
    return 1 - float(spent[3:5].sum() / spent.sum())  # idle, and idle while a disk is read


def describe() -> dict[str, object]:
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {"cores": os.cpu_count(), "processor": models[0].partition(":")[2].strip() if models else "unknown"}


def _clocks() -> np.ndarray:
    """Ticks since start, by kind: user, nice, system, idle, waiting for a disk and further kinds."""
    return np.array(Path("/proc/stat").read_text().splitlines()[0].split()[1:], float)

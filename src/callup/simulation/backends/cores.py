"""How many cores a backend may use."""

from __future__ import annotations

import multiprocessing
import os
from typing import Literal

from callup.core.types import check_k

Wanted = int | Literal["auto"]
"""A number of workers, or as many as there are cores where that pays."""


def hands(wanted: Wanted) -> int:
    """How many workers that is here. A process that another one started has its share of the machine already."""
    if wanted != "auto":
        # Workers of a grid may not start processes of their own.
        return 1 if multiprocessing.current_process().daemon else check_k(wanted, "workers")
    return 1 if multiprocessing.parent_process() is not None else cores()


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

"""How long selecting takes, and how much memory, for every selector from a thousand clients to a million.

`python benchmarks/selection.py` measures, prints and stores `benchmarks/results/select.json`; names of selectors
measure only those, leave the rest as stored and say so on the page. `python benchmarks/performance_page.py` then writes
the pages. Each case runs in a process of its own, one after the other, with one BLAS thread. Processor time is what
counts: other work on the machine hardly changes it. Memory over many rounds is measured beside the rest, on another
core.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from contest import noise
from selection_case import measured
from selection_growth import grown
from selection_page import row
from threadpoolctl import threadpool_limits

import callup
from callup.core.catalogue import DEFAULT, SELECTORS

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "select.json"
SIZES, K = (1_000, 10_000, 100_000, 1_000_000), 100
VARIANTS = (
    *("fedacs:redraw=single", "fed-cbs:pool", "astraea:pool", "balanced:pool", "fed-cucb:pool"),
    *("nccb:explore=0,clusters=100", "nccb:recent,explore=0,clusters=100"),
)
"""For many clients; and NCCB where its opening is over, which otherwise takes longer than is measured here."""
SMALL_COHORT = ("fed-cbs", 10)
STEADY = ("random", "fedacs:redraw=single")
SLOWEST = 2_000.0  # ms: a method that takes this long is not tried with ten times as many clients


def specs() -> list[str]:
    """Every selector there is, the default as people get it, and the variants."""
    return sorted({*(card.name for card in callup.selectors()), DEFAULT, *VARIANTS})


def cases(wanted: list[str]) -> Iterator[tuple[str, int]]:
    """A spec and a k for each line of the table."""
    for spec in wanted:
        yield spec, K
        if spec == SMALL_COHORT[0]:
            yield SMALL_COHORT


def alone(work: Any, *given: Any) -> Any:
    """The work in a fresh process, so that memory is its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(one_thread, work, *given).result()


def one_thread(work: Any, *given: Any) -> Any:
    with threadpool_limits(1):
        return work(*given)


def series(spec: str, k: int) -> Iterator[dict[str, Any]]:
    """One case after the other, up to the size the method allows or takes too long for."""
    limit = SELECTORS.make(spec).max_clients
    for n in sorted({min(n, limit or n) for n in SIZES}):
        case = alone(measured, spec, n, k)
        yield case
        if case["select_ms"]["cpu_p50"] > SLOWEST:
            return


def machine() -> dict[str, Any]:
    """What the numbers hang on."""
    square = np.ones((1024, 1024))
    speeds = []
    for _ in range(5):
        before = time.process_time()
        square @ square
        speeds.append(2 * 1024**3 / (time.process_time() - before) / 1e9)
    return {
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "matmul_gflops_float64": round(max(speeds), 1),
    }


def apart(specs: list[str], here: dict[str, Any], there: dict[str, Any]) -> str:
    """What keeps some lines from being compared with the others."""
    speed = "matmul_gflops_float64"
    return (
        f"{', '.join(specs)} measured apart from the others, at {here[speed]} GFLOP/s where they had {there[speed]}: "
        "do not compare."
    )


def store(results: dict[str, Any]) -> None:
    """After every series, so that an interrupted run keeps what it has."""
    results["cases"].sort(key=lambda c: (c["spec"], c["k"], c["clients"]))
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*", help="measure only these; others stay as stored")
    parser.add_argument("--growth", action="store_true", help="measure memory over 10,000 rounds too (some minutes)")
    chosen = parser.parse_args()
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cases": [], "growth": []}
    here = one_thread(machine)
    if chosen.specs and stored["cases"]:
        stored["remarks"] = [*stored.get("remarks", []), apart(chosen.specs, here, stored["machine"])]
    else:
        flaws = [f"{flaw}." for flaw in noise()]
        stored = {"cases": [], "growth": stored["growth"], "remarks": flaws, "machine": here}
    with ThreadPoolExecutor(1) as beside:
        growth = beside.submit(lambda: [alone(grown, spec) for spec in STEADY]) if chosen.growth else None
        for spec, k in cases(chosen.specs or specs()):
            stored["cases"] = [c for c in stored["cases"] if (c["spec"], c["k"]) != (spec, k)]
            for case in series(spec, k):
                print(row(case), flush=True)
                stored["cases"].append(case)
            store(stored)
        if growth is not None:
            stored["growth"] = growth.result()
    store(stored)


if __name__ == "__main__":
    main()

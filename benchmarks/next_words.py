"""What lstm.py measures, stored: `python benchmarks/next_words.py 1` is a trial."""

from __future__ import annotations

import sys

import lstm
from contest import Times, best, keep, ratio, summary

REPEATS = 3


def stored(times: Times, speed: float, trial: bool) -> None:
    found, model = summary(times), lstm.MODEL
    one_core = {row["name"]: row["processor_ms"] for row in found}
    words = lstm.CLIENTS * lstm.SAMPLES * lstm.LENGTH * lstm.LOCAL.epochs
    result = {
        "work": f"{lstm.CLIENTS} clients of {lstm.SAMPLES} texts of {lstm.LENGTH} words, vocabulary {model.words}, "
        f"embedding {model.embedding}, {model.layers} layers of {model.hidden}, {lstm.LOCAL.epochs} epochs, "
        f"batch {lstm.LOCAL.batch}",
        "matmul_gflops_one_core": round(speed, 1),
        "floor_ms_one_core": round(words * lstm.WORK / speed / 1e6, 1),
        "rows": found,
        "ratios": [
            ratio("numpy backend against the plain torch loop", best(found, "plain"), best(found, "numpy"), 2.0),
            ratio(
                "the same on one core, by processor time",
                one_core["plain torch loop, threads: 1"],
                one_core["numpy backend, workers: 1"],
            ),
        ],
    }
    keep("lstm", result, *(["a trial, not a measurement"] if trial else []))


def main(repeats: int) -> None:
    lstm.report = lambda times, speed: stored(times, speed, repeats < REPEATS)
    lstm.main(repeats)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS)

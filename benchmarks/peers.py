"""Callup against other simulators: the same rounds, each in a process and an environment of its own, in turn.

    python benchmarks/peers.py          a full run, on a machine with nothing else to do
    python benchmarks/peers.py --trial  few rounds, to see that all of it works

Everyone runs with one thread and with two; the better number is kept for the passes that follow. Results go to
benchmarks/results/peers.json; a trial, or what a busy machine says after a quiet one, goes to .bench.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from contest import store

HERE = Path(__file__).resolve().parent
ROUNDS, TRIAL_ROUNDS = {"mlp": 15, "cnn": 3}, {"mlp": 3, "cnn": 1}
PASSES = {"mlp": 3, "cnn": 2}


def main() -> None:
    # The scripts of the simulators find their neighbours by plain names, and so does this one.
    sys.path.insert(0, str(HERE / "peers"))
    from machine import QUIET
    from match import Match
    from results import table
    from work import save_samples

    parser = argparse.ArgumentParser(description="Callup against other simulators")
    parser.add_argument("--trial", action="store_true", help="few rounds, one pass; results are not for show")
    parser.add_argument("--work", choices=list(ROUNDS), help="only this work; results are not for show")
    asked = parser.parse_args()
    rounds = TRIAL_ROUNDS if asked.trial else ROUNDS
    passes = dict.fromkeys(PASSES, 1) if asked.trial else PASSES
    match = Match({asked.work: rounds[asked.work]} if asked.work else rounds, passes)
    match.install()
    save_samples()
    match.play()
    result = match.result()
    print(f"\n{table(result)}")
    flaws = [
        *(["a trial, not a measurement"] if asked.trial else []),
        *(["one work only"] if asked.work else []),
        *([f"others used {result['busy_share']:.0%} of the cores"] if result["busy_share"] > QUIET else []),
    ]
    store("peers", {"flaws": flaws, **result}, trial=bool(asked.trial or asked.work))


if __name__ == "__main__":
    main()

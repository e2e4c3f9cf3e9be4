"""One process after the other: everyone with one thread and with two, then with the better number, pass after pass."""

from __future__ import annotations

import datetime
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contestants import CONTESTANTS, Contestant, Failed, environment, last_line
from machine import describe, least_busy_share, matmul_speed
from results import Answer, Answers, add_ratios, best_threads, rows
from work import WORKS

THREADS = (1, 2)
LIMIT = 300.0  # seconds for one process


class Match:
    """All passes over the works named in `rounds`, and who fell out of it and why."""

    def __init__(self, rounds: dict[str, int], passes: dict[str, int]) -> None:
        self.rounds, self.passes = rounds, passes
        self.answers: Answers = {}
        self.failed: dict[str, str] = {}
        self.busy: list[float] = []
        self.speeds: dict[int, float] = dict.fromkeys(THREADS, 0.0)

    def install(self) -> None:
        for name, contestant in CONTESTANTS.items():
            try:
                contestant.install()
            except Failed as reason:
                self.failed[name] = str(reason)

    def play(self) -> None:
        for work in self.rounds:
            for number in range(self.passes[work]):
                self.busy.append(least_busy_share())
                self.speeds = {threads: max(old, matmul_speed(threads)) for threads, old in self.speeds.items()}
                for name, threads in self._line_up(work, number == 0):
                    self._call(work, name, threads)

    def _line_up(self, work: str, first: bool) -> Iterator[tuple[str, int]]:
        for name, contestant in CONTESTANTS.items():
            if name in self.failed or work not in contestant.works:
                continue
            tried = {n: self.answers[work, name, n] for n in THREADS if (work, name, n) in self.answers}
            if first:
                yield from ((name, threads) for threads in contestant.threads)
            elif tried:
                yield name, best_threads(tried)

    def _call(self, work: str, name: str, threads: int) -> None:
        print(f"{work}, {name}, threads: {threads} ...", end=" ", flush=True)
        try:
            answer = run(CONTESTANTS[name], work, threads, self.rounds[work])
        except Failed as reason:
            print(reason)
            self.failed[f"{name}, {work}, threads: {threads},"] = str(reason)
        else:
            print(f"{answer['rounds_ms']} ms, start-up {answer['start_up_s']} s")
            self.answers.setdefault((work, name, threads), []).append(answer)

    def result(self) -> dict[str, Any]:
        found = rows(self.answers)
        add_ratios(found)
        return {
            "date": datetime.date.today().isoformat(),
            **describe(),
            "matmul_gflops": {str(threads): round(speed, 1) for threads, speed in self.speeds.items()},
            "floor_ms": {
                work: round(1e3 * WORKS[work].billions() / max(self.speeds.values()), 2) for work in self.rounds
            },
            "busy_share": round(max(self.busy), 3),
            "rows": found,
            "failed": self.failed,
        }


def run(contestant: Contestant, work: str, threads: int, rounds: int) -> Answer:
    """One process from start to end, and the line it printed."""
    script = [str(Path(__file__).parent / contestant.script), work, str(threads), str(rounds), *contestant.words]
    process = subprocess.Popen(
        [str(contestant.python), *contestant.launcher, *script],
        env=environment(contestant, time.time()),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Failed(f"gave no answer in {LIMIT:.0f} s") from None
    if process.returncode:
        raise Failed(f"stopped: {last_line(err)}")
    answer: Answer = json.loads(out.splitlines()[-1])
    before, after = answer["loss"]
    if not after < before:
        raise Failed(f"did not learn: the loss went from {before} to {after}")
    return answer

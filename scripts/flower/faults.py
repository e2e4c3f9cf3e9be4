"""Faults in a real federation, one after the other: who is killed, who is late, who lies, and what became of the run.

    python scripts/flower/faults.py            # about ten minutes on two idle cores
    python scripts/flower/faults.py --out docs/flower-faults.md

Every scenario starts real processes and ends them by their ids.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from certificates import make_node_key
from federation import Federation
from safetensors.numpy import load_file

_HERE = Path(__file__).parent
APP = _HERE / "faulty_app"
QUICKSTART = _HERE.parents[1] / "examples" / "flower-quickstart"
NODES = 5
# The straggler comes last: its node sleeps on when the run is over.
NAMES = ("secured", "liars", "server_killed", "superlink_killed", "node_killed", "straggler")


@dataclass(frozen=True)
class Outcome:
    """What a scenario was about, what was seen, and whether that is as it should be."""

    name: str
    seen: str
    good: bool
    seconds: float


class Scenarios:
    """All scenarios; each gets the folder of its runs and says what it saw."""

    def __init__(self, folder: Path, patience: float) -> None:
        self.folder, self.patience = folder, patience

    def liars(self, here: Federation) -> tuple[str, bool]:
        """One client of five sends NaN, wrong shapes or 1e30 whenever it is asked."""
        runs = {
            fault: here.submit(APP, run=str(self.folder / fault), culprit=2, fault=fault, num_server_rounds=4)
            for fault in ("nan", "shape", "huge")
        }
        seen, good = [], True
        for fault, run in runs.items():
            ended = here.wait(run, self.patience)
            rounds = events(self.folder / fault)
            asked = [record["index"] for record in rounds if 2 in record["asked"]]
            used = [record["index"] for record in rounds if 2 in record["used"]]
            finite = model_is_finite(self.folder / fault)
            good &= ended == "finished:completed" and len(rounds) == 4 and asked == [1, 2] and not used and finite
            good &= all(len(record["used"]) == 4 for record in rounds)
            seen.append(
                f"{fault}: {ended}, liar asked in rounds {asked}, used in {used or 'none'}, model finite: {finite}"
            )
        return "; ".join(seen), good

    def server_killed(self, here: Federation) -> tuple[str, bool]:
        """SIGKILL of the ServerApp after two rounds; the same run is submitted again with resume."""
        where = self.folder / "server"
        run = here.submit(APP, run=str(where), num_server_rounds=5, k=3, selector="fed-cbs")
        wait_for_rounds(where, 2, self.patience)
        pid = here.server_app()
        if pid is None:
            return "the ServerApp was not found", False
        os.kill(pid, signal.SIGKILL)
        before = len(events(where))
        died = here.wait(run, self.patience)
        ended = here.run(APP, self.patience, run=str(where), num_server_rounds=5, k=3, selector="fed-cbs", resume=True)
        indices = [record["index"] for record in events(where)]
        good = died.startswith("finished:failed") and ended == "finished:completed" and indices == [1, 2, 3, 4, 5]
        return f"killed after {before} rounds ({died}); resumed: {ended}, rounds on disk {indices}", good

    def superlink_killed(self, here: Federation) -> tuple[str, bool]:
        """SIGKILL of the SuperLink, which keeps a database; it is started again and the run resumed."""
        where = self.folder / "superlink"
        here.submit(APP, run=str(where), num_server_rounds=4, k=3, selector="fed-cbs")
        wait_for_rounds(where, 1, self.patience)
        here.kill_superlink()
        before = len(events(where))
        here.start_superlink()
        ended = here.run(APP, self.patience, run=str(where), num_server_rounds=4, k=3, selector="fed-cbs", resume=True)
        indices = [record["index"] for record in events(where)]
        return f"killed after {before} rounds; resumed: {ended}, rounds on disk {indices}", (
            ended == "finished:completed" and indices == [1, 2, 3, 4]
        )

    def node_killed(self, here: Federation) -> tuple[str, bool]:
        """SIGKILL of a SuperNode after the first round: it counts as connected for up to a minute more."""
        where = self.folder / "node"
        run = here.submit(APP, run=str(where), num_server_rounds=4, deadline=100)
        wait_for_rounds(where, 1, self.patience)
        here.kill_node(4)
        ended = here.wait(run, self.patience)
        rounds = events(where)
        used = [len(record["used"]) for record in rounds]
        good = ended == "finished:completed" and len(rounds) == 4 and used[-1] == 4 and 4 not in rounds[-1]["used"]
        here.start_node(4)
        return f"{ended}, replies used in each round {used}", good

    def straggler(self, here: Federation) -> tuple[str, bool]:
        """A client that needs ten minutes, with a deadline of 100 seconds."""
        where = self.folder / "straggler"
        ended = here.run(APP, self.patience, run=str(where), num_server_rounds=3, culprit=1, fault="slow", deadline=100)
        rounds = events(where)
        failed = [record["failed"] for record in rounds]
        asked = [record["index"] for record in rounds if 1 in record["asked"]]
        good = ended == "finished:completed" and failed[0] == {"1": "no reply"} and 2 not in asked and len(rounds) == 3
        return f"{ended}, straggler asked in rounds {asked}, round 1 lost {failed[0]}", good

    def secured(self, here: Federation) -> tuple[str, bool]:
        """TLS and nodes registered by key: the same picks as without; a key nobody registered is refused."""
        where = self.folder / "tls"
        stranger = here.folder / "key9"
        make_node_key(stranger)
        here.start_node(9, stranger)
        ended = here.run(QUICKSTART, self.patience, run=str(where), num_server_rounds=2, min_available_nodes=3)
        picks = [record["asked"] for record in events(where)]
        refused = wait_until(lambda: here.supernodes[9].poll() is not None, 120)
        told = "2004" in here.log("node9") or "305" in here.log("node9")  # Flower's codes for a node it does not let in
        expected = local_picks(self.folder / "plain")
        said = f"{ended}, picks {picks}, without TLS {expected}; stranger refused: {refused and told}"
        if not told:
            said += f" ({here.log('node9')[-300:]})"
        return said, ended == "finished:completed" and picks == expected and refused and told


def events(folder: Path) -> list[dict[str, Any]]:
    path = folder / "events.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def model_is_finite(folder: Path) -> bool:
    newest = max(folder.glob("state-*.safetensors"))
    model = [array for name, array in load_file(newest).items() if name.startswith("model.")]
    return bool(model) and all(bool(np.isfinite(array).all()) for array in model)


def wait_until(true: Callable[[], bool], seconds: float) -> bool:
    ends = time.monotonic() + seconds
    while not true() and time.monotonic() < ends:
        time.sleep(0.5)
    return true()


def wait_for_rounds(folder: Path, number: int, seconds: float) -> None:
    if not wait_until(lambda: len(events(folder)) >= number, seconds):
        raise RuntimeError(f"{folder.name}: only {len(events(folder))} of {number} rounds after {seconds:g} s")


def local_picks(folder: Path) -> list[list[int]]:
    """The quickstart in this process."""
    import tomllib

    from quickstart.client_app import app as client
    from quickstart.server_app import app as server

    from callup.flower import run_local

    config = tomllib.loads((QUICKSTART / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    run_local(server, client, 3, {**config, "num-server-rounds": 2, "run": str(folder)})
    return [record["asked"] for record in events(folder)]


def play(patience: float, names: list[str]) -> list[Outcome]:
    sys.path.insert(0, str(QUICKSTART))
    os.environ["PYTHONPATH"] = str(QUICKSTART)  # the faulty app borrows the quickstart's code
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="faults-") as made:
        scenarios = Scenarios(Path(made), patience)

        def one(scenario: Callable[[Federation], tuple[str, bool]], here: Federation) -> None:
            began = time.monotonic()
            try:
                seen, good = scenario(here)
            except Exception as problem:
                seen, good = f"{type(problem).__name__}: {problem}", False
            outcome = Outcome(str(scenario.__doc__), seen, good, time.monotonic() - began)
            outcomes.append(outcome)
            sys.stdout.write(f"{'ok ' if good else 'BAD'} {outcome.seconds:5.0f} s  {outcome.name}\n      {seen}\n")
            sys.stdout.flush()

        if "secured" in names:
            with Federation(3, tls=True) as safe:
                one(scenarios.secured, safe)
        others = [getattr(scenarios, name) for name in NAMES if name in names and name != "secured"]
        if others:
            with Federation(NODES, database=True) as here:
                for scenario in others:
                    one(scenario, here)
    return outcomes


def page(outcomes: list[Outcome]) -> str:
    import platform

    import flwr

    head = [
        "# Faults in a real Flower federation",
        "",
        "Written by `make flower-faults`, which starts a SuperLink and five SuperNodes (three for TLS) on one machine,",
        f"does the harm and looks at what is left. flwr {flwr.__version__}, Python {platform.python_version()}.",
        "Seconds depend on what else the machine did.",
        "",
        "| what happens | what was seen | as it should be | seconds |",
        "|---|---|---|---|",
    ]
    rows = [f"| {o.name} | {o.seen} | {'yes' if o.good else 'NO'} | {o.seconds:.0f} |" for o in outcomes]
    return "\n".join([*head, *rows]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the result to this page")
    parser.add_argument("--patience", type=float, default=900.0, help="seconds that one run may take")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES), help="some of the scenarios")
    given = parser.parse_args()
    outcomes = play(given.patience, given.only)
    if given.out is not None:
        given.out.write_text(page(outcomes), encoding="utf-8")
    return 0 if all(outcome.good for outcome in outcomes) else 6


if __name__ == "__main__":
    sys.exit(main())

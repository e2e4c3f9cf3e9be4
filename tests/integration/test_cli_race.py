"""The race: one seed gives the same digests with any number of jobs, stdout is JSON alone, Ctrl-C loses nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from callup.cli.main import run

SMALL = ["random", "fed-cbs", "--quick", "--rounds", "4", "--seeds", "2"]


def race(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "callup", "race", *args, "--out", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def digests(document: dict[str, Any]) -> dict[tuple[str, str, int], str]:
    return {(row["scenario"], row["method"], row["seed"]): row["digest"] for row in document["runs"]}


def test_the_same_seed_prints_the_same_digests_with_any_number_of_jobs(tmp_path: Path) -> None:
    found = []
    for jobs in ("1", "2"):
        done = race(tmp_path / jobs, *SMALL, "--jobs", jobs, "--format", "json")
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))  # the whole of stdout is one JSON document
        assert (tmp_path / jobs / "report.html").stat().st_size < 1_000_000
    assert digests(found[0]) == digests(found[1])
    for row in found[0]["runs"]:
        assert {"final_accuracy", "rounds_to_target", "mean_qcid", "digest"} <= row.keys()
        assert 0 < row["final_accuracy"] < 1
        assert 0 <= row["mean_qcid"] < 1
    keys = {(row["method"], row["seed"]) for row in found[0]["runs"]}
    assert keys == {(method, seed) for method in ("random", "fed-cbs") for seed in (0, 1)}
    assert len(found[0]["runs"]) == 8  # two scenarios
    assert found[0]["runs"] == found[1]["runs"]


def test_another_seed_prints_other_digests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = []
    for seed in ("0", "7"):
        options = ["--scenario", "skewed", "--rounds", "2", "--seeds", "1", "--jobs", "1", "--seed", seed]
        assert run(["race", "random", *options, "--out", str(tmp_path / seed), "--format", "json"]) == 0
        seen.append(json.loads(capsys.readouterr().out)["runs"][0])
    assert [row["seed"] for row in seen] == [0, 7]
    assert seen[0]["digest"] != seen[1]["digest"]


def test_a_table_a_headline_the_report_and_the_next_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "race"
    options = ["--scenario", "skewed", "--rounds", "4", "--seeds", "2", "--jobs", "1", "--out", str(folder)]
    assert run(["race", "random", "fed-cbs", *options]) == 0
    printed = capsys.readouterr()
    assert "final accuracy" in printed.out
    assert "±" in printed.out
    assert "rounds to 70" in printed.out
    assert "★" in printed.out
    assert "Nobody reached 70 % accuracy in 4 rounds." in printed.out
    lines = printed.err.splitlines()
    assert [line[:5] for line in lines[:4]] == ["[1/4]", "[2/4]", "[3/4]", "[4/4]"]
    assert lines[4] == f"report: {folder}/report.html"
    assert lines[5].startswith("next: callup ")
    assert "callup race random fed-cbs" in (folder / "report.html").read_text()


@pytest.mark.parametrize(("jobs", "whom"), [("1", "process"), ("2", "process"), ("2", "group")])
def test_ctrl_c_stops_the_workers_and_leaves_a_partial_report(jobs: str, whom: str, tmp_path: Path) -> None:
    folder = tmp_path / "race"
    options = ["--rounds", "5000", "--seeds", "1", "--jobs", jobs, "--format", "json", "--out", str(folder)]
    process = subprocess.Popen(
        [sys.executable, "-m", "callup", "race", "random", "fedemd", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hears_ctrl_c,
    )
    try:
        wait_until(lambda: sum(len(p.read_text().splitlines()) for p in folder.glob("*/*/events.jsonl")) > 5)
        # A terminal sends the signal to every process of the group; `kill` to one.
        (os.killpg if whom == "group" else os.kill)(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 130, err
        assert out == ""
        assert "Traceback" not in err
        assert err.splitlines()[-2:] == [
            f"stopped with 0 of 4 runs finished; partial report: {folder}/report.html",
            f"next: callup resume {folder}",
        ]
        assert "<html" in (folder / "report.html").read_text()
        wait_until(lambda: not alive(process.pid))
    finally:
        if alive(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
    assert run(["report", str(folder), "--format", "json"]) == 0


def test_ctrl_c_as_the_first_runs_begin(tmp_path: Path) -> None:
    folder = tmp_path / "race"
    process = subprocess.Popen(
        [sys.executable, "-m", "callup", "race", "random", "--seeds", "3", "--jobs", "2", "--out", str(folder)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=hears_ctrl_c,
    )
    wait_until(lambda: list(folder.glob("*/*/config.toml")))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert out == ""
    assert "Traceback" not in err
    # Whether a round was measured by then is a matter of milliseconds; either way it is said.
    assert err.splitlines()[-2].startswith("stopped with 0 of 6 runs finished; ")
    assert ("partial report" in err) == (folder / "report.html").exists()


def hears_ctrl_c() -> None:
    """What is started in the background inherits deafness to Ctrl-C; the race must hear it whoever runs the tests."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_until(condition: Any, seconds: float = 60.0) -> None:
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(0.05)


def alive(group: int) -> bool:
    """Whether any process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True

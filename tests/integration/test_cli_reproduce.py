"""`callup reproduce`: the same table however often it is killed; one clear line for every mistake."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from callup.cli.main import run

TABLE = """
title = "A tiny table"
baseline = "rand"
seconds = 0.1

[sources]
all = "made up"

[base]
task = "fashion14-mlp"
partition = "dirichlet:clients=12,alpha=0.2"
k = 3
rounds = 2

[picks]
rounds = 20
seeds = 2

[[environments]]
name = "e"

[[methods]]
name = "rand"
selector = "random"
training_free = true

[[methods]]
name = "cbs"
selector = "fed-cbs"
training_free = true

[[measures]]
name = "accuracy"
metric = "best_accuracy"
factor = 100.0
better = "higher"

[[measures]]
name = "qcid"
metric = "expected_qcid"
factor = 100.0
training_free = true

[scales.small]
seeds = 2
note = "2 rounds"

[scales.paper]
seeds = 2
"""
ROWS = """measure,unit,dataset,environment,method,value,std,repeats,needs_training,censored,note
accuracy,%,d,e,rand,50.0,,,yes,no,
accuracy,%,d,e,cbs,60.0,,,yes,no,
qcid,1e-2,d,e,rand,500.00,0.1,,no,no,far from anything possible
"""


@pytest.fixture
def papers(tmp_path):
    folder = tmp_path / "papers" / "tiny"
    folder.mkdir(parents=True)
    (folder / "table-1.toml").write_text(TABLE)
    (folder / "table-1.csv").write_text(ROWS)
    return tmp_path / "papers"


def command(papers, out, *more):
    return ["reproduce", "tiny/table-1", "--scale", "small", "--papers", str(papers), "--out", str(out), *more]


def table(out):
    with (out / "rows.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_published_ours_and_verdict(papers, tmp_path, capsys):
    assert run([*command(papers, tmp_path / "out"), "--jobs", "1", "--format", "json"]) == 0
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    by_place = {(row["measure"], row["method"]): row for row in document["rows"]}
    # Two rounds of training are a scaled run: the baseline has nothing to stand to, nothing is ever reproduced.
    assert by_place["accuracy", "rand"]["verdict"] == "not attempted"
    assert by_place["accuracy", "cbs"]["verdict"] in ("direction only", "not reproduced")
    assert {row["scale"] for row in document["rows"] if row["measure"] == "accuracy"} == {"2 rounds"}
    # Picks alone are of full size, and a QCID of 5 cannot be.
    assert (by_place["qcid", "rand"]["verdict"], by_place["qcid", "rand"]["scale"]) == ("not reproduced", "full")
    assert sum(document["verdicts"].values()) == 3
    assert "8/8 cells" in shown.err
    page = (tmp_path / "out" / "report.html").read_text()
    assert "far from anything" not in page
    assert "A tiny table" in page
    assert r"500.00 $\pm$ 0.1" in (tmp_path / "out" / "tables.tex").read_text()
    # Everything is stored: nothing is run again, and the table is the same.
    before = table(tmp_path / "out")
    assert run(command(papers, tmp_path / "again")) == 0
    assert "cells" not in capsys.readouterr().err
    assert table(tmp_path / "again") == before


def test_killed_at_any_moment_it_ends_with_the_same_table(papers, tmp_path):
    assert run([*command(papers, tmp_path / "whole"), "--results", str(tmp_path / "elsewhere"), "--jobs", "2"]) == 0
    stored = papers / "tiny" / "results" / "table-1.jsonl"
    for cells in (1, 4):
        started = subprocess.Popen(
            [sys.executable, "-m", "callup", *command(papers, tmp_path / "out"), "--jobs", "2"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        give_up = time.monotonic() + 90
        while (not stored.exists() or stored.read_bytes().count(b"\n") < cells) and started.poll() is None:
            assert time.monotonic() < give_up
            time.sleep(0.005)
        workers = _children(started.pid)
        started.send_signal(signal.SIGKILL)
        started.wait()
        _wait_for_the_end_of(workers)
    # As if the machine had died in the middle of a line.
    with stored.open("ab") as file:
        file.write(b'{"key":"torn')
    assert run([*command(papers, tmp_path / "out"), "--jobs", "1"]) == 0
    assert table(tmp_path / "out") == table(tmp_path / "whole")
    lines = stored.read_text().splitlines()
    assert len({json.loads(line)["key"] for line in lines}) == len(lines) == 8


def _children(pid):
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in listed.stdout.split()]


def _wait_for_the_end_of(pids):
    """Workers must not go on without their parent: a restart would share the cores with ghosts."""
    give_up = time.monotonic() + 30
    for pid in pids:
        while Path(f"/proc/{pid}").exists() and b"\nState:\tZ" not in Path(f"/proc/{pid}/status").read_bytes():
            assert time.monotonic() < give_up, f"worker {pid} outlives its parent"
            time.sleep(0.05)


def test_dry_run_and_list(papers, tmp_path, capsys):
    assert run([*command(papers, tmp_path / "out"), "--dry-run", "--format", "json", "--jobs", "2"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["cells"] == 8
    assert run([*command(papers, tmp_path / "out"), "--list", "--format", "json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["tables"]
    assert (line["table"], line["rows"], line["cells"], line["stored"]) == ("tiny/table-1", 3, 8, 0)
    assert not (tmp_path / "out").exists()


def test_stored_shows_without_running(papers, tmp_path, capsys):
    assert run([*command(papers, tmp_path / "out"), "--stored", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {(row["verdict"], row["why"]) for row in rows} == {("not attempted", "not run yet")}


def _cut(path, share):
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])


@pytest.mark.parametrize(
    ("break_it", "asked", "said"),
    [
        (lambda f: None, "tiny/table-9", "unknown table 'tiny/table-9'"),
        (lambda f: None, "tinny", "unknown paper 'tinny'; did you mean 'tiny'?"),
        (lambda f: (f / "table-1.csv").unlink(), "tiny", "table-1.csv is missing"),
        (lambda f: _cut(f / "table-1.csv", 0.6), "tiny", "table-1.csv, line 3 is damaged"),
        (lambda f: _cut(f / "table-1.toml", 0.5), "tiny", "table-1.toml"),
        (lambda f: (f / "results").mkdir() or (f / "results" / "x.jsonl").write_text("{\n"), "tiny", "x.jsonl, line 1"),
        (
            lambda f: (f / "table-1.toml").write_text(TABLE.replace("fed-cbs", "fed-cbz")),
            "tiny",
            "unknown selector 'fed-cbz'; did you mean 'fed-cbs'?",
        ),
    ],
)
def test_mistakes_are_one_line_and_exit_code_3(papers, tmp_path, capsys, break_it, asked, said):
    break_it(papers / "tiny")
    code = run(["reproduce", asked, "--papers", str(papers), "--out", str(tmp_path / "out"), "--stored"])
    shown = capsys.readouterr().err.strip().splitlines()
    assert code == 3
    assert len(shown) == 1
    assert said in shown[0]


def test_missing_data_is_one_line_and_exit_code_3(papers, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CALLUP_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("HOME", str(tmp_path))
    text = TABLE.replace("fashion14-mlp", "cifar10-cnn").replace("training_free = true", "training_free = false")
    (papers / "tiny" / "table-1.toml").write_text(text)
    assert run([*command(papers, tmp_path / "out"), "--jobs", "1"]) == 3
    shown = capsys.readouterr().err
    assert "Traceback" not in shown
    assert len([line for line in shown.splitlines() if line.startswith("error:")]) == 1


def test_ctrl_c_can_be_resumed(papers, tmp_path):
    stored = papers / "tiny" / "results" / "table-1.jsonl"
    started = subprocess.Popen(
        [sys.executable, "-m", "callup", *command(papers, tmp_path / "out"), "--jobs", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    give_up = time.monotonic() + 90
    while not stored.exists() and started.poll() is None:
        assert time.monotonic() < give_up
        time.sleep(0.005)
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=60)
    assert started.returncode in (130, 0)  # 0 where it was done before the signal came
    if started.returncode == 130:
        assert "the same command goes on from there" in said

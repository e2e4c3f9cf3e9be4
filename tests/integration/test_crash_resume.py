"""Killed, stopped or damaged, a run goes on to the end it would have had, and says what it found."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from callup.cli.main import run
from callup.experiments.crashes import WORLDS
from callup.journal.crash import POINTS, VARIABLE
from callup.journal.lock import Lock
from callup.journal.log import read_log
from callup.journal.snapshots import snapshots
from callup.simulation.engine import Engine, simulate
from callup.simulation.recorder import Recorder
from callup.simulation.run import RoundRecord
from callup.simulation.settings import Settings
from callup.simulation.store import load_run

BATTERY = Path(__file__).parents[2] / "battery" / "crash.py"
CONFIG = """
partition = "dirichlet:clients=15,alpha=0.3"
availability = "uniform:fraction=0.6"
selector = "SELECTOR"
k = 3
rounds = ROUNDS
local = {epochs = 1}
"""
FILES = ("config.toml", "clients.safetensors", "events.jsonl", "journal")


def config(folder: Path, selector: str = "oort", rounds: int = 24) -> str:
    path = folder / "run.toml"
    path.write_text(CONFIG.replace("SELECTOR", selector).replace("ROUNDS", str(rounds)))
    return str(path)


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in (*FILES, snapshots(folder)[0][1].name)}


def killed(arguments: list[str], point: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "callup", *arguments],
        env={**os.environ, VARIABLE: point},
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL


@pytest.mark.timeout(400)  # twelve seconds of work, but every kill and every run waits for the disk many times
def test_kills_at_named_points_and_random_moments(tmp_path: Path) -> None:
    """A sample of what `make battery` does: 18 kills at named points and 8 at random moments, with damage added."""
    out = tmp_path / "result.json"
    done = subprocess.run(
        [sys.executable, str(BATTERY), "--short", "--out", str(out)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    assert result["diverged"] == result["unreached"] == []
    assert result["named_kills"] == 18
    assert result["torn_logs"] and result["flipped_snapshots"]


def test_the_battery_covers_more_than_twelve_points_of_a_round() -> None:
    assert len(POINTS[POINTS.index("after-select") :]) >= 12
    assert len(WORLDS) >= 5


def test_kill_and_resume_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone, broken, settings = tmp_path / "alone", tmp_path / "broken", config(tmp_path)
    assert run(["run", settings, "--out", str(alone)]) == 0
    killed(["run", settings, "--out", str(broken)], "half-append@17")
    capsys.readouterr()
    assert run(["resume", str(broken), "--format", "json"]) == 0
    printed = capsys.readouterr()
    lines = printed.err.splitlines()
    assert lines[0].startswith("note: process ")
    assert lines[1].startswith("note: the last ")
    assert lines[1].endswith(" bytes of the journal are no whole round and were cut off")
    assert lines[2] == (
        "found 16 of 24 rounds and the state after round 10; "
        "rounds 11 to 16 are computed again and compared, then it goes on"
    )
    assert json.loads(printed.out)["folder"] == str(broken)
    assert files(broken) == files(alone)
    assert run(["resume", str(broken)]) == 0
    assert "nothing to do: all 24 rounds are there" in capsys.readouterr().err
    assert files(broken) == files(alone)


def test_ctrl_c_ends_with_130_and_the_line_that_goes_on(tmp_path: Path) -> None:
    alone, stopped, settings = tmp_path / "alone", tmp_path / "stopped", config(tmp_path, rounds=150)
    process = subprocess.Popen(
        [sys.executable, "-m", "callup", "run", settings, "--out", str(stopped)],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    give_up = time.monotonic() + 60
    while not list(stopped.glob("state-*")):
        assert time.monotonic() < give_up
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.splitlines()[-1] == f"next: callup resume {stopped}"
    assert not (stopped / "lock").exists()
    assert run(["resume", str(stopped), "--format", "json"]) == 0
    assert run(["run", settings, "--out", str(alone), "--format", "json"]) == 0
    assert files(stopped) == files(alone)


def test_a_race_goes_on_with_the_runs_that_are_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone, broken = tmp_path / "alone", tmp_path / "broken"
    options = ["random", "fedacs", "--scenario", "skewed", "--rounds", "4", "--seeds", "1", "--jobs", "1"]
    assert run(["race", *options, "--out", str(alone), "--format", "json"]) == 0
    expected = json.loads(capsys.readouterr().out)["runs"]
    killed(["race", *options, "--out", str(broken)], "after-append@6")
    assert len(load_run(broken / "skewed" / "random-0").history) == 4
    assert len(read_log(broken / "skewed" / "fedacs-0").entries) == 2
    assert run(["resume", str(broken), "--jobs", "1", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == expected
    for name in ("skewed/random-0", "skewed/fedacs-0"):
        assert files(broken / name) == files(alone / name)
    assert (broken / "report.html").exists()


def test_a_run_killed_before_its_first_round(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = config(tmp_path, rounds=3)
    killed(["run", settings, "--out", str(tmp_path / "broken")], "config-written")
    assert run(["resume", str(tmp_path / "broken")]) == 0
    assert len(load_run(tmp_path / "broken").history) == 3


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, to be copied and damaged."""
    home = tmp_path_factory.mktemp("runs")
    assert run(["run", config(home), "--out", str(home / "run"), "--format", "json"]) == 0
    return home / "run"


def copied(folder: Path, to: Path) -> Path:
    to.mkdir()
    for path in folder.iterdir():
        (to / path.name).write_bytes(path.read_bytes())
    return to


def test_a_damaged_end_state_is_computed_again(done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(done, tmp_path / "run")
    last = snapshots(folder)[0][1]
    content = bytearray(last.read_bytes())
    content[-5] ^= 1
    last.write_bytes(content)
    assert run(["report", str(folder)]) == 3
    assert run(["resume", str(folder)]) == 0
    err = capsys.readouterr().err
    assert f"note: {last.name} cannot be used" in err
    assert "found 24 of 24 rounds and the state after round 20; rounds 21 to 24 are computed again" in err
    assert files(folder) == files(done)


def test_no_snapshot_left_at_all(done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(done, tmp_path / "run")
    for _, path in snapshots(folder):
        path.write_bytes(b"gone")
    assert run(["resume", str(folder)]) == 0
    assert "found 24 rounds; rounds 1 to 24 are computed again and compared" in capsys.readouterr().err
    assert files(folder) == files(done)


@pytest.mark.parametrize("place", [0.0, 0.5])
def test_a_damaged_log_costs_no_round(
    place: float, done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A byte in its head, or in the middle: the log is set aside and written again."""
    folder = copied(done, tmp_path / "run")
    (folder / "events.jsonl").write_text("")
    content = bytearray((folder / "journal").read_bytes())
    content[int(place * len(content)) + 40] ^= 1
    (folder / "journal").write_bytes(content)
    assert run(["resume", str(folder)]) == 0
    assert "set aside" in capsys.readouterr().err
    assert files(folder) == files(done)
    assert (folder / "journal.damaged-1").read_bytes() == content


def test_settings_that_were_changed_are_refused(done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(done, tmp_path / "run")
    text = (folder / "config.toml").read_text()
    (folder / "config.toml").write_text(text.replace("k = 3", "k = 4").replace("rounds = 24", "rounds = 30"))
    for command, code in (("resume", 3), ("verify", 4)):
        assert run([command, str(folder)]) == code
        assert "config.toml says another k and rounds than the run began with" in capsys.readouterr().err
    assert 'workers = "auto"' in text
    (folder / "config.toml").write_text(text.replace('workers = "auto"', "workers = 2"))  # changes no number
    assert run(["resume", str(folder)]) == 0


def test_a_round_that_comes_out_differently_is_not_built_upon(
    done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on a machine whose sums round differently: refused, unless the rounds after the snapshot are given up."""
    folder = copied(done, tmp_path / "run")
    snapshots(folder)[0][1].unlink()
    play = Engine.play

    def other(engine: Engine, index: int) -> object:
        engine.model = engine.model + 1e-3
        return play(engine, index)

    monkeypatch.setattr(Engine, "play", other)
    assert run(["resume", str(folder)]) == 4
    said = capsys.readouterr().err
    assert "round 21 comes out differently when computed again" in said
    assert f"callup resume {folder} --forget" in said
    assert run(["resume", str(folder), "--forget"]) == 0
    assert "4 rounds after round 20 were set aside" in capsys.readouterr().err
    assert len(load_run(folder).history) == 24


def test_a_run_in_use_is_refused(tmp_path: Path) -> None:
    settings = Settings(partition="dirichlet:clients=15", k=3, rounds=3)
    first = Recorder(settings, tmp_path / "run")
    refused: list[int] = []

    def second(record: RoundRecord) -> None:
        if record.index < settings.rounds:
            refused.append(run(["resume", str(tmp_path / "run")]))

    try:
        first.run(second)
    finally:
        first.close()
    assert refused == [4, 4]


def test_force_does_not_take_a_run_from_under_its_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = config(tmp_path, rounds=2)
    for name in ("a", "b"):
        assert run(["run", settings, "--out", str(tmp_path / "runs" / name)]) == 0
    lock = Lock(tmp_path / "runs" / "b")
    assert run(["run", settings, "--out", str(tmp_path / "runs"), "--force"]) == 4
    assert "is in use by process" in capsys.readouterr().err
    lock.release()
    assert len(load_run(tmp_path / "runs" / "a").history) == len(load_run(tmp_path / "runs" / "b").history) == 2
    assert run(["run", settings, "--out", str(tmp_path / "runs"), "--force"]) == 0
    assert sorted(path.name for path in tmp_path.rglob("config.toml")) == ["config.toml"]


def test_a_run_made_in_python_is_complete_without_a_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulate("random", partition="dirichlet:clients=15", k=3, rounds=2).save(tmp_path / "run")
    before = sorted(path.name for path in (tmp_path / "run").iterdir())
    assert run(["resume", str(tmp_path / "run")]) == 0
    assert "nothing to do" in capsys.readouterr().err
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == before


@pytest.mark.parametrize("name", ["none", "empty"])
def test_there_must_be_a_run(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert run(["resume", str(tmp_path / name)]) == 3
    assert capsys.readouterr().err.count("\n") == 1

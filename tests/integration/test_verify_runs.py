"""`callup verify` says yes to runs that are what they say, and finds what was changed in those that are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from callup.cli.main import run
from callup.journal.appending import Log
from callup.journal.log import NAME, read_log
from callup.simulation.engine import simulate

CONFIG = """
partition = "dirichlet:clients=15,alpha=0.3"
availability = "uniform:fraction=0.6"
selector = "SELECTOR"
k = 3
rounds = 6
lost = 0.2
local = {epochs = 1}
"""


def made(home: Path, selector: str, *options: str) -> Path:
    (home / "run.toml").write_text(CONFIG.replace("SELECTOR", selector))
    assert run(["run", str(home / "run.toml"), "--out", str(home / "run"), "--format", "json", *options]) == 0
    return home / "run"


def verdict(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, object]]:
    capsys.readouterr()
    code = run(["verify", str(folder), "--format", "json", *options])
    return code, json.loads(capsys.readouterr().out)["runs"][0]


@pytest.mark.parametrize(
    ("selector", "how"),
    [
        ("oort", "replayed from the journal"),
        ("power-of-choice:d=6", "replayed from the journal"),
        ("nccb", "replayed from the journal"),
        ("fed-cucb", "replayed from the journal"),
        ("fedacs", "computed again"),
        ("divfl", "computed again"),
    ],
)
def test_a_run_as_it_was(selector: str, how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Gradients are too large for the log: where a method learns from them, the run is computed again."""
    code, found = verdict(made(tmp_path, selector), capsys)
    assert code == 0
    assert (found["rounds"], found["how"], found["problems"]) == (6, how, [])
    assert bool(found["notes"]) == (how == "computed again")


def test_churn_and_over_commit_replay_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = 'k = 3\nfaults = ["churn"]\novercommit = "auto"'
    (tmp_path / "run.toml").write_text(CONFIG.replace("SELECTOR", "oort").replace("k = 3", more))
    assert run(["run", str(tmp_path / "run.toml"), "--out", str(tmp_path / "run"), "--format", "json"]) == 0
    code, found = verdict(tmp_path / "run", capsys)
    assert (code, found["how"], found["rounds"]) == (0, "replayed from the journal", 6)


def test_training_can_be_computed_again_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = verdict(made(tmp_path, "oort"), capsys, "--again")
    assert (code, found["how"], found["rounds"]) == (0, "computed again", 6)


def test_a_run_saved_from_python_has_no_log_and_is_computed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate("fed-cbs", partition="dirichlet:clients=15", k=3, rounds=3).save(tmp_path / "run")
    code, found = verdict(tmp_path / "run", capsys)
    assert (code, found["how"], found["rounds"]) == (0, "computed again", 3)
    assert found["notes"] == ["there is no journal; so the run was computed again"]


def test_a_favoured_client_shows_even_with_sound_checksums(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody replaces a client in round 4, in the log and in events.jsonl alike, and writes both properly."""
    folder = made(tmp_path, "random")
    story = read_log(folder)
    entry = story.entries[3]
    old = int(entry.arrays["asked"][0])
    new = next(row for row in range(15) if row not in entry.arrays["asked"])
    for name in ("asked", "replied", "failed"):
        entry.arrays[name] = entry.arrays[name].copy()
        entry.arrays[name][entry.arrays[name] == old] = new
    (folder / NAME).unlink()
    log = Log.begun(folder, story.head)
    for each in story.entries:
        log.append(each)
    log.close()
    lines = (folder / "events.jsonl").read_text().splitlines()
    record = json.loads(lines[3])
    for name in ("asked", "used", "kept"):
        record[name] = [new if client == old else client for client in record[name]]
    record["failed"] = {str(new) if client == str(old) else client: why for client, why in record["failed"].items()}
    (folder / "events.jsonl").write_text("\n".join([*lines[:3], json.dumps(record), *lines[4:]]) + "\n")
    code, found = verdict(folder, capsys)
    assert code == 4
    assert found["rounds"] == 3
    assert str(found["problems"]).startswith("['round 4: the selection differs: ")


def test_a_prettier_accuracy_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made(tmp_path, "random")
    lines = (folder / "events.jsonl").read_text().splitlines()
    record = {**json.loads(lines[-1]), "accuracy": 0.99}
    (folder / "events.jsonl").write_text("\n".join([*lines[:-1], json.dumps(record)]) + "\n")
    code, found = verdict(folder, capsys)
    assert code == 4
    assert found["problems"] == ["round 6: events.jsonl and the journal tell different stories"]


@pytest.mark.parametrize("name", ["journal", "state-000006.safetensors", "profile-000001.safetensors", "config.toml"])
def test_a_flipped_byte_anywhere_is_found(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made(tmp_path, "random")
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 4
    (folder / name).write_bytes(content)
    code = run(["verify", str(folder)])
    assert code in (3, 4)
    assert "Traceback" not in capsys.readouterr().err


def test_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made(tmp_path, "random")
    capsys.readouterr()
    assert run(["verify", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder}: 6 selections as recorded, replayed from the journal\n"
    assert run(["verify", str(tmp_path / "none")]) == 3

"""`run` makes a run from a file, `report` makes a page from runs, and nothing is replaced unasked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from callup.cli.folders import INDEX, prepare, read_runs
from callup.cli.main import run
from callup.core.errors import InputError, UsageError
from callup.simulation.settings import read_settings
from callup.simulation.store import load_run

EXAMPLE = Path(__file__).parents[2] / "examples" / "run.toml"
SHORT = ["run", str(EXAMPLE), "--set", "rounds=2", "--set", "selector=random"]


def test_the_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert run(["run", str(EXAMPLE), "--out", str(folder)]) == 0
    printed = capsys.readouterr()
    assert "fed-cbs:sharp" in printed.out
    assert printed.err.splitlines()[-2:] == [f"run: {folder}", f"next: callup report {folder}"]
    done = load_run(folder)
    assert len(done.history) == read_settings(EXAMPLE).rounds
    assert all(len(record.asked) == 5 for record in done.history)


@pytest.mark.parametrize(
    ("selector", "words"), [("lineup", "label_counts"), ("lineup:updates", "update from round 2"), ("random", None)]
)
def test_a_run_and_its_report_say_what_the_method_went_by(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], selector: str, words: str | None
) -> None:
    folder = tmp_path / "run"
    assert run([*SHORT, "--set", f"selector={selector}", "--out", str(folder)]) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "went by" in line]
    assert said == ([f"{selector} went by {words}"] if words else [])
    assert run(["report", str(folder)]) == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert (f"Went by {words} here." in page) if words else ("Went by" not in page)


def test_settings_can_be_changed_for_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    changes = ["--set", "k=3", "--set", "local.epochs=1", "--set", "target=none", "--seed", "11"]
    assert run([*SHORT, *changes, "--out", str(folder), "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    settings = load_run(folder).settings
    assert (settings["k"], settings["seed"], settings["rounds"], settings["selector"]) == (3, 11, 2, "random")
    assert settings["local"] == {"epochs": 1}
    assert "target" not in settings
    assert printed["runs"][0]["seed"] == 11
    assert printed["folder"] == str(folder)


def test_the_same_seed_is_the_same_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = []
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert run([*SHORT, "--seed", seed, "--out", str(tmp_path / name), "--format", "json"]) == 0
        seen.append(json.loads(capsys.readouterr().out)["runs"][0]["digest"])
    assert seen[0] == seen[1] != seen[2]


def test_a_folder_in_use_is_refused_and_replaced_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert run([*SHORT, "--set", "rounds=3", "--out", str(folder)]) == 0
    (folder / "notes.txt").write_text("mine")
    capsys.readouterr()
    assert run([*SHORT, "--out", str(folder)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert len(load_run(folder).history) == 3
    assert run([*SHORT, "--out", str(folder), "--force"]) == 0
    assert len(load_run(folder).history) == 2
    assert [path.name for path in folder.glob("state-*")] == ["state-000002.safetensors"]
    assert (folder / "notes.txt").read_text() == "mine"


def test_by_default_each_run_gets_a_new_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(SHORT) == 0
    assert run(SHORT) == 0
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["run", "run-2"]


def test_a_run_that_never_began_leaves_no_folder(tmp_path: Path) -> None:
    assert run([*SHORT, "--set", "partition=dirichlet:clients=0", "--out", str(tmp_path / "run")]) == 2
    assert not (tmp_path / "run").exists()


def test_report_of_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, elsewhere = tmp_path / "run", tmp_path / "pages" / "one.html"
    assert run([*SHORT, "--out", str(folder)]) == 0
    capsys.readouterr()
    assert run(["report", str(folder)]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == f"{folder}/report.html"
    assert printed.err.startswith("next: callup ")
    page = (folder / "report.html").read_text()
    assert "<html" in page
    assert run(["report", str(folder), "--out", str(elsewhere), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == str(elsewhere)
    assert elsewhere.exists()
    assert run(["report", str(folder), "--out", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_a_report_made_later_equals_the_one_the_race_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "race"
    options = ["--scenario", "skewed", "--rounds", "2", "--seeds", "1", "--jobs", "1"]
    assert run(["race", "random", "fed-cbs", "all", *options, "--out", str(folder)]) == 0
    page = (folder / "report.html").read_text()
    (folder / "report.html").unlink()
    assert run(["report", str(folder)]) == 0
    assert (folder / "report.html").read_text() == page


def test_open_asks_for_a_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []

    def browser(address: str) -> bool:
        opened.append(address)
        return False

    monkeypatch.setattr("webbrowser.open", browser)
    folder = tmp_path / "run"
    run([*SHORT, "--out", str(folder)])
    capsys.readouterr()
    assert run(["report", str(folder), "--open"]) == 0
    assert opened == [(folder / "report.html").resolve().as_uri()]
    assert "no browser was found" in capsys.readouterr().err


@pytest.mark.parametrize(
    "index",
    [
        "runs = ['../elsewhere']\ncommand = 'x'",
        "runs = ['/etc']\ncommand = 'x'",
        "runs = 3\ncommand = 'x'",
        "runs = []",
        "not toml",
    ],
)
def test_a_damaged_index_is_refused(index: str, tmp_path: Path) -> None:
    (tmp_path / INDEX).write_text(index)
    with pytest.raises(InputError, match="is damaged"):
        read_runs(tmp_path)


def test_a_damaged_run_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert run([*SHORT, "--out", str(folder)]) == 0
    (folder / "events.jsonl").write_text('{"index": 1}\n{"index": 2}\n')
    capsys.readouterr()
    assert run(["report", str(folder)]) == 3
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1


def test_a_race_cut_short_is_reported_without_the_run_that_was_just_starting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "race"
    options = ["--scenario", "skewed", "--rounds", "2", "--seeds", "1", "--jobs", "1", "--format", "json"]
    assert run(["race", "random", "fed-cbs", *options, "--out", str(folder)]) == 0
    starting = folder / "skewed" / "fed-cbs-0"
    (starting / "events.jsonl").write_text("")
    (starting / "clients.safetensors").write_bytes(b"cut sho")
    capsys.readouterr()
    assert run(["report", str(folder), "--format", "json"]) == 0
    assert [row["method"] for row in json.loads(capsys.readouterr().out)["runs"]] == ["random"]


def test_prepare_refuses_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        prepare(tmp_path / "file", "race", force=True)


def test_force_takes_away_runs_and_nothing_else(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "skewed" / "random-0", tmp_path / "project"
    for folder, names in (
        (ours, ("config.toml", "events.jsonl", "state-000003.safetensors")),
        (theirs, ("config.toml",)),
    ):
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).write_text("x")
    assert prepare(tmp_path, "race", force=True) == tmp_path
    assert [path.name for path in tmp_path.iterdir()] == ["project"]
    assert (theirs / "config.toml").exists()

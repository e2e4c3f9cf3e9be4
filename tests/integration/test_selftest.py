"""The short battery: a trial that misses its goal or breaks down has failed, and the page says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from callup.cli.main import run
from callup.experiments.selftest import liars as lying
from callup.experiments.selftest.finding import Seen, Trial, hold
from callup.experiments.selftest.trials import TRIALS
from callup.report.selftest import write_selftest
from callup.simulation.drill import Outcome


def broken(folder: Path) -> Seen:
    raise RuntimeError(f"no {folder.name}")


def test_what_passes_and_what_does_not(tmp_path: Path) -> None:
    trials = [
        Trial("good", "a", lambda _: Seen("fine", 3)),
        Trial("bad", "b", lambda _: Seen("one of three differs", 3, ("case 2",))),
        Trial("nothing tried", "c", lambda _: Seen("nothing was tried", 0)),
        Trial("down", "d", broken),
    ]
    found = list(hold(trials, tmp_path))
    assert [f.passed for f in found] == [True, False, False, False]
    assert found[3].seen.failures == ("RuntimeError: no down",)
    assert (tmp_path / "nothing-tried").is_dir()


def test_the_page_says_what_failed_and_takes_nothing_for_markup(tmp_path: Path) -> None:
    found = list(hold([Trial("bad", "<b>promise</b>", lambda _: Seen("<i>", 1, ("<script>",)))], tmp_path))
    page = write_selftest(tmp_path / "out", [one.plain() for one in found]).read_text(encoding="utf-8")
    assert "Not every promise holds here" in page
    assert "1 trial in" in page
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<b>promise" not in page
    stored = json.loads((tmp_path / "out" / "selftest.json").read_text(encoding="utf-8"))
    assert stored["trials"][0]["failures"] == ["<script>"]


def test_liars_above_the_promise_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # 360 places: three standard errors are 7 points. 30 % is promised, 38 % are too many, 36 % may be chance.
    def drill(selector: str, lie: str, *_: object) -> Outcome:
        places = {"oort": 0.38, "random": 0.36}.get(selector, 0.2)
        return Outcome(places if lie.startswith("mimic") else 0.1, 0.2, 0.5 if selector == "fedacs" else 0.3)

    monkeypatch.setattr(lying, "drill", drill)
    seen = lying.liars(tmp_path)
    assert seen.failures == ("oort, mimic: 38% of places, promised 30%",)
    assert "38% of the places where 30% is promised, 20% of the places where 50% is promised" in seen.sentence


def test_one_trial_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["selftest", "replies", "--out", str(tmp_path), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [trial["name"] for trial in told["trials"]] == ["replies"]
    assert told["trials"][0]["cases"] == 8000
    assert (tmp_path / "selftest.html").exists()
    assert run(["selftest", "replys", "--out", str(tmp_path)]) == 2
    assert "did you mean 'replies'" in capsys.readouterr().err


def test_hostile_files_are_refused(tmp_path: Path) -> None:
    (files,) = [trial for trial in TRIALS if trial.name == "files"]
    (found,) = hold([files], tmp_path)
    assert found.passed, found.seen.failures
    assert found.seen.cases == 8

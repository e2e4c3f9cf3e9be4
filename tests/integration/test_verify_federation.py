"""A federation's journal is enough to check whom the server called, without any client."""

from __future__ import annotations

import json
from pathlib import Path

import flower_app
import pytest
from flwr.app import ArrayRecord
from flwr.serverapp.strategy import FedAvg

from callup.cli.main import run
from callup.flower import LocalGrid, Selecting
from callup.flower.local import server_task

NODES, ROUNDS = 8, 5


class PowerCut(Exception):
    pass


def play(folder: Path, selector: str, dies: int | None = None, resume: bool = False) -> None:
    grid = LocalGrid(flower_app.answering_app(), NODES, seed=0)
    made = Selecting(FedAvg(), selector, k=3, seed=2, run=folder, resume=resume)

    def evaluate(index: int, arrays: ArrayRecord) -> None:
        if index == dies:
            raise PowerCut

    with server_task():
        made.start(grid, flower_app.model(), num_rounds=ROUNDS, evaluate_fn=evaluate)


@pytest.mark.parametrize("selector", ["random", "fed-cbs", "power-of-choice:d=6", "oort", "fedacs"])
def test_every_call_is_played_again(selector: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also over a power cut in the middle, after which the profile is written again."""
    folder = tmp_path / "run"
    with pytest.raises(PowerCut):
        play(folder, selector, dies=3)
    play(folder, selector, resume=True)
    capsys.readouterr()
    assert run(["verify", str(folder), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["runs"][0]
    assert (found["rounds"], found["how"], found["problems"]) == (ROUNDS, "replayed from the journal", [])


def test_a_changed_line_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    play(folder, "random")
    lines = (folder / "events.jsonl").read_text().splitlines()
    record = json.loads(lines[2])
    record["asked"] = record["asked"][::-1]
    (folder / "events.jsonl").write_text("\n".join([*lines[:2], json.dumps(record), *lines[3:]]) + "\n")
    capsys.readouterr()
    assert run(["verify", str(folder)]) == 4
    assert "round 3: events.jsonl and the journal tell different stories" in capsys.readouterr().err

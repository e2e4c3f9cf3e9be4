"""The quickstart app for real: a SuperLink with three SuperNodes, and Flower's simulation engine.

Processes are ended by their ids. Waits are long for busy machines; all of it needs about 70 seconds of processor time.
"""

from __future__ import annotations

import importlib
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import callup
from callup.core.types import Plan
from callup.flower import run_local
from callup.journal import read_log, read_profiles, replay

ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "examples" / "flower-quickstart"
NODES, ROUNDS, PATIENCE = 3, 2, 500.0
PROBING = "power-of-choice:d=3"

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(autouse=True)
def paths() -> Iterator[None]:
    before = list(sys.path)
    sys.path += [str(QUICKSTART), str(ROOT / "scripts" / "flower")]
    yield
    sys.path[:] = before


def deployed(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Three runs on one deployment at the same time, how they ended and what they said."""
    federation = importlib.import_module("federation").Federation
    settings: dict[str, dict[str, Any]] = {
        "fed-cbs": {"run": str(folder / "fed-cbs"), "num_server_rounds": ROUNDS},
        "probing": {"run": str(folder / "probing"), "num_server_rounds": ROUNDS, "selector": PROBING},
        "analysis": {"only_analyse": True},
    }
    with federation(NODES) as here:
        runs = {name: here.submit(QUICKSTART, min_available_nodes=NODES, **values) for name, values in settings.items()}
        ended = {name: here.wait(run, PATIENCE) for name, run in runs.items()}
        return ended, {name: here.flwr("log", str(run), "here", "--show") for name, run in runs.items()}


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def locally(folder: Path, nodes: int = NODES, **settings: Any) -> list[dict[str, Any]]:
    """The same app in this process."""
    config = tomllib.loads((QUICKSTART / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    apps = importlib.import_module("quickstart.server_app").app, importlib.import_module("quickstart.client_app").app
    run_local(*apps, nodes, {**config, "num-server-rounds": ROUNDS, "run": str(folder), **settings}, seed=5)
    return events(folder)


def test_a_superlink_with_three_supernodes(tmp_path: Path) -> None:
    """One test, so that test runners with several workers start one deployment."""
    ended, said = deployed(tmp_path)
    assert ended == dict.fromkeys(ended, "finished:completed"), said
    for name, selector in (("fed-cbs", "fed-cbs"), ("probing", PROBING)):
        check_as_on_the_local_grid(tmp_path, name, selector)
        check_as_played_back(tmp_path / name, selector, classes=10 if name == "fed-cbs" else None)
    check_ranking(said["analysis"])


def check_as_on_the_local_grid(folder: Path, name: str, selector: str) -> None:
    """The same picks, and the same model to the last digit."""
    far, here = events(folder / name), locally(folder / f"local-{name}", selector=selector)
    assert len(far) == ROUNDS
    for key in ("asked", "used", "failed", "digest", "accuracy", "loss"):
        assert [record[key] for record in far] == [record[key] for record in here], (name, key)


def check_as_played_back(folder: Path, selector: str, classes: int | None) -> None:
    """What the deployment recorded gives the same picks without it."""
    story = read_log(folder)
    plan = Plan(2, ROUNDS, classes)
    verdicts = list(replay(callup.selector(selector), plan, 1, read_profiles(folder), story.entries))
    assert [verdict.same for verdict in verdicts] == [True] * ROUNDS


def check_ranking(said: str) -> None:
    """Skewness of a live federation: every client is ranked, and nobody trained."""
    ranking = [line.split() for line in said.splitlines() if line.strip()[:1].isdigit()]
    assert [int(rank) for rank, _, _ in ranking] == [1, 2, 3]
    assert {client for _, client, _ in ranking} == {"0", "1", "2"}
    assert "ROUND" not in said


def test_flowers_simulation_engine_picks_the_same_clients(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    federation = importlib.import_module("federation").Federation
    with federation(simulation=True) as here:
        ended = here.run(
            QUICKSTART,
            PATIENCE,
            federation_config="num-supernodes=6 client-resources-num-cpus=1 init-args-num-cpus=2",
            run=str(tmp_path / "engine"),
            num_server_rounds=ROUNDS,
            selector=PROBING,
            min_available_nodes=6,
        )
        said = here.log("superlink")
    assert ended == "finished:completed", said[-3000:]
    far = events(tmp_path / "engine")
    here_too = locally(tmp_path / "local", nodes=6, selector=PROBING)
    assert [record["asked"] for record in far] == [record["asked"] for record in here_too]
    assert [record["accuracy"] for record in far] == [record["accuracy"] for record in here_too]

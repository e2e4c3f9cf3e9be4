"""The quickstart app for real: a SuperLink with three SuperNodes, and Flower's simulation engine.

Processes are started once for all tests here and ended by their ids. Waits are long for busy machines; on two idle
cores the whole file takes about two minutes.
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


@pytest.fixture(scope="module", autouse=True)
def paths() -> Iterator[None]:
    before = list(sys.path)
    sys.path += [str(QUICKSTART), str(ROOT / "scripts" / "flower")]
    yield
    sys.path[:] = before


@pytest.fixture(scope="module")
def deployed(paths: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Three runs on one deployment at the same time: no probes, probes, and the analysis that trains nobody."""
    federation = importlib.import_module("federation").Federation
    folder = tmp_path_factory.mktemp("runs")
    settings: dict[str, dict[str, Any]] = {
        "fed-cbs": {"run": str(folder / "fed-cbs"), "num_server_rounds": ROUNDS},
        "probing": {"run": str(folder / "probing"), "num_server_rounds": ROUNDS, "selector": PROBING},
        "analysis": {"only_analyse": True},
    }
    with federation(NODES) as here:
        runs = {name: here.submit(QUICKSTART, **values) for name, values in settings.items()}
        ended = {name: here.wait(run, PATIENCE) for name, run in runs.items()}
        said = {name: here.flwr("log", str(run), "here", "--show") for name, run in runs.items()}
    return {"folder": folder, "ended": ended, "said": said}


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def locally(folder: Path, nodes: int = NODES, **settings: Any) -> list[dict[str, Any]]:
    """The same app in this process."""
    config = tomllib.loads((QUICKSTART / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    apps = importlib.import_module("quickstart.server_app").app, importlib.import_module("quickstart.client_app").app
    run_local(*apps, nodes, {**config, "num-server-rounds": ROUNDS, "run": str(folder), **settings}, seed=5)
    return events(folder)


def test_every_run_ends_well(deployed: dict[str, Any]) -> None:
    assert deployed["ended"] == dict.fromkeys(deployed["ended"], "finished:completed"), deployed["said"]


@pytest.mark.parametrize(("name", "selector"), [("fed-cbs", "fed-cbs"), ("probing", PROBING)])
def test_the_deployment_picks_and_learns_as_the_local_grid_does(
    deployed: dict[str, Any], name: str, selector: str, tmp_path: Path
) -> None:
    far, here = events(deployed["folder"] / name), locally(tmp_path / "run", selector=selector)
    for key in ("asked", "used", "failed", "digest", "accuracy", "loss"):
        assert [record[key] for record in far] == [record[key] for record in here], key
    assert len(far) == ROUNDS


@pytest.mark.parametrize(("name", "selector"), [("fed-cbs", "fed-cbs"), ("probing", PROBING)])
def test_what_the_deployment_recorded_gives_the_same_picks_without_it(
    deployed: dict[str, Any], name: str, selector: str
) -> None:
    folder = deployed["folder"] / name
    profiles, story = read_profiles(folder), read_log(folder)
    classes = 10 if name == "fed-cbs" else None
    verdicts = list(replay(callup.selector(selector), Plan(2, ROUNDS, classes), 1, profiles, story.entries))
    assert len(verdicts) == ROUNDS
    assert all(verdict.same for verdict in verdicts)


def test_the_analysis_prints_a_ranking_and_trains_nobody(deployed: dict[str, Any]) -> None:
    said = deployed["said"]["analysis"]
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

"""The examples run as they are, on the local grid."""

from __future__ import annotations

import importlib
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callup.flower import run_local

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def paths() -> Iterator[None]:
    before = list(sys.path)
    sys.path += [str(EXAMPLES / "flower-quickstart"), str(EXAMPLES / "flower-pytorch")]
    yield
    sys.path[:] = before


def play(example: str, package: str, folder: Path, nodes: int, **settings: Any) -> list[dict[str, Any]]:
    config = tomllib.loads((EXAMPLES / example / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    apps = (importlib.import_module(f"{package}.{part}_app").app for part in ("server", "client"))
    run_local(*apps, nodes, {**config, "run": str(folder), **settings})
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("selector", ["fed-cbs", "power-of-choice:d=6", "oort", "fedacs"])
def test_the_quickstart_learns(selector: str, tmp_path: Path) -> None:
    rounds = {"selector": selector, "k": 4, "num-server-rounds": 8}
    records = play("flower-quickstart", "quickstart", tmp_path / "run", 10, **rounds)
    assert records[-1]["accuracy"] > 0.75


@pytest.mark.parametrize("changes", [{}, {"selector": "fed-cbs", "filter": "fedca"}, {"selector": "shapley"}])
def test_the_pytorch_app_learns(changes: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    rounds = {"k": 4, "num-server-rounds": 4, **changes}
    records = play("flower-pytorch", "clothing", tmp_path / "run", 8, **rounds)
    assert all(len(record["used"]) == 4 for record in records)
    assert max(record["accuracy"] for record in records) > 0.25  # a guess gets 0.1

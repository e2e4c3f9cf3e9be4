"""`--verbose` names the backend that is then used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from callup.cli.main import run
from callup.partition.scheme import Shards
from callup.simulation.backends import reason
from callup.simulation.backends.batched import Batched
from callup.simulation.backends.choose import make_backend
from callup.simulation.backends.loop import Loop
from callup.simulation.local import LocalTraining
from callup.simulation.settings import Settings
from callup.simulation.task import Data, Loaded, Mlp, Module, Split


def pictures(shape: tuple[int, ...]) -> Data:
    split = Split(np.zeros((4, *shape), np.float32), np.arange(4) % 2)
    return Data(split, split, split, 2)


@pytest.mark.parametrize(("name", "kind"), [("auto", Batched), ("numpy", Batched), ("loop", Loop)])
def test_the_backend_named_for_a_perceptron_is_the_one_made(name: str, kind: type) -> None:
    task = Loaded(pictures((3,)), Mlp((3, 2)), LocalTraining())
    said, _ = reason.chosen(name, task)
    shards = Shards(np.array([0]), (np.arange(4),))
    for each in (name, said):
        assert type(make_backend(each, task.data, task.model, shards, task.local, 0)) is kind


def test_the_backend_named_for_a_module_is_the_one_made() -> None:
    nn = pytest.importorskip("torch").nn

    def known() -> object:
        return nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 2))

    def unknown() -> object:
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 2), nn.Tanh())

    shards = Shards(np.array([0]), (np.arange(4),))
    for make, expected in ((known, "Compiled"), (unknown, "Torch")):
        task = Loaded(pictures((1, 8, 8)), Module(make), LocalTraining())
        if expected == "Compiled":
            pytest.importorskip("numba")
        said, why = reason.chosen("auto", task)
        backend = make_backend("auto", task.data, task.model, shards, task.local, 0)
        assert type(backend).__name__ == expected == said.capitalize()
        backend.close()
    assert "cannot be used: backend 'compiled' knows convolutions" in why


@pytest.mark.parametrize(
    ("backend", "crew"),
    [("auto", "2 processes"), ("torch", "2 processes"), ("compiled", "2 threads"), ("loop", "one core")],
)
def test_who_shares_the_work(backend: str, crew: str) -> None:
    said = reason.explain(Settings(task="fashion14-mlp", backend=backend, workers=2))
    assert f"for fashion14-mlp on {crew}: " in said


@pytest.mark.parametrize(("cores", "crew"), [(1, "one core"), (4, "one core, or 4 processes where that is faster")])
def test_without_a_number_it_is_said_that_cores_are_used_where_that_pays(
    cores: int, crew: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callup.simulation.backends.cores.cores", lambda: cores)
    assert f"for fashion14-mlp on {crew}: " in reason.explain(Settings(task="fashion14-mlp"))


def test_a_run_says_it_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "small.toml"
    config.write_text('rounds = 1\nk = 1\nworkers = 1\npartition = "dirichlet:clients=5,alpha=1"\n')
    assert run(["run", str(config), "--verbose", "--out", str(tmp_path / "out"), "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith("backend numpy for fashion14-mlp on one core: all clients of a round")
    assert "backend numpy" not in printed.out
    assert run(["run", str(config), "--out", str(tmp_path / "quiet"), "--format", "json"]) == 0
    assert "backend numpy" not in capsys.readouterr().err

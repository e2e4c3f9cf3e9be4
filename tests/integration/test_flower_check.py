"""`callup flower check`: the lines it prints, put into an app, are all the app needs."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flwr.serverapp.strategy import FedAvg

from callup.cli.main import run
from callup.flower import run_local

QUICKSTART = Path(__file__).parents[2] / "examples" / "flower-quickstart"


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Path]:
    """The quickstart as it was before Callup: without its line at the server and its call at the client."""
    folder = tmp_path / "app"
    shutil.copytree(QUICKSTART, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "quickstart").rename(folder / "bare_app")
    for path in folder.rglob("*.[pt][yo]*"):
        path.write_text(path.read_text().replace("quickstart", "bare_app"))
    server, client = folder / "bare_app" / "server_app.py", folder / "bare_app" / "client_app.py"
    lines = server.read_text().splitlines(keepends=True)
    server.write_text("".join(line for line in lines if "Selecting(" not in line and "import callup" not in line))
    text = client.read_text()
    client.write_text(text[: text.index("# The one call")].replace("import callup.flower\n", ""))
    project = folder / "pyproject.toml"
    project.write_text(project.read_text().replace('"callup[flower]>=0.1", ', ""))
    before = list(sys.path)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path[:] = before
    for name in [name for name in sys.modules if name.split(".")[0] == "bare_app"]:
        del sys.modules[name]


def checked(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert run(["flower", "check", str(folder), "--format", "json", *words]) == 0
    return dict(json.loads(capsys.readouterr().out))


def play(folder: Path, **settings: Any) -> Any:
    config = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    server, client = (importlib.import_module(f"bare_app.{name}_app").app for name in ("server", "client"))
    return run_local(server, client, 6, {**config, "num-server-rounds": 1, **settings})


def test_without_its_two_lines_the_app_runs_as_flower_runs_it(bare: Path) -> None:
    grid = play(bare)
    assert {message.metadata.message_type for message in grid.sent} == {"train"}
    assert len(grid.sent) == 6  # FedAvg with all nodes


@pytest.mark.parametrize("selector", ["lineup", "lineup:keepers", "fed-cbs", "random", "power-of-choice:d=4"])
def test_the_lines_it_prints_are_all_that_is_needed(
    bare: Path, selector: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = checked(bare, capsys, "--selector", selector)
    assert not found["ready"]
    answers = {
        "label_counts=lambda context: ...": "label_counts=lambda c: np.bincount(data(c)[1], minlength=10)",
        "num_examples=lambda context: ...": "num_examples=lambda c: len(data(c)[1])",
        "loss=lambda arrays, context: ...": "loss=lambda m, c: task.losses(m, *data(c)).mean()",
    }
    for change in sorted(found["changes"], key=lambda change: -change["below"]):
        path, text = Path(change["file"]), change["text"]
        for placeholder, real in answers.items():
            text = text.replace(placeholder, real)
        assert "..." not in text
        lines = path.read_text().splitlines()
        if path.name == "pyproject.toml":
            lines[change["below"] - 1] = lines[change["below"] - 1].replace("[", f"[{text} ", 1)
        else:
            lines.insert(change["below"], text.replace("k=10", "k=3"))
        path.write_text("\n".join(lines) + "\n")
    again = checked(bare, capsys, "--selector", selector)
    assert again["ready"], again
    trained = [message for message in play(bare).sent if message.metadata.message_type == "train"]
    assert len(trained) == 3


def test_the_quickstart_is_ready(capsys: pytest.CaptureFixture[str]) -> None:
    for selector in ("lineup", "fed-cbs", "power-of-choice", "oort", "fedacs", "random"):
        assert checked(QUICKSTART, capsys, "--selector", selector)["ready"], selector


def test_an_answer_that_is_missing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    found = checked(QUICKSTART, capsys, "--selector", "nccb")
    assert [change["text"].strip() for change in found["changes"]] == ["features=lambda context: ...,"]


def test_people_see_lines_with_their_indent(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["flower", "check", str(bare)]) == 0
    out = capsys.readouterr().out
    assert '  +     strategy = callup.flower.Selecting(strategy, "lineup:keepers", k=10, seed=1)' in out


def test_what_would_help_and_is_not_needed_is_a_hint(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(bare, capsys)["hints"] == [
        "lineup goes by 'update' unless clients tell more: callup.flower.answer(app, label_counts=lambda context: ...)",
        "lineup chooses better where all clients tell 'loss' too: "
        "callup.flower.answer(app, loss=lambda arrays, context: ...)",
    ]
    assert checked(QUICKSTART, capsys)["hints"] == []


@pytest.mark.parametrize(
    ("server", "words"),
    [
        ("from flwr.server.strategy import FedAvg\nstrategy = FedAvg()\n", "old API"),
        ("from flwr.serverapp.strategy import FedXgbCyclic\nstrategy = FedXgbCyclic()\n", "FedXgbBagging"),
        ("x = 1\n", "no strategy"),
    ],
)
def test_what_cannot_work_is_said(bare: Path, server: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    (bare / "bare_app" / "server_app.py").write_text(server)
    assert any(words in problem for problem in checked(bare, capsys)["problems"])


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda folder: (folder / "pyproject.toml").unlink(), "no pyproject.toml"),
        (lambda folder: (folder / "pyproject.toml").write_text("[x"), "cannot read"),
        (lambda folder: (folder / "pyproject.toml").write_text("[project]\n"), "names no serverapp"),
        (lambda folder: (folder / "bare_app" / "client_app.py").unlink(), "there is no"),
        (lambda folder: (folder / "bare_app" / "client_app.py").write_text("def ("), "cannot read"),
    ],
)
def test_what_is_no_app_is_refused_in_one_sentence(
    bare: Path, break_it: Any, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    break_it(bare)
    assert run(["flower", "check", str(bare)]) == 3
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["flower", "check", str(tmp_path / "nothing")]) == 3
    assert "no such folder" in capsys.readouterr().err


def test_every_stock_strategy_is_known() -> None:
    from flwr.serverapp import strategy as stock

    from callup.flower.app_source import STRATEGIES

    assert set(stock.__all__) - {"Result", "Strategy"} == STRATEGIES
    assert FedAvg.__name__ in STRATEGIES

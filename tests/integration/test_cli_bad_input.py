"""A user's mistake is one clear line and exit code 2 or 3, never a traceback."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from callup.cli.main import run
from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.core.types import Plan

GOOD = """
task = "fashion14-mlp"
partition = "dirichlet:clients=10,alpha=0.5"
selector = "random"
k = 2
rounds = 1
"""


def config(folder: Path, text: str) -> str:
    path = folder / "bad.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ("selector=fedcbs", 2, "unknown selector 'fedcbs'; did you mean 'fed-cbs'?"),
        ("selector=fed-cbs:scael=2", 2, "fed-cbs has no parameter 'scael'; did you mean 'scale'?"),
        ("selector=fed-cbs:scale=big", 2, "fed-cbs: scale must be a number, got 'big'"),
        ("selector=fed-cbs:sharpp", 2, "fed-cbs has no preset 'sharpp'; did you mean 'sharp'?"),
        ("k=0", 2, "k must be a whole number of at least 1, got 0"),
        ("k=-3", 2, "k must be a whole number of at least 1, got -3"),
        ("k=2.5", 2, "settings: k must be a whole number, got '2.5'"),
        ("rounds=0", 2, "rounds must be a whole number of at least 1, got 0"),
        ("seed=-1", 2, "seed must be"),
        ("partition=dirichlet:clients=0", 2, "clients must be a whole number of at least 1, got 0"),
        ("partition=dirichlet:alpha=nan", 2, "alpha must be a number, got 'nan'"),
        ("partition=dirichlett", 2, "unknown partition 'dirichlett'; did you mean 'dirichlet'?"),
        ("availability=allways", 2, "did you mean 'always'?"),
        ("task=fashion15-mlp", 2, "unknown task 'fashion15-mlp'; did you mean 'fashion14-mlp'?"),
        ("target=70", 2, "target must be an accuracy above 0 and up to 1, got 70"),
        ("selectr=random", 2, "settings has no parameter 'selectr'; did you mean 'selector'?"),
        ("local.epohcs=3", 2, "local has no parameter 'epohcs'; did you mean 'epochs'?"),
        ("local.epochs=many", 2, "local: epochs must be a whole number, got 'many'"),
        ("local.epochs=0", 2, "local training: epochs must be"),
        ("k", 2, "cannot read --set 'k': expected key=value or local.key=value"),
        ("local=3", 2, "cannot read --set 'local=3': expected key=value or local.key=value"),
        ("lokal.epochs=3", 2, "cannot read --set 'lokal.epochs=3': expected key=value or local.key=value"),
    ],
)
def test_settings_on_the_command_line(
    change: str, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["run", config(tmp_path, GOOD), "--out", str(tmp_path / "run"), "--set", change]
    assert run(args) == code
    one_clear_line(capsys, said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("k = ", "is not valid TOML"),
        ("k = 1\nk = 2", "is not valid TOML"),
        ("k = 0", "k must be a whole number of at least 1, got 0"),
        ("k = 2.5", "k must be a whole number, got 2.5"),
        ("k = true", "k must be a whole number, got True"),
        ("kk = 2", "settings has no parameter 'kk'"),
        ("selector = 3", "selector must be text, got 3"),
        ("target = nan", "target must be"),
    ],
)
def test_settings_in_a_file(text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", config(tmp_path, text), "--out", str(tmp_path / "run")]) == 3
    one_clear_line(capsys, said)


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", str(tmp_path / "none.toml")]) == 3
    one_clear_line(capsys, "no such file")


def test_a_file_that_is_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(b"\xff\xfe\x00k")
    assert run(["run", str(path)]) == 3
    one_clear_line(capsys, "cannot read")


def test_escape_sequences_in_a_file_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", config(tmp_path, 'selector = "\\u001b[31mred"'), "--out", str(tmp_path / "run")]) == 2
    one_clear_line(capsys, "unknown selector 'red'")


def test_data_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CALLUP_DATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    args = ["run", config(tmp_path, GOOD), "--set", "task=mnist-mlp", "--out", str(tmp_path / "run")]
    assert run(args) == 3
    one_clear_line(capsys, "CALLUP_DATA")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["race", "randm"], "unknown selector 'randm'; did you mean 'random'?"),
        (["race", "random:d=3"], "random has no parameter 'd'"),
        (["race", "power-of-choice:d=0"], "d must be"),
        (["race", "--seeds", "0"], "seeds must be a whole number of at least 1, got 0"),
        (["race", "--seeds", "-2"], "seeds must be a whole number of at least 1, got -2"),
        (["race", "--seeds", "1.5"], "--seeds"),
        (["race", "--seed", "-1"], "seed must be"),
        (["race", "--jobs", "0"], "--jobs must be a whole number of at least 1, got 0"),
        (["race", "--rounds", "0"], "--rounds must be a whole number of at least 1, got 0"),
        (["race", "--scenario", "skewd"], "unknown scenario 'skewd'; did you mean 'skewed'?"),
        (["list", "--format", "xml"], "'xml' is not one of 'table', 'json'"),
    ],
)
def test_options(
    args: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(args) == 2
    one_clear_line(capsys, said)
    assert not list(tmp_path.iterdir())  # nothing was begun


def test_a_folder_without_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(tmp_path)]) == 3
    one_clear_line(capsys, "no run in")
    assert run(["report", str(tmp_path / "none")]) == 3
    one_clear_line(capsys, "no such folder")


@pytest.mark.parametrize("counts", [[[-1.0, 2.0]], [[math.nan, 2.0]], [[math.inf, 2.0]]])
def test_counts_that_are_no_counts(counts: list[list[float]]) -> None:
    with pytest.raises(InputError, match="client 7: label_counts must be a finite number of at least 0"):
        Clients([7], label_counts=counts)


def test_an_empty_federation() -> None:
    with pytest.raises(InputError, match="at least one client"):
        Clients([])


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "3", None])
def test_k_of_a_plan(k: Any) -> None:
    with pytest.raises(UsageError, match="k must be a whole number of at least 1"):
        Plan(k)


def one_clear_line(capsys: pytest.CaptureFixture[str], said: str) -> None:
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    assert said in printed.err
    assert "Traceback" not in printed.err
    assert "\x1b" not in printed.err

"""Files somebody else made: bombs, pickles in disguise, names that climb out. Refused in a sentence, or only shown."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from callup.cli.folders import CELLS, INDEX
from callup.cli.main import run
from callup.journal.tensors import pack

GB = 1 << 30
NAMES = ("clients.safetensors", "state-000002.safetensors", "profile-000001.safetensors")
CONFIG = """
scenario = "TITLE"
partition = "dirichlet:clients=10,alpha=0.5"
k = 3
rounds = 2
local = {epochs = 1}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made(tmp_path, "a title")


def made(home: Path, title: str) -> Path:
    (home / "run.toml").write_text(CONFIG.replace("TITLE", title))
    assert run(["run", str(home / "run.toml"), "--out", str(home / "run"), "--format", "json"]) == 0
    return home / "run"


def canary(path: Path) -> bytes:
    """A pickle that makes a file when it is loaded: `os.mkdir(path)`, written by hand."""
    return b"cos\nmkdir\n(S'" + str(path).encode() + b"'\ntR."


def header(text: bytes, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(text) if length is None else length) + text


TWENTY_GB = b'{"a":{"dtype":"U8","shape":[21474836480],"data_offsets":[0,21474836480]}}'
BOMBS = {
    "a header of 20 GB": header(b"{}", 20 * GB),
    "a header of 20 GB, full of spaces": header(b"{" + b" " * 1000, 20 * GB),
    "an array of 20 GB": header(TWENTY_GB),
    "a shape that overflows": header(
        b'{"a":{"dtype":"F64","shape":[4611686018427387904,16],"data_offsets":[0,8]}}' + b"12345678"
    ),
    "brackets without end": header(b"[" * 100_000),
    "nested without end": header(b'{"a":' * 50_000),
    "arrays that overlap": header(
        b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}'
    )
    + b"1234",
    "nothing": b"",
    "no checksum": save({"ids": np.arange(3)}),
    "a checksum of something else": pack({"ids": np.arange(3)}, {})[:-1] + b"\x07",
}


@pytest.mark.parametrize("name", NAMES[:2])
@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused(bomb: str, name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / name).write_bytes(BOMBS[bomb])
    capsys.readouterr()
    for command in ("report", "verify"):
        assert run([command, str(folder)]) == 3
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert name in said


def test_resume_puts_bombs_aside(folder: Path) -> None:
    """Every table is known from the settings: a bomb in its place is simply written over."""
    before = {name: (folder / name).read_bytes() for name in NAMES}
    for name in NAMES:
        (folder / name).write_bytes(BOMBS["an array of 20 GB"])
    assert run(["resume", str(folder)]) == 0
    assert {name: (folder / name).read_bytes() for name in NAMES} == before


@pytest.mark.parametrize(
    "text",
    [
        "k = " + "9" * 5000,
        "k = 0x" + "f" * 100_000,
        "k = 9223372036854775808",
        "overcommit = " + "9" * 400,
        "local = {rate = " + "9" * 400 + "}",
        "k = " + "[" * 5000,
        "a." * 5000 + "b = 1",
        "#" * (2 << 20),
    ],
    ids=lambda text: text[:12],
)
def test_settings_without_end(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.toml").write_text(text)
    assert run(["run", str(tmp_path / "run.toml"), "--out", str(tmp_path / "run")]) == 3
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert len(said) < 1000
    assert not (tmp_path / "run").exists()


MEASURED = """
import resource, sys, time
from pathlib import Path
from callup.core.errors import InputError
from callup.simulation.store import load_run
before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
for name in sys.argv[1:]:
    try:
        load_run(Path(name))
        raise SystemExit(f"{name} was read")
    except InputError:
        pass
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(grown // 1024, time.process_time() - begun)
"""


def test_bombs_cost_neither_memory_nor_time(folder: Path, tmp_path: Path) -> None:
    """All of them, and a file that really has 20 GB (with nothing in it): below 50 MB, a tenth of a second each."""
    copies = []
    for number, content in enumerate(BOMBS.values()):
        copy = tmp_path / str(number)
        copy.mkdir()
        for name in ("config.toml", "events.jsonl", *NAMES):
            (copy / name).write_bytes((folder / name).read_bytes())
        (copy / NAMES[1]).write_bytes(content)
        copies.append(copy)
    with (copies[0] / NAMES[1]).open("wb") as file:
        file.write(header(TWENTY_GB))
        file.truncate(8 + len(TWENTY_GB) + 20 * GB)
    os.truncate(copies[1] / "events.jsonl", 20 * GB)
    os.truncate(copies[2] / "config.toml", 20 * GB)
    out = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, copies)], capture_output=True, text=True, check=True
    )
    megabytes, seconds = map(float, out.stdout.split())
    assert megabytes < 50
    assert seconds < 0.1 * len(copies)


@pytest.mark.parametrize("name", [*NAMES, "journal", "events.jsonl", "config.toml", "lock"])
def test_a_pickle_in_disguise_never_runs(name: str, folder: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    (folder / name).write_bytes(canary(trap))
    for command in ("report", "verify", "resume"):
        run([command, str(folder)])
    assert not trap.exists()


@pytest.mark.parametrize("name", ["journal", "events.jsonl", "config.toml", "state-000002.safetensors"])
def test_a_pipe_or_a_device_is_not_waited_for(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert run(["verify", str(folder)]) == 3
    assert "is not a plain file" in capsys.readouterr().err
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    assert run(["verify", str(folder)]) == 3


@pytest.mark.parametrize(
    "name", ["../outside", "/tmp/outside", "a/../../outside", "..", "", "a\0b", "a\nb", "\x1b[31ma", "9" * 5000]
)
def test_names_of_runs_do_not_climb_out(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    race = tmp_path / "race"
    race.mkdir()
    (race / INDEX).write_text(f"command = 'callup race'\nruns = [{json.dumps(name)}]\n")
    (race / CELLS).write_text(json.dumps({name: {"rounds": 1}}))
    for command in ("resume", "report"):
        assert run([command, str(race)]) == 3
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "\x1b" not in said
    assert sorted(path.name for path in tmp_path.rglob("*")) == [CELLS, "race", INDEX]


def test_a_link_does_not_lead_out_either(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    race = tmp_path / "race"
    race.mkdir()
    (race / "inside").symlink_to(folder)
    (race / INDEX).write_text("command = 'callup race'\nruns = ['inside']\n")
    assert run(["report", str(race)]) == 3
    assert "is damaged" in capsys.readouterr().err


HOSTILE = "\\u001b]0;owned\\u0007\\u001b[31m<script>alert(1)</script>"


def test_names_are_text_in_the_terminal_and_on_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made(tmp_path, HOSTILE)
    lines = (folder / "events.jsonl").read_text().splitlines()
    record = json.loads(lines[1])
    record["failed"] = {"<script>alert(2)</script>": "\x1b[31mred"}
    (folder / "events.jsonl").write_text(f"{lines[0]}\n{json.dumps(record)}\n")
    capsys.readouterr()
    assert run(["report", str(folder)]) == 0
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    assert "<script>alert(" not in (folder / "report.html").read_text()
    assert run(["verify", str(folder)]) == 4
    assert "\x1b" not in capsys.readouterr().err


def test_a_lock_cannot_write_to_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "lock").write_text(json.dumps({"pid": 1, "host": "\x1b[31mred", "since": "\x1b]0;owned\x07"}))
    (folder / "state-000002.safetensors").unlink()
    capsys.readouterr()
    assert run(["resume", str(folder)]) == 0
    printed = capsys.readouterr()
    assert "note: process 1 on red" in printed.err
    assert "\x1b" not in printed.out + printed.err


def test_only_the_owner_may_look(folder: Path) -> None:
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o077 for path in folder.iterdir()} == {0}

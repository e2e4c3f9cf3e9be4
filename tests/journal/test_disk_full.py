"""No room on disk: what is there stays whole, the run stops with code 7 or goes on in memory, and room heals it."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from callup.journal import appending, disk
from callup.journal.disk import NoRoom, write_whole
from callup.journal.entries import Entry
from callup.journal.journal import Journal, Pace
from callup.journal.log import read_log
from callup.journal.snapshots import snapshots
from callup.simulation.events import Events, read_events
from callup.simulation.run import RoundRecord


class Disk:
    """A disk that can be filled: writes then stop half-way, as a real one's do."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = False
        monkeypatch.setattr(os, "write", self._writing(os.write))

    def _writing(self, real: Any) -> Any:
        def write(handle: int, content: Any) -> int:
            if self.full and handle > 2:
                if len(content) > 10:
                    return int(real(handle, bytes(content)[:10]))
                raise OSError(errno.ENOSPC, "No space left on device")
            return int(real(handle, content))

        return write


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def entry(number: int) -> Entry:
    return Entry(number, {}, {"values": np.full(20, number)})


def state() -> dict[str, np.ndarray]:
    return {"model": np.zeros(100)}


def test_by_default_the_run_stops_and_what_was_there_is_whole(tmp_path: Path, small_disk: Disk) -> None:
    with Journal(tmp_path) as journal:
        journal.begin({})
        journal.append(entry(1))
        small_disk.full = True
        with pytest.raises(NoRoom, match="No space left on device") as problem:
            journal.append(entry(2))
        assert problem.value.exit_code == 7
    story = read_log(tmp_path)
    assert [found.number for found in story.entries] == [1]
    assert story.whole


def test_a_snapshot_without_room_leaves_the_old_ones(tmp_path: Path, small_disk: Disk) -> None:
    with Journal(tmp_path, pace=Pace(rounds=1)) as journal:
        journal.begin({})
        journal.append(entry(1))
        journal.snapshot(1, state)
        journal.append(entry(2))
        small_disk.full = True
        with pytest.raises(NoRoom):
            journal.snapshot(2, state)
    assert [index for index, _ in snapshots(tmp_path)] == [1]
    assert not list(tmp_path.glob(".*"))


def test_in_memory_with_a_warning_each_round_until_there_is_room(tmp_path: Path, small_disk: Disk) -> None:
    said: list[str] = []
    with Journal(tmp_path, pace=Pace(rounds=1), when_full="continue", say=said.append) as journal:
        journal.begin({})
        for number in range(1, 6):
            small_disk.full = number in (2, 3)
            journal.append(entry(number))
            journal.snapshot(number, state)
            assert journal.waiting == {2: 1, 3: 2}.get(number, 0)
    assert len(said) == 3
    assert said[0].startswith("warning: cannot write ")
    assert said[0].endswith("rounds in memory only: 1")
    assert said[1].endswith("rounds in memory only: 2")
    assert said[2] == "there is room again; rounds written that were in memory only: 2"
    story = read_log(tmp_path)
    assert [found.number for found in story.entries] == [1, 2, 3, 4, 5]
    assert story.whole
    assert [index for index, _ in snapshots(tmp_path)] == [5, 4]


def test_lines_for_people_are_whole_after_a_full_disk(tmp_path: Path, small_disk: Disk) -> None:
    with Events(tmp_path) as events:
        events.rewrite([record(1)])
        small_disk.full = True
        events.add(record(2), safe=True)
        events.add(record(3), safe=False)
        small_disk.full = False
        events.add(record(4), safe=True)
    assert [found.index for found in read_events(tmp_path)] == [1, 2, 3, 4]


def record(index: int) -> RoundRecord:
    return RoundRecord(index, 5, [1], [1], [1], {}, "0")


def test_a_write_that_cannot_be_synced_counts_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Journal(tmp_path) as journal:
        journal.begin({})
        journal.append(entry(1))

        def fails(handle: int) -> None:
            raise OSError(errno.EIO, "Input/output error")

        with monkeypatch.context() as broken:
            broken.setattr(appending.os, "fsync", fails)
            with pytest.raises(NoRoom, match="Input/output error"):
                journal.append(entry(2))
        assert [found.number for found in read_log(tmp_path).entries] == [1]


def test_a_folder_that_may_not_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system says it; a test may run as root, for whom no folder is closed."""

    def refuses(*_: Any) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(disk.os, "open", refuses)
    with pytest.raises(NoRoom, match="Permission denied"):
        write_whole(tmp_path / "file", b"content")


RUN = """
import resource, sys
from callup.cli.main import run
code = run(["run", sys.argv[1], "--out", sys.argv[2], *sys.argv[3:]])
sys.exit(code)
"""
CONFIG = """
partition = "dirichlet:clients=10,alpha=0.5"
selector = "random"
k = 3
rounds = 14
local = {epochs = 1}
"""


@pytest.mark.parametrize(("option", "code"), [("stop", 7), ("continue", 0)])
def test_a_run_against_a_limit_of_the_system(option: str, code: int, tmp_path: Path) -> None:
    """Files may have 4 kB (RLIMIT_FSIZE), room for a few rounds: all the way from a failing write to the exit code."""
    config, folder = tmp_path / "run.toml", tmp_path / "run"
    config.write_text(CONFIG)
    limit = 4_000

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    done = subprocess.run(
        [sys.executable, "-c", RUN, str(config), str(folder), "--when-full", option],
        capture_output=True,
        text=True,
        preexec_fn=limited,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    story = read_log(folder)
    assert story.whole
    assert 0 < len(story.entries) < 14
    if option == "stop":
        assert "error: cannot write" in done.stderr
        assert done.stderr.endswith(
            f"File too large; rounds already written are safe, go on with: callup resume {folder}\n"
        )
    else:
        assert "rounds in memory only: 1" in done.stderr
        assert "of 14 rounds never found room on disk" in done.stderr
        assert "final accuracy" in done.stdout
    # There is room again: the run is completed.
    again = subprocess.run(
        [sys.executable, "-m", "callup", "resume", str(folder)], capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stderr
    assert len(read_log(folder).entries) == 14

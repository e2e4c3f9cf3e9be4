"""The order of writes and syncs, which a crash of the machine would put to the test: seen at the system's calls."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from callup.journal.disk import write_whole
from callup.journal.entries import Entry
from callup.journal.journal import Journal, Pace


class Calls:
    """What was asked of the system, in order; names are those of files, or "folder"."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[str] = []
        write, sync, replace = os.write, os.fsync, Path.replace

        def writing(handle: int, content: Any) -> int:
            self._add("write", handle)
            return write(handle, content)

        def syncing(handle: int) -> None:
            self._add("sync", handle)
            sync(handle)

        def naming(path: Path, target: Path) -> Path:
            self.seen.append(f"name {target.name}")
            return replace(path, target)

        monkeypatch.setattr(os, "write", writing)
        monkeypatch.setattr(os, "fsync", syncing)
        monkeypatch.setattr(Path, "replace", naming)

    def _add(self, what: str, handle: int) -> None:
        folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        name = "folder" if folder else Path(f"/proc/self/fd/{handle}").readlink().name
        self.seen.append(f"{what} {name}")

    def since(self) -> list[str]:
        seen, self.seen = self.seen, []
        return seen


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not tell the names of open files")
    return Calls(monkeypatch)


def entry(number: int) -> Entry:
    return Entry(number, {})


def state() -> dict[str, np.ndarray]:
    return {"model": np.zeros(5)}


def test_content_before_name_before_folder(tmp_path: Path, calls: Calls) -> None:
    write_whole(tmp_path / "file", b"content")
    assert calls.since() == ["write .file.draft", "sync .file.draft", "name file", "sync folder"]


def test_a_round_is_synced_before_append_returns(tmp_path: Path, calls: Calls) -> None:
    with Journal(tmp_path) as journal:
        journal.begin({})
        calls.since()
        journal.append(entry(1))
        assert calls.since() == ["write journal", "sync journal"]


def test_a_snapshot_comes_after_its_round_even_when_syncs_are_rare(tmp_path: Path, calls: Calls) -> None:
    with Journal(tmp_path, pace=Pace(rounds=2, sync=1e9)) as journal:
        journal.begin({})
        calls.since()
        for number in (1, 2):
            journal.append(entry(number))
            journal.snapshot(number, state)
        draft = ".state-000002.safetensors.draft"
        assert calls.since() == [
            "write journal",
            "write journal",
            "sync journal",
            f"write {draft}",
            f"sync {draft}",
            "name state-000002.safetensors",
            "sync folder",
        ]


def test_an_old_snapshot_goes_after_the_new_one_is_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the third cannot be synced, the first two are still there."""
    with Journal(tmp_path, pace=Pace(rounds=1)) as journal:
        journal.begin({})
        for number in (1, 2):
            journal.append(entry(number))
            journal.snapshot(number, state)
        journal.append(entry(3))

        def fails(handle: int) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "fsync", fails)
        with pytest.raises(Exception, match="Input/output error"):
            journal.snapshot(3, state)
        monkeypatch.undo()
    assert sorted(path.name for path in tmp_path.glob("state-*")) == [
        "state-000001.safetensors",
        "state-000002.safetensors",
    ]

"""One process at a time; the second is told who is first, and nobody has to clean up after the dead."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from callup.journal.journal import Journal
from callup.journal.lock import NAME, Lock, RunInUse, held

HOLDER = """
import sys, time
from pathlib import Path
from callup.journal.lock import Lock
lock = Lock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_process_is_refused_at_once_and_told_who(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    begun = time.process_time()
    with pytest.raises(RunInUse) as refused:
        Journal(tmp_path)
    assert time.process_time() - begun < 1
    assert f"is in use by process {holder.pid} on {socket.gethostname()}, since 20" in str(refused.value)
    assert held(tmp_path).startswith(f"process {holder.pid}")


def test_the_lock_of_a_killed_process_is_taken_over_with_a_note(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with Journal(tmp_path) as journal:
        assert journal.found.notes[0].startswith(f"process {holder.pid} on ")
        assert journal.found.notes[0].endswith("died while it was writing here")


def test_letting_go_leaves_nothing(tmp_path: Path) -> None:
    lock = Lock(tmp_path)
    assert held(tmp_path)
    with pytest.raises(RunInUse):
        Lock(tmp_path)
    lock.release()
    lock.release()
    assert not list(tmp_path.iterdir())
    assert held(tmp_path) == ""
    again = Lock(tmp_path)
    assert again.left_by == ""
    again.release()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x"}', b"\xff\xfe", b"[" * 3000])
def test_a_lock_that_tells_nonsense_is_silent(content: bytes, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(content)
    lock = Lock(tmp_path)
    assert lock.left_by == ""
    lock.release()


def test_only_the_owner_may_look(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "a"
    with Journal(folder) as journal:
        journal.begin({})
        modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
        assert folder.stat().st_mode & 0o777 == 0o700
        assert modes == {"lock": 0o600, "journal": 0o600}

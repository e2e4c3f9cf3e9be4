"""Workers of a grid: what they need is loaded once, and none of them outlives whoever it works for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import nursery_work
import pytest

from callup.experiments import nursery

pytestmark = pytest.mark.skipif(not nursery.SHARES, reason="forks are not safe here")


def seen(folder: Path) -> list[tuple[int, int]]:
    """Workers that began, and the process that started each."""
    names = [path.name.split("-") for path in folder.glob("worked-*")]
    return [(int(worker), int(above)) for _, worker, _, above in names]


def wait_until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(0.02)


def ended(process: int) -> bool:
    """Gone, or only its exit code is left for whoever asks."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_one_process_loads_and_the_workers_are_its_forks(tmp_path: Path) -> None:
    with nursery.workers(3, nursery_work.load, nursery_work.note, (tmp_path,)):
        pass
    (loaded,) = (int(path.name.split("-")[1]) for path in tmp_path.glob("loaded-*"))
    assert loaded != os.getpid()
    assert [above for _, above in seen(tmp_path)] == [loaded] * 3


def test_without_forks_every_worker_is_started_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nursery, "SHARES", False)
    with nursery.workers(2, nursery_work.load, nursery_work.note, (tmp_path,)):
        pass
    assert [above for _, above in seen(tmp_path)] == [os.getpid()] * 2


@pytest.mark.parametrize("shares", [True, False])
def test_an_error_in_the_block_ends_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shares: bool) -> None:
    monkeypatch.setattr(nursery, "SHARES", shares)
    with (
        pytest.raises(KeyboardInterrupt),
        nursery.workers(2, nursery_work.load, nursery_work.note_and_stay, (tmp_path,)),
    ):
        wait_until(lambda: len(seen(tmp_path)) == 2)
        raise KeyboardInterrupt
    assert all(ended(worker) for worker, _ in seen(tmp_path))


def test_a_worker_that_breaks_ends_the_others_and_is_told(tmp_path: Path) -> None:
    with nursery.workers(1, nursery_work.load, nursery_work.note_and_break, (tmp_path,)) as processes:
        wait_until(lambda: processes[0].exitcode is not None)
        assert processes[0].exitcode == 1


def test_a_worker_that_broke_before_anybody_looked_is_told() -> None:
    with pytest.raises(SystemExit) as told:
        nursery._wait_for([SimpleNamespace(exitcode=0), SimpleNamespace(exitcode=1)])  # type: ignore[list-item]
    assert told.value.code == 1
    nursery._wait_for([SimpleNamespace(exitcode=0)])  # type: ignore[list-item]


@pytest.mark.parametrize("whom", ["the program", "the process that loaded"])
def test_workers_do_not_outlive_a_kill(tmp_path: Path, whom: str) -> None:
    program = subprocess.Popen([sys.executable, nursery_work.__file__, str(tmp_path)])
    wait_until(lambda: len(seen(tmp_path)) == 2)
    ((_, loaded), _) = seen(tmp_path)
    os.kill(program.pid if whom == "the program" else loaded, signal.SIGKILL)
    program.wait(30)
    wait_until(lambda: all(ended(worker) for worker, _ in seen(tmp_path)) and ended(loaded))

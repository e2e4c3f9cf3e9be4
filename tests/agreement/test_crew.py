"""Workers that nobody asked for: they change no float, short runs do not wait for them, and no run needs them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from callup.core.errors import CallupError
from callup.partition.scheme import Shards
from callup.simulation.backends import batched, cores, shared_data, tray
from callup.simulation.backends.base import Trained
from callup.simulation.backends.batched import Batched
from callup.simulation.backends.cores import hands
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Mlp, Split

CLIENTS, LOCAL = 12, LocalTraining(epochs=2, batch=10)
Make = Callable[..., Batched]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Three groups of clients for two cores; models are large enough not to go by pipe."""
    monkeypatch.setattr(cores, "cores", lambda: 2)
    monkeypatch.setattr("callup.simulation.backends.crew._LEAST", 0.0)
    opened: list[Batched] = []

    def backend(workers: cores.Wanted = "auto", patience: float = 0.0) -> Batched:
        monkeypatch.setattr(batched, "_PATIENCE", patience)
        rng = np.random.default_rng(3)
        split = Split(rng.normal(size=(40 * CLIENTS, 20)).astype(np.float32), rng.integers(0, 3, 40 * CLIENTS))
        shards = Shards(np.arange(CLIENTS), tuple(np.split(np.arange(40 * CLIENTS), CLIENTS)))
        opened.append(Batched(Data(split, split, split, 3), Mlp((20, 200, 3)), shards, LOCAL, 1, workers))
        return opened[-1]

    with threadpool_limits(1):
        yield backend
    for each in opened:
        each.close()


def trained(backend: Batched, index: int) -> np.ndarray:
    ids = backend.shards.ids
    return backend.train(backend.init(), ids, index, LOCAL.rates(index, np.zeros(len(ids))), ("loss",)).models


def crew() -> list[multiprocessing.process.BaseProcess]:
    return multiprocessing.active_children()


def when_they_are_ready(backend: Batched) -> None:
    """Rounds are played until one of them was played by the workers."""
    give_up = time.monotonic() + 60
    while not (crew() and backend._crew._hired is not None and backend._crew._hired.workers.ready()):
        trained(backend, 1)
        assert time.monotonic() < give_up, "workers never were ready"


def test_rounds_before_and_after_they_are_ready_are_those_of_one_core(make: Make) -> None:
    alone, auto = make(workers=1), make()
    np.testing.assert_array_equal(trained(auto, 1), trained(alone, 1))
    when_they_are_ready(auto)
    assert len(crew()) == 2
    for index in (2, 3):
        np.testing.assert_array_equal(trained(auto, index), trained(alone, index))
    auto.close()
    assert not crew()


def test_a_short_run_starts_nobody(make: Make) -> None:
    backend = make(patience=1e6)
    for index in range(1, 4):
        trained(backend, index)
    assert not crew()


def test_a_run_goes_on_without_those_that_were_killed(make: Make) -> None:
    alone, auto = make(workers=1), make()
    when_they_are_ready(auto)
    for worker in crew():
        os.kill(worker.pid or 0, signal.SIGKILL)
    np.testing.assert_array_equal(trained(auto, 4), trained(alone, 4))
    assert not crew()
    np.testing.assert_array_equal(trained(auto, 5), trained(alone, 5))


def test_without_room_for_shared_data_those_asked_for_are_refused_and_others_not_missed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = trained(make(workers=1), 1)
    monkeypatch.setattr(shared_data.shutil, "disk_usage", lambda _: shared_data.shutil._ntuple_diskusage(9, 9, 100))
    monkeypatch.setattr(shared_data, "_FILES", Path("/"))
    np.testing.assert_array_equal(trained(make(), 1), alone)
    with pytest.raises(CallupError, match="has room for 0 MB; enlarge it, or use workers = 1"):
        trained(make(workers=2), 1)
    assert not crew()


def test_what_is_laid_on_a_tray_is_lifted_by_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tray, "_ROOM", 80_000)
    ours = tray.Tray()
    theirs = tray.Tray(ours.name)
    ours.forget_name()
    with pytest.raises(FileNotFoundError):
        tray.Tray(ours.name)  # nothing is left for a crash to leave behind
    rng = np.random.default_rng(0)
    models, gradient, loss = rng.random((5, 2500), np.float32), rng.random((5, 501)), rng.random(5)
    laid = ours.lay(Trained(models, np.arange(5), {"gradient": gradient, "loss": loss}))
    assert isinstance(laid.models, tray.Laid)
    assert isinstance(laid.signals["gradient"], tray.Laid)
    assert laid.signals["loss"] is loss  # small
    lifted = theirs.lift(laid)
    np.testing.assert_array_equal(lifted.models, models)
    np.testing.assert_array_equal(lifted.signals["gradient"], gradient)
    too_large = np.zeros(80_001, np.uint8)
    assert ours.lay(too_large) is too_large
    del lifted
    theirs.close()
    ours.close()


def test_a_process_that_another_one_started_has_one_core() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(hands, "auto").result() == 1
        assert pool.submit(hands, 3).result() == 3  # unless it is told
    assert hands("auto") == cores.cores()


def test_a_script_without_a_guard_is_read_once(tmp_path: Path) -> None:
    script = tmp_path / "plain.py"
    script.write_text(
        "import callup\n"
        "print('begun')\n"
        "run = callup.simulate(k=10, rounds=2, workers=2, partition='dirichlet:clients=20,alpha=1')\n"
        "print(len(run.history))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "begun\n2\n"), done.stderr

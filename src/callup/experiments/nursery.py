"""Worker processes that share what they need: one process loads it, the workers are forks of it.

Forks share memory until they write to it, and nobody writes to data: a gigabyte of pictures is there once, however many
workers look at it, and there is nothing to clean up after a crash. The process that forks is a fresh one without
threads, which the program that asks for workers may not be. Where forks are not safe, every worker loads for itself.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

SHARES = sys.platform.startswith("linux")
"""Windows has no forks, and on macOS system libraries do not survive them."""

Work = Callable[..., None]


@contextlib.contextmanager
def workers(number: int, load: Work, work: Work, arguments: tuple[Any, ...]) -> Iterator[Sequence[BaseProcess]]:
    """So many processes at `work(*arguments)`, after `load(*arguments)`; gives the processes to keep an eye on.

    Waits for them at the end of the block, or ends them where it is left by an error. Ctrl-C is the caller's to answer.
    Workers end with the caller, however it ends.
    """
    context = multiprocessing.get_context("spawn")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # spares every worker a pool of threads it must not use
    processes: list[BaseProcess] = (
        [context.Process(target=_nursery, args=(number, load, work, arguments))]
        if SHARES
        else [context.Process(target=_worker, args=(work, arguments), daemon=True) for _ in range(number)]
    )
    try:
        # They inherit the blocked signal and so cannot be caught by a Ctrl-C before they have said they ignore it.
        with _ctrl_c_waits():
            for process in processes:
                process.start()
        yield processes
    except BaseException:
        _end(processes)
        raise
    for process in processes:
        process.join()


def _end(processes: Sequence[BaseProcess]) -> None:
    for process in processes:
        if process.pid is not None:
            process.terminate()
            process.join()


def _nursery(number: int, load: Work, work: Work, arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load(*arguments)
    gc.freeze()  # else the collector would write to what is shared
    context = multiprocessing.get_context("fork")
    crew = [context.Process(target=_worker, args=(work, arguments), daemon=True) for _ in range(number)]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        for worker in crew:
            worker.start()
        _wait_for(crew)
    finally:
        _end(crew)


def _wait_for(crew: Sequence[BaseProcess]) -> None:
    """Until all have ended; when one of them has not ended well or the program is gone, not that long."""
    program = multiprocessing.parent_process()
    above = [] if program is None else [program.sentinel]
    while alive := [worker.sentinel for worker in crew if worker.exitcode is None]:
        gone = any(sentinel in above for sentinel in wait([*alive, *above]))
        if gone or any(worker.exitcode for worker in crew):
            sys.exit(1)
    if any(worker.exitcode for worker in crew):  # the last one may break before it is looked at
        sys.exit(1)


def _worker(work: Work, arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_follow, daemon=True).start()
    work(*arguments)


def _follow() -> None:
    """Whoever started this process may be killed and cannot say so; this one then ends with it."""
    above = multiprocessing.parent_process()
    if above is not None:
        wait([above.sentinel])
        os._exit(1)


@contextlib.contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Ctrl-C pressed inside the block takes effect at its end; where signals cannot be held back it is as ever."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

"""Work for processes of a nursery; a module of its own, because they import it by name."""

import os
import sys
import time
from pathlib import Path

from callup.experiments.nursery import workers


def load(folder: Path) -> None:
    (folder / f"loaded-{os.getpid()}").touch()


def note(folder: Path) -> None:
    (folder / f"worked-{os.getpid()}-for-{os.getppid()}").touch()


def note_and_stay(folder: Path) -> None:
    note(folder)
    time.sleep(600)


def note_and_break(folder: Path) -> None:
    note(folder)
    os._exit(3)


if __name__ == "__main__":
    with workers(2, load, note_and_stay, (Path(sys.argv[1]),)):
        pass
